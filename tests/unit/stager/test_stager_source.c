/* SPDX-License-Identifier: Apache-2.0 */
/* Segments read in blocks, and where that cannot be done. */
#include "stager/stager.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

enum { FILE_BYTES = 6000, FD = 7 };

/* A file that is read with O_DIRECT, or refuses to be. */
struct odd {
	struct hp_io io;
	bool direct;	 /* its flags have it */
	bool refuses;	 /* blocks, as long as it is so */
	int flags_code;	 /* of taking the flag away */
	size_t asked[4]; /* bytes of each read */
	unsigned reads;
};

static ssize_t odd_pread(const struct hp_io *io, int fd, void *buf, size_t n,
			 uint64_t off)
{
	struct odd *o = (struct odd *)(uintptr_t)io;

	assert_int_equal(fd, FD);
	assert_true(o->reads < 4);
	o->asked[o->reads++] = n;
	if (o->direct && o->refuses)
		return -EINVAL;
	if (off >= FILE_BYTES)
		return 0;
	n = n < FILE_BYTES - off ? n : (size_t)(FILE_BYTES - off);
	memset(buf, 'x', n);
	return (ssize_t)n;
}

static int odd_set_flags(const struct hp_io *io, int fd, int flags)
{
	struct odd *o = (struct odd *)(uintptr_t)io;

	assert_int_equal(fd, FD);
	assert_int_equal(flags, 0);
	o->direct = o->flags_code < 0;
	return o->flags_code;
}

struct segment {
	struct odd odd;
	struct hp_source from;
	uint8_t data[8192];
	struct hp_buffer buffer;
	struct hp_job job;
};

static void begin(struct segment *s, bool refuses)
{
	memset(s, 0, sizeof *s);
	s->odd = (struct odd){ .direct = true, .refuses = refuses };
	s->odd.io.pread = odd_pread;
	s->odd.io.set_flags = odd_set_flags;
	s->from = hp_source_of(&hp_sources_files, HP_AT_ORIGIN, &s->odd.io, 3);
	s->from.fd.fd = FD;
	s->buffer.data = s->data;
	s->job.buffer = &s->buffer;
	s->job.id.length = 5000;
}

static void test_blocks(void **state)
{
	struct segment s;

	(void)state;
	begin(&s, false);
	assert_int_equal(hp_stager_segment(&s.from, &s.job, true), 6000);
	assert_int_equal(s.odd.asked[0], 8192);
	begin(&s, false);
	assert_int_equal(hp_stager_segment(&s.from, &s.job, false), 5000);
	assert_int_equal(s.odd.asked[0], 5000);
	assert_int_equal(s.odd.reads, 1);
}

static void test_refused(void **state)
{
	struct segment s;

	(void)state;
	begin(&s, true);
	assert_int_equal(hp_stager_segment(&s.from, &s.job, true), 5000);
	assert_int_equal(s.odd.reads, 2);
	assert_int_equal(s.odd.asked[1], 5000);
	begin(&s, true);
	s.odd.flags_code = -EPERM;
	assert_int_equal(hp_stager_segment(&s.from, &s.job, true), -EPERM);
	assert_int_equal(s.odd.reads, 1);
	/* It was not asked for in blocks: that is not why. */
	begin(&s, true);
	assert_int_equal(hp_stager_segment(&s.from, &s.job, false), -EINVAL);
	assert_int_equal(s.odd.reads, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_blocks),
		cmocka_unit_test(test_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
