# SPDX-License-Identifier: Apache-2.0
# For tests of hpdsl-serve: `load ../kit/serve` behind `load ../kit/lib`.
# shellcheck shell=bash

# has_port DIR: its server is there, for other nodes too.
has_port()
{
	hpdsl-serve --status --json "$1" 2> /dev/null | grep -q '"port": [1-9]'
}
