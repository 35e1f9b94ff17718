#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# What is wrong with arguments has the same words in all commands: the reason,
# and where the help is.

load ../kit/lib

# wrong TEXT COMMAND..: one line that says just TEXT, and argp's.
wrong()
{
	local text=$1 name=$2
	shift
	case $name:$2 in
	hpdsl-snapshot:[a-z]*) name+=" $2" ;;
	esac
	fails 2 "$text" "$@" < /dev/null || return
	[ "${message%%$'\n'*}" = "$name: $text" ] || { echo "$message"; return 1; }
	# argp breaks a line that is long
	message=${message#*$'\n'}
	[ "${message//$'\n'/ }" = "Try \`$name --help' or \`$name --usage' for more information." ]
}

@test "what is missing" {
	wrong "PATH is missing" hpdsl-info
	wrong "INPUT is missing" hpdsl-pack
	wrong "OUTPUT is missing" hpdsl-pack in
	wrong "OUTPUT is missing" hpdsl-pack --files-from=list
	wrong "DATASET is missing" hpdsl-verify
	wrong "DATASET is missing" hpdsl-verify --compat=all
	wrong "DATASET is missing" hpdsl-ls
	wrong "DATASET is missing" hpdsl-cat
	wrong "PATH, --sample, --member or --files-from is missing" hpdsl-cat ds
	wrong "DATASET is missing" hpdsl-unpack
	wrong "OUTPUT is missing" hpdsl-unpack ds
	wrong "DIR or TAR is missing" hpdsl-index
	wrong "DATASET is missing" hpdsl-order
	wrong "DATASET is missing" hpdsl-bench
	wrong "COMMAND is missing" hpdsl-snapshot
	wrong "SOURCE is missing" hpdsl-snapshot create -o snap
	wrong "-o FILE is missing" hpdsl-snapshot create tree
	wrong "SOURCE is missing" hpdsl-snapshot check snap
	wrong "B is missing" hpdsl-snapshot diff a
	wrong "FILE is missing" hpdsl-snapshot ls
	wrong "FILE is missing" hpdsl-snapshot dump
	wrong "TEXT is missing" hpdsl-snapshot load -o snap
}

@test "what is too much" {
	mkdir dir other
	wrong "one INPUT, not also 'b'" hpdsl-pack --files-from=list a b out
	wrong "one INPUT, not also 'b'" hpdsl-pack --from-snapshot=snap a b out
	wrong "one DATASET, not also 'b'" hpdsl-verify a b
	wrong "one DATASET, not also 'b'" hpdsl-order a b
	wrong "one DATASET, not also 'b'" hpdsl-bench a b
	wrong "one DIR, not also 'b'" hpdsl-index dir b
	wrong "one DIR, not also 'other'" hpdsl-index dir other
	wrong "TAR files, not also 'dir'" hpdsl-info a.tar dir
	wrong "TAR files, not also the directory 'dir'" hpdsl-index a.tar dir
	wrong "one SOURCE, not also 'b'" hpdsl-snapshot create -o snap a b
	wrong "one SOURCE, not also 'c'" hpdsl-snapshot check a b c
	wrong "one B, not also 'c'" hpdsl-snapshot diff a b c
	wrong "one FILE, not also 'b'" hpdsl-snapshot dump a b
	wrong "one FILE, not also 'b'" hpdsl-snapshot verify a b
	wrong "one TEXT, not also 'b'" hpdsl-snapshot load -o snap a b
}

@test "hpdsl-stage: what is missing or too much" {
	[ -x "$BUILD/hpdsl-stage" ] || skip "no hpdsl-stage"
	wrong "DATASET is missing" hpdsl-stage
	wrong "LOCALDIR is missing" hpdsl-stage ds
	wrong "LOCALDIR is missing" hpdsl-stage --status
	wrong "DATASET is missing" hpdsl-stage --plan
	wrong "one LOCALDIR, not also 'c'" hpdsl-stage a b c
	wrong "one LOCALDIR, not also 'b'" hpdsl-stage --clean a b
}

@test "hpdsl-serve: what is missing, too much, or does not go together" {
	[ -x "$BUILD/hpdsl-serve" ] || skip "no hpdsl-serve"
	wrong "LOCALDIR is missing" hpdsl-serve
	wrong "LOCALDIR is missing" hpdsl-serve --status
	wrong "one LOCALDIR, not also 'b'" hpdsl-serve a b
	wrong "--status and --stop exclude each other" \
		hpdsl-serve --status --stop a
	wrong "--json goes with --status or --probe" hpdsl-serve --json a
	wrong "--stop and --probe exclude each other" \
		hpdsl-serve --stop --probe a
	wrong "--probe goes with --quiet and --json alone" \
		hpdsl-serve --probe --no-tcp a
	wrong "--stop goes with --quiet alone" hpdsl-serve --stop --detach a
	wrong "--status goes with --quiet and --json alone" \
		hpdsl-serve --status --report=r a
	wrong "--deadline: 'x' is neither seconds nor [D-]HH:MM:SS" \
		hpdsl-serve --deadline=x a
	wrong "--idle goes with --detach" hpdsl-serve --idle=5 a
	wrong "--idle: '10m' is neither seconds nor [D-]HH:MM:SS" \
		hpdsl-serve --detach --idle=10m a
}

@test "what does not go together" {
	wrong "--null goes with --files-from" hpdsl-pack -0 in out
	wrong "--null goes with --files-from" hpdsl-cat -0 ds x
	wrong "--null goes with --files-from" hpdsl-unpack -0 ds out
	wrong "--from-snapshot does not go with --files-from" \
		hpdsl-pack --from-snapshot=s --files-from=l in out
	wrong "--json does not go with -0" hpdsl-snapshot diff -0 --json a b
}

@test "options: a value that is none, words of no option" {
	wrong "--group: 'x' is not key, last or none" hpdsl-pack --group=x in out
	wrong "--shard-size: '7y' is no size such as 1000000 or 64M" \
		hpdsl-pack --shard-size=7y in out
	wrong "--shard-size: '64MB' is no size such as 1000000 or 64M" \
		hpdsl-pack --shard-size=64MB in out
	wrong "--memory-cache: '2Gi' is no size such as 64M" \
		hpdsl-serve --memory-cache=2Gi a
	wrong "unrecognized option '--no-such'" hpdsl-ls --no-such
}

# No command has another way to say it.
@test "no other words for it in the sources" {
	run grep -rnE '"[^"]*(are missing|are needed|more than one [A-Z]|[^_]try .hpdsl-)' \
		"$SRC/cmd" --include='*.c'
	echo "$output"
	[ -z "$output" ] || [ "$(grep -vc 'dataset.yaml and' <<< "$output")" = 0 ]
}
