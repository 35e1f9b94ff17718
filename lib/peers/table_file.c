/* SPDX-License-Identifier: Apache-2.0 */
/* The file of a node's processes: a head that is checked, and its size. */
#include "peers/table_rows.h"

#include "base/error.h"
#include "base/hash.h"
#include "base/mem.h"
#include "sys/boot.h"
#include "sys/outfile.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* As they lie in memory: the file never leaves its boot. */
struct head {
	uint8_t magic[8];
	uint32_t version, flags;
	uint8_t boot[16], book[16];
	uint32_t nodes, row;
	uint64_t checksum; /* XXH3-64 of the bytes before it */
};

_Static_assert(sizeof(struct head) == HP_TABLE_HEAD, "hpdsl-format(5)");

static const uint8_t magic[8] = { 0x89, 'H', 'P', 'D', 'S', 'L', 'H', 0x0a };
enum { VERSION = 2 };

static int expect(const struct hp_io *io, const struct hp_book_head *book,
		  struct head *ret)
{
	*ret = (struct head){ .version = VERSION,
			      .nodes = book->nodes,
			      .row = sizeof(struct hp_table_disk) };
	memcpy(ret->magic, magic, sizeof magic);
	memcpy(ret->book, book->id, sizeof ret->book);
	return hp_boot_id(io, ret->boot);
}

static uint64_t checksum(const struct head *h)
{
	return hp_hash64(h, offsetof(struct head, checksum));
}

/* ---- Named ------------------------------------------------------------ */

static int name_it(const struct hp_io *io, int dir, const char *path,
		   const struct hp_book_head *book, struct hp_table_file *ret,
		   struct hpdsl_error *err)
{
	struct hp_table_file f = { .io = io, .nodes = book->nodes };
	struct head h;
	int r = expect(io, book, &h);

	if (r < 0)
		return hp_fail_errno(err, r, "this boot's id");
	h.checksum = checksum(&h);
	memcpy(f.head, &h, sizeof h);
	if (asprintf(&f.name, "%s/" HP_TABLE_NAME, path) < 0)
		return hp_fail_nomem(err);
	f.dir = io->dup(io, dir);
	if (f.dir < 0) {
		r = hp_fail_errno(err, f.dir, "%s", path);
		free(f.name);
		return r;
	}
	f.any = true;
	*ret = f;
	return 0;
}

void hp_table_leave(struct hp_table_file *f)
{
	if (!f->any)
		return;
	f->io->close(f->io, f->dir);
	free(f->name);
	*f = (struct hp_table_file){ .any = false };
}

/* ---- Opened ----------------------------------------------------------- */

static int check_head(const struct head *is, const struct head *want,
		      const char *name, struct hpdsl_error *err)
{
	if (memcmp(is->magic, magic, sizeof magic) != 0)
		return hp_fail(err, HPDSL_ENOTOURS, "%s: no table of peers",
			       name);
	if (is->version > VERSION)
		return hp_fail(err, HPDSL_ETOONEW,
			       "%s: version %u, this program knows %d", name,
			       is->version, VERSION);
	if (is->checksum != checksum(is))
		return hp_fail(err, HPDSL_ECORRUPT,
			       "%s: header's checksum differs", name);
	if (memcmp(is, want, sizeof *is) != 0)
		return hp_fail(err, -ESTALE,
			       "%s: of another boot, job or version", name);
	return 0;
}

static int check_file(const struct stat *st, const char *name,
		      struct hpdsl_error *err)
{
	if (!S_ISREG(st->st_mode))
		return hp_fail(err, -EPERM, "%s: not a regular file", name);
	if (st->st_uid != geteuid() || st->st_mode & 077)
		return hp_fail(err, -EPERM,
			       "%s: is not, or not only, the caller's", name);
	return 0;
}

static bool is_whole(const struct hp_table_file *f, const struct stat *st)
{
	return st->st_size >= 0 &&
	       (uint64_t)st->st_size == hp_table_row_at(f->nodes + UINT64_C(1));
}

/* What is open as fd; cut: that it is so is no failure. */
static int check(const struct hp_table_file *f, int fd, bool cut,
		 struct hpdsl_error *err)
{
	struct head is, want;
	struct stat st;
	ssize_t n;
	int r = hp_io_fstat(f->io, fd, &st);

	if (r < 0)
		return hp_fail_errno(err, r, "%s", f->name);
	r = check_file(&st, f->name, err);
	if (r < 0)
		return r;
	n = hp_io_pread_full(f->io, fd, &is, sizeof is, 0);
	if (n < 0)
		return hp_fail_errno(err, (int)n, "%s", f->name);
	if ((size_t)n < sizeof is)
		return hp_fail(err, HPDSL_ENOTOURS, "%s: no table of peers",
			       f->name);
	memcpy(&want, f->head, sizeof want);
	r = check_head(&is, &want, f->name, err);
	if (r < 0)
		return r;
	return cut || is_whole(f, &st) ? 0 :
					 hp_fail(err, HPDSL_ECORRUPT,
						 "%s: is cut short", f->name);
}

static int open_it(const struct hp_table_file *f, int mode, bool cut,
		   struct hpdsl_error *err)
{
	int fd = f->io->open(f->io, f->dir, HP_TABLE_NAME,
			     mode | O_NOFOLLOW | O_NONBLOCK, 0),
	    r;

	if (fd == -ELOOP)
		return hp_fail(err, -EPERM, "%s: a symbolic link", f->name);
	if (fd < 0)
		return hp_fail_errno(err, fd, "%s", f->name);
	r = check(f, fd, cut, err);
	if (r == 0)
		return fd;
	f->io->close(f->io, fd);
	return r;
}

int hp_table_find(const struct hp_io *io, int dir, const char *path,
		  const struct hp_book_head *book, struct hp_table_file *ret,
		  struct hpdsl_error *err)
{
	struct hp_table_file f;
	int r = name_it(io, dir, path, book, &f, err), fd;

	if (r < 0)
		return r;
	fd = open_it(&f, O_RDONLY, true, err);
	if (fd < 0) {
		hp_table_leave(&f);
		return fd;
	}
	io->close(io, fd);
	*ret = f;
	return 0;
}

int hp_table_file_open(const struct hp_table_file *f, struct hpdsl_error *err)
{
	return open_it(f, O_RDWR, false, err);
}

bool hp_table_file_is_still(const struct hp_table_file *f, int fd)
{
	struct stat here, named;

	return hp_io_fstat(f->io, fd, &here) == 0 &&
	       hp_io_stat(f->io, f->dir, HP_TABLE_NAME, &named,
			  AT_SYMLINK_NOFOLLOW) == 0 &&
	       here.st_dev == named.st_dev && here.st_ino == named.st_ino &&
	       is_whole(f, &named);
}

/* ---- Made ------------------------------------------------------------- */

/* All of it is written: a row always has its block. */
static int put(const struct hp_table_file *f, struct hpdsl_error *err)
{
	const uint64_t n = hp_table_row_at(f->nodes + UINT64_C(1));
	hp_auto_free uint8_t *p = calloc(1, n);
	struct hpdsl_error why;
	int r;

	if (!p)
		return hp_fail_nomem(err);
	memcpy(p, f->head, sizeof f->head);
	r = hp_outfile_put_private(f->io, f->dir, HP_TABLE_NAME, p, n, &why);
	/* Its text begins with the name in the directory. */
	return r < 0 ? hp_fail(err, r, "%.*s%s",
			       (int)(strlen(f->name) - strlen(HP_TABLE_NAME)),
			       f->name, why.msg) :
		       0;
}

int hp_table_mend(const struct hp_table_file *f, struct hpdsl_error *err)
{
	struct hpdsl_error ignored;
	int fd = hp_table_file_open(f, &ignored), r;

	if (fd >= 0) {
		f->io->close(f->io, fd);
		return 0;
	}
	r = put(f, err);
	if (r < 0)
		return r;
	fd = hp_table_file_open(f, err);
	if (fd < 0)
		return fd;
	f->io->close(f->io, fd);
	return 1;
}

int hp_table_make(const struct hp_io *io, int dir, const char *path,
		  const struct hp_book_head *book, struct hp_table_file *ret,
		  struct hpdsl_error *err)
{
	struct hp_table_file f;
	int r = name_it(io, dir, path, book, &f, err);

	if (r < 0)
		return r;
	r = hp_table_mend(&f, err);
	if (r < 0) {
		hp_table_leave(&f);
		return r;
	}
	*ret = f;
	return 0;
}
