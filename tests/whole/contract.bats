#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# What holds for every command, and every one that a command has: help, version,
# usage errors, and that each option is told in the manual page and completed in
# three shells.
# bats file_tags=quick

load ../kit/lib

commands()
{
	find -L "$BUILD" -maxdepth 1 \( -name 'hpdsl-*' -o -name hpdsl \) -type f \
		-perm -u+x -printf '%f\n' | LC_ALL=C sort
}

# Those that a command has, as its --help lists them.
subcommands()
{
	"$1" --help | sed -n '/^Commands:$/,$s/^  \([a-z][a-z]*\) .*/\1/p'
}

# "hpdsl-pack", "hpdsl-snapshot", "hpdsl-snapshot ls" and so on.
all_commands()
{
	local command
	for command in $(commands); do
		echo "$command"
		subcommands "$command" | sed "s/^/$command /"
	done
}

# run_as COMMAND ARGUMENT..: COMMAND may be two words.
run_as()
{
	local words
	read -ra words <<< "$1"
	shift
	"${words[@]}" "$@"
}

# Runs a check for every command; says for which it failed.
each()
{
	local bad=0 command count=0 list
	mapfile -t list < <(all_commands)
	for command in "${list[@]}"; do
		count=$((count + 1))
		if ! "$@" "$command"; then
			echo "^ $command: $*"
			bad=1
		fi
	done
	[ "$count" -gt 0 ] || { echo "no commands in $BUILD"; return 1; }
	return "$bad"
}

# All but --usage, which argp has by itself, a shorter --help; not those of the
# commands that a command has.
long_options()
{
	run_as "$1" --help | sed '/^Commands:$/,$d' | grep -oE '(^|[ ,])--[a-z][a-z0-9-]*' | tr -d ' ,' |
		grep -vxe --usage | LC_ALL=C sort -u
}

# What is in the first list (stdin) and not in the file: printed, a failure.
all_in()
{
	! LC_ALL=C comm -23 - <(LC_ALL=C sort -u "$1") | grep .
}

help_is_right()
{
	run_as "$1" --help > out 2> err || return 1
	[ ! -s err ] || return 1
	grep -q "$1" out || return 1
	grep -qe --help out && grep -qe --version out || return 1
	! grep -nE '^.{81}' out
}

version_is_right()
{
	local version
	version=$(sed -n 's/^#define HPDSL_VERSION "\(.*\)"/\1/p' \
		"$SRC/lib/hpdsl.h")
	[ "$(run_as "$1" --version 2> err)" = "${1%% *} $version" ] && [ ! -s err ]
}

unknown_option_is_usage()
{
	fails 2 "$1: " run_as "$1" --no-such-option &&
		[[ $message = *no-such-option* ]]
}

# hpdsl lists the others: see hpdsl.bats.
no_arguments_is_usage()
{
	[ "$1" != hpdsl ] || return 0
	fails 2 "$1: " run_as "$1" < /dev/null
}

full_disk_is_trouble()
{
	local status=0
	run_as "$1" --help > /dev/full 2> err || status=$?
	[ "$status" = 3 ] && grep -q "^${1%% *}: " err
}

# A page's text; of "hpdsl-snapshot ls" no more than its own part, and what is
# said of several.
page_text()
{
	local page=$SRC/man/${1%% *}.1 sub=${1#* }
	[ -f "$page" ] || { echo "no $page"; return 1; }
	mandoc -T ascii "$page" | sed 's/.\x08//g' > text
	[ "$sub" != "$1" ] || { cat text; return; }
	sed -n "/^   Options of several/,/^[^ ]/p; /^   $sub\$/,/^   [^ ]\|^[^ ]/p" \
		text
	# "those of another command" is said there
	grep -q "^   $sub\$" text
}

page_has_options()
{
	page_text "$1" > whole || { cat whole; return 1; }
	< whole grep -oE -e '--[a-z][a-z0-9-]*' > page
	long_options "$1" | all_in page
}

# The other way round: the page tells of no option that is not there.
page_invents_none()
{
	local sub
	[[ $1 != *" "* ]] || return 0
	page_text "$1" | grep -oE -e '^ {5,8}(-[a-zA-Z0-9], )?--[a-z][a-z0-9-]*' |
		grep -oE -e '--.*' | grep -vxe --usage |
		LC_ALL=C sort -u > page
	{
		long_options "$1"
		for sub in $(subcommands "$1"); do
			long_options "$1 $sub"
		done
	} > options
	all_in options < page
}

bash_completes()
{
	local file=$SRC/completions/bash/${1%% *}
	bash --norc -c '
		source "$1" || exit
		f=$(complete -p "${2%% *}" | sed "s/.*-F \([^ ]*\).*/\1/")
		COMP_WORDS=($2 --) COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
		COMP_LINE="$2 --" COMP_POINT=${#COMP_LINE}
		"$f" "${2%% *}" -- "${COMP_WORDS[COMP_CWORD - 1]}"
		printf "%s\n" "${COMPREPLY[@]}"
	' bash "$file" "$1" | sed 's/[= ]*$//' > words
	long_options "$1" | all_in words
}

# Values that are files or folders: found, and quoted by bash.
bash_completes_files()
{
	local option bad=0
	mkdir -p "a folder"
	for option in $(long_options "$1" |
		grep -xe --files-from -e --config -e --source -e --output \
			-e --since -e --newer -e --order-from \
			-e --rates-from -e --report); do
		bash --norc -c '
			compopt() { echo "$*"; }
			source "$1" || exit
			f=$(complete -p "${2%% *}" | sed "s/.*-F \([^ ]*\).*/\1/")
			COMP_WORDS=($2 "$3" = "a f")
			COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
			"$f" "${2%% *}" "a f" =
			printf "%s\n" "${COMPREPLY[@]}"
		' bash "$SRC/completions/bash/${1%% *}" "$1" "$option" > words
		if ! grep -qx "a folder" words || ! grep -q filenames words; then
			echo "$option"
			bad=1
		fi
	done
	return "$bad"
}

zsh_completes()
{
	local file=$SRC/completions/zsh/_${1%% *}
	zsh -n "$file" || return 1
	# what is before the choice is for all
	{
		sed '/^case /,$d' "$file"
		[[ $1 != *" "* ]] || sed -n "/^${1#* })/,/;;/p" "$file"
	} | grep -oE -e '--[a-z][a-z0-9-]*' > words
	long_options "$1" | all_in words
}

fish_completes()
{
	local file=$SRC/completions/fish/${1%% *}.fish
	HOME=$PWD fish --no-config -c "
		source $file
		complete -C '$1 --'" | cut -f 1 | sed 's/=$//' > words
	long_options "$1" | all_in words
}

# The names of the commands that a command has, in three shells.
completes_commands()
{
	local bad=0 names
	[[ $1 != *" "* ]] || return 0
	names=$(subcommands "$1")
	[ -n "$names" ] || return 0
	bash --norc -c '
		source "$1" || exit
		f=$(complete -p "$2" | sed "s/.*-F \([^ ]*\).*/\1/")
		COMP_WORDS=("$2" "") COMP_CWORD=1
		"$f" "$2" "" "$2"
		printf "%s\n" "${COMPREPLY[@]}"
	' bash "$SRC/completions/bash/$1" "$1" > words
	LC_ALL=C sort -u <<< "$names" | all_in words || bad=1
	grep -oE '[a-z]+\\:' "$SRC/completions/zsh/_$1" | tr -d '\\:' > words
	LC_ALL=C sort -u <<< "$names" | all_in words || bad=1
	command -v fish > /dev/null || return "$bad"
	HOME=$PWD fish --no-config -c "
		source $SRC/completions/fish/$1.fish
		complete -C '$1 '" | cut -f 1 > words
	LC_ALL=C sort -u <<< "$names" | all_in words || bad=1
	return "$bad"
}

@test "--help: stdout, 80 columns, exit 0" {
	each help_is_right
}

@test "--version: name and version of the library" {
	each version_is_right
}

@test "an unknown option: exit 2, one line on stderr" {
	each unknown_option_is_usage
}

@test "no arguments: exit 2" {
	each no_arguments_is_usage
}

@test "--help to a full disk: exit 3" {
	each full_disk_is_trouble
}

# Whoever execs a program names it, and at any length.
long_name_is_cut()
{
	local name status=0 words
	name=$(printf 'x%.0s' {1..9000})
	read -ra words <<< "$1"
	(exec -a "$name" "$BUILD/${words[0]}" "${words[@]:1}" absent absent) \
		> out 2> err || status=$?
	[ "$status" -gt 0 ] && [ "$status" -lt 128 ] && grep -q '^xxx' err
}

@test "a name of 9000 bytes: no crash" {
	each long_name_is_cut
}

@test "every option is in the manual page" {
	need mandoc
	each page_has_options
}

@test "the manual page has no option that is not there" {
	need mandoc
	each page_invents_none
}

@test "every option is completed by bash" {
	each bash_completes
}

@test "names of files are completed by bash" {
	each bash_completes_files
}

@test "every option is completed by zsh" {
	need zsh
	each zsh_completes
}

@test "every option is completed by fish" {
	need fish
	each fish_completes
}

@test "the names of commands are completed" {
	each completes_commands
}
