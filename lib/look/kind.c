/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is at a path.  Of a directory the names decide that only we give, else
 * what most of its names are; of a file its first block, and where that says
 * nothing its name.
 */
#include "base/archive_name.h"
#include "base/error.h"
#include "base/mem.h"
#include "chunk/tar.h"
#include "chunk/tar_tail.h"
#include "dataset/dataset.h"
#include "format/emit.h"
#include "format/manifest.h"
#include "format/names.h"
#include "format/stage_state.h"
#include "hpdsl/look.h"
#include "peers/book_file.h"
#include "snap/snap.h"
#include "sys/dir.h"
#include "write/journal.h"

#include <errno.h>
#include <string.h>

/* Names of a directory that are looked at to tell what most of them are. */
enum { NAMES = 20000 };

/* ---- Side files ------------------------------------------------------- */

static bool is_dataset(const struct hp_io *io, const char *path)
{
	hp_auto_fd f = { io, io->open(io, AT_FDCWD, path,
				      O_RDONLY | O_DIRECTORY, 0) };

	return f.fd >= 0 && hp_dataset_is_one(io, f.fd) > 0;
}

/* Cuts the last name off a real path, and gives it. */
static const char *cut_name(char *path)
{
	char *slash = strrchr(path, '/');

	if (!slash || slash == path)
		return "";
	*slash = '\0';
	return slash + 1;
}

/*
 * Is what really lies at path, which is cut, a side file of the dataset that it
 * lies in, or the folder of some?
 */
static bool is_side(const struct hp_io *io, char *path, bool folder)
{
	const char *name = cut_name(path);

	if (folder)
		return !strcmp(name, HP_SIDE_FOLDER) && is_dataset(io, path);
	if (hp_side_is_name(name, false))
		return is_dataset(io, path);
	return hp_side_is_name(name, true) &&
	       !strcmp(cut_name(path), HP_SIDE_FOLDER) && is_dataset(io, path);
}

/* ---- Directories ------------------------------------------------------ */

static bool exists(const struct hp_io *io, int dir, const char *name)
{
	struct stat st;

	return io->stat(io, dir, name, &st, 0) == 0;
}

struct names {
	uint64_t n, shown, archives, chunks;
};

static int count_name(void *arg, const char *name)
{
	struct names *c = arg;

	c->n++;
	if (name[0] != '.') {
		c->shown++;
		c->archives += hp_archive_suffix(name, strlen(name)) > 0;
		c->chunks += hp_chunk_number(name) >= 0;
	}
	return c->n == NAMES;
}

/*
 * Beside each tar file of others there often lie an index, statistics and a
 * table.
 */
static enum hpdsl_kind by_names(const struct names *c)
{
	if (!c->n)
		return HPDSL_KIND_EMPTY;
	if (c->chunks)
		return HPDSL_KIND_DATASET;
	return c->archives && 4 * c->archives >= c->shown ? HPDSL_KIND_TARS :
							    HPDSL_KIND_TREE;
}

static int look_in(const struct hp_io *io, int dir, enum hpdsl_kind *ret)
{
	struct names c = { 0 };
	int r;

	if (exists(io, dir, HP_STATE_NAME) || exists(io, dir, HP_STAGE_LOCK)) {
		*ret = HPDSL_KIND_STAGE;
		return 0;
	}
	/* Others have a dataset.yaml, too; one that cannot be read is ours. */
	r = hp_dataset_is_one(io, dir);
	if (r == 0 && exists(io, dir, HP_JOURNAL_NAME)) {
		*ret = HPDSL_KIND_UNFINISHED;
		return 0;
	}
	if (r != 0 || exists(io, dir, HP_INDEX_NAME)) {
		*ret = r == HPDSL_ENOTOURS && exists(io, dir, HP_JOURNAL_NAME) ?
			       HPDSL_KIND_UNFINISHED :
			       HPDSL_KIND_DATASET;
		return 0;
	}
	r = hp_listdir(io, dir, count_name, &c);
	if (r >= 0)
		*ret = by_names(&c);
	return r < 0 ? r : 0;
}

static int look_at_folder(const struct hp_io *io, const char *path,
			  enum hpdsl_kind *ret)
{
	hp_auto_fd f = { io, io->open(io, AT_FDCWD, path,
				      O_RDONLY | O_DIRECTORY, 0) };

	hp_auto_free char *real = NULL;
	int r = f.fd < 0 ? f.fd : look_in(io, f.fd, ret);

	if (r == 0 && *ret == HPDSL_KIND_TREE &&
	    hp_io_real_path(io, f.fd, &real) == 0 && is_side(io, real, true))
		*ret = HPDSL_KIND_SIDE;
	return r;
}

/* ---- Files ------------------------------------------------------------ */

static const struct known {
	const char *name, *begins;
	enum hpdsl_kind kind;
} known[] = {
	{ HP_INDEX_NAME, HP_INDEX_MAGIC, HPDSL_KIND_INDEX },
	{ HP_JOURNAL_NAME, HP_JOURNAL_MAGIC, HPDSL_KIND_JOURNAL },
	{ HP_STATE_NAME, HP_STATE_MAGIC, HPDSL_KIND_STATE },
	{ HP_BOOK_NAME, HP_BOOK_MAGIC, HPDSL_KIND_BOOK },
	{ NULL, HP_SNAP_MAGIC, HPDSL_KIND_SNAPSHOT },
	{ NULL, "format: hpdsl-dataset\n", HPDSL_KIND_MANIFEST },
};

enum { KNOWN = sizeof known / sizeof *known };

static enum hpdsl_kind by_head(const char *head, size_t n, const char *base)
{
	for (size_t i = 0; i < KNOWN; i++) {
		size_t k = strlen(known[i].begins);

		if (n >= k && !memcmp(head, known[i].begins, k))
			return known[i].kind;
	}
	for (size_t i = 0; i < KNOWN; i++)
		if (known[i].name && !strcmp(base, known[i].name))
			return known[i].kind;
	if (hp_chunk_number(base) >= 0)
		return HPDSL_KIND_CHUNK;
	if (hp_archive_suffix(base, strlen(base)) ||
	    (n == HP_TAR_BLOCK && hp_tar_looks_like((const uint8_t *)head)))
		return HPDSL_KIND_TAR;
	return HPDSL_KIND_FILE;
}

/* What the file is called where it lies, whatever links led to it. */
static char *real_name(const struct hp_io *io, int fd, const char *path)
{
	char *real;

	return hp_io_real_path(io, fd, &real) == 0 ? real : strdup(path);
}

static int look_at_file(const struct hp_io *io, const char *path,
			enum hpdsl_kind *ret)
{
	hp_auto_fd f = { io, io->open(io, AT_FDCWD, path,
				      O_RDONLY | O_NONBLOCK | O_NOCTTY, 0) };
	hp_auto_free char *name = NULL;
	char head[HP_TAR_BLOCK];
	const char *slash;
	struct stat st;
	ssize_t n;

	if (f.fd < 0)
		return f.fd;
	n = hp_io_fstat(io, f.fd, &st);
	if (n == 0 && !S_ISREG(st.st_mode)) {
		*ret = HPDSL_KIND_SPECIAL; /* by now */
		return 0;
	}
	if (n == 0)
		n = hp_io_pread_full(io, f.fd, head, sizeof head, 0);
	if (n < 0)
		return (int)n;
	name = real_name(io, f.fd, path);
	if (!name)
		return -ENOMEM;
	slash = strrchr(name, '/');
	*ret = by_head(head, (size_t)n, slash ? slash + 1 : name);
	if (*ret == HPDSL_KIND_FILE && is_side(io, name, false))
		*ret = HPDSL_KIND_SIDE;
	return 0;
}

int hpdsl_kind_of(const char *path, const struct hp_io *io,
		  enum hpdsl_kind *ret, struct hpdsl_error *err)
{
	enum hpdsl_kind kind = HPDSL_KIND_SPECIAL;
	struct stat st;
	int r;

	io = hp_io_or_system(io);
	r = hp_io_stat(io, AT_FDCWD, path, &st, 0);
	if (r == -ENOENT || r == -ENOTDIR) {
		kind = HPDSL_KIND_NOTHING;
		r = 0;
	} else if (r == 0 && S_ISDIR(st.st_mode)) {
		r = look_at_folder(io, path, &kind);
	} else if (r == 0 && S_ISREG(st.st_mode)) {
		r = look_at_file(io, path, &kind);
	}
	if (r < 0)
		return hp_fail_errno(err, r, "%s", path);
	*ret = kind;
	return 0;
}
