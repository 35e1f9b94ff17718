#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# hpdsl: its list is what there is, it runs commands and shows their pages, and
# three shells complete the command and what that takes.

bats_require_minimum_version 1.5.0
load ../kit/lib

# "pack<TAB>pack files, ..", as hpdsl lists them.
listed()
{
	hpdsl | sed -n 's/^  \([a-z]*\)  *\(.*\)$/\1\t\2/p'
}

# The words behind "help" that are no commands.
pages()
{
	hpdsl | tr '\n' ' ' | sed 's/.*manuals of \([a-z0-9., ]*\), too.*/\1/' |
		sed 's/, \| and /\n/g'
}

# "format hpdsl-format.5": the word and the file of each.
page_files()
{
	local word
	for word in $(pages); do
		case $word in
		format) echo "$word hpdsl-format.5" ;;
		hpdsl) echo "$word hpdsl.7" ;;
		libhpdsl) echo "$word libhpdsl.3" ;;
		order.7) echo "$word hpdsl-order.7" ;;
		*) echo "$word hpdsl-$word.7" ;;
		esac
	done
}

# There is a man here that says what it was called with.
fake_man()
{
	mkdir -p fake
	printf '#!/bin/sh\necho "$@"\n' > fake/man
	chmod +x fake/man
}

@test "the list: all programs, with what their pages say under NAME" {
	local page
	for page in "$SRC"/man/hpdsl-*.1; do
		sed -n 's/^\.Nm hpdsl-/&/; s/^\.Nm hpdsl-\([a-z]*\)$/\1/p
			s/^\.Nd //p' "$page" | head -n 2 | paste - -
	done | LC_ALL=C sort > want
	[ "$(wc -l < want)" -ge 10 ]
	# without MPI there is no hpdsl-stage
	listed | grep -v '(not installed here)$' | LC_ALL=C sort > got
	diff <(grep -f <(cut -f 1 got | sed 's/.*/^&\t/') want) got
	diff <(cut -f 1 want) <(listed | cut -f 1 | LC_ALL=C sort)
	find "$BUILD" -maxdepth 1 -name 'hpdsl-*' -type f -perm -u+x \
		-printf '%f\n' | sed 's/hpdsl-//' | LC_ALL=C sort > built
	diff built <(cut -f 1 got)
	diff <(cd "$SRC/cmd" && printf '%s\n' */hpdsl-*.c |
		sed 's/.*hpdsl-//; s/\.c$//' | LC_ALL=C sort) <(cut -f 1 want)
	diff <(hpdsl) <(hpdsl help)
}

@test "the list: one line each, also in --help and in hpdsl(7)" {
	hpdsl > list
	run ! grep -nE '^.{80}' list
	hpdsl --help | sed -n '/^  [a-z][a-z]* /p' | diff - <(grep '^  [a-z]' list)
	diff <(listed | cut -f 1 | LC_ALL=C sort) \
		<(sed -n '/^\.Ss Commands/,/^\.El/s/^\.It Xr hpdsl-\([a-z]*\) 1$/\1/p' \
			"$SRC/man/hpdsl.7" | LC_ALL=C sort)
}

@test "a command: its arguments, its output, its exit status" {
	make_tree tree 2 5
	hpdsl pack -q --chunks=2 --labels=dir tree out
	diff <(hpdsl ls -l out) <(hpdsl-ls -l out)
	# one after the other: a file has one writer at a time
	hpdsl snapshot create tree -o - 2>&1 | sed 's/[0-9.,]* s, .*//' > one
	hpdsl-snapshot create tree -o - 2>&1 |
		sed 's/[0-9.,]* s, .*//' | diff one -
	[ "$(hpdsl pack --version)" = "$(hpdsl-pack --version)" ]
	fails 2 "hpdsl-ls: unrecognized option '--no-such'" hpdsl ls --no-such
	fails 1 "no member 'absent'" hpdsl cat out absent
	printf 'one\n' > in.txt
	run -0 hpdsl ls --json out
	[ "$output" = "$(hpdsl-ls --json out)" ]
}

@test "a command: beside hpdsl before PATH, through a link, or told" {
	mkdir at other
	cp "$BUILD/hpdsl" at/
	ln -s ../at/hpdsl other/front
	printf '#!/bin/sh\necho beside "$@"\n' > at/hpdsl-pack
	printf '#!/bin/sh\necho path "$@"\n' > other/hpdsl-pack
	cp other/hpdsl-pack other/hpdsl-ls
	mkdir at/hpdsl-ls # no program
	chmod +x at/hpdsl-pack other/hpdsl-*
	PATH=$PWD/other:/usr/bin:/bin
	[ "$(other/front pack 'a b' -c)" = "beside a b -c" ]
	[ "$(at/hpdsl ls)" = "path" ]
	fails 3 "hpdsl-cat is not installed: it is neither in $PWD/at nor in PATH" \
		at/hpdsl cat out
	fails 3 "(it is made where MPI is)" at/hpdsl stage
	at/hpdsl | grep -q '^  cat       (not installed here)$'
	at/hpdsl | grep -q '^  pack      pack files'
	# a file that cannot be run
	printf '#!/no/such/shell\n' > at/hpdsl-cat
	chmod +x at/hpdsl-cat
	fails 3 "$PWD/at/hpdsl-cat: No such file or directory" at/hpdsl cat
	# nobody means a command in the current folder
	cd other
	PATH=:/usr/bin:/bin: fails 3 "hpdsl-ls is not installed" ../at/hpdsl ls
}

@test "no such command: exit 2, the nearest name" {
	fails 2 "hpdsl: there is no command 'pakc'; the nearest is 'pack'" hpdsl pakc
	fails 2 "'unpak'; the nearest is 'unpack'" hpdsl unpak out
	fails 2 "'snap'; the nearest is 'snapshot'" hpdsl snap
	fails 2 "'hpdsl-verfy'; the nearest is 'verify'" hpdsl hpdsl-verfy
	fails 2 "'recipe'; the nearest is 'recipes'" hpdsl help recipe
	fails 2 "there is no command 'frobnicate'" hpdsl frobnicate
	[[ $message != *nearest* ]]
	fails 2 "there is no command 'python'" hpdsl python
	fails 2 "there is no command ''" hpdsl ''
	fails 2 "one COMMAND, not also 'ls'" hpdsl help pack ls
	fails 2 "there is no command" hpdsl "$(printf 'x%.0s' {1..5000})"
	# the two lines of every command
	[ "$(hpdsl pakc 2>&1 | tail -n 1)" = \
		"Try \`hpdsl --help' or \`hpdsl --usage' for more information." ]
}

@test "help: the page of the source tree, or as installed, or man's own" {
	local word page at
	fake_man
	PATH=$PWD/fake:$PATH
	while read -r word page; do
		at=$(hpdsl help "$word")
		[[ $at = "-l "*"/man/$page" ]]
		[ "${at#-l }" -ef "$SRC/man/$page" ]
	done < <(listed | sed 's/\([a-z]*\)\t.*/\1 hpdsl-\1.1/'; page_files)
	# every page but that of hpdsl itself
	diff <({ listed | sed 's/\([a-z]*\)\t.*/hpdsl-\1.1/'
		page_files | cut -d ' ' -f 2; echo hpdsl.1; } | LC_ALL=C sort) \
		<(cd "$SRC/man" && printf '%s\n' *.[1-9] | LC_ALL=C sort)
	mkdir -p root/bin root/share/man/man1
	cp "$BUILD/hpdsl" root/bin
	[ "$(root/bin/hpdsl help pack)" = "1 hpdsl-pack" ]
	[ "$(root/bin/hpdsl help order.7)" = "7 hpdsl-order" ]
	[ "$(root/bin/hpdsl help libhpdsl)" = "3 libhpdsl" ]
	touch root/share/man/man1/hpdsl-pack.1.gz
	[ "$(root/bin/hpdsl help pack)" = \
		"-l $PWD/root/bin/../share/man/man1/hpdsl-pack.1.gz" ]
	touch root/share/man/man1/hpdsl-pack.1
	[ "$(root/bin/hpdsl help pack)" = \
		"-l $PWD/root/bin/../share/man/man1/hpdsl-pack.1" ]
	printf '#!/bin/sh\nexit 16\n' > fake/man
	run -16 hpdsl help pack
	fails 3 "man: No such file or directory; the page is $PWD/root/bin/../share/man/man1/hpdsl-pack.1" \
		env PATH="$PWD/none" root/bin/hpdsl help pack
	fails 3 "hpdsl-ls(1) is not installed with this program" \
		env PATH="$PWD/none" root/bin/hpdsl help ls
}

@test "help: what a person sees" {
	need man
	MANPAGER=cat MANWIDTH=80 hpdsl help pack > seen 2> err || {
		cat err
		skip "man shows no page of a file"
	}
	sed 's/.\x08//g' seen | grep -q 'hpdsl-pack .* pack files, from trees'
}

# bash_words LINE: what bash completes of it, a word each.
bash_words()
{
	bash --norc -c '
		compopt() { :; }
		source "$1/hpdsl" || exit
		read -ra COMP_WORDS <<< "$2"
		[[ $2 != *" " ]] || COMP_WORDS+=("")
		COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
		_hpdsl hpdsl "${COMP_WORDS[COMP_CWORD]}"
		printf "%s\n" "${COMPREPLY[@]}"
	' bash "$SRC/completions/bash" "$1" | LC_ALL=C sort
}

commands()
{
	listed | cut -f 1
}

@test "bash: commands, pages, and what a command completes" {
	: > afile
	diff <(bash_words "hpdsl ") <({ commands; echo help; } | LC_ALL=C sort)
	diff <(bash_words "hpdsl help ") \
		<({ commands; pages; } | LC_ALL=C sort)
	[ "$(bash_words "hpdsl un")" = unpack ]
	[ "$(bash_words "hpdsl --v")" = --version ]
	[ "$(bash_words "hpdsl pack --gro")" = --group= ]
	[ "$(bash_words "hpdsl pack --group = k")" = key ]
	[ "$(bash_words "hpdsl pack afi")" = afile ]
	[ "$(bash_words "hpdsl snapshot du --max")" = --max-depth= ]
	[ -z "$(bash_words "hpdsl nothing --x")" ]
	[ -z "$(bash_words "hpdsl help pack x")" ]
}

@test "zsh: the commands, and it hands on" {
	need zsh
	local file=$SRC/completions/zsh/_hpdsl
	zsh -n "$file"
	diff <(grep -oE '[a-z]+\\:' "$file" | tr -d '\\:' | LC_ALL=C sort) \
		<({ commands; echo help; } | LC_ALL=C sort)
	diff <(sed -n '/1:page:/,/)/p' "$file" | grep -oE '[a-z][a-z.0-9]*' |
		grep -vx -e arguments -e page | LC_ALL=C sort) \
		<({ commands; pages; } | LC_ALL=C sort)
	cat > session <<- 'END'
		zmodload zsh/zpty || exit 9
		zpty z zsh -f
		zpty -w z 'PS1=; fpath=($SRC/completions/zsh $fpath); autoload -Uz compinit; compinit -u -D; bindkey "^I" complete-word; echo rea""dy'
		zpty -r z line '*ready*' || exit 9
		zpty -w -n z $'hpdsl pack --gro\t; echo do""ne\n'
		zpty -r z line '*done*'
		print -r -- "$line"
		zpty -d z
	END
	status=0
	timeout 600 zsh -f session > seen || status=$?
	[ "$status" != 9 ] || skip "no zsh/zpty"
	cat -v seen
	grep -q -e '--group' seen
}

@test "fish: commands, pages, and what a command completes" {
	need fish
	mkdir -p home/.config/fish
	ln -s "$SRC/completions/fish" home/.config/fish/completions
	fish_words()
	{
		HOME=$PWD/home XDG_CONFIG_HOME='' fish -c "complete -C '$1'" |
			cut -f 1 | sed 's/=$//' | LC_ALL=C sort
	}
	: > afile
	diff <(fish_words "hpdsl ") <({ commands; echo help; } | LC_ALL=C sort)
	diff <(fish_words "hpdsl help ") <({ commands; pages; } | LC_ALL=C sort)
	[ "$(fish_words "hpdsl pack --gro")" = --group ]
	[ "$(fish_words "hpdsl pack afi")" = afile ]
	[ "$(fish_words "hpdsl snapshot du --max")" = --max-depth ]
}
