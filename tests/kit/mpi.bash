# SPDX-License-Identifier: Apache-2.0
# For tests of hpdsl-stage: `load ../kit/mpi` behind `load ../kit/lib`.  MPIRUN is
# the launcher of the MPI that hpdsl-stage was built with; mpirun.mpich with
# mpicc.mpich.
# shellcheck shell=bash

: "${MPICC:=mpicc}"
: "${MPIRUN:=${MPICC%mpicc*}mpirun${MPICC##*mpicc}}"
export MPIRUN
# with faults, gates and a clock of tests: tests/bed/faults.c
STAGE_FAULTS=$BUILD/tests/bed/hpdsl-stage
# More ranks than cores, and root in a container, are what tests are run with.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_MCA_rmaps_base_oversubscribe=1
# What the launcher asks for its own, and no test of ours.
export OMPI_MCA_btl_base_warn_component_unused=0

need_mpi()
{
	[ -x "$BUILD/hpdsl-stage" ] ||
		skip "hpdsl-stage was not built: no MPI compiler"
	need "$MPIRUN"
}

# A folder of its own for what the launcher leaves when it is killed.
setup()
{
	need_mpi
	cd "$BATS_TEST_TMPDIR" || return 1
	mkdir -p tmp
	export TMPDIR=$BATS_TEST_TMPDIR/tmp
	export OMPI_MCA_btl_vader_backing_directory=$TMPDIR
	# shellcheck disable=SC2034
	from=$BATS_FILE_TMPDIR
	! declare -F begin > /dev/null || begin
}

# Open MPI takes its ten lines about a rank's exit status for help.
launch()
{
	local quiet=()
	case $("$MPIRUN" --version 2>&1) in
	*"Open MPI"* | *OpenRTE*) quiet=(-q --oversubscribe) ;;
	esac
	timeout -k 5 "${STAGE_LIMIT:-600}" "$MPIRUN" "${quiet[@]}" "$@" < /dev/null
}

# stage RANKS ARG..: hpdsl-stage under the launcher, of this name or $STAGE.
stage()
{
	local ranks=$1
	shift
	launch -n "$ranks" "${STAGE:-hpdsl-stage}" "$@"
}

# stage_each "CAPACITY.." ARG..: a rank for each capacity, - for the default.
stage_each()
{
	local capacities=$1 line=() c
	shift
	for c in $capacities; do
		[ ${#line[@]} = 0 ] || line+=(:)
		line+=(-n 1 "${STAGE:-hpdsl-stage}")
		[ "$c" = - ] || line+=("--capacity=$c")
		line+=("$@")
	done
	launch "${line[@]}"
}

# at_gate FAULT RANKS ARG..: a stager in the background, pid $stager, stands still
# at this place of tests/bed/faults.c until `rm gate`.  What it says is in `said`.
at_gate()
{
	rm -f gate clock.runs
	in_our_time "$1,wait=$PWD/gate" "${@:2}"
	until_true is_at_gate
	[ -e gate ] || { echo "it never came to $1"; cat said; return 1; }
}

# is_at_gate: or has ended.
is_at_gate()
{
	[ -e gate ] || [ ! -e "/proc/$stager" ]
}

# in_our_time FAULT RANKS ARG..: a stager in the background, pid $stager, whose time
# is that of tests/bed/faults_clock.c from `time_runs` on.
in_our_time()
{
	[ -x "$STAGE_FAULTS" ] || skip "no $STAGE_FAULTS"
	: > clock
	HPDSL_FAULT=$1 HPDSL_FAULT_CLOCK=$PWD/clock STAGE=${STAGE:-$STAGE_FAULTS} \
		stage "${@:2}" 2> said 3>&- &
	stager=$!
}

# time_stands: with --rate a stager then reads what that allows at once, and no more.
time_stands()
{
	time_runs -1
}

# time_runs [PID..]: as fast as all but these can follow.
time_runs()
{
	echo "$@" > clock.new
	mv clock.new clock.runs
}

check_stage()
{
	python3 "$SRC/tests/kit/stage_check.py" "$@"
}

# nodes PREFIX N: PREFIX0 PREFIX1 ..
nodes()
{
	local n
	for ((n = 0; n < $2; n++)); do
		printf '%s%d ' "$1" "$n"
	done
}

# flip FILE OFFSET: another byte there.
flip()
{
	local was
	was=$(od -An -tu1 -j "$2" -N 1 "$1")
	printf '%b' "\\0$(printf %o $((was ^ 90)))" |
		dd of="$1" bs=1 seek="$2" conv=notrunc status=none
}

# launcher_of PID: the launcher that `stage ... &` runs, whatever is between.
launcher_of()
{
	local pid=$1
	while :; do
		case $(cat "/proc/$pid/comm" 2> /dev/null) in
		bash | timeout) ;;
		*) break ;;
		esac
		pid=$(pgrep -P "$pid" | head -n 1)
	done
	echo "$pid"
}

# stop_job PID: ends what `stage ... &` runs.
stop_job()
{
	kill -TERM "$(launcher_of "$1")"
	wait "$1" || :
}

# ranks_of PID: processes of hpdsl-stage below a launcher, by their rank.
ranks_of()
{
	local pid
	for pid in $(pgrep -P "$1" 2> /dev/null); do
		if [ "$(cat "/proc/$pid/comm" 2> /dev/null)" = hpdsl-stage ]; then
			echo "$(rank_of "$pid") $pid"
		else
			ranks_of "$pid"
		fi
	done | sort -n
}

rank_of()
{
	tr '\0' '\n' 2> /dev/null < "/proc/$1/environ" |
		sed -n 's/^\(OMPI_COMM_WORLD_RANK\|PMI_RANK\)=//p' | head -n 1
}

# sees PID: a process begun by it has the state of a stage directory open, or it has
# ended.
sees()
{
	local pid
	[ -e "/proc/$1" ] || return 0
	find "/proc/$1/fd" -lname '*/stage.hpdsl' 2> /dev/null | grep -q . &&
		return
	for pid in $(pgrep -P "$1"); do
		! sees "$pid" || return 0
	done
	false
}

# begun DIR: the first chunk is being written there, or is there.
begun()
{
	compgen -G "$1/*.tar*" > /dev/null || compgen -G "$1/.*.part" > /dev/null
}

# chunks_in DIR: how many are there.
chunks_in()
{
	find "$1" -name '*.tar*' ! -name '.*' 2> /dev/null | wc -l
}

chunks_at_least()
{
	[ "$(chunks_in "$1")" -ge "$2" ]
}
