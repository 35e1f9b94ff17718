/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The journal of an unfinished pack, for whoever wants to know how far it is.
 * The packer may be at work on it: what is there so far is told, and a row that
 * is not whole yet ends it.
 */
#include "base/error.h"
#include "base/mem.h"
#include "format/names.h"
#include "look/pairs.h"
#include "sys/io.h"
#include "write/journal.h"

#include <errno.h>
#include <string.h>

enum { ROWS = 1024 }; /* read at a time */

struct hpdsl_unfinished {
	struct hp_journal_head head;
	struct hp_journal_owner owner;
	int64_t written;
	char *text; /* of the options */
	struct hpdsl_pair *options;
	size_t n_options;
	uint64_t *bytes; /* of each chunk that is done; 0: it is not */
	uint64_t done;
};

/*
 * Before a chunk is written there may be nothing, or no more than who it is: a
 * head that is not right has not begun.
 */
static int read_head(struct hpdsl_unfinished *u, const struct hp_io *io, int fd,
		     struct hpdsl_error *err)
{
	uint8_t buf[HP_JOURNAL_BODY] = { 0 };
	ssize_t n = hp_io_pread_full(io, fd, buf, sizeof buf, 0);
	int r;

	if (n < 0)
		return hp_fail_errno(err, (int)n, HP_JOURNAL_NAME);
	r = hp_journal_head_read(buf, &u->head, err);
	if (r == HPDSL_ENOTOURS || r == HPDSL_ECORRUPT)
		return 0;
	hp_journal_owner_read(buf + HP_JOURNAL_HEAD, &u->owner);
	return r;
}

static int read_options(struct hpdsl_unfinished *u, const struct hp_io *io,
			int fd, struct hpdsl_error *err)
{
	size_t n = (size_t)u->head.options_bytes;
	struct hp_pairs p = { 0 };
	ssize_t got;
	int r;

	u->text = malloc(n + 1);
	if (!u->text)
		return hp_fail_nomem(err);
	got = hp_io_pread_full(io, fd, u->text, n, HP_JOURNAL_BODY);
	if (got < 0)
		return hp_fail_errno(err, (int)got, HP_JOURNAL_NAME);
	if ((size_t)got < n)
		return hp_fail(err, HPDSL_ECORRUPT,
			       HP_JOURNAL_NAME ": cut off");
	r = hp_journal_options_read(u->text, n, &p, err);
	if (r < 0)
		return r;
	u->options = hp_look_pairs(&p);
	u->n_options = p.n;
	free(p.v);
	return u->options ? 0 : hp_fail_nomem(err);
}

/* False: it is none, and what follows is of no use. */
static bool take_row(struct hpdsl_unfinished *u, const uint8_t *buf)
{
	struct hp_journal_position pos;
	struct hp_journal_record rec;

	if (hp_journal_record_read(buf, &rec) < 0)
		return hp_journal_position_read(buf, &pos) == 0;
	if (rec.chunk >= HP_CHUNKS_MAX)
		return true;
	u->done += u->bytes[rec.chunk] == 0;
	u->bytes[rec.chunk] = rec.bytes ? rec.bytes : 1;
	return true;
}

static int read_rows(struct hpdsl_unfinished *u, const struct hp_io *io, int fd,
		     struct hpdsl_error *err)
{
	size_t size = ROWS * HP_JOURNAL_RECORD;
	hp_auto_free uint8_t *buf = malloc(size);
	uint64_t at =
		HP_JOURNAL_BODY + u->head.options_bytes + u->head.list_bytes;
	ssize_t n, i;

	u->bytes = calloc(HP_CHUNKS_MAX, sizeof *u->bytes);
	if (!buf || !u->bytes)
		return hp_fail_nomem(err);
	for (;; at += size) {
		n = hp_io_pread_full(io, fd, buf, size, at);
		if (n < 0)
			return hp_fail_errno(err, (int)n, HP_JOURNAL_NAME);
		for (i = 0; n - i >= HP_JOURNAL_RECORD; i += HP_JOURNAL_RECORD)
			if (!take_row(u, buf + i))
				return 0;
		if ((size_t)n < size)
			return 0;
	}
}

static int read_journal(struct hpdsl_unfinished *u, const struct hp_io *io,
			int fd, struct hpdsl_error *err)
{
	struct stat st;
	int r = hp_io_fstat(io, fd, &st);

	if (r < 0)
		return hp_fail_errno(err, r, HP_JOURNAL_NAME);
	if (!S_ISREG(st.st_mode))
		return hp_fail(err, HPDSL_ECORRUPT,
			       HP_JOURNAL_NAME ": not a regular file");
	u->written = st.st_mtime;
	r = read_head(u, io, fd, err);
	if (r == 0 && u->head.options_bytes)
		r = read_options(u, io, fd, err);
	if (r == 0 && u->head.options_bytes)
		r = read_rows(u, io, fd, err);
	return r;
}

static int open_in(struct hpdsl_unfinished *u, const char *path,
		   const struct hp_io *io, struct hpdsl_error *err)
{
	hp_auto_fd dir = { io, io->open(io, AT_FDCWD, path,
					O_RDONLY | O_DIRECTORY, 0) };
	struct hpdsl_error why = { 0 };
	int r;

	if (dir.fd < 0)
		return hp_fail_errno(err, dir.fd, "%s", path);
	hp_auto_fd f = { io, io->open(io, dir.fd, HP_JOURNAL_NAME,
				      O_RDONLY | O_NONBLOCK | O_NOCTTY, 0) };
	if (f.fd == -ENOENT)
		return hp_fail(err, HPDSL_ENOTOURS, "%s: no unfinished pack",
			       path);
	if (f.fd < 0)
		return hp_fail_errno(err, f.fd, "%s/%s", path, HP_JOURNAL_NAME);
	r = read_journal(u, io, f.fd, &why);
	return r < 0 ? hp_fail(err, r, "%s/%s", path, why.msg) : 0;
}

int hpdsl_unfinished_open(const char *path, const struct hp_io *io,
			  struct hpdsl_unfinished **ret,
			  struct hpdsl_error *err)
{
	struct hpdsl_unfinished *u = calloc(1, sizeof *u);
	int r;

	if (!u)
		return hp_fail_nomem(err);
	r = open_in(u, path, hp_io_or_system(io), err);
	if (r < 0) {
		hpdsl_unfinished_close(u);
		return r;
	}
	*ret = u;
	return 0;
}

void hpdsl_unfinished_close(struct hpdsl_unfinished *u)
{
	if (!u)
		return;
	free(u->text);
	free(u->options);
	free(u->bytes);
	free(u);
}

void hpdsl_unfinished_info(const struct hpdsl_unfinished *u,
			   struct hpdsl_unfinished_info *ret)
{
	*ret = (struct hpdsl_unfinished_info){
		.begun = u->head.options_bytes > 0,
		.files = u->head.n_files,
		.chunks = u->head.chunks,
		.chunks_done = u->done,
		.options = { u->options, u->n_options },
		.written = u->written,
		.host = u->owner.host,
		.process = u->owner.pid,
	};
	for (size_t i = 0; u->bytes && i < HP_CHUNKS_MAX; i++)
		ret->bytes_done += u->bytes[i];
}
