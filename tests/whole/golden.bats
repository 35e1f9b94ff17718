#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The worked example of other people's formats: two samples whose places in the
# chunk and in every side file are known to the byte.
# bats file_tags=quick

load ../kit/lib

setup()
{
	cd "$BATS_TEST_TMPDIR" || return 1
	mkdir -p tree/a
	printf 1 > tree/a/0001.cls
	head -c 700 /dev/zero | tr '\0' x > tree/a/0001.jpg
	printf 12 > tree/a/0002.cls
	head -c 512 /dev/zero | tr '\0' y > tree/a/0002.jpg
}

@test "golden: headers, contents and end of the chunk" {
	hpdsl-pack -q --shuffle=none tree out
	[ "$(stat -c %s out/chunk-000000.tar)" = 10240 ]
	python3 - <<- 'END'
		import tarfile
		with tarfile.open("out/chunk-000000.tar", "r:") as tar:
		    rows = [(m.name, m.size, m.offset, m.offset_data) for m in tar]
		    assert tar.offset == 4608, tar.offset
		assert rows == [("a/0001.cls", 1, 0, 512),
		                ("a/0001.jpg", 700, 1024, 1536),
		                ("a/0002.cls", 2, 2560, 3072),
		                ("a/0002.jpg", 512, 3584, 4096)], rows
		data = open("out/chunk-000000.tar", "rb").read()
		assert data[257:265] == b"ustar\00000"
		assert data[4608:] == bytes(10240 - 4608)
		assert data[512:513] == b"1" and data[3072:3074] == b"12"
		assert data[1536:2236] == b"x" * 700
	END
}

@test "golden: every side file, byte for byte" {
	hpdsl-pack -q --shuffle=none --emit=dali,energon,wids tree out
	cmp out/chunk-000000.idx - <<- 'END'
		v1.2 2
		cls 512 1 a/0001.cls jpg 1536 700 a/0001.jpg
		cls 3072 2 a/0002.cls jpg 4096 512 a/0002.jpg
	END
	python3 -c 'import struct, sys
sys.stdout.buffer.write(struct.pack("<3Q", 0, 2560, 4608))' |
		cmp out/chunk-000000.tar.idx -
	cmp out/.nv-meta/.info.json - <<- 'END'
		{
		  "shard_counts": {
		    "chunk-000000.tar": 2
		  }
		}
	END
	cmp out/.nv-meta/split.yaml - <<- 'END'
		exclude: []
		split_parts:
		  train:
		  - chunk-000000.tar
	END
	cmp out/.nv-meta/dataset.yaml - <<- 'END'
		__module__: megatron.energon
		__class__: CrudeWebdataset
	END
	need xxhsum
	# wids' name of the pack is made of the chunks' checksums
	name=$(xxhsum -H2 out/chunk-000000.tar | cut -d ' ' -f 1 |
		python3 -c 'import sys
sys.stdout.buffer.write(bytes.fromhex(input()))' | xxhsum -H2 -)
	cmp out/shards.json - <<- END
		{
		  "__kind__": "wids-shard-index-v1",
		  "wids_version": 1,
		  "name": "${name%% *}",
		  "shardlist": [
		    {"url": "chunk-000000.tar", "nsamples": 2, "filesize": 10240}
		  ]
		}
	END
}

@test "golden: the keys and suffixes that WebDataset finds" {
	hpdsl-pack -q --shuffle=none tree out
	python3 - <<- 'END'
		import re, tarfile
		found = {}
		with tarfile.open("out/chunk-000000.tar", "r|") as tar:
		    for m in tar:
		        key, suffix = re.match(r"^((?:.*/|)[^.]+)[.]([^/]*)$",
		                               m.name).groups()
		        found.setdefault(key, []).append(suffix.lower())
		assert found == {"a/0001": ["cls", "jpg"],
		                 "a/0002": ["cls", "jpg"]}, found
	END
}
