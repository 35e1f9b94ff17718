#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# What is no dataset, or of a later version: one refusal of all commands.

bats_require_minimum_version 1.5.0
load ../kit/lib

# later FILE OLD NEW: another version of the manifest or index, with its checksum.
later()
{
	PYTHONPATH=$SRC/tests/kit python3 - "$@" <<- 'END'
		import struct, sys
		from forge import h64, h128
		name, what = sys.argv[1:]
		data = bytearray(open(name, "rb").read())
		if name.endswith(".yaml"):
		    data = data.replace(b"version: 1\n", b"version: 2\n")[:-43]
		    data += b"checksum: " + h128(data).hex().encode() + b"\n"
		else:
		    struct.pack_into("<I", data, *{"version": (8, 2),
		                                   "flags": (60, 0x20)}[what])
		    end = struct.unpack_from("<I", data, 12)[0] - 8
		    struct.pack_into("<Q", data, end, h64(data[:end]))
		open(name, "wb").write(data)
	END
}

# refuse DATASET TEXT COMMAND..: each of these ends so.
refuse()
{
	local ds=$1 text=$2
	shift 2
	fails 3 "$text" hpdsl-ls "$ds"
	fails 3 "$text" hpdsl-cat "$ds" cat/1.jpg
	fails 3 "$text" hpdsl-unpack -q "$ds" unpacked
	fails 3 "$text" hpdsl-order "$ds"
	fails 3 "$text" hpdsl-bench -q "$ds"
	fails 3 "$text" hpdsl-snapshot create -q "$ds" -o snap
	fails 3 "$text" hpdsl-pack -q "$ds" packed
	fails 3 "$text" hpdsl-verify -q --source="$ds" ds
	[ ! -x "$BUILD/hpdsl-stage" ] || fails 3 "$text" hpdsl-stage -q "$ds" staged
	[ ! -e unpacked ] && [ ! -e snap ] && [ ! -e packed/dataset.yaml ]
	rm -rf packed staged
}

@test "no manifest, a later version: all commands say so in the same way" {
	mkdir -p in/cat
	echo meow > in/cat/1.jpg
	hpdsl-pack -q in ds
	cp -R ds none
	rm none/dataset.yaml
	refuse none "none: not a dataset: dataset.yaml is missing (hpdsl-index makes it from the chunks)"
	run -1 hpdsl-verify -q none
	[ "$output" = "dataset.yaml: is missing" ]
	hpdsl-index -q none
	hpdsl-verify -q none
	cp -R ds manifest
	later manifest/dataset.yaml version
	refuse manifest "dataset.yaml: version 2 is too new"
	fails 3 "dataset.yaml: version 2 is too new" hpdsl-verify -q manifest
	fails 3 "dataset.yaml: version 2 is too new" hpdsl-index -q manifest
	for what in version flags; do
		rm -rf index
		cp -R ds index
		later index/index.hpdsl $what
		fails 3 index.hpdsl hpdsl-ls index
		fails 3 index.hpdsl hpdsl-bench -q index
		fails 3 index.hpdsl hpdsl-pack -q index packed
		rm -rf packed
	done
}

# What the library says, and which option would help at this shell.
@test "the command names its option, the library does not" {
	local how="hpdsl-pack --resume completes it" text
	mkdir -p in/cat
	echo meow > in/cat/1.jpg
	hpdsl-pack -q in ds
	fails 3 "ds: a packed dataset is there; --force replaces it" \
		hpdsl-pack -q in ds
	fails 2 "--meta 'a=c': this key is given twice" \
		hpdsl-pack -q --meta=a=b --meta=a=c in out
	fails 2 "--cls needs classes: see --labels" hpdsl-pack -q --cls in out
	cp -R ds unfinished
	mv unfinished/dataset.yaml unfinished/journal.hpdsl
	for text in ls verify index; do
		fails 3 "unfinished: an unfinished pack ($how)" \
			"hpdsl-$text" unfinished
	done
	rm ds/dataset.yaml ds/index.hpdsl
	fails 3 "and index.hpdsl are missing (hpdsl-index makes them from the chunks)" \
		hpdsl-verify ds
}
