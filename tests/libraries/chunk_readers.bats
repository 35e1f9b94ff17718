#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The programs of hpdsl-recipes(7) that read chunks with other libraries, as they stand
# there, over a packed dataset, a staged one and, where there is /dev/fuse, the chunks of
# a compressed one as hpdsl-mount shows them: each sample once, with its bytes.
# bats file_tags=libraries

load ../kit/lib
load ../kit/mpi
load ../kit/serve
load ../kit/torch

setup_file()
{
	cd "$BATS_FILE_TMPDIR" || return 1
	"$python" - <<- 'END'
		import hashlib
		import os
		from PIL import Image

		with open("wanted", "w") as wanted:
		    for i in range(240):
		        name = f"{i % 10}/{i:03}"
		        os.makedirs(f"tree/{i % 10}", exist_ok=True)
		        Image.new("RGB", (32, 24), (i % 10 * 25, i, 0)).save(
		            f"tree/{name}.png")
		        with open(f"tree/{name}.png", "rb") as f:
		            print(name, hashlib.sha256(f.read()).hexdigest(), file=wanted)
	END
	sort -o wanted wanted
	hpdsl-pack -q --for=webdataset,dali,energon,wids --chunks=16 tree packed
	hpdsl-pack -q --zstd --chunks=16 tree small
	[ ! -x "$BUILD/hpdsl-stage" ] || hpdsl-stage -q packed staged
	mkdir mounted
}

setup()
{
	cd "$BATS_TEST_TMPDIR" || return 1
	from=$BATS_FILE_TMPDIR
	"$python" "$SRC/tests/kit/programs.py" "$SRC/man/hpdsl-recipes.7" . > names
	# seen(key, content): a line of what was read
	cat > seen.py <<- 'END'
		import hashlib

		def seen(key, content):
		    print(key, hashlib.sha256(content).hexdigest())
	END
	export HF_HUB_OFFLINE=1 HF_HOME=$PWD/hf RAY_USAGE_STATS_ENABLED=0
	rm -f packed
}

# every NAME PLACE..: the program gives all samples, wherever they lie.
every()
{
	local place at mount
	for place in "${@:2}"; do
		at=$from/$place mount=()
		[ -e "$at" ] || continue
		if [ "$place" = mounted ]; then
			[ -w /dev/fuse ] || continue
			mount=(hpdsl-mount --view=chunks "$from/small" "$at" --)
		fi
		ln -sfn "$at" packed
		"${mount[@]}" "$python" -W ignore "$1" > out 2> err ||
			{ echo "$place:"; cat err; return 1; }
		grep -E '^[0-9]/' out | sort | cmp - "$from/wanted" ||
			{ echo "$place"; cat err; head out; return 1; }
	done
}

@test "each of these programs is run" {
	grep -oE '^	+every [a-z_]+[.]py' "$BATS_TEST_FILENAME" | sed 's/.* //' |
		sort -u | diff <(sort names) -
}

# looked_at PROGRAM: of WebDataset's samples.
looked_at()
{
	sed -i '1s/^/from seen import seen\n/
		s/^    sample\["__key__"\], sample\["png"\].*/    seen(sample["__key__"], sample["png"])/' "$1"
}

@test "WebDataset" {
	looked_at read_webdataset.py
	every read_webdataset.py packed staged mounted
}

@test "WebDataset and tar, by the socket of a server that has a half" {
	need mpirun curl
	[ -x "$BUILD/hpdsl-serve" ] || skip "no hpdsl-serve"
	looked_at read_served.py
	halves "$from/packed"
	[ "$(find node0 -name 'chunk-*.tar' | wc -l)" -lt 16 ]
	export TMPDIR=$PWD
	for n in 0 1; do
		ln -sfn "$PWD/node$n" in
		every read_served.py packed
		sed -n '/^curl .*serve.sock/,/| tar t$/p' "$SRC/man/hpdsl-recipes.7" |
			sed 's/\\e/\\/' > served.sh
		bash -e -o pipefail served.sh |
			diff - <(tar tf "$from/packed/chunk-000007.tar")
	done
	no_halves
}

@test "wids" {
	# webdataset 1.0 has it no more
	local older
	older=$(dirname "$python")/../wids
	[ -d "$older" ] || skip "no wids"
	export PYTHONPATH=$older:$PYTHONPATH
	cat >> read_wids.py <<- 'END'
		from seen import seen
		for n in range(len(dataset)):
		    sample = dataset[n]
		    seen(sample["__key__"], sample[".png"].read())
	END
	sed -i 's/12345/123/' read_wids.py
	every read_wids.py packed staged
}

@test "Energon, with a task encoder and a cooker of one's own" {
	cat > mine.py <<- 'END'
		from megatron.energon import (Cooker, DefaultTaskEncoder, Sample,
		                              basic_sample_keys, edataclass, stateless)
		from seen import seen

		@edataclass
		class Picture(Sample):
		    png: bytes

		@stateless
		def cook(sample):
		    return Picture(**basic_sample_keys(sample), png=sample["png"])

		class MyTaskEncoder(DefaultTaskEncoder):
		    cookers = [Cooker(cook)]
		    decoder = None

		    def batch(self, samples):
		        return samples

		kept = {}

		def enough(batch):
		    kept.update((s.__key__.split("/", 1)[-1] if ".tar/" in s.__key__
		                 else s.__key__, s.png) for s in batch)
		    if len(kept) == 240:
		        for item in kept.items():
		            seen(*item)
		        raise SystemExit
	END
	sed -i '1s/^/from mine import MyTaskEncoder, enough\n/
		s/^    \.\.\.$/    enough(batch)/' read_energon.py
	every read_energon.py packed staged
}

@test "DALI's own reader, with the indexes, on a processor" {
	cat >> read_dali.py <<- 'END'
		import numpy as np
		from PIL import Image
		from seen import seen
		made = pipe()
		made.build()
		assert list(made.epoch_size().values()) == [240]
		got, = made.run()
		got = {got.at(k).tobytes() for k in range(256)}
		for name in glob(FROM + "/tree/*/*.png"):
		    of = np.asarray(Image.open(name).convert("RGB")).astype(int)
		    gray = int(of[0, 0] @ (0.299, 0.587, 0.114))
		    if any(bytes([v]) * 768 in got for v in range(max(0, gray - 2), gray + 3)):
		        seen(name.split("/tree/")[1][:-4], open(name, "rb").read())
	END
	sed -i "1s|^|FROM = '$from'\n|; s/device_id=0/device_id=None/
		s/device=\"mixed\"/device=\"cpu\"/" read_dali.py
	every read_dali.py packed staged
}

@test "Ray Data" {
	cat >> read_ray.py <<- 'END'
		import io
		import numpy as np
		from PIL import Image
		from seen import seen
		for row in data.iter_rows():    # it decodes them
		    with open(f"{FROM}/tree/{row['__key__']}.png", "rb") as f:
		        content = f.read()
		    if (np.asarray(Image.open(io.BytesIO(content))) == row["png"]).all():
		        seen(row["__key__"], content)
	END
	sed -i "1s|^|FROM = '$from'\n|" read_ray.py
	every read_ray.py packed staged
}

@test "datasets, streaming" {
	cat >> read_datasets.py <<- 'END'
		from seen import seen
		for row in data.cast_column("png", datasets.Image(decode=False)):
		    seen(row["__key__"], row["png"]["bytes"])
	END
	every read_datasets.py packed staged mounted
}
