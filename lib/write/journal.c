/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The journal's file: its lock, its beginning, its end.  What it holds is
 * streamed through a buffer, never kept.  Comparing is journal_compare.c, the
 * rows behind the list are journal_rows.c.
 */
#include "write/journal_file.h"

#include "base/error.h"
#include "base/hash.h"
#include "base/mem.h"
#include "format/names.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

enum { LOCK_TRIES = 10, BUFFER = 256 << 10 };

int hp_journal_fail(int code, struct hpdsl_error *err)
{
	return hp_fail_errno(err, code, HP_JOURNAL_NAME);
}

static int read_head(struct hp_journal *j, struct hpdsl_error *err)
{
	uint8_t buf[HP_JOURNAL_HEAD];
	ssize_t n = hp_io_pread_full(j->io, j->fd, buf, sizeof buf, 0);

	if (n < 0)
		return hp_journal_fail((int)n, err);
	if (n < HP_JOURNAL_HEAD)
		return HPDSL_ENOTOURS;
	return hp_journal_head_read(buf, &j->head, err);
}

/* Not synced, as all that follow. */
static int write_head(struct hp_journal *j, struct hpdsl_error *err)
{
	uint8_t buf[HP_JOURNAL_HEAD];
	int r;

	hp_journal_head_write(&j->head, buf);
	r = hp_io_pwrite_full(j->io, j->fd, buf, sizeof buf, 0);
	return r < 0 ? hp_journal_fail(r, err) : 0;
}

/* Says that this process is at work. */
static int write_owner(struct hp_journal *j, struct hpdsl_error *err)
{
	struct hp_journal_owner me = { .pid = (uint32_t)getpid() };
	uint8_t buf[HP_JOURNAL_OWNER];
	int r;

	gethostname(me.host, sizeof me.host - 1);
	hp_journal_owner_write(&me, buf);
	r = hp_io_pwrite_full(j->io, j->fd, buf, sizeof buf, HP_JOURNAL_HEAD);
	return r < 0 ? hp_journal_fail(r, err) : 0;
}

/* A head that tells nothing, until the body is safe. */
static int write_claim(struct hp_journal *j, struct hpdsl_error *err)
{
	int r;

	memset(&j->head, 0, sizeof j->head);
	r = write_head(j, err);
	return r < 0 ? r : write_owner(j, err);
}

int hp_journal_sync(struct hp_journal *j, struct hpdsl_error *err)
{
	if (!j->sync_failed)
		j->sync_failed = j->io->fsync(j->io, j->fd);
	return j->sync_failed < 0 ? hp_journal_fail(j->sync_failed, err) : 0;
}

static int fail_busy(struct hp_journal *j, struct hpdsl_error *err)
{
	struct hp_journal_owner owner = { .pid = 0 };
	char host[HP_PRINTABLE];
	uint8_t buf[HP_JOURNAL_OWNER];

	if (hp_io_pread_full(j->io, j->fd, buf, sizeof buf, HP_JOURNAL_HEAD) ==
	    HP_JOURNAL_OWNER)
		hp_journal_owner_read(buf, &owner);
	if (owner.pid == 0)
		return hp_fail(err, -EBUSY,
			       "%s: another hpdsl-pack is at work here",
			       HP_JOURNAL_NAME);
	hp_printable(owner.host, strlen(owner.host), host);
	return hp_fail(err, -EBUSY,
		       "%s: another hpdsl-pack is at work here (node %s, "
		       "process %u)",
		       HP_JOURNAL_NAME, host, owner.pid);
}

static int lock(struct hp_journal *j, const struct hpdsl_watch *watch,
		struct hpdsl_error *err)
{
	int r = j->io->lock(j->io, j->fd);

	if (r == -EWOULDBLOCK)
		return fail_busy(j, err);
	if (r == -ENOSYS || r == -EOPNOTSUPP || r == -ENOLCK || r == -EINVAL) {
		if (watch && watch->warn)
			watch->warn(watch->arg, HP_JOURNAL_NAME
				    ": this file system has no locks: see to "
				    "it that no other hpdsl-pack writes here");
		return 0;
	}
	return r < 0 ? hp_journal_fail(r, err) : 0;
}

/*
 * 1: the locked file still has its name; 0: the one who had the lock before
 * removed it meanwhile.
 */
static int has_name(struct hp_journal *j, struct hpdsl_error *err)
{
	struct stat file, name;
	int r = hp_io_fstat(j->io, j->fd, &file);

	if (r < 0)
		return hp_journal_fail(r, err);
	if (!S_ISREG(file.st_mode))
		return hp_fail(err, -EINVAL, "%s: not a regular file",
			       HP_JOURNAL_NAME);
	j->fresh = file.st_size == 0;
	r = j->io->stat(j->io, j->dir, HP_JOURNAL_NAME, &name,
			AT_SYMLINK_NOFOLLOW);
	if (r == -ENOENT)
		return 0;
	if (r < 0)
		return hp_journal_fail(r, err);
	return file.st_dev == name.st_dev && file.st_ino == name.st_ino;
}

static int open_locked(struct hp_journal *j, const struct hpdsl_watch *watch,
		       struct hpdsl_error *err)
{
	for (int i = 0; i < LOCK_TRIES; i++) {
		int r;

		j->fd = j->io->open(j->io, j->dir, HP_JOURNAL_NAME,
				    O_RDWR | O_CREAT | O_NOFOLLOW, 0666);
		if (j->fd < 0)
			return hp_journal_fail(j->fd, err);
		r = lock(j, watch, err);
		if (r < 0)
			return r;
		r = has_name(j, err);
		if (r != 0)
			return r < 0 ? r : 0;
		j->io->close(j->io, j->fd);
		j->fd = -1;
	}
	return hp_fail(err, -EBUSY, "%s: another hpdsl-pack is at work here",
		       HP_JOURNAL_NAME);
}

/*
 * Looks at what is there, then makes it name this process.  A head that tells
 * something is not written again: it must not get lost.
 */
static int take_over(struct hp_journal *j, bool *ret_resumable,
		     struct hpdsl_error *err)
{
	int r = read_head(j, err);

	if (r == 0)
		r = write_owner(j, err);
	else if (r == HPDSL_ENOTOURS || r == HPDSL_ECORRUPT)
		r = write_claim(j, err);
	if (r < 0)
		return r;
	*ret_resumable = j->head.options_bytes > 0;
	return 0;
}

int hp_journal_open(const struct hp_io *io, int dir,
		    const struct hpdsl_watch *watch, struct hp_journal **ret,
		    bool *ret_resumable, struct hpdsl_error *err)
{
	struct hp_journal *j = calloc(1, sizeof *j);
	int r;

	if (!j)
		return hp_fail_nomem(err);
	j->io = hp_io_or_system(io);
	j->dir = dir;
	j->fd = -1;
	pthread_mutex_init(&j->lock, NULL);
	r = open_locked(j, watch, err);
	if (r < 0) {
		hp_journal_close(j);
		return r;
	}
	r = take_over(j, ret_resumable, err);
	if (r == 0)
		*ret = j;
	else if (j->fresh)
		hp_journal_remove(j, NULL);
	else
		hp_journal_close(j);
	return r;
}

/* Writes one behind the other and hashes it; the first failure stays. */
struct stream {
	struct hp_journal *j;
	XXH3_state_t hash;
	uint8_t *buf;
	size_t n;     /* bytes in buf */
	uint64_t off; /* where they go */
	int fail;
};

static void flush(struct stream *s)
{
	if (!s->fail)
		s->fail = hp_io_pwrite_full(s->j->io, s->j->fd, s->buf, s->n,
					    s->off);
	XXH3_64bits_update(&s->hash, s->buf, s->n);
	s->off += s->n;
	s->n = 0;
}

static void put(struct stream *s, const void *p, size_t n)
{
	while (n) {
		size_t room = BUFFER - s->n;
		size_t k = n < room ? n : room;

		memcpy(s->buf + s->n, p, k);
		s->n += k;
		p = (const char *)p + k;
		n -= k;
		if (s->n == BUFFER)
			flush(s);
	}
}

static void put_file(struct stream *s, const struct hp_file *f)
{
	struct hp_journal_file fixed = {
		.size = f->size,
		.mtime = f->mtime,
		.nsec = f->nsec,
		.mode = f->mode,
		.path_len = f->path_len,
	};
	uint8_t buf[HP_JOURNAL_FILE];

	hp_journal_file_write(&fixed, buf);
	put(s, buf, sizeof buf);
	put(s, f->path, f->path_len);
}

/* Options and list; completes the head, but for writing it. */
static int write_body(struct hp_journal *j, const struct hp_pairs *options,
		      const struct hp_list *list)
{
	hp_auto_free uint8_t *buf = malloc(BUFFER);
	struct stream s = { .j = j, .buf = buf, .off = HP_JOURNAL_BODY };

	if (!buf)
		return -ENOMEM;
	XXH3_64bits_reset(&s.hash);
	for (size_t i = 0; i < options->n; i++) {
		put(&s, options->v[i].key, strlen(options->v[i].key) + 1);
		put(&s, options->v[i].value, strlen(options->v[i].value) + 1);
	}
	j->head.options_bytes = s.off + s.n - HP_JOURNAL_BODY;
	for (uint64_t i = 0; i < list->n_files && !s.fail; i++)
		put_file(&s, &list->files[i]);
	flush(&s);
	j->head.list_bytes = s.off - HP_JOURNAL_BODY - j->head.options_bytes;
	j->head.n_files = list->n_files;
	j->head.body_checksum = XXH3_64bits_digest(&s.hash);
	j->end = s.off;
	return s.fail;
}

int hp_journal_begin(struct hp_journal *j, const struct hp_pairs *options,
		     const struct hp_list *list, uint64_t chunks,
		     struct hpdsl_error *err)
{
	int r = j->io->truncate(j->io, j->fd, 0);

	if (r < 0)
		return hp_journal_fail(r, err);
	j->n_positions = 0;
	r = write_claim(j, err);
	if (r < 0)
		return r;
	r = write_body(j, options, list);
	if (r < 0)
		return hp_journal_fail(r, err);
	if (j->head.options_bytes > HP_JOURNAL_OPTIONS_MAX)
		return hp_fail(err, HPDSL_EUSAGE, "the options are too long");
	r = hp_journal_sync(j, err);
	j->head.chunks = chunks;
	if (r == 0)
		r = write_head(j, err);
	return r < 0 ? r : hp_journal_sync(j, err);
}

uint64_t hp_journal_chunks(const struct hp_journal *j)
{
	return j->head.chunks;
}

int hp_journal_remove(struct hp_journal *j, struct hpdsl_error *err)
{
	int r = j->io->unlink(j->io, j->dir, HP_JOURNAL_NAME, 0);

	hp_journal_close(j);
	return r < 0 ? hp_journal_fail(r, err) : 0;
}

void hp_journal_close(struct hp_journal *j)
{
	if (!j)
		return;
	if (j->fd >= 0)
		j->io->close(j->io, j->fd);
	pthread_mutex_destroy(&j->lock);
	free(j->positions);
	free(j);
}
