/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The file that shows what a process counts, written anew every few seconds.
 *
 * Who writes it holds a lock of it, from before it has its name until it is
 * replaced by the next one, which is locked by then, too; so a file that nobody
 * has locked is a dead process's, whatever became of its number, and whichever
 * container that was of.  It is written as hp_outfile_open_alone() does, and
 * whoever has that open is alone with the name: several of one process take
 * the first number that is free in this way.
 *
 * Nothing is synced: after a crash of the machine it would be wrong anyway.
 */
#include "metrics/file.h"

#include "base/error.h"
#include "base/mem.h"
#include "sys/clock.h"
#include "sys/dir.h"
#include "sys/owner.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum {
	MOST = 1000, /* of a process */
	MODE = 0644,
};

#define EVERY 5.0 /* seconds */

struct hpdsl_metrics {
	const struct hp_io *io;
	char *path; /* of the folder */
	char *part, *which;
	struct hp_metrics_self self;
	pid_t pid;  /* that made it */
	int dir;    /* -1: none yet */
	int lock;   /* the file; -1: none so far */
	double due; /* a time of hp_now() */
	unsigned number;
	bool off;
	char name[HP_OUTFILE_NAME]; /* "": it has none so far */
};

/* ---- Opening ---------------------------------------------------------- */

static void release(struct hpdsl_metrics *m)
{
	if (m->lock >= 0)
		m->io->close(m->io, m->lock);
	if (m->dir >= 0)
		m->io->close(m->io, m->dir);
	free(m->path);
	free(m->part);
	free(m->which);
	free(m);
}

static int make(struct hpdsl_metrics *m,
		const struct hpdsl_metrics_options *opt,
		struct hpdsl_error *err)
{
	m->part = strdup(opt->part);
	if (opt->which)
		m->which = strdup(opt->which);
	if (!m->path || !m->part || (opt->which && !m->which))
		return hp_fail_nomem(err);
	hp_metrics_self(&m->self);
	if (opt->ranked)
		snprintf(m->self.rank, sizeof m->self.rank, "%" PRIu32,
			 opt->rank);
	m->dir = m->io->open(m->io, AT_FDCWD, m->path, O_RDONLY | O_DIRECTORY,
			     0);
	if (m->dir < 0)
		return hp_fail_errno(err, m->dir, "HPDSL_METRICS: %s", m->path);
	return 0;
}

int hpdsl_metrics_open(const struct hpdsl_metrics_options *opt,
		       struct hpdsl_metrics **ret, struct hpdsl_error *err)
{
	const char *path = secure_getenv("HPDSL_METRICS");
	struct hpdsl_metrics *m;
	int r;

	if (!hp_metrics_is_label(opt->part) ||
	    (opt->which && !hp_metrics_is_label(opt->which)))
		return hp_fail(err, HPDSL_EUSAGE,
			       "metrics of '%.80s': this is no name",
			       opt->part);
	if (!path || !*path) {
		*ret = NULL;
		return 0;
	}
	m = calloc(1, sizeof *m);
	if (!m)
		return hp_fail_nomem(err);
	m->io = hp_io_or_system(opt->io);
	m->pid = getpid();
	m->dir = m->lock = -1;
	m->path = strdup(path);
	r = make(m, opt, err);
	if (r < 0) {
		release(m);
		return r;
	}
	*ret = m;
	return 0;
}

/* ---- Whose is it? ----------------------------------------------------- */

enum whose { NOBODYS, ALIVE, UNKNOWN };

/*
 * Of a file that is there, which is left open for as long as what comes of it
 * is true: nobody else then takes it for a dead one's.
 */
static enum whose look(const struct hpdsl_metrics *m, const char *name,
		       struct hp_fd *ret)
{
	struct stat st;
	int r;

	*ret = (struct hp_fd){ m->io, -1 };
	r = m->io->open(m->io, m->dir, name,
			O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, 0);
	if (r == -ENOENT)
		return NOBODYS;
	if (r < 0)
		return UNKNOWN;
	ret->fd = r;
	if (hp_io_fstat(m->io, r, &st) < 0 || !S_ISREG(st.st_mode))
		return UNKNOWN;
	r = m->io->lock(m->io, ret->fd);
	return r == 0 ? NOBODYS : r == -EWOULDBLOCK ? ALIVE : UNKNOWN;
}

/* Has that name still the file that is open? */
static bool is_named(const struct hpdsl_metrics *m, const char *name, int fd)
{
	struct stat a, b;

	return hp_io_fstat(m->io, fd, &a) == 0 &&
	       hp_io_stat(m->io, m->dir, name, &b, AT_SYMLINK_NOFOLLOW) == 0 &&
	       a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

/* ---- Away with it ----------------------------------------------------- */

/* A folder for what has ended, if somebody made one whom one may believe. */
static int open_last(const struct hpdsl_metrics *m)
{
	int fd = m->io->open(m->io, m->dir, "last",
			     O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
	struct stat st;

	if (fd < 0)
		return fd;
	if (hp_io_fstat(m->io, fd, &st) == 0 && !hp_is_foreign(st.st_uid))
		return fd;
	m->io->close(m->io, fd);
	return -EPERM;
}

static void retire(const struct hpdsl_metrics *m, const char *name, bool keep)
{
	hp_auto_fd last = { m->io, keep ? open_last(m) : -1 };

	if (last.fd < 0 ||
	    m->io->rename(m->io, m->dir, name, last.fd, name, 0) < 0)
		m->io->unlink(m->io, m->dir, name, 0);
}

static int sweep_one(void *arg, const char *name)
{
	const struct hpdsl_metrics *m = arg;
	hp_auto_fd left = { m->io, -1 };

	if (hp_metrics_is_name(name, &m->self) &&
	    look(m, name, &left) == NOBODYS && left.fd >= 0 &&
	    is_named(m, name, left.fd))
		retire(m, name, *name != '.');
	return 0;
}

/* What dead processes of this node left.  If it cannot be, it stays. */
static void sweep(const struct hpdsl_metrics *m)
{
	hp_auto_fd list = { m->io, m->io->open(m->io, m->dir, ".",
					       O_RDONLY | O_DIRECTORY, 0) };

	if (list.fd >= 0)
		hp_listdir(m->io, list.fd, sweep_one, (void *)m);
}

/* ---- Writing ---------------------------------------------------------- */

static int put_text(const struct hpdsl_metrics *m, const struct hpdsl_metric *v,
		    size_t n, struct hp_text *t, struct hpdsl_error *err)
{
	char number[16];
	const struct hp_metrics_label all[] = {
		{ "job", m->self.job },	  { "rank", m->self.rank },
		{ "node", m->self.node }, { "pid", m->self.pid },
		{ m->which, number },
	};
	const struct hp_metrics_labels common = { all, m->which ? 5 : 4 };

	snprintf(number, sizeof number, "%u", m->number);
	return hp_metrics_text(v, n, &common, t, err);
}

/* For all to read, less what the umask has taken already. */
static int set_mode(const struct hpdsl_metrics *m, int fd)
{
	struct stat st;
	int r = hp_io_fstat(m->io, fd, &st);
	mode_t has = st.st_mode & 07777;

	if (r < 0 || !(has & ~(mode_t)MODE))
		return r;
	return m->io->chmod(m->io, fd, has & MODE);
}

/* What is open becomes the file; its lock is kept. */
static int finish(struct hpdsl_metrics *m, struct hp_outfile *f,
		  const struct hp_text *t, struct hpdsl_error *err)
{
	int lock, r = set_mode(m, f->fd);

	if (r < 0)
		return hp_fail_errno(err, r, "%s", f->name);
	r = hp_outfile_pwrite(f, t->p, t->n, 0, err);
	if (r < 0)
		return r;
	lock = m->io->dup(m->io, f->fd);
	if (lock < 0)
		return hp_fail_errno(err, lock, "%s", f->name);
	r = hp_outfile_commit(f, err);
	if (r < 0) {
		m->io->close(m->io, lock);
		return r;
	}
	if (m->lock >= 0)
		m->io->close(m->io, m->lock);
	m->lock = lock;
	return 0;
}

/* -EEXIST: the name is taken. */
static int take_name(struct hpdsl_metrics *m, struct hp_outfile *f,
		     struct hpdsl_error *err)
{
	char name[HP_OUTFILE_NAME];
	hp_auto_fd there = { m->io, -1 };
	int r;

	hp_metrics_name(m->part, &m->self, m->number, name);
	r = hp_outfile_open_alone(f, m->io, m->dir, name, err);
	if (r == 0 && look(m, name, &there) != NOBODYS) {
		hp_outfile_abandon(f);
		r = -EBUSY;
	}
	if (r == -EBUSY)
		return hp_fail(err, -EEXIST, "%s: another process has it",
			       name);
	if (r == 0)
		strcpy(m->name, name);
	return r;
}

static int open_file(struct hpdsl_metrics *m, struct hp_outfile *f,
		     struct hpdsl_error *err)
{
	int r;

	if (*m->name)
		return hp_outfile_open_alone(f, m->io, m->dir, m->name, err);
	sweep(m);
	while ((r = take_name(m, f, err)) == -EEXIST && m->which &&
	       m->number < MOST)
		m->number++;
	return r;
}

static int put(struct hpdsl_metrics *m, const struct hpdsl_metric *v, size_t n,
	       struct hpdsl_error *err)
{
	struct hp_text t = { 0 };
	struct hp_outfile f;
	int r = open_file(m, &f, err);

	if (r < 0)
		return r;
	r = put_text(m, v, n, &t, err);
	if (r == 0)
		r = finish(m, &f, &t, err);
	hp_outfile_abandon(&f);
	hp_text_release(&t);
	return r;
}

static bool is_ours(const struct hpdsl_metrics *m)
{
	return m && m->pid == getpid();
}

bool hpdsl_metrics_due(const struct hpdsl_metrics *m)
{
	return m && !m->off && hp_now() >= m->due && is_ours(m);
}

int hpdsl_metrics_put(struct hpdsl_metrics *m, const struct hpdsl_metric *v,
		      size_t n, struct hpdsl_error *err)
{
	struct hpdsl_error why;
	int r;

	if (!is_ours(m) || m->off)
		return 0;
	m->due = hp_now() + EVERY;
	r = put(m, v, n, &why);
	if (r == 0)
		return 0;
	/* Somebody looks at it for a moment, to see whose it is. */
	if (r == -EBUSY && m->lock >= 0)
		return 0;
	m->off = true;
	if (m->lock >= 0)
		retire(m, m->name, false);
	return hp_fail(err, r, "HPDSL_METRICS: %s: %s", m->path, why.msg);
}

void hpdsl_metrics_close(struct hpdsl_metrics *m)
{
	if (!m)
		return;
	if (is_ours(m) && !m->off && m->lock >= 0 &&
	    is_named(m, m->name, m->lock))
		retire(m, m->name, *m->self.job);
	release(m);
}
