/* SPDX-License-Identifier: Apache-2.0 */
/* hpdsl-stall's guard on another node: what is known by a beat alone.  A clock
 * and a file of its own. */
#include <stdint.h>
#include <time.h>

static int the_clock(clockid_t which, struct timespec *ret);
static int the_sleep(const struct timespec *takes, struct timespec *left);
static int the_end(int signal);

#define clock_gettime the_clock
#define nanosleep the_sleep
#define raise the_end
#include "cmd/stall/preload/guard/beat.c"
#undef clock_gettime
#undef nanosleep
#undef raise

#include "tmp.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static struct guard_beat beat;
static char folder[TMP_NAME];
static uint64_t ms, beats_from, beats_until, hangs_from, hangs_until, latency;
static unsigned looks, hung, ends, error, root;
static bool over, flickers;
static jmp_buf ended;

/* ---- What beat.c has of others ---------------------------------------- */

static int the_clock(clockid_t which, struct timespec *ret)
{
	(void)which;
	*ret = (struct timespec){ .tv_sec = (time_t)(ms / 1000),
				  .tv_nsec = (long)(ms % 1000) * 1000000 };
	return 0;
}

static int the_sleep(const struct timespec *takes, struct timespec *left)
{
	(void)left;
	ms += (uint64_t)takes->tv_nsec / 1000000;
	return 0;
}

static int the_end(int signal)
{
	assert_int_equal(signal, SIGKILL);
	ends++;
	longjmp(ended, 1);
}

bool guard_on(void)
{
	return true;
}

const char *guard_folder(void)
{
	return folder;
}

struct guard_beat *guard_beat(void)
{
	return &beat;
}

/* One a second, while it lives. */
static void write_beat(void)
{
	uint64_t at = ms < beats_until ? ms : beats_until;
	char name[TMP_NAME + 8];
	FILE *f;

	snprintf(name, sizeof(name), "%s/beat", folder);
	f = fopen(name, "w");
	assert_non_null(f);
	fprintf(f, "beat %d\nplay 1 2 3\n%s",
		(int)((at - beats_from) / 1000) + 1, over ? "over 1\n" : "");
	fclose(f);
}

bool guard_leaves(const char *path)
{
	return strncmp(path, "/cache/", 7) == 0;
}

bool guard_stat(int dir, const char *path, bool follow, struct guard_file *ret)
{
	assert_int_equal(dir, AT_FDCWD);
	assert_string_equal(path, "/");
	assert_true(follow);
	*ret = (struct guard_file){ .dev = 1, .ino = root };
	return true;
}

void guard_path(int dir, const char *path, bool follow, char *ret)
{
	assert_int_equal(dir, AT_FDCWD);
	assert_string_equal(path, ".");
	assert_true(follow);
	strcpy(ret, "/cache");
}

void guard_path_fd(int fd, char *ret)
{
	assert_int_equal(fd, 7);
	strcpy(ret, "/results");
}

int guard_raw_open(int dir, const char *path, int flags, mode_t mode)
{
	if (flickers)
		error = looks % 2 ? 0 : ESTALE;
	looks++;
	ms += latency;
	if (error) {
		errno = (int)error;
		return -1;
	}
	/* It answers when it is back, with what was there before. */
	if (ms >= hangs_from && ms < hangs_until) {
		ms = hangs_until;
		hung++;
	} else {
		write_beat();
	}
	ms += latency;
	return openat(dir, path, flags, mode);
}

void guard_raw_close(int fd)
{
	close(fd);
}

/* ---- Cases ------------------------------------------------------------ */

static void begin(void)
{
	memset(&beat, 0, sizeof(beat));
	ms = beats_from = 1000000;
	beats_until = UINT64_MAX;
	hangs_from = hangs_until = latency = last = 0;
	looks = hung = ends = error = root = 0;
	over = flickers = false;
	guard_first_beat();
	assert_int_equal(looks, 1);
}

/* Milliseconds until it goes on, or is at its end. */
static uint64_t awaits_at(int dir, const char *path, bool adds)
{
	const uint64_t from = ms;

	errno = EDOM;
	if (setjmp(ended) == 0) {
		guard_await_beat(dir, path, adds);
		assert_int_equal(errno, EDOM);
	}
	return ms - from;
}

static uint64_t awaits(void)
{
	return awaits_at(AT_FDCWD, "/results/a", false);
}

static uint64_t adds(void)
{
	return awaits_at(AT_FDCWD, "/results/log", true);
}

static void what_is_kept_waits_for_another_beat(void **state)
{
	(void)state;
	begin();
	ms += 300;
	assert_in_range(awaits(), 700, 899);
	/* right behind it, for as long as it was alive a short time ago */
	looks = 0;
	for (unsigned i = 0; i < 100; i++) {
		ms += 20;
		assert_int_equal(awaits(), 0);
	}
	assert_int_equal(looks, 0);
	hpdsl_stall_step();
	assert_in_range(awaits(), 1, 1200);
	/* however new the beat is: a peer may have failed with it just now */
	for (unsigned i = 0; i < 100; i++) {
		ms = ms / 1000 * 1000 + 1030;
		assert_in_range(awaits(), 970, 1169);
	}
	/* and who comes a minute later, to one that nobody has seen */
	ms += 60000;
	assert_in_range(awaits(), 1, 1200);
	assert_int_equal(ends, 0);
}

static void what_is_left_alone_waits_for_nothing(void **state)
{
	(void)state;
	begin();
	ms += 5000;
	assert_int_equal(awaits_at(AT_FDCWD, "/cache/a", false), 0);
	assert_int_equal(awaits_at(AT_FDCWD, "a", false), 0);
	assert_int_equal(looks, 1);
	assert_in_range(awaits_at(7, "a", false), 1, 1200);
	/* and nothing is let through behind it, or behind a log */
	ms += 100;
	assert_int_equal(awaits_at(AT_FDCWD, "/cache/a", false), 0);
	assert_int_equal(adds(), 0);
	assert_in_range(awaits(), 1, 1200);
}

static void while_ranks_look_logs_wait_for_nothing(void **state)
{
	(void)state;
	begin();
	for (unsigned i = 0; i < 100; i++) {
		hpdsl_stall_heard((double)ms / 1000, (int)i + 1);
		if (i > 1)
			assert_int_equal(adds(), 0);
		ms += 1000;
	}
	assert_int_equal(looks, 1);
	ms += 5000;
	assert_in_range(adds(), 1, 1200);
	assert_int_equal(ends, 0);
}

/* It was killed, and its last beat is new to who comes. */
static void the_last_beat_is_no_sign_of_life(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		begin();
		ms += 900;
		awaits();
		beats_until = ms + 50000;
		ms += 60000;
		assert_in_range(i ? adds() : awaits(), 10000, 12200);
		assert_int_equal(ends, 1);
	}
}

static void what_is_measured_ends_at_once(void **state)
{
	(void)state;
	begin();
	over = true;
	ms += 5000;
	assert_int_equal(awaits(), 0);
	assert_int_equal(ends, 1);
}

/* Unless it is this process that has gone elsewhere. */
static void where_its_folder_is_gone_it_has_ended(void **state)
{
	(void)state;
	begin();
	awaits();
	ms += 5000;
	error = ENOENT;
	root = 1;
	assert_int_equal(awaits(), 0);
	assert_int_equal(ends, 0);
	ms += 5000;
	root = 0;
	assert_in_range(awaits(), 10000, 11500);
	assert_int_equal(ends, 1);
}

/* NFS: between two that replace it. */
static void what_is_gone_for_a_moment_is_alive(void **state)
{
	(void)state;
	begin();
	flickers = true;
	for (unsigned i = 0; i < 40; i++) {
		ms += 500;
		assert_in_range(awaits(), 1, 1600);
	}
	assert_true(looks > 80);
	assert_int_equal(ends, 0);
}

static void what_cannot_be_read_ends_nobody(void **state)
{
	(void)state;
	begin();
	awaits();
	ms += 5000;
	error = EMFILE;
	assert_int_equal(awaits(), 0);
	assert_int_equal(ends, 0);
}

static void looks_that_are_slow_see_it_all_the_same(void **state)
{
	(void)state;
	begin();
	for (latency = 100; latency < 1900; latency += 100)
		for (unsigned i = 0; i < 10; i++) {
			ms += 77;
			assert_in_range(awaits(), 1, 1200 + 6 * latency);
		}
	assert_int_equal(ends, 0);
}

/* For half a minute, again and again; hpdsl-stall does not come by either. */
static void a_file_system_that_hangs_ends_nobody(void **state)
{
	(void)state;
	begin();
	awaits();
	for (unsigned i = 0; i < 20; i++) {
		hangs_from = ms + 3500 + 100 * i;
		hangs_until = hangs_from + 30000;
		for (unsigned k = 0; k < 60; k++) {
			awaits();
			ms += 700;
		}
		assert_int_equal(hung, i + 1);
		assert_int_equal(ends, 0);
	}
}

/* A clock of another name space, behind: what was told counts for nothing. */
static void a_clock_behind_takes_its_own_looks(void **state)
{
	uint64_t ahead;

	(void)state;
	begin();
	awaits();
	ahead = beat.alive;
	beats_from -= 1000000;
	ms -= 990000;
	for (unsigned i = 0; i < 20; i++) {
		ms += 100;
		assert_in_range(awaits(), 1, 1200);
		ms += 100;
		assert_in_range(adds(), 1, 1200);
	}
	assert_int_equal(beat.alive, ahead);
	assert_int_equal(ends, 0);
}

static int make_folder(void **state)
{
	(void)state;
	setenv("HPDSL_STALL_RUN", "1", 1);
	return tmp_folder(folder, sizeof(folder), "beat") ? 0 : -1;
}

static int remove_folder(void **state)
{
	char name[TMP_NAME + 8];

	(void)state;
	snprintf(name, sizeof(name), "%s/beat", folder);
	unlink(name);
	return rmdir(folder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_kept_waits_for_another_beat),
		cmocka_unit_test(what_is_left_alone_waits_for_nothing),
		cmocka_unit_test(while_ranks_look_logs_wait_for_nothing),
		cmocka_unit_test(the_last_beat_is_no_sign_of_life),
		cmocka_unit_test(what_is_measured_ends_at_once),
		cmocka_unit_test(where_its_folder_is_gone_it_has_ended),
		cmocka_unit_test(what_is_gone_for_a_moment_is_alive),
		cmocka_unit_test(what_cannot_be_read_ends_nobody),
		cmocka_unit_test(looks_that_are_slow_see_it_all_the_same),
		cmocka_unit_test(a_file_system_that_hangs_ends_nobody),
		cmocka_unit_test(a_clock_behind_takes_its_own_looks),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
