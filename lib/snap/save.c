/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A snapshot as a file, which appears whole, under any name and in any
 * directory that the user chose.
 */
#include "snap/write.h"

#include "base/error.h"
#include "base/mem.h"
#include "sys/outfile.h"

#include <errno.h>
#include <string.h>

struct saver {
	const struct hp_io *io;
	const char *path, *name; /* name is the end of path */
	struct hp_fd dir;
	struct hp_outfile file;
};

/* An error that begins with the name gets the folder in front of it. */
static int fail_there(const struct saver *s, const struct hpdsl_error *why,
		      struct hpdsl_error *err)
{
	return hp_fail(err, why->code, "%.*s%s", (int)(s->name - s->path),
		       s->path, why->msg);
}

/*
 * What is replaced has to be a file: /dev/null is none, nor is /dev/stdout,
 * wherever that link leads to.
 */
static int check_old(const struct saver *s, struct hpdsl_error *err)
{
	struct stat st;
	int r = s->io->stat(s->io, AT_FDCWD, s->path, &st, AT_SYMLINK_NOFOLLOW);

	if (r < 0 && r != -ENOENT)
		return hp_fail_errno(err, r, "%s", s->path);
	if (r == 0 && S_ISLNK(st.st_mode))
		return hp_fail(err, -EINVAL,
			       "%s: is a symbolic link, which is not replaced",
			       s->path);
	if (r == 0 && !S_ISREG(st.st_mode))
		return hp_fail(err, -EINVAL,
			       "%s: is there and is no regular file", s->path);
	return 0;
}

static int open_folder(struct saver *s, struct hpdsl_error *err)
{
	size_t len = (size_t)(s->name - s->path);
	hp_auto_free char *folder = NULL;

	folder = len ? strndup(s->path, len) : strdup(".");
	if (!folder)
		return hp_fail_nomem(err);
	s->dir.fd =
		s->io->open(s->io, AT_FDCWD, folder, O_RDONLY | O_DIRECTORY, 0);
	return s->dir.fd < 0 ? hp_fail_errno(err, s->dir.fd, "%s", folder) : 0;
}

static int begin(struct saver *s, const struct hp_io *io, const char *path,
		 struct hpdsl_error *err)
{
	const char *slash = strrchr(path, '/');
	struct hpdsl_error why;
	int r;

	*s = (struct saver){
		.io = hp_io_or_system(io),
		.path = path,
		.name = slash ? slash + 1 : path,
		.dir = { hp_io_or_system(io), -1 },
		.file = { .fd = -1 },
	};
	if (!*s->name)
		return hp_fail(err, -EINVAL, "'%s': is no name of a file",
			       path);
	r = check_old(s, err);
	if (r == 0)
		r = open_folder(s, err);
	if (r < 0)
		return r;
	r = hp_outfile_open_alone(&s->file, s->io, s->dir.fd, s->name, &why);
	return r < 0 ? fail_there(s, &why, err) : 0;
}

static void end(struct saver *s)
{
	hp_outfile_abandon(&s->file);
	hp_fd_release(&s->dir);
}

static int write_file(void *arg, const void *buf, size_t n, uint64_t off,
		      struct hpdsl_error *err)
{
	struct saver *s = arg;
	struct hpdsl_error why;
	int r = hp_outfile_pwrite(&s->file, buf, n, off, &why);

	return r < 0 ? fail_there(s, &why, err) : 0;
}

static int commit(struct saver *s, struct hpdsl_error *err)
{
	struct hpdsl_error why;
	int r = hp_outfile_flush(&s->file, &why);

	if (r == 0)
		r = hp_outfile_commit(&s->file, &why);
	if (r < 0)
		return fail_there(s, &why, err);
	r = hp_sync_dir(s->io, s->dir.fd, &why);
	return r < 0 ? hp_fail(err, r, "%s: %s", s->path, why.msg) : 0;
}

int hp_snap_save(const struct hp_tree *t, uint32_t threads,
		 const struct hp_io *io, const char *path,
		 struct hpdsl_snapshot_info *ret, struct hpdsl_error *err)
{
	struct hpdsl_snapshot_info info;
	struct hp_sink_at sink = { write_file, NULL };
	struct saver s;
	int r = begin(&s, io, path, err);

	sink.arg = &s;
	if (r == 0)
		r = hp_snap_write(t, threads, &sink, &info, err);
	if (r == 0)
		r = commit(&s, err);
	if (r == 0)
		*ret = info;
	end(&s);
	return r;
}

int hp_snap_save_check(const struct hp_io *io, const char *path,
		       struct hpdsl_error *err)
{
	struct saver s;
	int r = begin(&s, io, path, err);

	end(&s);
	return r;
}
