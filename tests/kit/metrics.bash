# SPDX-License-Identifier: Apache-2.0
# For tests of metrics: `load ../kit/metrics` behind `load ../kit/lib`.
# shellcheck shell=bash

# families FILE..: "NAME TYPE" of each, once.
families()
{
	sed -n 's/^# TYPE //p' "$@" | LC_ALL=C sort -u
}

# page_families PART: the same, as hpdsl-metrics(7) has them.
page_families()
{
	sed -n "/^\.\\\\\" FAMILIES $1\$/,/^\.El\$/s/^\.It Li //p" \
		"$SRC/man/hpdsl-metrics.7" |
		awk '{ print $1, /_total$/ ? "counter" : "gauge" }' |
		LC_ALL=C sort
}

# value NAME FILE..: of the first line of it.
value()
{
	local name=$1
	shift
	sed -n "s/^$name{.*} //p" "$@" | head -n 1
}

# is_more N NAME FILE: it counts more than that; no process is begun for it.
is_more()
{
	local line
	while read -r line; do
		[[ $line != "$2{"* || ${line##* } -le $1 ]] || return 0
	done < "$3"
	return 1
}

# until_more N NAME FILE: it was written again.
until_more()
{
	until_true is_more "$@"
}

# checked DIR PART: the files of a part are what the page says, and what promtool
# takes, where there is one.
checked()
{
	local file
	diff <(page_families "$2") <(families "$1"/hpdsl-"$2".*.prom)
	[ -n "$(page_families "$2")" ]
	for file in "$1"/hpdsl-"$2".*.prom; do
		grep -q "^# HELP .*[a-z]$" "$file"
		! command -v promtool > /dev/null ||
			promtool check metrics < "$file"
	done
}

exports_or_ended()
{
	curl -s -o /dev/null "http://$exporter" ||
		! kill -0 "$exporter_pid" 2> /dev/null
}

# exporter DIR: a node_exporter of that folder alone, at http://$exporter.
exporter()
{
	local i port
	for ((i = 0; i < 10; i++)); do
		port=$(python3 -c 'import socket
s = socket.socket()
s.bind(("127.0.0.1", 0))
print(s.getsockname()[1])')
		prometheus-node-exporter --collector.disable-defaults \
			--collector.textfile \
			--collector.textfile.directory="$1" \
			--web.listen-address="127.0.0.1:$port" \
			2> exporter.log 3>&- &
		exporter_pid=$!
		exporter=127.0.0.1:$port
		until_true exports_or_ended
		! kill -0 "$exporter_pid" 2> /dev/null || return 0
	done
	cat exporter.log
	return 1
}

# exported: what it gives of ours, all that it should: "NAME TYPE", and no errors.
exported()
{
	curl -sf "http://$exporter/metrics" > scraped
	grep -qx 'node_textfile_scrape_error 0' scraped
	grep -x 'node_scrape_collector_success{collector="textfile"} 1' scraped
	! grep -i 'level=err' exporter.log
	families scraped | grep ^hpdsl_ > given
}

# same_as JSON OBJECT PART FILE: what the file shows is in the object, an
# expression on the document d, under the keys that the names are of.  Prints
# those that it has not, and what else it has.
same_as()
{
	python3 - "$@" <<- 'END'
		import json, re, sys
		d = json.load(open(sys.argv[1]))
		said = dict(eval(sys.argv[2]))
		part = sys.argv[3]
		rows = [re.fullmatch(rf"hpdsl_{part}_(\w+){{.*}} (.*)\n", line)
		        for line in open(sys.argv[4]) if line[0] != "#"]
		for name, value in (row.groups() for row in rows):
		    name = re.sub("_total$", "", name)
		    key = name if name in said else re.sub("_bytes$", "", name)
		    if key not in said:
		        print("no", key)
		        continue
		    same = abs(float(said.pop(key)) - float(value)) < 2e-3
		    # time goes on between the two
		    assert same or key == "seconds", (key, value)
		print(*sorted(said))
	END
}
