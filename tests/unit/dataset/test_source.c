/* SPDX-License-Identifier: Apache-2.0 */
/* Sources that are files: what they find, read, and are called. */
#include "dataset/source.h"
#include "packed.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static const struct hp_io *io(void)
{
	return hp_io_or_system(NULL);
}

static struct hp_source open_file(enum hp_chunk_at at, const char *name)
{
	struct hp_source s = hp_source_of(&hp_sources_files, at, io(), 0);

	s.fd.fd = s.ops->open(io(), AT_FDCWD, name, 0);
	assert_true(s.fd.fd >= 0);
	return s;
}

static int identity(enum hp_chunk_at at, const char *name,
		    const struct hpdsl_chunk *c, uint64_t *ret_size)
{
	struct hp_source s = open_file(at, name);
	int r = s.ops->identity(&s, c, ret_size);

	close(s.fd.fd);
	return r;
}

static void test_identity(void **state)
{
	const struct hpdsl_chunk c = { .bytes = 5,
				       .plain_bytes = 7,
				       .compressed = true };
	struct hp_source none =
		hp_source_of(&hp_sources_files, HP_AT_HERE, io(), 0);
	struct packed p;
	char name[100];
	uint64_t size;

	(void)state;
	packed_begin(&p);
	snprintf(name, sizeof name, "%s", packed_at(&p, "chunk"));
	packed_put(name, "12345", 5);
	assert_int_equal(identity(HP_AT_HERE, name, &c, &size),
			 HP_SOURCE_IS_IT);
	assert_int_equal(identity(HP_AT_ORIGIN, name, &c, &size),
			 HP_SOURCE_IS_IT);
	assert_int_equal(identity(HP_AT_EXPANDED, name, &c, &size),
			 HP_SOURCE_IS_SIZED);
	assert_int_equal(size, 5);
	packed_put(name, "1234567", 7);
	assert_int_equal(identity(HP_AT_EXPANDED, name, &c, &size),
			 HP_SOURCE_IS_IT);
	assert_int_equal(identity(HP_AT_HERE, p.top, &c, &size),
			 HP_SOURCE_IS_ODD);
	assert_int_equal(none.ops->open(io(), AT_FDCWD, packed_at(&p, "no"), 0),
			 -ENOENT);
	assert_int_equal(none.ops->identity(&none, &c, &size), -EBADF);
	packed_end(&p);
}

static void note_done(void *arg, struct hp_source_stretch *s)
{
	struct hp_source_stretch ***next = arg;

	*(*next)++ = s;
}

static void test_file(void **state)
{
	char name[100], text[100], buf[3][8] = { "" };
	struct hp_source_stretch v[3] = { { 0, buf[0], 4, -1, 0 },
					  { 4, buf[1], 4, -1, 0 },
					  { 9, buf[2], 4, -1, 0 } };
	struct hp_source_stretch *done[3], **next = done;
	struct hp_source s, again;
	struct packed p;

	(void)state;
	packed_begin(&p);
	snprintf(name, sizeof name, "%s", packed_at(&p, "chunk"));
	packed_put(name, "0123456", 7);
	s = open_file(HP_AT_ORIGIN, name);
	hp_source_submit(&s, v, 3, 0, note_done, &next);
	/* All at once, and in order. */
	assert_ptr_equal(next, &done[3]);
	for (int i = 0; i < 3; i++)
		assert_ptr_equal(done[i], &v[i]);
	assert_int_equal(v[0].got, 4);
	assert_int_equal(v[1].got, 3);
	assert_int_equal(v[2].got, 0);
	assert_memory_equal(buf[0], "0123", 4);
	assert_memory_equal(buf[1], "456", 3);
	/* The same file, though another has its name by now. */
	packed_put(packed_at(&p, "other"), "abc", 3);
	assert_int_equal(rename(packed_at(&p, "other"), name), 0);
	again = s;
	again.fd.fd = s.ops->again(&s, O_CLOEXEC);
	assert_true(again.fd.fd >= 0 && again.fd.fd != s.fd.fd);
	assert_int_equal(hp_source_read(&again, buf[2], 4, 2), 4);
	assert_memory_equal(buf[2], "2345", 4);
	close(again.fd.fd);
	close(s.fd.fd);
	assert_int_equal(hp_source_read(&s, buf[2], 4, 2), -EBADF);
	s.ops->text("out", "/a/chunk", text, sizeof text);
	assert_string_equal(text, "/a/chunk");
	hp_sources_files.of[HP_AT_HERE]->text("out", "chunk", text,
					      sizeof text);
	assert_string_equal(text, "out/chunk");
	packed_end(&p);
}

static void test_blame(void **state)
{
	unsigned (*blame)(int) = hp_sources_files.of[HP_AT_HERE]->blame;

	(void)state;
	assert_int_equal(blame(-EIO), HP_BLAME_PASSES);
	assert_int_equal(blame(-ESTALE), HP_BLAME_PASSES);
	assert_int_equal(blame(-ENOMEM), HP_BLAME_SELF | HP_BLAME_PASSES);
	assert_int_equal(blame(-EMFILE), HP_BLAME_SELF);
	assert_int_equal(blame(-ENFILE), HP_BLAME_SELF);
	assert_int_equal(blame(-ENOENT), 0);
	assert_int_equal(blame(HPDSL_ECORRUPT), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_identity),
		cmocka_unit_test(test_file),
		cmocka_unit_test(test_blame),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
