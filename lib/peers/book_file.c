/* SPDX-License-Identifier: Apache-2.0 */
/* The book as a file: what has to be true of it before a byte is believed. */
#include "peers/book_file.h"

#include "base/error.h"
#include "base/mem.h"
#include "base/sha256.h"
#include "sys/outfile.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* ---- Read ------------------------------------------------------------- */

/* Nobody else can have written it, or read what is secret in it. */
static int check(const struct stat *st, const char *name,
		 struct hpdsl_error *err)
{
	if (!S_ISREG(st->st_mode))
		return hp_fail(err, -EPERM, "%s: not a regular file", name);
	if (st->st_uid != geteuid())
		return hp_fail(err, -EPERM,
			       "%s: belongs to user %u, not to the caller",
			       name, (unsigned)st->st_uid);
	if (st->st_mode & 077)
		return hp_fail(err, -EPERM,
			       "%s: others have rights to it (mode %04o, and "
			       "not 0600)",
			       name, (unsigned)st->st_mode & 07777);
	return 0;
}

/* Memory for the file behind a head, whose pages no core dump has. */
static int make_room(off_t size, const char *name, struct hp_book_file **ret,
		     struct hpdsl_error *err)
{
	const off_t most = (off_t)1 << 30; /* more than any book has */
	size_t n = sizeof **ret + (size_t)size;
	void *p;

	if (size > most)
		return hp_fail(err, HPDSL_ECORRUPT, "%s: too long for a book",
			       name);
	p = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
		 -1, 0);
	if (p == MAP_FAILED)
		return hp_fail_nomem(err);
	madvise(p, n, MADV_DONTDUMP);
	*ret = p;
	(*ret)->mapped = n;
	return 0;
}

static int read_all(const struct hp_io *io, int fd, const char *name,
		    struct hp_book_file **ret, struct hpdsl_error *err)
{
	struct hp_book_file *f = NULL;
	struct stat st;
	ssize_t n;
	int r = hp_io_fstat(io, fd, &st);

	if (r < 0)
		return hp_fail_errno(err, r, "%s", name);
	/* Now, in the thread of who opens: others make proofs, and it forks. */
	if (!hp_sha256_ready())
		return hp_fail_nomem(err);
	r = check(&st, name, err);
	if (r == 0)
		r = make_room(st.st_size, name, &f, err);
	if (r < 0)
		return r;
	f->dev = st.st_dev;
	f->ino = st.st_ino;
	f->size = st.st_size;
	f->made = st.st_ctim;
	n = hp_io_pread_full(io, fd, f + 1, (size_t)st.st_size, 0);
	r = n < 0 ? hp_fail_errno(err, (int)n, "%s", name) :
		    hp_book_parse(f + 1, (uint64_t)n, name, &f->book, err);
	if (r < 0)
		hp_book_unload(f);
	else
		*ret = f;
	return r;
}

int hp_book_load(const struct hp_io *io, int dir, const char *path,
		 struct hp_book_file **ret, struct hpdsl_error *err)
{
	hp_auto_free char *name = NULL;
	hp_auto_fd f = { io, io->open(io, dir, HP_BOOK_NAME,
				      O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0) };

	if (asprintf(&name, "%s/" HP_BOOK_NAME, path) < 0) {
		name = NULL;
		return hp_fail_nomem(err);
	}
	if (f.fd == -ELOOP)
		return hp_fail(err, -EPERM, "%s: a symbolic link", name);
	if (f.fd < 0)
		return hp_fail_errno(err, f.fd, "%s", name);
	return read_all(io, f.fd, name, ret, err);
}

void hp_book_unload(struct hp_book_file *f)
{
	size_t n = f ? f->mapped : 0;

	if (!f)
		return;
	explicit_bzero(f, n);
	munmap(f, n);
}

bool hp_book_is_still(const struct hp_io *io, int dir,
		      const struct hp_book_file *f)
{
	struct stat st;

	return hp_io_stat(io, dir, HP_BOOK_NAME, &st, AT_SYMLINK_NOFOLLOW) ==
		       0 &&
	       st.st_dev == f->dev && st.st_ino == f->ino &&
	       st.st_size == f->size && st.st_ctim.tv_sec == f->made.tv_sec &&
	       st.st_ctim.tv_nsec == f->made.tv_nsec;
}

/* ---- Written ---------------------------------------------------------- */

int hp_book_save(const struct hp_io *io, int dir, const char *path,
		 const struct hp_book_head *h, const struct hp_book_node *nodes,
		 struct hpdsl_error *err)
{
	uint64_t n = hp_book_size(h, nodes);
	struct hpdsl_error why;
	void *p;
	int r;

	if (!n)
		return hp_fail(err, -EINVAL,
			       "%s/" HP_BOOK_NAME
			       ": a node's name, or the number of nodes, is "
			       "more than it has room for",
			       path);
	p = malloc(n);
	if (!p)
		return hp_fail_nomem(err);
	hp_book_format(h, nodes, p);
	r = hp_outfile_put_private(io, dir, HP_BOOK_NAME, p, n, &why);
	explicit_bzero(p, n);
	free(p);
	return r < 0 ? hp_fail(err, r, "%s/%s", path, why.msg) : 0;
}
