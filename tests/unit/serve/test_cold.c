/* SPDX-License-Identifier: Apache-2.0 */
/* What a disk has to be waited for: is it, and does it come as it is. */
#include "serve/private.h"
#include "tmp.h"

#include <errno.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum { SIZE = (3 << 20) + 1000 };

/* The system's files, with a page cache and a disk that are pretended. */
struct disk {
	struct hp_io io;
	int64_t cached; /* what it says */
	bool no_direct; /* there is no such thing */
	int fail;	/* every read does, with that */
	size_t most;	/* bytes that a read gives; 0: any */
	unsigned direct, open;
	int direct_fd; /* 0: none */
};

struct scene {
	struct disk disk;
	struct hpdsl_dataset ds;
	struct hpdsl_serve s;
	char *bytes;
	char path[TMP_NAME];
};

static int64_t say_cached(const struct hp_io *io, int fd, uint64_t off,
			  uint64_t n)
{
	(void)fd, (void)off, (void)n;
	return ((const struct disk *)io)->cached;
}

static int open_some(const struct hp_io *io, int dir, const char *name,
		     int flags, mode_t mode)
{
	struct disk *d = (struct disk *)io;
	int fd;

	if (d->no_direct && flags & O_DIRECT)
		return -EINVAL;
	/* Where the tests lie there may be none. */
	d->direct += (flags & O_DIRECT) != 0;
	fd = hp_io_system.open(&hp_io_system, dir, name, flags & ~O_DIRECT,
			       mode);
	d->open += fd >= 0;
	if (flags & O_DIRECT)
		d->direct_fd = fd;
	return fd;
}

static int close_one(const struct hp_io *io, int fd)
{
	struct disk *d = (struct disk *)io;

	d->open--;
	if (fd == d->direct_fd)
		d->direct_fd = 0;
	return hp_io_system.close(&hp_io_system, fd);
}

static ssize_t read_some(const struct hp_io *io, int fd, void *buf, size_t n,
			 uint64_t off)
{
	struct disk *d = (struct disk *)io;

	if (d->fail)
		return d->fail;
	/* As O_DIRECT wants it. */
	if (fd == d->direct_fd) {
		assert_int_equal(n % 4096, 0);
		assert_int_equal(off % 4096, 0);
		assert_int_equal((uintptr_t)buf % 4096, 0);
	}
	if (d->most && n > d->most)
		n = d->most;
	return hp_io_system.pread(&hp_io_system, fd, buf, n, off);
}

static void begin(struct scene *c)
{
	int fd;

	*c = (struct scene){ .disk.io = hp_io_system };
	c->disk.io.cached = say_cached;
	c->disk.io.open = open_some;
	c->disk.io.close = close_one;
	c->disk.io.pread = read_some;
	c->ds.path = (char *)"here";
	c->s.io = &c->disk.io;
	c->s.ds = &c->ds;
	c->bytes = malloc(SIZE);
	for (unsigned i = 0; i < SIZE; i++)
		c->bytes[i] = (char)(i * 2654435761u >> 24);
	fd = tmp_file(c->path, sizeof c->path, "cold");
	assert_true(fd >= 0);
	assert_int_equal(write(fd, c->bytes, SIZE), SIZE);
	close(fd);
}

static void end(struct scene *c)
{
	assert_int_equal(c->disk.open, 0);
	unlink(c->path);
	free(c->bytes);
}

static struct hpdsl_serve_answer answer(struct scene *c, uint64_t offset,
					uint64_t length)
{
	return (struct hpdsl_serve_answer){
		.status = 206,
		.fd = open_some(c->s.io, AT_FDCWD, c->path, O_RDONLY, 0),
		.offset = offset,
		.length = length,
	};
}

static void test_is_cold(void **state)
{
	struct hpdsl_serve_answer a = { .fd = -1, .length = 100 };
	struct scene c;

	(void)state;
	begin(&c);
	/* No file, no body, or nothing of it. */
	assert_false(hpdsl_serve_is_cold(&c.s, &a));
	a = answer(&c, 10, 100);
	a.head = true;
	assert_false(hpdsl_serve_is_cold(&c.s, &a));
	a.head = false;
	assert_true(hpdsl_serve_is_cold(&c.s, &a));
	/* Also if it lacks no more than a byte. */
	c.disk.cached = 99;
	assert_true(hpdsl_serve_is_cold(&c.s, &a));
	c.disk.cached = 100;
	assert_false(hpdsl_serve_is_cold(&c.s, &a));
	/* What is longer than anybody may ask for is not held in memory. */
	c.disk.cached = 0;
	a.length = UINT64_C(1) << 40;
	assert_false(hpdsl_serve_is_cold(&c.s, &a));
	close_one(c.s.io, a.fd);
	end(&c);
}

static void test_unknown(void **state)
{
	struct hpdsl_serve_answer a;
	struct scene c;
	uint64_t type;

	(void)state;
	begin(&c);
	c.disk.cached = -EOPNOTSUPP;
	a = answer(&c, 10, 100);
	assert_int_equal(hp_io_system.fs_type(&hp_io_system, a.fd, &type), 0);
	/* TMPFS_MAGIC: it is in memory. */
	assert_int_equal(hpdsl_serve_is_cold(&c.s, &a), type != 0x01021994);
	close_one(c.s.io, a.fd);
	end(&c);
}

static void get(struct scene *c, uint64_t offset, uint64_t length)
{
	struct hpdsl_serve_answer a = answer(c, offset, length);
	struct hpdsl_error err;

	if (hpdsl_serve_read_cold(&c->s, &a, &err) < 0)
		fail_msg("%s", err.msg);
	assert_int_equal(a.fd, -1);
	assert_memory_equal(a.body, c->bytes + offset, length);
	free(a.memory);
}

static void get_all(struct scene *c)
{
	static const uint64_t at[] = { 0, 1, 4095, 4096, 12345 };
	static const uint64_t n[] = { 1, 4096, 100000, 1 << 20, 2 << 20 };

	for (size_t i = 0; i < 5; i++) {
		for (size_t k = 0; k < 5; k++)
			get(c, at[i], n[k]);
		get(c, at[i], SIZE - at[i]);
	}
}

static void test_read(void **state)
{
	struct scene c;

	(void)state;
	begin(&c);
	get_all(&c);
	/* Of each place 1 MiB, 2 MiB and all. */
	assert_int_equal(c.disk.direct, 15);
	assert_int_equal(c.s.count.cold, 30);
	c.disk.most = 300 << 10;
	get_all(&c);
	/* An odd piece in the middle. */
	c.disk.most = 300001;
	get_all(&c);
	c.disk.no_direct = true;
	c.disk.most = 0;
	get_all(&c);
	assert_int_equal(c.disk.direct, 45);
	end(&c);
}

static void refuse(struct scene *c, uint64_t length, int code)
{
	struct hpdsl_serve_answer a = answer(c, 5000, length);
	struct hpdsl_error err;

	assert_int_equal(hpdsl_serve_read_cold(&c->s, &a, &err), code);
	assert_non_null(strstr(err.msg, "here: chunk 0"));
	assert_int_equal(a.fd, -1);
	assert_null(a.body);
	assert_null(a.memory);
}

static void test_fails(void **state)
{
	struct scene c;

	(void)state;
	begin(&c);
	c.disk.fail = -EIO;
	refuse(&c, 100, -EIO);
	refuse(&c, 2 << 20, -EIO);
	c.disk.fail = 0;
	assert_int_equal(truncate(c.path, 5099), 0);
	refuse(&c, 100, -EIO);
	refuse(&c, 2 << 20, -EIO);
	assert_int_equal(c.s.count.cold, 0);
	get(&c, 5000, 99);
	end(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_is_cold),
		cmocka_unit_test(test_unknown),
		cmocka_unit_test(test_read),
		cmocka_unit_test(test_fails),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
