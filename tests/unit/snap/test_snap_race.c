/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every call on a snapshot while another thread changes bytes of its file: what
 * comes may be wrong, but it is an entry, a path or an error, and no memory but
 * the snapshot's is looked at.  The mapping is memory of the file's exact size,
 * so that an address sanitizer sees more.
 */
#include "base/path.h"
#include "flips.h"
#include "hpdsl.h"
#include "packed.h"
#include "sys/io.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum { ROUNDS = 500 }; /* of each test */

/* ---- A mapping that is memory ----------------------------------------- */

static void *mapped;
static size_t mapped_size;

static int heap_map(const struct hp_io *io, int fd, size_t size,
		    const void **ret)
{
	mapped = malloc(size);
	mapped_size = size;
	*ret = mapped;
	return mapped && hp_io_pread_full(io, fd, mapped, size, 0) ==
				       (ssize_t)size ?
		       0 :
		       -EIO;
}

static void heap_unmap(const struct hp_io *io, const void *p, size_t size)
{
	(void)io;
	(void)size;
	free((void *)p);
}

/* ---- What is looked at ------------------------------------------------ */

static struct packed packed;
static uint64_t sum; /* of all that was given out */

static void use(const char *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		sum += (uint8_t)p[i];
}

static void known(int64_t code)
{
	if (code < 0 && code != HPDSL_ECORRUPT && code != -ERANGE &&
	    code != -ENOENT && code != -ENOTDIR && code != -EINVAL &&
	    code != -ENODATA && code != HPDSL_EDIFFERS &&
	    code != HPDSL_EUSAGE && code != -ENAMETOOLONG)
		fail_msg("code %lld", (long long)code);
}

static void each_entry(const struct hpdsl_snapshot *s, uint64_t entries)
{
	char path[HPDSL_PATH_MAX + 1];
	struct hpdsl_entry e;
	const char *target;
	uint64_t checksum;
	size_t n;

	for (uint64_t i = 0; i < entries; i++) {
		int r = hpdsl_snapshot_path(s, i, path, &n, NULL);

		known(r);
		assert_true(r < 0 || !i || hp_path_valid(path, n));
		r = hpdsl_snapshot_stat(s, i, &e, NULL);
		known(r);
		if (r < 0)
			continue;
		assert_true(e.name_len <= HPDSL_PATH_MAX);
		use(e.name, e.name_len + 1);
		r = hpdsl_snapshot_target(s, &e, &target, NULL);
		known(r);
		if (r == 0)
			use(target, e.size + 1);
		known(hpdsl_snapshot_checksum(s, &e, &checksum, NULL));
	}
}

static void each_folder(const struct hpdsl_snapshot *s, uint64_t entries)
{
	for (uint64_t i = 0; i < entries; i++) {
		uint64_t cursor = 0, first, n, end;
		struct hpdsl_entry e[4];
		int64_t got;

		known(hpdsl_snapshot_folder(s, i, &first, &n, &end, NULL));
		while ((got = hpdsl_snapshot_readdir(s, i, &cursor, e, 4,
						     NULL)) > 0)
			for (int64_t k = 0; k < got; k++)
				use(e[k].name, e[k].name_len + 1);
		known(got);
	}
}

static void look_up(const struct hpdsl_snapshot *s)
{
	const struct hpdsl_path paths[] = {
		{ "d3/f17.bin", 10 }, { "d0/f8.bin", 9 }, { "", 0 },
		{ "d5/link", 7 },     { "d5", 2 },	  { "none/x", 6 },
	};
	enum { N = sizeof paths / sizeof *paths };
	struct hpdsl_entry e[N];
	int codes[N];

	static const char list[] = "d0/f0.bin\0d0/f14.bin\0d0/f21.bin\0d1\0x";
	uint64_t number[5];
	const struct hpdsl_found found = { number, NULL, NULL };

	known(hpdsl_snapshot_lookup_list(s, list, sizeof list, 5, &found,
					 NULL));
	known(hpdsl_snapshot_lookup_many(s, paths, N, e, codes, NULL));
	for (int i = 0; i < N; i++) {
		known(codes[i]);
		if (codes[i] == 0)
			use(e[i].name, e[i].name_len + 1);
		known(hpdsl_snapshot_lookup(s, paths[i].path, paths[i].len,
					    &e[i], NULL));
	}
}

/* What is copied is what was looked at: no NUL, no slash in a name. */
static void each_name(const struct hpdsl_snapshot *s, uint64_t entries)
{
	static char buf[HPDSL_PATH_MAX + 1];
	uint8_t types[64];
	struct hpdsl_name_list names = {
		.buf = buf, .room = sizeof buf, .types = types, .most = 64
	};
	struct hpdsl_extension *e;
	int64_t n;

	for (uint64_t i = 0; i < entries; i++) {
		uint64_t cursor = 0;

		while ((n = hpdsl_snapshot_names(s, i, &cursor, &names, NULL)) >
		       0) {
			const char *p = buf;

			for (int64_t k = 0; k < n; k++) {
				assert_true(hp_path_valid(p, strlen(p)));
				assert_null(strchr(p, '/'));
				p += strlen(p) + 1;
			}
			assert_ptr_equal(p, buf + names.used);
		}
		known(n);
		n = hpdsl_snapshot_extensions(s, i, &e, NULL);
		known(n);
		for (int64_t k = 0; k < n; k++)
			use(e[k].name, e[k].len + 1);
		if (n >= 0)
			hpdsl_extensions_free(e);
	}
}

static int sink(void *arg, const void *buf, size_t n, struct hpdsl_error *err)
{
	(void)arg;
	(void)err;
	use(buf, n);
	return 0;
}

static void difference(void *arg, const struct hpdsl_difference *d)
{
	(void)arg;
	use(d->path, d->path_len + 1);
}

static void as_a_whole(const struct hpdsl_snapshot *s,
		       const struct hpdsl_snapshot *other)
{
	struct hpdsl_diff_options opt = { .difference = difference };
	struct hpdsl_diff_report report;
	struct hpdsl_error err;

	known(hpdsl_snapshot_verify(s, NULL, NULL, &err));
	known(hpdsl_snapshot_dump(s, sink, NULL, &err));
	known(hpdsl_snapshot_diff(s, other, &opt, &report, &err));
	known(hpdsl_snapshot_diff(other, s, &opt, &report, &err));
}

/* What takes names from it to look for files. */
static void against_tree(const struct hpdsl_snapshot *s)
{
	struct hpdsl_check_options check = {
		.walk.threads = HPDSL_SERIAL,
		.has_since = true,
		.since = INT64_MAX / 4,
		.diff.difference = difference,
	};
	struct hpdsl_diff_report report;
	struct hpdsl_error err;

	hpdsl_snapshot_check(s, NULL, packed.tree, &check, &report, &err);
	packed_try(&packed,
		   (struct hpdsl_pack_options){ .snapshot = s,
						.dry_run = true,
						.threads = HPDSL_SERIAL },
		   &err);
}

/* All of it is touched before: no checksum stands in the way. */
static void race(const char *file, bool of_tree)
{
	struct hp_io io = hp_io_system;
	struct hpdsl_snapshot *s, *other;
	struct hpdsl_snapshot_info info;
	struct hpdsl_error err = { 0 };
	struct flips f;

	io.map = heap_map;
	io.unmap = heap_unmap;
	assert_int_equal(hpdsl_snapshot_open(file, 0, NULL, &other, &err), 0);
	assert_int_equal(hpdsl_snapshot_open(file, 0, &io, &s, &err), 0);
	assert_int_equal(hpdsl_snapshot_verify(s, NULL, NULL, &err), 0);
	hpdsl_snapshot_info(s, &info);
	flips_begin(&f, mapped, mapped_size);
	for (int i = 0; i < ROUNDS; i++) {
		each_entry(s, info.entries);
		each_folder(s, info.entries);
		each_name(s, info.entries);
		look_up(s);
		as_a_whole(s, other);
		if (of_tree)
			against_tree(s);
	}
	flips_end(&f);
	hpdsl_snapshot_close(s);
	hpdsl_snapshot_close(other);
}

static void test_tree(void **state)
{
	struct hpdsl_snapshot_options opt = { 0 };
	struct hpdsl_snapshot_report report;
	struct hpdsl_error err = { 0 };

	(void)state;
#ifdef FLIPS_UNDER_TSAN
	skip();
#endif
	assert_int_equal(hpdsl_snapshot_create(packed.tree,
					       packed_at(&packed, "s.tree"),
					       &opt, &report, &err),
			 0);
	race(packed_at(&packed, "s.tree"), true);
}

static void test_dataset(void **state)
{
	struct hpdsl_snapshot_options opt = { 0 };
	struct hpdsl_snapshot_report report;
	struct hpdsl_error err = { 0 };

	(void)state;
#ifdef FLIPS_UNDER_TSAN
	skip();
#endif
	packed_pack(&packed, (struct hpdsl_pack_options){ .chunks = 2 });
	assert_int_equal(hpdsl_snapshot_create(packed.out,
					       packed_at(&packed, "s.set"),
					       &opt, &report, &err),
			 0);
	race(packed_at(&packed, "s.set"), false);
}

static int begin(void **state)
{
	char path[64];

	(void)state;
	packed_begin(&packed);
	for (int i = 0; i < 40; i++) {
		snprintf(path, sizeof path, "d%d/f%d.bin", i % 7, i);
		packed_file(&packed, path, (size_t)i, 0644, i, 0);
	}
	for (int i = 0; i < 7; i++) {
		snprintf(path, sizeof path, "tree/d%d/link", i);
		assert_int_equal(
			symlink("../d0/f0.bin", packed_at(&packed, path)), 0);
	}
	return 0;
}

static int end(void **state)
{
	(void)state;
	packed_end(&packed);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_tree, begin, end),
		cmocka_unit_test_setup_teardown(test_dataset, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
