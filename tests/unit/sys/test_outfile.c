/* SPDX-License-Identifier: Apache-2.0 */
/* Files that appear whole: each fault is told and leaves nothing. */
#include "each_fault.h"
#include "sys/outfile.h"
#include "tmp.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static char place[TMP_NAME];
static int dir;

static int begin(void **state)
{
	(void)state;
	if (!tmp_folder(place, sizeof(place), "outfile"))
		return -1;
	dir = open(place, O_RDONLY | O_DIRECTORY);
	return dir < 0 ? -1 : 0;
}

static int end(void **state)
{
	(void)state;
	close(dir);
	return rmdir(place);
}

static bool is_there(const char *name)
{
	return faccessat(dir, name, F_OK, 0) == 0;
}

static void each_fault_is_told(void **state)
{
	(void)state;
	for (int private = 0; private < 2; private ++)
		for (struct each_fault e = { .code = -EACCES };
		     each_fault(&e);) {
			struct hpdsl_error err = { 0 };
			struct stat st;
			int r = (private ? hp_outfile_put_private :
					   hp_outfile_put)(&e.f.io, dir, "file",
							   "text", 4, &err);

			/* What a run before may have left is removed first. */
			assert_int_equal(r,
					 e.f.failed && e.k > 1 ? -EACCES : 0);
			assert_false(is_there(".file.part"));
			if (r < 0) {
				assert_non_null(strstr(err.msg, "cannot "));
			} else {
				assert_int_equal(fstatat(dir, "file", &st, 0),
						 0);
				assert_int_equal(st.st_size, 4);
				assert_true(!private ||
					    (st.st_mode & 07777) == 0600);
			}
			unlinkat(dir, "file", 0);
		}
}

/* One that takes O_DIRECT, and then refuses to write so; or has no room. */
struct odd {
	struct hp_io io;
	int switched;
	int no_room;
};

static int odd_open(const struct hp_io *io, int at, const char *name, int flags,
		    mode_t mode)
{
	(void)io;
	return hp_io_system.open(&hp_io_system, at, name, flags & ~O_DIRECT,
				 mode);
}

static int odd_set_flags(const struct hp_io *io, int fd, int flags)
{
	(void)fd;
	assert_int_equal(flags, 0);
	((struct odd *)io)->switched++;
	return 0;
}

static ssize_t odd_pwrite(const struct hp_io *io, int fd, const void *buf,
			  size_t n, uint64_t off)
{
	if (!((struct odd *)io)->switched)
		return -EINVAL;
	return hp_io_system.pwrite(&hp_io_system, fd, buf, n, off);
}

static void direct_is_given_up(void **state)
{
	struct odd o = { .io = hp_io_system };
	struct hp_outfile f;

	(void)state;
	o.io.open = odd_open;
	o.io.set_flags = odd_set_flags;
	o.io.pwrite = odd_pwrite;
	assert_int_equal(hp_outfile_open(&f, &o.io, dir, "file", 0, true, NULL),
			 0);
	assert_true(f.direct);
	assert_int_equal(hp_outfile_pwrite(&f, "text", 4, 0, NULL), 0);
	assert_int_equal(hp_outfile_pwrite(&f, "more", 4, 4, NULL), 0);
	assert_int_equal(o.switched, 1);
	assert_int_equal(hp_outfile_sync(&f, NULL), 0);
	assert_int_equal(hp_outfile_commit(&f, NULL), 0);
	assert_int_equal(unlinkat(dir, "file", 0), 0);
}

/* Not every file system can sync a directory. */
static void a_directory_that_cannot_be_synced(void **state)
{
	static const struct {
		int code, want;
	} rows[] = {
		{ -EINVAL, 0 }, { -EROFS, 0 }, { -ENOTSUP, 0 }, { -EIO, -EIO }
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct faultio f;

		faultio_init(&f, 1, false, rows[i].code);
		assert_int_equal(hp_sync_dir(&f.io, dir, NULL), rows[i].want);
	}
}

static int odd_allocate(const struct hp_io *io, int fd, uint64_t size)
{
	(void)fd;
	assert_int_equal(size, 4096);
	return ((const struct odd *)io)->no_room;
}

/* What cannot be reserved, for want of the call, is no error. */
static void no_room_is_an_error_at_once(void **state)
{
	static const struct {
		int code;
		bool is_error;
	} cases[] = { { -ENOSPC, true },     { -EDQUOT, true },
		      { -EFBIG, true },	     { -EIO, true },
		      { -EINVAL, false },    { -ENOSYS, false },
		      { -EOPNOTSUPP, false } };

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct odd o = { .io = hp_io_system, .no_room = cases[i].code };
		struct hp_outfile f;

		o.io.allocate = odd_allocate;
		assert_int_equal(hp_outfile_open(&f, &o.io, dir, "file", 4096,
						 false, NULL),
				 cases[i].is_error ? cases[i].code : 0);
		assert_int_equal(is_there(".file.part"), !cases[i].is_error);
		hp_outfile_abandon(&f);
		assert_false(is_there(".file.part"));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_fault_is_told),
		cmocka_unit_test(direct_is_given_up),
		cmocka_unit_test(no_room_is_an_error_at_once),
		cmocka_unit_test(a_directory_that_cannot_be_synced),
	};

	return cmocka_run_group_tests(tests, begin, end);
}
