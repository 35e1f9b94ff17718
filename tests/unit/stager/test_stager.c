/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stagers over real files and a network in memory: every mode; compressed,
 * kept and expanded; chunks that are there already; damage on the way and at
 * the origin; reads that fail and disks that are full; stops.  Nothing wrong
 * ever has a final name, and the origin is read once.
 */
#include "clock.h"
#include "stager_net.h"
#include "until.h"

#include "each_fault.h"
#include "level.h"
#include "shell.h"
#include "sys/clock.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static struct packed plain, zipped;
static uint64_t plain_bytes, zipped_bytes;

static uint64_t stored_bytes(const struct packed *p)
{
	struct hpdsl_dataset *ds;
	struct hpdsl_counts counts;
	struct hpdsl_error err;
	uint64_t sum = 0;

	assert_int_equal(hpdsl_open(p->out, NULL, &ds, &err), 0);
	hpdsl_count(ds, &counts);
	for (uint32_t c = 0; c < counts.chunks; c++) {
		struct hpdsl_chunk row;

		assert_int_equal(hpdsl_chunk_get(ds, c, &row, &err), 0);
		sum += row.bytes;
	}
	hpdsl_close(ds);
	return sum;
}

static void make(struct packed *p, int zstd, uint64_t *ret)
{
	char name[64];

	packed_begin(p);
	for (int i = 0; i < 60; i++) {
		snprintf(name, sizeof name, "d%d/f%02d.bin", i % 7, i);
		packed_file(p, name, (size_t)(i * i * 37 + 100), 0644, i, 0);
	}
	/* What compresses well. */
	for (int i = 0; zstd && i < 40; i++)
		run("yes %d | head -c %d > %s/z%02d.txt", i, 20000 + i * 999,
		    p->tree, i);
	packed_pack(p, (struct hpdsl_pack_options){ .chunk_size = 200 << 10,
						    .zstd = zstd,
						    .threads = 1 });
	*ret = stored_bytes(p);
}

static int begin_all(void **state)
{
	(void)state;
	make(&plain, 0, &plain_bytes);
	make(&zipped, 3, &zipped_bytes);
	return 0;
}

static int end_all(void **state)
{
	(void)state;
	packed_end(&plain);
	packed_end(&zipped);
	return 0;
}

static void clean(const struct packed *p)
{
	run("rm -rf %s/node*", p->top);
}

static void no_failures(const struct net *n)
{
	for (uint32_t i = 0; i < n->nodes; i++)
		if (n->node[i].failed)
			fail_msg("node %u: %s", i, n->node[i].err.msg);
}

/* To the end, without trouble; how many chunks there are on all nodes. */
static uint64_t stage(struct packed *p, const struct net_options *o,
		      uint64_t *ret_read)
{
	struct net n;
	uint64_t found;

	net_begin(&n, p, o);
	net_start(&n, o);
	net_run(&n, 0, false);
	no_failures(&n);
	*ret_read = net_origin_bytes(&n);
	net_end(&n);
	found = net_check(&n);
	assert_int_equal(found % 1, 0);
	return found;
}

static uint64_t chunks_of(const struct packed *p)
{
	struct hpdsl_dataset *ds;
	struct hpdsl_counts counts;
	struct hpdsl_error err;

	assert_int_equal(hpdsl_open(p->out, NULL, &ds, &err), 0);
	hpdsl_count(ds, &counts);
	hpdsl_close(ds);
	return counts.chunks;
}

static void test_modes(void **state)
{
	uint64_t chunks = chunks_of(&plain), bytes;

	(void)state;
	assert_true(chunks > 6);
	for (uint32_t nodes = 1; nodes <= NET_NODES; nodes *= 2) {
		struct net_options o = { .nodes = nodes, .seed = nodes };

		clean(&plain);
		o.mode = HPDSL_STAGE_REPLICATE;
		assert_int_equal(stage(&plain, &o, &bytes), nodes * chunks);
		assert_int_equal(bytes, plain_bytes);
		clean(&plain);
		o.mode = HPDSL_STAGE_PARTITION;
		o.delay = 30;
		assert_int_equal(stage(&plain, &o, &bytes), chunks);
		assert_int_equal(bytes, plain_bytes);
		clean(&plain);
		o.mode = HPDSL_STAGE_COPIES;
		o.copies = 2;
		if (nodes >= 2)
			assert_int_equal(stage(&plain, &o, &bytes), 2 * chunks);
	}
	clean(&plain);
}

static void test_compressed(void **state)
{
	uint64_t chunks = chunks_of(&zipped), bytes;

	(void)state;
	for (int keep = 0; keep < 2; keep++) {
		struct net_options o = { .nodes = 4,
					 .mode = HPDSL_STAGE_REPLICATE,
					 .keep_compressed = keep,
					 .delay = 20,
					 .seed = 5 };

		clean(&zipped);
		assert_int_equal(stage(&zipped, &o, &bytes), 4 * chunks);
		assert_int_equal(bytes, zipped_bytes);
	}
	clean(&zipped);
}

static void test_keep_of(void **state)
{
	(void)state;
	assert_int_equal(hp_stager_keep_of(UINT64_MAX, 1000, 10), 16);
	assert_int_equal(hp_stager_keep_of(1240, 1000, 10), 16);
	assert_int_equal(hp_stager_keep_of(1239, 1000, 10), 15);
	assert_int_equal(hp_stager_keep_of(1090, 1000, 10), 1);
	assert_int_equal(hp_stager_keep_of(1089, 1000, 10), 0);
	assert_int_equal(hp_stager_keep_of(999, 1000, 10), 0);
	assert_int_equal(hp_stager_keep_of(0, UINT64_MAX, UINT64_MAX), 0);
}

/* With little room the next node gets what is here for good. */
static void test_kept_for_others(void **state)
{
	struct net_options o = { .nodes = 2, .mode = HPDSL_STAGE_REPLICATE };
	uint64_t peer_bytes[2];

	(void)state;
	for (int little = 0; little < 2; little++) {
		struct net n;

		net_begin(&n, &zipped, &o);
		for (int i = 0; i < 2; i++)
			n.node[i].io.free = little ? 1 : UINT64_C(1) << 50;
		net_start(&n, &o);
		assert_int_equal(hp_stager_keep_some(n.node[0].stager),
				 little ? 0 : 16);
		net_run(&n, 0, false);
		no_failures(&n);
		peer_bytes[little] = n.node[0].report.peer_bytes +
				     n.node[1].report.peer_bytes;
		net_end(&n);
		assert_int_equal(net_check(&n), 2 * chunks_of(&zipped));
		clean(&zipped);
	}
	assert_int_equal(peer_bytes[0], zipped_bytes);
	assert_true(peer_bytes[1] >= peer_bytes[0]);
}

/* Some chunks are here already, in either form: they come from there. */
static void test_held(void **state)
{
	uint64_t bytes;
	struct net_options o = { .nodes = 3, .mode = HPDSL_STAGE_REPLICATE };

	(void)state;
	for (int keep = 0; keep < 2; keep++) {
		clean(&zipped);
		o.keep_compressed = keep;
		stage(&zipped, &o, &bytes);
		run("cd %s && rm -rf node0 node2", zipped.top);
		o.keep_compressed = false;
		stage(&zipped, &o, &bytes);
		assert_int_equal(bytes, 0);
	}
	clean(&zipped);
}

static void test_direct(void **state)
{
	uint64_t bytes;
	struct net_options o = { .nodes = 2,
				 .mode = HPDSL_STAGE_REPLICATE,
				 .direct = true,
				 .sync = true };

	(void)state;
	stage(&plain, &o, &bytes);
	clean(&plain);
	stage(&zipped, &o, &bytes);
	clean(&zipped);
}

/* ---- Damage ----------------------------------------------------------- */

static void test_damage_in_flight(void **state)
{
	struct net_options o = { .nodes = 4,
				 .mode = HPDSL_STAGE_REPLICATE,
				 .delay = 10 };

	(void)state;
	for (long flip = 1; flip < 40; flip += 6) {
		struct net n;

		net_begin(&n, &zipped, &o);
		n.flip = flip;
		net_start(&n, &o);
		net_run(&n, 0, false);
		no_failures(&n);
		assert_int_equal(net_origin_bytes(&n), zipped_bytes);
		net_end(&n);
		assert_int_equal(net_check(&n), 4 * chunks_of(&zipped));
		clean(&zipped);
	}
}

/* One damaged chunk is no reason to go without the others. */
static void test_damage_at_origin(void **state)
{
	struct net_options o = { .nodes = 3, .mode = HPDSL_STAGE_REPLICATE };
	uint64_t at = 70000;

	(void)state;
	for (int changed = 0; changed < 2; changed++) {
		char name[200], manifest[200];
		struct net n;
		int failed = 0;
		uint64_t here;

		snprintf(name, sizeof name, "%s/chunk-000003.tar", plain.out);
		snprintf(manifest, sizeof manifest, "%s/dataset.yaml",
			 plain.out);
		net_begin(&n, &plain, &o);
		net_start(&n, &o);
		packed_flip(name, at, 3);
		if (changed)
			packed_flip(manifest, 20, 0);
		net_run(&n, 0, false);
		for (uint32_t i = 0; i < n.nodes; i++) {
			const struct net_node *d = &n.node[i];

			assert_int_equal(d->warnings, 0);
			if (!d->failed)
				continue;
			failed++;
			assert_int_equal(d->failed, changed ? HPDSL_ECHANGED :
							      HPDSL_ECORRUPT);
			assert_non_null(strstr(d->err.msg,
					       changed ? "was replaced" :
							 "chunk-000003.tar"));
		}
		assert_true(failed > 0);
		net_end(&n);
		packed_flip(name, at, 3);
		if (changed)
			packed_flip(manifest, 20, 0);
		here = net_check(&n);
		if (!changed)
			assert_int_equal(here, 3 * (chunks_of(&plain) - 1));
		clean(&plain);
	}
}

/* Nothing but the chunk is missed; its reason is told, by the nodes that tried.
 */
static void loses(const struct net *n, const char *chunk, const char *why)
{
	uint32_t failed = 0;

	for (uint32_t i = 0; i < n->nodes; i++) {
		const struct net_node *d = &n->node[i];

		if (!d->failed)
			continue;
		assert_int_equal(d->failed, HPDSL_ECORRUPT);
		assert_non_null(strstr(d->err.msg, chunk));
		if (!strstr(d->err.msg, why))
			fail_msg("%s", d->err.msg);
		if (d->warnings)
			fail_msg("%s", d->warned);
		failed++;
	}
	assert_true(failed == n->nodes || failed == 2);
}

/* Of another size, gone, no file, not to be opened: that one is given up. */
static void test_chunk_lost_at_origin(void **state)
{
	const struct {
		const char *how, *why;
	} k[] = {
		{ "truncate -s -512", "chunk-000002.tar: is " },
		{ "truncate -s 0", ": is 0 bytes, was " },
		{ "rm", "chunk-000002.tar: is missing" },
		{ "mkdir -p x; ln -sf x/x", "chunk-000002.tar: is missing" },
		{ "rm -f chunk-000002.tar; mkdir", ": is no regular file" },
		{ "rm -f chunk-000002.tar; ln -s chunk-000002.tar",
		  ": cannot be read: Too many levels of symbolic links" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof k / sizeof *k; i++) {
		struct net_options o = { .nodes = 1 + i % 3,
					 .mode = HPDSL_STAGE_REPLICATE };
		struct net n;

		net_begin(&n, &plain, &o);
		net_start(&n, &o);
		run("cd %s && cp chunk-000002.tar .. && %s chunk-000002.tar",
		    plain.out, k[i].how);
		net_run(&n, 0, false);
		loses(&n, "chunk-000002.tar", k[i].why);
		net_end(&n);
		run("cd %s && rm -rf x chunk-000002.tar && "
		    "mv ../chunk-000002.tar .",
		    plain.out);
		assert_int_equal(net_check(&n),
				 n.nodes * (chunks_of(&plain) - 1));
		clean(&plain);
	}
}

static struct net_node *who_failed(struct net *n)
{
	for (uint32_t i = 0; i < n->nodes; i++)
		if (n->node[i].failed)
			return &n->node[i];
	fail_msg("nobody has failed");
	return NULL;
}

/* Many of them, but not in a row: each is named once, up to a bound. */
static void test_many_lost_at_origin(void **state)
{
	struct net_options o = { .nodes = 2, .mode = HPDSL_STAGE_REPLICATE };
	struct net n;

	(void)state;
	run("cp -r %s %s/many && cd %s/many && rm chunk-000001.tar && "
	    "truncate -s 9 chunk-000004.tar",
	    plain.out, plain.top, plain.top);
	packed_flip(packed_at(&plain, "many/chunk-000006.tar"), 70000, 3);
	net_begin(&n, &plain, &o);
	snprintf(n.origin, sizeof n.origin, "%s/many", plain.top);
	net_start(&n, &o);
	net_run(&n, 0, false);
	for (int i = 0; i < 2; i++) {
		struct net_node *d = &n.node[i];
		char all[9000];

		assert_int_equal(d->failed, HPDSL_ECORRUPT);
		assert_int_equal(d->warnings, 2);
		snprintf(all, sizeof all, "%s\n%s", d->err.msg, d->warned);
		assert_non_null(strstr(all, "chunk-000001.tar: is missing\n"));
		assert_non_null(strstr(all, "chunk-000004.tar: is 9 bytes"));
		assert_non_null(strstr(all, "chunk-000006.tar: is damaged"));
	}
	net_end(&n);
	assert_int_equal(net_check(&n), 2 * (chunks_of(&plain) - 3));
	run("rm -r %s/many", plain.top);
	clean(&plain);
}

/* However many they are, 16 are named: the first as the failure. */
static void test_most_warnings(void **state)
{
	struct net_options o = { .nodes = 1, .mode = HPDSL_STAGE_REPLICATE };
	struct hpdsl_stager_message m;
	struct hpdsl_error err;
	struct net n;

	(void)state;
	net_begin(&n, &plain, &o);
	net_start(&n, &o);
	for (int i = 1; i <= 40; i++) {
		hp_fail(&err, HPDSL_ECORRUPT, "chunk %d.", i);
		hp_stager_damage(n.node[0].stager, &err);
	}
	assert_int_equal(hpdsl_stager_next(n.node[0].stager, &m, &err),
			 HPDSL_ECORRUPT);
	assert_string_equal(err.msg, "chunk 1.");
	assert_int_equal(n.node[0].warnings, 16);
	assert_null(strstr(n.node[0].warned, "chunk 1."));
	assert_non_null(strstr(n.node[0].warned, "chunk 2."));
	assert_non_null(strstr(n.node[0].warned, "chunk 16."));
	assert_null(strstr(n.node[0].warned, "chunk 17."));
	assert_non_null(strstr(n.node[0].warned, "more chunks than these"));
	net_run(&n, 0, false);
	net_end(&n);
	assert_int_equal(net_check(&n), chunks_of(&plain));
	clean(&plain);
}

/* The origin is gone, or broken, or empty: one line, and soon. */
static void test_origin_lost(void **state)
{
	const struct {
		const char *how; /* NULL: nothing can be read any more */
		int code;
		const char *why;
	} k[] = {
		{ NULL, -EIO, ": cannot be read: Input/output error" },
		{ "rm -r lost", HPDSL_ECHANGED, "was replaced" },
		{ "rm lost/dataset.yaml lost/chunk-*", HPDSL_ECHANGED,
		  "was replaced" },
		{ "rm lost/chunk-*", -ENOENT,
		  ": 8 chunks in a row cannot be had, the last one is "
		  "chunk-0" },
		{ "truncate -s 0 lost/chunk-*", -EIO, ": is 0 bytes" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof k / sizeof *k; i++) {
		struct net_options o = { .nodes = 1,
					 .mode = HPDSL_STAGE_REPLICATE };
		struct net_node *d;
		struct net n;

		run("cp -r %s %s/lost", plain.out, plain.top);
		net_begin(&n, &plain, &o);
		snprintf(n.origin, sizeof n.origin, "%s/lost", plain.top);
		net_start(&n, &o);
		if (k[i].how)
			run("cd %s && %s", plain.top, k[i].how);
		else
			n.node[0].io.broken = -EIO;
		net_run(&n, 0, false);
		d = who_failed(&n);
		if (d->failed != k[i].code || !strstr(d->err.msg, k[i].why))
			fail_msg("%zu: %d %s", i, d->failed, d->err.msg);
		/* The others of eight in a row. */
		assert_true(d->warnings <= 6);
		net_end(&n);
		net_check(&n);
		run("rm -rf %s/lost", plain.top);
		clean(&plain);
	}
}

/* A bit that is wrong once: fetched again. */
static void test_flips_at_origin(void **state)
{
	struct net_options o = { .nodes = 2, .mode = HPDSL_STAGE_REPLICATE };

	(void)state;
	for (long k = 1; k < 12; k += 3) {
		struct net n;

		net_begin(&n, &plain, &o);
		n.node[0].io.flip_read = k;
		n.node[0].io.flips = 1;
		net_start(&n, &o);
		net_run(&n, 0, false);
		no_failures(&n);
		assert_true(n.node[0].report.refetch_chunks > 0);
		/* Who is told AGAIN may not have seen it. */
		assert_int_equal(n.node[0].warnings, 1);
		assert_true(n.node[1].warnings <= 1);
		assert_non_null(strstr(n.node[0].warned, "differed, and was "
							 "fetched again"));
		net_end(&n);
		assert_int_equal(net_check(&n), 2 * chunks_of(&plain));
		clean(&plain);
	}
}

/* ---- Trouble with files ----------------------------------------------- */

static void test_read_errors(void **state)
{
	struct net_options o = { .nodes = 2, .mode = HPDSL_STAGE_REPLICATE };

	(void)state;
	for (int fails = 2; fails <= 50; fails += 48) {
		struct net n;

		net_begin(&n, &plain, &o);
		n.node[1].io.bad_read = 3;
		n.node[1].io.bad_reads = fails;
		n.node[1].io.read_code = -EIO;
		net_start(&n, &o);
		net_run(&n, 0, false);
		if (fails == 2) {
			no_failures(&n);
			assert_int_equal(n.node[1].report.retries, 2);
		} else {
			assert_int_equal(n.node[1].failed, HPDSL_ECORRUPT);
			assert_non_null(strstr(n.node[1].err.msg,
					       ".tar: cannot be read: Input/"));
			/* Where they can be read they are. */
			assert_false(n.node[0].failed);
			assert_int_equal(n.node[0].report.chunks,
					 chunks_of(&plain));
		}
		net_end(&n);
		net_check(&n);
		clean(&plain);
	}
}

static void fails_to_write(struct packed *p, long write, bool full)
{
	struct net_options o = { .nodes = 3, .mode = HPDSL_STAGE_REPLICATE };
	struct net n;

	net_begin(&n, p, &o);
	n.node[2].io.bad_write = write;
	n.node[2].io.write_code = -ENOSPC;
	n.node[2].io.full = full;
	net_start(&n, &o);
	net_run(&n, 0, false);
	assert_int_equal(n.node[2].failed, -ENOSPC);
	assert_non_null(strstr(n.node[2].err.msg, ": No space left on device"));
	assert_memory_equal(n.node[2].err.msg, "chunk-0", 7);
	net_end(&n);
	net_check(&n);
	/* What is there is not fetched again, the rest is. */
	net_begin(&n, p, &o);
	net_start(&n, &o);
	net_run(&n, 0, false);
	no_failures(&n);
	net_end(&n);
	assert_int_equal(net_check(&n), 3 * chunks_of(p));
	clean(p);
}

static void test_full_disk(void **state)
{
	(void)state;
	fails_to_write(&plain, 0, true);
	fails_to_write(&plain, 1, false);
	fails_to_write(&plain, 9, false);
	fails_to_write(&zipped, 1, false);
	fails_to_write(&zipped, 7, false);
}

static bool still_alive(struct hpdsl_stager *s)
{
	bool alive;

	pthread_mutex_lock(&s->shared.lock);
	alive = s->shared.alive > 0;
	pthread_mutex_unlock(&s->shared.lock);
	return alive;
}

/* Until that many reads were begun. */
static void step_to_read(struct net *n, int reads)
{
	struct until u = { 0 };

	net_step(n);
	while (__atomic_load_n(&n->node[0].io.reads, __ATOMIC_RELAXED) <
	       reads) {
		until_next(&u);
		net_step(n);
	}
}

/* A read that does not return: told, and nobody waits for it. */
static void test_stuck(void **state)
{
	struct net_options o = { .nodes = 1, .mode = HPDSL_STAGE_REPLICATE };
	struct hpdsl_stager_report report;
	struct until u = { 0 };
	struct net n;

	(void)state;
	net_begin(&n, &plain, &o);
	n.node[0].io.slow_read = 2;
	net_start(&n, &o);
	step_to_read(&n, 2);
	clock_pass(0.2);
	hpdsl_stager_report(n.node[0].stager, &report);
	/* A disk may be stuck before, too. */
	while (report.stuck_seconds <= 0.2 ||
	       strncmp(report.stuck, "reading chunk-0", 15)) {
		assert_false(report.idle);
		until_next(&u);
		hpdsl_stager_report(n.node[0].stager, &report);
	}
	hpdsl_stager_stop(n.node[0].stager, true);
	__atomic_store_n(&n.node[0].io.let_go, true, __ATOMIC_RELAXED);
	net_run(&n, 0, false);
	net_end(&n);
	net_check(&n);
	clean(&plain);
}

static bool is_locked(const char *path)
{
	const struct hpdsl_stage_at at = { .nodes = 1 };
	struct hpdsl_stage *s = NULL;
	int r = hpdsl_stage_open(path, &at, &s, NULL);

	hpdsl_stage_close(s);
	return r == -EBUSY;
}

/*
 * Nor in the end; what it knows of stays for it, and nobody else's stager may
 * write there as long as it lives.
 */
static void test_left_behind(void **state)
{
	/* Reachable, or it would be a leak. */
	static struct hpdsl_stager *left;
	static struct net n;
	struct net_options o = { .nodes = 1, .mode = HPDSL_STAGE_REPLICATE };

	(void)state;
	net_begin(&n, &plain, &o);
	n.node[0].io.slow_read = 3;
	net_start(&n, &o);
	step_to_read(&n, 3);
	left = n.node[0].stager;
	left->patience = 0.1;
	net_end(&n);
	assert_true(left->abandoned);
	assert_true(is_locked(n.node[0].path));
	__atomic_store_n(&n.node[0].io.let_go, true, __ATOMIC_RELAXED);
	for (struct until u = { 0 }; still_alive(left);)
		until_next(&u);
	run("rm -f %s/node0/.*.part", plain.top);
	net_check(&n);
	clean(&plain);
}

/* ---- Stops ------------------------------------------------------------ */

static void test_stop(void **state)
{
	(void)state;
	for (uint64_t at = 1; at < 300; at += 23) {
		struct net_options o = { .nodes = 3,
					 .mode = HPDSL_STAGE_REPLICATE,
					 .seed = at,
					 .delay = 8 };
		struct net n;

		net_begin(&n, &zipped, &o);
		net_start(&n, &o);
		net_run(&n, at, at % 2);
		no_failures(&n);
		net_end(&n);
		net_check(&n);
		net_begin(&n, &zipped, &o);
		net_start(&n, &o);
		net_run(&n, 0, false);
		no_failures(&n);
		net_end(&n);
		assert_int_equal(net_check(&n), 3 * chunks_of(&zipped));
		clean(&zipped);
	}
}

/* ---- Every operation -------------------------------------------------- */

/* Complete, or it says why; and the next run completes it. */
static bool run_with_fault(struct packed *p, struct net *n,
			   const struct net_options *o)
{
	bool failed = !net_try(n, o);

	if (!failed)
		net_run(n, 0, false);
	wrap_fail_at(0, false);
	for (uint32_t i = 0; i < n->nodes; i++)
		failed |= n->node[i].failed != 0;
	net_end(n);
	net_check(n);
	if (failed) {
		uint64_t bytes;

		assert_int_equal(stage(p, o, &bytes), 2 * chunks_of(p));
	}
	clean(p);
	return failed;
}

/* The k-th operation on node 1 fails, once or from then on. */
static void test_every_fault(void **state)
{
	struct net_options o = { .nodes = 2, .mode = HPDSL_STAGE_REPLICATE };
	int failures = 0;
	struct each_fault e = { .in_turn = true,
				.step = at_level("long") ? 1 : 29 };

	(void)state;
	while (each_fault(&e)) {
		struct net n;

		net_begin(&n, &zipped, &o);
		e.f.code = e.k % 5 ? -EIO : -ENOSPC;
		n.node[1].other = &e.f.io;
		n.leftovers = true;
		failures += run_with_fault(&zipped, &n, &o);
	}
	print_message("# %ld operations, %d failures\n", e.k, failures);
	assert_true(e.k > 50 && failures > 3);
}

static void test_no_memory(void **state)
{
	struct net_options o = { .nodes = 2, .mode = HPDSL_STAGE_REPLICATE };
	int failures = 0;

	(void)state;
	for (long k = 1; k < 400; k += at_level("long") ? 1 : 13) {
		struct net n;

		net_begin(&n, &zipped, &o);
		n.no_memory_at = k;
		failures += run_with_fault(&zipped, &n, &o);
	}
	print_message("# %d failures\n", failures);
}

static void move(struct net *n, uint32_t from, uint32_t to, const void *p,
		 size_t size)
{
	struct hpdsl_error err;
	void *room = hpdsl_stager_room(n->node[to].stager, size);

	assert_non_null(room);
	memcpy(room, p, size);
	assert_int_equal(hpdsl_stager_received(n->node[to].stager, from, room,
					       size, &err),
			 0);
}

/*
 * Node 1 is to get all from node 0, and neither has memory left: no word is
 * lost, and with memory again it goes on.
 */
static void test_words_without_memory(void **state)
{
	struct net_options o = { .nodes = 1, .mode = HPDSL_STAGE_REPLICATE };
	struct hpdsl_stager_message m;
	struct hpdsl_error err;
	uint64_t bytes;
	struct net n;
	int words = 0;

	(void)state;
	stage(&plain, &o, &bytes);
	o.nodes = 2;
	net_begin(&n, &plain, &o);
	net_start(&n, &o);
	wrap_fail_at(1, true);
	while (hpdsl_stager_next(n.node[1].stager, &m, &err) > 0) {
		assert_int_equal(m.n, HP_MESSAGE_HEADER);
		move(&n, 1, 0, m.p, m.n);
		hpdsl_stager_sent(n.node[1].stager, &m);
		words++;
	}
	assert_int_equal(hpdsl_stager_next(n.node[0].stager, &m, &err), 0);
	assert_true(wrap_count() > 0);
	wrap_fail_at(0, false);
	/* As many as it has streams. */
	assert_int_equal(words, 8);
	assert_non_null(n.node[0].stager->own.unheard);
	net_run(&n, 0, false);
	no_failures(&n);
	assert_int_equal(net_origin_bytes(&n), 0);
	net_end(&n);
	assert_int_equal(net_check(&n), 2 * chunks_of(&plain));
	clean(&plain);
}

/* Foreign tars in folders: their names are paths. */
static void test_adopted(void **state)
{
	struct net_options o = { .nodes = 2, .mode = HPDSL_STAGE_REPLICATE };
	struct hpdsl_reindex_options opt = { .threads = 1 };
	struct hpdsl_reindex_report report;
	struct hpdsl_error err;
	struct packed p;
	uint64_t bytes;
	int r;

	(void)state;
	packed_begin(&p);
	run("cd %s && mkdir -p tars/a && for i in 1 2 3 4 5; do "
	    "head -c 300000 /dev/urandom > $i.jpg; tar -cf tars/a/t$i.tar "
	    "$i.jpg; done && mkdir out",
	    p.top);
	opt.output = p.out;
	r = hpdsl_reindex(packed_at(&p, "tars/a"), &opt, &report, &err);
	if (r < 0)
		fail_msg("%s", err.msg);
	assert_true(report.adopted);
	assert_int_equal(stage(&p, &o, &bytes), 2 * chunks_of(&p));
	assert_true(packed_has(&p, "node0/chunk-000000.tar"));
	packed_end(&p);
}

static void test_rate(void **state)
{
	struct net_options o = { .nodes = 1,
				 .mode = HPDSL_STAGE_REPLICATE,
				 .rate = plain_bytes };
	struct hp_pace pace = { .rate = 100 };
	struct net n;
	double before;

	(void)state;
	assert_true(hp_pace_take(&pace, 1000, 50) <= 0);
	assert_true(hp_pace_take(&pace, 1000, 50) > 0.39);
	assert_true(hp_pace_take(&pace, 1001, 50) <= 0);
	net_begin(&n, &plain, &o);
	clock_still(true);
	before = hp_now();
	net_start(&n, &o);
	net_run(&n, 0, false);
	/* A second, but for the burst and what is read last. */
	assert_true(hp_now() - before > 0.5);
	/* Threads end in real time: the patience with them is not played. */
	clock_still(false);
	no_failures(&n);
	net_end(&n);
	net_check(&n);
	clean(&plain);
}

static void test_nonsense(void **state)
{
	struct net_options o = { .nodes = 2, .mode = HPDSL_STAGE_REPLICATE };
	struct hpdsl_error err;
	uint64_t x = 1;
	struct net n;

	(void)state;
	net_begin(&n, &plain, &o);
	net_start(&n, &o);
	assert_null(hpdsl_stager_room(n.node[0].stager, 5));
	assert_null(hpdsl_stager_room(n.node[0].stager, 100 << 20));
	for (int i = 0; i < 200; i++) {
		size_t len = i % 2 ? 32 : 500;
		uint8_t *room = hpdsl_stager_room(n.node[0].stager, len);

		assert_non_null(room);
		for (size_t k = 0; k < len; k++) {
			x = x * 6364136223846793005u + 1442695040888963407u;
			room[k] = (uint8_t)(x >> 40);
		}
		assert_int_equal(hpdsl_stager_received(n.node[0].stager, 1,
						       room, len, &err),
				 HPDSL_ECORRUPT);
	}
	net_run(&n, 0, false);
	no_failures(&n);
	net_end(&n);
	net_check(&n);
	clean(&plain);
}

/* Never more than 3/4 of the memory; the oldest of the free is used again. */
static void test_buffers(void **state)
{
	struct hp_segment_id id = { .length = 7 };
	struct hp_buffer *one, *two;
	struct hp_buffers b;

	(void)state;
	for (uint64_t m = 4 << 20; m < UINT64_C(1) << 33; m += m / 3) {
		assert_int_equal(hp_buffers_init(&b, m, NULL), 0);
		assert_true(b.max * (uint64_t)(b.segment + 4096) <= m / 4 * 3);
		assert_true(b.max >= 40);
		assert_true(b.segment <= m / 64 && b.segment <= 4 << 20);
		assert_int_equal(b.segment & (b.segment - 1), 0);
		assert_int_equal((uintptr_t)b.v[1].data % 4096, 0);
		hp_buffers_release(&b);
	}
	assert_int_equal(hp_buffers_init(&b, 4 << 20, NULL), 0);
	for (uint32_t i = 0; i < b.max; i++) {
		one = hp_buffers_get(&b);
		assert_non_null(one);
		assert_ptr_equal(hp_buffers_at(&b, one->data - 32), one);
		id.chunk = i;
		one->id = id;
		one->known = true;
	}
	assert_null(hp_buffers_get(&b));
	hp_buffers_put(&b, &b.v[5]);
	hp_buffers_put(&b, &b.v[3]);
	id.chunk = 3;
	two = hp_buffers_find(&b, &id);
	assert_ptr_equal(two, &b.v[3]);
	assert_ptr_equal(hp_buffers_get(&b), &b.v[5]);
	assert_null(hp_buffers_get(&b));
	hp_buffers_forget(&b, 3);
	assert_null(hp_buffers_find(&b, &id));
	assert_int_equal(b.most_used, b.max);
	hp_buffers_release(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_buffers),
		cmocka_unit_test(test_modes),
		cmocka_unit_test(test_compressed),
		cmocka_unit_test(test_keep_of),
		cmocka_unit_test(test_kept_for_others),
		cmocka_unit_test(test_held),
		cmocka_unit_test(test_direct),
		cmocka_unit_test(test_damage_in_flight),
		cmocka_unit_test(test_damage_at_origin),
		cmocka_unit_test(test_chunk_lost_at_origin),
		cmocka_unit_test(test_many_lost_at_origin),
		cmocka_unit_test(test_most_warnings),
		cmocka_unit_test(test_origin_lost),
		cmocka_unit_test(test_flips_at_origin),
		cmocka_unit_test(test_read_errors),
		cmocka_unit_test(test_full_disk),
		cmocka_unit_test(test_stuck),
		cmocka_unit_test(test_left_behind),
		cmocka_unit_test(test_every_fault),
		cmocka_unit_test(test_no_memory),
		cmocka_unit_test(test_words_without_memory),
		cmocka_unit_test(test_adopted),
		cmocka_unit_test(test_stop),
		cmocka_unit_test(test_rate),
		cmocka_unit_test(test_nonsense),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, begin_all, end_all);
}
