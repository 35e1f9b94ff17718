/* SPDX-License-Identifier: Apache-2.0 */
/* What is at hand is read, and nothing is waited for: not even opened. */
#include "packed.h"
#include "staged.h"
#include "sys/io.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

/* The page cache has all before this byte of a file, or cannot be asked. */
struct asked {
	struct hp_io io;
	int64_t have;
};

static int64_t cached(const struct hp_io *io, int fd, uint64_t off, uint64_t n)
{
	int64_t have = ((const struct asked *)io)->have;

	(void)fd;
	if (have < 0)
		return have;
	return (uint64_t)have <= off	 ? 0 :
	       (uint64_t)have - off >= n ? (int64_t)n :
					   have - (int64_t)off;
}

static struct asked asked(void)
{
	struct asked a = { hp_io_system, INT64_MAX };

	a.io.cached = cached;
	return a;
}

static struct hpdsl_member get(const struct hpdsl_dataset *ds, uint64_t i)
{
	struct hpdsl_error err = { 0 };
	struct hpdsl_member m;

	if (hpdsl_member_get(ds, i, &m, &err) < 0)
		fail_msg("%s", err.msg);
	return m;
}

/* waits: then the ordinary way, too, which opens the chunk. */
static int now(const struct hpdsl_dataset *ds, uint64_t i, bool waits)
{
	struct hpdsl_member m = get(ds, i);
	struct hpdsl_error err = { 0 };
	char *buf = malloc(m.size + 1), *same = malloc(m.size + 1);
	int r;

	assert_non_null(buf);
	assert_non_null(same);
	r = hpdsl_member_read_now(ds, &m, 0, buf, m.size, &err);
	assert_int_equal(err.code, r);
	if (waits && hpdsl_member_read(ds, &m, 0, same, m.size, &err) == 0 &&
	    r == 0)
		assert_memory_equal(buf, same, m.size);
	free(buf);
	free(same);
	return r;
}

static void test_plain(void **state)
{
	struct asked a = asked();
	struct hpdsl_dataset *ds;
	struct hpdsl_member m;
	struct hpdsl_error err;
	struct staged f;
	char part[8], same[8];

	(void)state;
	staged_begin(&f, 0);
	ds = staged_open(f.p.out, &a.io);
	/* Nobody has opened the chunk so far. */
	assert_int_equal(now(ds, 0, false), -EAGAIN);
	assert_int_equal(now(ds, 0, true), -EAGAIN);
	assert_int_equal(now(ds, 0, true), 0);
	m = get(ds, 0);
	assert_int_equal(hpdsl_member_read_now(ds, &m, 3, part, 8, &err), 0);
	assert_int_equal(hpdsl_member_read(ds, &m, 3, same, 8, &err), 0);
	assert_memory_equal(part, same, 8);
	assert_int_equal(hpdsl_member_read_now(ds, &m, m.size, part, 1, &err),
			 -EAGAIN);
	m.checksum++;
	assert_int_equal(hpdsl_member_read_now(ds, &m, 3, part, 8, &err),
			 -EAGAIN);
	/* A page less than it needs. */
	m = get(ds, 0);
	a.have = (int64_t)(m.offset + m.size - 1) / getpagesize() *
		 getpagesize();
	assert_int_equal(now(ds, 0, true), -EAGAIN);
	a.have = -EOPNOTSUPP;
	assert_int_equal(now(ds, 0, true), -EAGAIN);
	hpdsl_close(ds);
	staged_end(&f);
}

static void test_staged(void **state)
{
	struct asked a = asked();
	struct hpdsl_dataset *ds;
	struct hpdsl_member m;
	struct hpdsl_chunk c;
	struct hpdsl_error err;
	struct staged f;

	(void)state;
	staged_begin(&f, 0);
	staged_put_all(&f);
	hp_state_set(f.state, 1, HP_CHUNK_ABSENT);
	ds = staged_open(f.dir, &a.io);
	hpdsl_patience(ds, 0);
	assert_int_equal(hpdsl_chunk_get(ds, 1, &c, &err), 0);
	assert_int_equal(now(ds, 0, true), -EAGAIN);
	assert_int_equal(now(ds, 0, true), 0);
	/* What is the origin's is not at hand, though it is open. */
	assert_int_equal(now(ds, c.first_member, true), -EAGAIN);
	assert_int_equal(now(ds, c.first_member, true), -EAGAIN);
	/* What is wrong goes to who may ask the origin, and is so for ever. */
	assert_int_equal(hpdsl_chunk_get(ds, 0, &c, &err), 0);
	m = get(ds, 0);
	packed_flip(staged_at(&f, c.name), m.offset + 1, 3);
	assert_int_equal(now(ds, 0, true), -EAGAIN);
	packed_flip(staged_at(&f, c.name), m.offset + 1, 3);
	assert_int_equal(now(ds, 0, true), -EAGAIN);
	hpdsl_close(ds);
	staged_end(&f);
}

/* What has to be expanded takes too long. */
static void test_compressed(void **state)
{
	struct asked a = asked();
	struct hpdsl_dataset *ds;
	struct hpdsl_chunk c;
	unsigned expanded = 0;
	struct staged f;

	(void)state;
	staged_begin(&f, 3);
	ds = staged_open(f.p.out, &a.io);
	for (uint32_t i = 0; i < STAGED_CHUNKS; i++) {
		staged_chunk(&f, i, &c);
		assert_int_equal(now(ds, c.first_member, true), -EAGAIN);
		assert_int_equal(now(ds, c.first_member, true),
				 c.compressed ? -EAGAIN : 0);
		expanded += c.compressed;
	}
	assert_true(expanded);
	hpdsl_close(ds);
	staged_end(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_plain),
		cmocka_unit_test(test_staged),
		cmocka_unit_test(test_compressed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
