/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a snapshot answers in a second, through the public functions alone.
 *
 *   bench_snapshot single FILE WARM KEYS    by path, one at a time
 *   bench_snapshot many FILE WARM KEYS      the same in batches
 *   bench_snapshot absent FILE WARM KEYS    paths that are not there
 *   bench_snapshot two FILE WARM KEYS KEYS  one thread, then two
 *   bench_snapshot readdir FILE             all entries of all folders
 *   bench_snapshot open FILE                opening and closing
 *   bench_snapshot hold FILE                touches all, then waits
 *
 * WARM are paths to find first; what is measured is never the first touch.
 * Prints lines of a number and what it counts.
 */
#include "keys.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>

enum { BATCH = 256, ROOM = 256, OPENS = 201 };

static struct hpdsl_error err;

static struct hpdsl_snapshot *open_it(const char *file)
{
	struct hpdsl_snapshot *s;

	if (hpdsl_snapshot_open(file, 0, NULL, &s, &err) < 0)
		die("%s", err.msg);
	return s;
}

/* Some use of all that an entry tells. */
static uint64_t use(const struct hpdsl_entry *e)
{
	return e->size + (uint64_t)e->mtime + e->mode + e->name_len;
}

static uint64_t find_single(const struct hpdsl_snapshot *s,
			    const struct keys *k)
{
	struct hpdsl_entry e;
	uint64_t sum = 0;

	for (size_t i = 0; i < k->n; i++) {
		if (hpdsl_snapshot_lookup(s, k->v[i].path, k->v[i].len, &e,
					  NULL) < 0)
			die("bench_snapshot: no '%s'", k->v[i].path);
		sum += use(&e);
	}
	return sum;
}

static uint64_t find_many(const struct hpdsl_snapshot *s, const struct keys *k)
{
	struct hpdsl_entry e[BATCH];
	int codes[BATCH];
	uint64_t sum = 0;

	for (size_t i = 0, n; i < k->n; i += n) {
		n = k->n - i < BATCH ? k->n - i : BATCH;
		if (hpdsl_snapshot_lookup_many(s, k->v + i, n, e, codes,
					       NULL) != (int64_t)n)
			die("bench_snapshot: not all were found");
		for (size_t j = 0; j < n; j++)
			sum += use(&e[j]);
	}
	return sum;
}

static uint64_t find_absent(const struct hpdsl_snapshot *s,
			    const struct keys *k)
{
	struct hpdsl_entry e;

	for (size_t i = 0; i < k->n; i++)
		if (hpdsl_snapshot_lookup(s, k->v[i].path, k->v[i].len, &e,
					  NULL) != -ENOENT)
			die("bench_snapshot: there is '%s'", k->v[i].path);
	return k->n;
}

/* Reads a folder and all below it; entries there are. */
static uint64_t read_folder(const struct hpdsl_snapshot *s, uint64_t folder,
			    uint64_t *sum)
{
	struct hpdsl_entry e[ROOM];
	uint64_t cursor = 0, entries = 0;
	int64_t n;

	while ((n = hpdsl_snapshot_readdir(s, folder, &cursor, e, ROOM, &err)) >
	       0) {
		entries += (uint64_t)n;
		for (int64_t i = 0; i < n; i++) {
			*sum += use(&e[i]);
			if (S_ISDIR(e[i].mode))
				entries += read_folder(s, e[i].number, sum);
		}
	}
	if (n < 0)
		die("%s", err.msg);
	return entries;
}

static uint64_t (*const finds[])(const struct hpdsl_snapshot *,
				 const struct keys *) = {
	find_single,
	find_many,
	find_absent,
};

/* All blocks checked, and in memory. */
static void touch_all(const struct hpdsl_snapshot *s, const char *warm)
{
	uint64_t sum = 0;
	struct keys k;

	read_folder(s, 0, &sum);
	if (warm) {
		read_keys(&k, warm);
		sum += find_many(s, &k);
		free_keys(&k);
	}
	if (!sum)
		die("bench_snapshot: nothing there");
}

static void bench_find(int how, const char *file, const char *warm,
		       const char *name)
{
	struct hpdsl_snapshot *s = open_it(file);
	struct keys k;
	uint64_t sum;
	double t;

	touch_all(s, warm);
	read_keys(&k, name);
	t = thread_time();
	sum = finds[how](s, &k);
	t = thread_time() - t;
	fprintf(stderr, "%zu paths, sum %" PRIu64 "\n", k.n, sum);
	printf("%.0f found a second\n", (double)k.n / t);
	free_keys(&k);
	hpdsl_snapshot_close(s);
}

struct job {
	const struct hpdsl_snapshot *s;
	struct keys keys;
	uint64_t sum;
	double seconds; /* of the processor */
};

static void *run_job(void *arg)
{
	struct job *j = arg;
	double t = thread_time();

	j->sum = find_single(j->s, &j->keys);
	j->seconds = thread_time() - t;
	return NULL;
}

/* The same keys by one thread and by two, a half each. */
static void bench_two(const char *file, const char *warm, char **names)
{
	struct hpdsl_snapshot *s = open_it(file);
	struct job j[2] = { { .s = s }, { .s = s } };
	pthread_t other;
	double one, two, cpu;

	touch_all(s, warm);
	for (int i = 0; i < 2; i++)
		read_keys(&j[i].keys, names[i]);
	one = wall_time();
	run_job(&j[0]);
	run_job(&j[1]);
	one = wall_time() - one;
	cpu = j[0].seconds + j[1].seconds;
	two = wall_time();
	if (pthread_create(&other, NULL, run_job, &j[1]))
		die("bench_snapshot: no thread");
	run_job(&j[0]);
	pthread_join(other, NULL);
	two = wall_time() - two;
	printf("%.3f times as fast, two threads\n", one / two);
	printf("%.3f times as fast, by processor time\n",
	       2 * cpu / (j[0].seconds + j[1].seconds));
	for (int i = 0; i < 2; i++)
		free_keys(&j[i].keys);
	hpdsl_snapshot_close(s);
}

static void bench_readdir(const char *file)
{
	struct hpdsl_snapshot *s = open_it(file);
	uint64_t sum = 0, n;
	double t;

	touch_all(s, NULL);
	t = thread_time();
	n = read_folder(s, 0, &sum);
	t = thread_time() - t;
	printf("%.0f entries a second\n", (double)n / t);
	hpdsl_snapshot_close(s);
}

static int by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void bench_open(const char *file)
{
	struct hpdsl_snapshot_info info;
	double t[OPENS];

	for (int i = 0; i < OPENS; i++) {
		struct hpdsl_snapshot *s;

		t[i] = wall_time();
		s = open_it(file);
		hpdsl_snapshot_info(s, &info);
		hpdsl_snapshot_close(s);
		t[i] = wall_time() - t[i];
	}
	qsort(t, OPENS, sizeof t[0], by_size);
	printf("%.1f microseconds\n", t[OPENS / 2] * 1e6);
	printf("%" PRIu64 " entries\n", info.entries);
	printf("%" PRIu64 " bytes\n", info.file_bytes);
}

/* Until its input ends; for who wants to look at its memory. */
static void hold(const char *file, const char *warm)
{
	struct hpdsl_snapshot *s = open_it(file);

	touch_all(s, warm);
	puts("ready");
	fflush(stdout);
	while (getchar() != EOF)
		;
	hpdsl_snapshot_close(s);
}

int main(int argc, char **argv)
{
	static const char *const names[] = { "single", "many", "absent" };
	const char *what = argc > 2 ? argv[1] : "";

	for (int i = 0; i < 3; i++)
		if (argc == 5 && !strcmp(what, names[i])) {
			bench_find(i, argv[2], argv[3], argv[4]);
			return 0;
		}
	if (argc == 6 && !strcmp(what, "two"))
		bench_two(argv[2], argv[3], argv + 4);
	else if (argc == 3 && !strcmp(what, "readdir"))
		bench_readdir(argv[2]);
	else if (argc == 3 && !strcmp(what, "open"))
		bench_open(argv[2]);
	else if (argc == 4 && !strcmp(what, "hold"))
		hold(argv[2], argv[3]);
	else
		return 2;
	return 0;
}
