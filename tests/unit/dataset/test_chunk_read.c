/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stretches of chunks: bytes of the plain tar, whatever there is of it, and
 * what lies whole in them is verified.
 */
#include "dataset/dataset.h"
#include "packed.h"
#include "staged.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static uint64_t draw(uint64_t *seed, uint64_t below)
{
	*seed = *seed * 6364136223846793005u + 1442695040888963407u;
	return (*seed >> 33) % below;
}

/* The plain tar of a chunk. */
static char *get_tar(const struct staged *plain, uint32_t chunk, size_t *ret_n)
{
	char name[PACKED_PATH];
	struct hpdsl_chunk c;

	staged_chunk(plain, chunk, &c);
	snprintf(name, sizeof name, "%s/%s", plain->p.out, c.name);
	return packed_get(name, ret_n);
}

/* Any stretch of a chunk is the same bytes of that. */
static void check(const struct hpdsl_dataset *ds, const struct staged *plain,
		  uint32_t chunk)
{
	uint64_t seed = chunk;
	size_t size;
	char *tar = get_tar(plain, chunk, &size), *buf = malloc(size + 1);
	struct hpdsl_error err;

	assert_non_null(buf);
	for (int i = 0; i < 40; i++) {
		const size_t at = i ? (size_t)draw(&seed, size) : 0;
		const size_t n = i ? (size_t)draw(&seed, size - at + 1) : size;

		memset(buf, 0x55, size + 1);
		if (hpdsl_chunk_read(ds, chunk, at, buf, n, &err) < 0)
			fail_msg("%s", err.msg);
		assert_memory_equal(buf, tar + at, n);
		assert_int_equal(buf[n], 0x55);
	}
	assert_int_equal(hpdsl_chunk_read(ds, chunk, 1, buf, size, &err),
			 -ERANGE);
	assert_int_equal(hpdsl_chunk_read(ds, chunk, UINT64_MAX, buf, 2, &err),
			 -ERANGE);
	assert_int_equal(hpdsl_chunk_read(ds, 4711, 0, buf, 1, &err), -ERANGE);
	free(buf);
	free(tar);
}

/* Plain, compressed, and of both what is staged in part. */
static void test_same(void **state)
{
	struct staged plain;

	(void)state;
	staged_begin(&plain, 0);
	for (int zstd = 0; zstd <= 3; zstd += 3) {
		struct hpdsl_dataset *origin, *here;
		struct staged f;

		staged_begin(&f, zstd);
		staged_put_all(&f);
		hp_state_set(f.state, 1, HP_CHUNK_ABSENT);
		origin = staged_open(f.p.out, NULL);
		here = staged_open(f.dir, NULL);
		for (uint32_t i = 0; i < STAGED_CHUNKS; i++) {
			check(origin, &plain, i);
			check(here, &plain, i);
		}
		assert_true(staged_sources(here).origin_bytes > 0);
		hpdsl_close(here);
		hpdsl_close(origin);
		staged_end(&f);
	}
	staged_end(&plain);
}

/* All of it, into nothing. */
static int read_all(const struct hpdsl_dataset *ds, uint32_t chunk,
		    struct hpdsl_error *err)
{
	struct hpdsl_chunk c;
	char *buf;
	int r;

	assert_int_equal(hpdsl_chunk_get(ds, chunk, &c, err), 0);
	buf = malloc(c.plain_bytes);
	assert_non_null(buf);
	r = hpdsl_chunk_read(ds, chunk, 0, buf, c.plain_bytes, err);
	free(buf);
	return r;
}

/* One that is whole in the stretch is an error, others are not. */
static void test_damage(void **state)
{
	struct hpdsl_error err = { 0 };
	struct hpdsl_dataset *ds;
	struct hpdsl_member m;
	struct hpdsl_chunk c;
	struct staged f;
	char name[PACKED_PATH], number[40], buf[8];

	(void)state;
	staged_begin(&f, 0);
	ds = staged_open(f.p.out, NULL);
	staged_chunk(&f, 0, &c);
	assert_int_equal(hpdsl_member_get(ds, c.first_member + 1, &m, &err), 0);
	snprintf(name, sizeof name, "%s/%s", f.p.out, c.name);
	packed_flip(name, m.offset + 2, 3);
	assert_int_equal(read_all(ds, 0, &err), HPDSL_ECORRUPT);
	snprintf(number, sizeof number, "member %d '", (int)m.number);
	assert_non_null(strstr(err.msg, c.name));
	assert_non_null(strstr(err.msg, number));
	/* a part of it, and what is before it */
	assert_int_equal(hpdsl_chunk_read(ds, 0, m.offset, buf, 8, &err), 0);
	assert_true(m.offset < 100000);
	{
		char *before = malloc(m.offset + 1);

		assert_non_null(before);
		assert_int_equal(
			hpdsl_chunk_read(ds, 0, 0, before, m.offset + 1, &err),
			0);
		free(before);
	}
	hpdsl_close(ds);
	staged_end(&f);
}

/* A chunk that could be made smaller; of a plain dataset any. */
static uint32_t find_compressed(const struct staged *f, struct hpdsl_chunk *ret)
{
	for (uint32_t i = 0; i < STAGED_CHUNKS; i++) {
		staged_chunk(f, i, ret);
		if (ret->compressed)
			return i;
	}
	return 0;
}

/* What is bad here comes from the origin. */
static void test_here_bad(void **state)
{
	(void)state;
	for (int zstd = 0; zstd <= 3; zstd += 3) {
		struct staged plain, f;
		struct hpdsl_dataset *ds;
		struct hpdsl_chunk c;
		struct hpdsl_member m;
		struct hpdsl_error err;
		uint32_t i;

		staged_begin(&plain, 0);
		staged_begin(&f, zstd);
		staged_put_all(&f);
		ds = staged_open(f.dir, NULL);
		i = find_compressed(&f, &c);
		staged_chunk(&f, i, &c);
		assert_int_equal(c.compressed, zstd > 0);
		assert_int_equal(hpdsl_member_get(ds, c.first_member, &m, &err),
				 0);
		packed_flip(staged_at(&f, c.name),
			    c.compressed ? c.bytes / 2 : m.offset, 3);
		check(ds, &plain, i);
		hpdsl_close(ds);
		staged_end(&f);
		staged_end(&plain);
	}
}

static int plain_file(const struct hpdsl_dataset *ds, uint32_t chunk,
		      char name[32])
{
	struct hpdsl_error err;

	return hpdsl_chunk_plain_file(ds, chunk, name, 32, &err);
}

static void test_plain_file(void **state)
{
	char name[32], few[16];
	struct hpdsl_dataset *ds;
	struct hpdsl_error err;
	struct staged f;

	(void)state;
	staged_begin(&f, 0);
	ds = staged_open(f.p.out, NULL);
	assert_int_equal(plain_file(ds, 1, name), 1);
	assert_string_equal(name, "chunk-000001.tar");
	assert_int_equal(hpdsl_chunk_plain_file(ds, 1, few, 16, &err), 0);
	assert_int_equal(plain_file(ds, 4711, name), -ERANGE);
	hpdsl_close(ds);
	staged_put_all(&f);
	hp_state_set(f.state, 1, HP_CHUNK_ABSENT);
	ds = staged_open(f.dir, NULL);
	assert_int_equal(plain_file(ds, 0, name), 1);
	assert_int_equal(plain_file(ds, 1, name), 0);
	staged_drop(&f, 2);
	assert_int_equal(plain_file(ds, 2, name), 0);
	hpdsl_close(ds);
	staged_end(&f);
}

/* Of a compressed one, where it has been expanded. */
static void test_expanded(void **state)
{
	char name[32], expanded[32];
	uint32_t i;
	struct staged plain, f;
	struct hpdsl_dataset *ds;
	struct hpdsl_chunk c;
	size_t n;
	char *tar;

	(void)state;
	staged_begin(&plain, 0);
	staged_begin(&f, 3);
	i = find_compressed(&f, &c);
	assert_true(c.compressed);
	snprintf(expanded, sizeof expanded, "chunk-%06u.tar", (unsigned)i);
	ds = staged_open(f.p.out, NULL);
	assert_int_equal(plain_file(ds, i, name), 0);
	hpdsl_close(ds);
	staged_put_all(&f);
	ds = staged_open(f.dir, NULL);
	assert_int_equal(plain_file(ds, i, name), 0);
	tar = get_tar(&plain, i, &n);
	packed_put(staged_at(&f, expanded), tar, n);
	free(tar);
	hp_state_set(f.state, i, HP_CHUNK_EXPANDED);
	assert_int_equal(plain_file(ds, i, name), 1);
	assert_string_equal(name, expanded);
	check(ds, &plain, i);
	hpdsl_close(ds);
	staged_end(&f);
	staged_end(&plain);
}

/* Members that lie whole in the frames that hold m, found one by one. */
static void find_mates(const struct hpdsl_dataset *ds,
		       const struct hpdsl_chunk *c,
		       const struct hpdsl_member *m, uint64_t *first,
		       uint64_t *n)
{
	uint64_t begin = 0, end = UINT64_MAX;
	struct hpdsl_error err;

	for (uint32_t i = 0; i < c->frames; i++) {
		struct hp_frame f;

		assert_int_equal(hp_index_frame(ds->index, c, i, &f, &err), 0);
		if (f.plain <= m->offset)
			begin = f.plain;
		if (f.plain_end >= m->offset + m->size && end == UINT64_MAX)
			end = f.plain_end;
	}
	*first = *n = 0;
	for (uint64_t i = 0; i < c->members; i++) {
		struct hpdsl_member other;

		assert_int_equal(
			hpdsl_member_get(ds, c->first_member + i, &other, &err),
			0);
		if (other.offset < begin || other.offset + other.size > end)
			continue;
		if (!(*n)++)
			*first = other.number;
	}
}

/* What is decoded with a member: of plain chunks nothing. */
static void test_mates(void **state)
{
	uint64_t first, n, most = 0;
	struct hpdsl_error err;

	(void)state;
	for (int zstd = 0; zstd <= 3; zstd += 3) {
		struct hpdsl_dataset *ds;
		struct hpdsl_member m;
		struct hpdsl_chunk c;
		struct staged f;

		staged_begin(&f, zstd);
		ds = staged_open(f.p.out, NULL);
		for (uint64_t i = 0; i < f.n.members; i++) {
			uint64_t want_first = i, want_n = 1;

			assert_int_equal(hpdsl_member_get(ds, i, &m, &err), 0);
			staged_chunk(&f, m.chunk, &c);
			if (c.compressed && m.size)
				find_mates(ds, &c, &m, &want_first, &want_n);
			assert_int_equal(
				hpdsl_member_mates(ds, i, &first, &n, &err), 0);
			assert_int_equal(first, want_first);
			assert_int_equal(n, want_n);
			assert_true(first <= i && i < first + n);
			most = n > most ? n : most;
		}
		assert_int_equal(most > 1, zstd > 0);
		assert_int_equal(
			hpdsl_member_mates(ds, f.n.members, &first, &n, &err),
			-ERANGE);
		hpdsl_close(ds);
		staged_end(&f);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_same),
		cmocka_unit_test(test_damage),
		cmocka_unit_test(test_here_bad),
		cmocka_unit_test(test_plain_file),
		cmocka_unit_test(test_expanded),
		cmocka_unit_test(test_mates),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
