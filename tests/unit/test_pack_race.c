/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What happens only now and then, made to happen: one operation of a pack runs
 * something else first, or fails while others go on.
 */
#include "packed.h"

#include "io.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define BASE hp_io_system

enum { SEGMENT = 512 << 10, MEMORY = 8 << 20 };

/* The system's operations, but for the one that a test puts in. */
struct trick {
	struct hp_io io;
};

static int pack(const struct packed *p, struct hpdsl_pack_options opt,
		struct hpdsl_error *err)
{
	const char *input = p->tree;
	struct hpdsl_pack_report report;

	opt.inputs = &input;
	opt.n_inputs = 1;
	opt.output = p->out;
	memset(err, 0, sizeof *err);
	return hpdsl_pack(&opt, &report, err);
}

static bool is_there(const struct packed *p, const char *name)
{
	return access(packed_at(p, name), F_OK) == 0;
}

static void begin(struct packed *p, struct trick *t)
{
	packed_begin(p);
	packed_file(p, "a/1.bin", 30000, 0644, 1600000000, 5);
	packed_file(p, "a/2.bin", 70000, 0644, 1600000000, 5);
	*t = (struct trick){ .io = hp_io_system };
}

/* The first segment cannot be written, the others are on their way. */
static ssize_t first_fails(const struct hp_io *io, int fd, const void *buf,
			   size_t n, uint64_t off)
{
	if (n == SEGMENT)
		usleep(off ? 100000 : 20000);
	return n == SEGMENT && !off ? -EIO : BASE.pwrite(io, fd, buf, n, off);
}

static void test_lost_segment(void **state)
{
	struct hpdsl_error err;
	struct packed p;
	struct trick t;

	(void)state;
	begin(&p, &t);
	packed_file(&p, "large", 6 * SEGMENT, 0644, 1600000000, 0);
	t.io.pwrite = first_fails;
	assert_int_equal(pack(&p,
			      (struct hpdsl_pack_options){ .chunks = 1,
							   .memory = MEMORY,
							   .threads = 8,
							   .watch.io = &t.io },
			      &err),
			 -EIO);
	assert_non_null(strstr(err.msg, "chunk-000000.tar: cannot write"));
	assert_false(is_there(&p, "out/chunk-000000.tar"));
	packed_end(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lost_segment),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
