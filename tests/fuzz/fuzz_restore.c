/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hpdsl_unpack of any index and any chunk, while the index is written to.  The
 * output is played: every name that something is made under is one name, below
 * the directory, and leads nowhere else.
 */
#include "fuzz_dataset.h"

enum { OUT_DIR = IN_OTHER, OUT_FILE };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_name(int dir, const char *name)
{
	if (dir != OUT_DIR || !*name || strchr(name, '/') ||
	    !strcmp(name, ".") || !strcmp(name, ".."))
		abort();
}

static int out_open(const struct hp_io *io, int dir, const char *name,
		    int flags, mode_t mode)
{
	if (dir == AT_FDCWD && !strcmp(name, "out"))
		return OUT_DIR;
	if (dir != OUT_DIR && !(flags & O_CREAT))
		return fuzz_open(io, dir, name, flags, mode);
	fuzz_dataset_step(io);
	check_name(dir, name);
	if (flags & O_CREAT && !(flags & O_EXCL))
		abort();
	return flags & O_CREAT ? OUT_FILE : OUT_DIR;
}

static int out_mkdir(const struct hp_io *io, int dir, const char *name,
		     mode_t mode)
{
	(void)mode;
	fuzz_dataset_step(io);
	if (dir != AT_FDCWD || strcmp(name, "out"))
		check_name(dir, name);
	return 0;
}

static ssize_t out_write(const struct hp_io *io, int fd, const void *buf,
			 size_t n)
{
	fuzz_dataset_step(io);
	if (fd != OUT_FILE || (n && !buf))
		abort();
	return (ssize_t)n;
}

static int out_chmod(const struct hp_io *io, int fd, mode_t mode)
{
	fuzz_dataset_step(io);
	if (fd != OUT_FILE || mode & ~0777u)
		abort();
	return 0;
}

static int out_set_times(const struct hp_io *io, int fd,
			 const struct timespec times[2])
{
	fuzz_dataset_step(io);
	if (fd != OUT_FILE || times[1].tv_nsec > 999999999)
		abort();
	return 0;
}

static int out_rename(const struct hp_io *io, int old_dir, const char *old_name,
		      int new_dir, const char *new_name, unsigned flags)
{
	fuzz_dataset_step(io);
	check_name(old_dir, old_name);
	check_name(new_dir, new_name);
	return flags ? 0 : -EINVAL;
}

static int out_unlink(const struct hp_io *io, int dir, const char *name,
		      int flags)
{
	(void)io;
	(void)flags;
	check_name(dir, name);
	return 0;
}

static void unpack(struct fuzz_dataset *in)
{
	struct hpdsl_unpack_options opt = { .threads = HPDSL_SERIAL,
					    .watch.io = &in->io };
	struct hpdsl_unpack_report report;
	struct hpdsl_dataset *ds;
	struct hpdsl_error err;

	if (hpdsl_open("in", &in->io, &ds, &err) < 0)
		return;
	hpdsl_unpack(ds, "out", &opt, &report, &err);
	hpdsl_close(ds);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_dataset in;

	if (!fuzz_dataset_begin(&in, data, size))
		return 0;
	in.io.open = out_open;
	in.io.mkdir = out_mkdir;
	in.io.write = out_write;
	in.io.chmod = out_chmod;
	in.io.set_times = out_set_times;
	in.io.rename = out_rename;
	in.io.unlink = out_unlink;
	unpack(&in);
	fuzz_dataset_end(&in);
	return 0;
}
