/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Open chunk files of a dataset, kept for the next reader: a bounded number,
 * the one not used for the longest time making place.  One in use is never
 * closed; if all are, a reader gets a descriptor of its own.
 */
#include "dataset.h"

#include "error.h"
#include "mem.h"

#include <errno.h>
#include <pthread.h>

enum { PLACES = 256 };

struct place {
	int fd; /* -1: free */
	uint32_t users;
	uint64_t last; /* files->clock at the last use */
};

struct hp_chunk_files {
	pthread_mutex_t lock;
	uint64_t clock;
	int used;		/* places used so far */
	uint32_t chunk[PLACES]; /* apart: a search reads nothing else */
	struct place place[PLACES];
};

struct hp_chunk_files *hp_chunk_files_new(void)
{
	struct hp_chunk_files *files = calloc(1, sizeof *files);

	if (!files)
		return NULL;
	if (pthread_mutex_init(&files->lock, NULL)) {
		free(files);
		return NULL;
	}
	return files;
}

void hp_chunk_files_free(struct hp_chunk_files *files, const struct hp_io *io)
{
	if (!files)
		return;
	for (int i = 0; i < files->used; i++)
		if (files->place[i].fd >= 0)
			io->close(io, files->place[i].fd);
	pthread_mutex_destroy(&files->lock);
	free(files);
}

/* Takes the chunk's place, if it has one.  Locked. */
static bool take(struct hp_chunk_files *files, uint32_t chunk,
		 struct hp_chunk_file *ret)
{
	for (int i = 0; i < files->used; i++) {
		struct place *p = &files->place[i];

		if (files->chunk[i] != chunk || p->fd < 0)
			continue;
		p->users++;
		p->last = ++files->clock;
		*ret = (struct hp_chunk_file){ p->fd, i };
		return true;
	}
	return false;
}

/* A new place, or the idle one not used for longest; -1: none.  Locked. */
static int find_place(struct hp_chunk_files *files)
{
	int best = -1;

	if (files->used < PLACES) {
		files->place[files->used].fd = -1;
		return files->used++;
	}
	for (int i = 0; i < PLACES; i++) {
		const struct place *p = &files->place[i];

		if (p->users == 0 &&
		    (best < 0 || p->last < files->place[best].last))
			best = i;
	}
	return best;
}

/*
 * Keeps fd for the chunk, unless another thread was faster.  Returns the
 * descriptor that has to be closed in exchange, or -1.
 */
static int keep(struct hp_chunk_files *files, uint32_t chunk, int fd,
		struct hp_chunk_file *ret)
{
	int i, old;

	if (take(files, chunk, ret))
		return fd;
	i = find_place(files);
	if (i < 0) {
		*ret = (struct hp_chunk_file){ fd, -1 };
		return -1;
	}
	old = files->place[i].fd;
	files->chunk[i] = chunk;
	files->place[i] = (struct place){ fd, 1, ++files->clock };
	*ret = (struct hp_chunk_file){ fd, i };
	return old;
}

/* Closes all that nobody uses: the process has no descriptors left. */
static void close_idle(struct hp_chunk_files *files, const struct hp_io *io)
{
	pthread_mutex_lock(&files->lock);
	for (int i = 0; i < files->used; i++) {
		struct place *p = &files->place[i];

		if (p->users == 0 && p->fd >= 0) {
			io->close(io, p->fd);
			p->fd = -1;
		}
	}
	pthread_mutex_unlock(&files->lock);
}

static int open_chunk(const struct hpdsl_dataset *ds,
		      const struct hpdsl_chunk *c, int *ret,
		      struct hpdsl_error *err)
{
	const struct hp_io *io = ds->io;
	hp_auto_fd f = { io, io->open(io, ds->dir, c->name,
				      O_RDONLY | O_NONBLOCK, 0) };
	struct stat st;
	int r;

	if (f.fd == -EMFILE || f.fd == -ENFILE) {
		close_idle(ds->files, io);
		f.fd = io->open(io, ds->dir, c->name, O_RDONLY | O_NONBLOCK, 0);
	}
	r = f.fd < 0 ? f.fd : hp_io_fstat(io, f.fd, &st);
	if (r < 0)
		return hp_fail_errno(err, r, "%s/%s", ds->path, c->name);
	/* Of a chunk that was cut short the members before the cut are good:
	 * each has its own checksum. */
	if (!S_ISREG(st.st_mode))
		return hp_fail(err, HPDSL_ECORRUPT, "%s/%s: not a regular file",
			       ds->path, c->name);
	*ret = f.fd;
	f.fd = -1;
	return 0;
}

int hp_chunk_file_get(const struct hpdsl_dataset *ds,
		      const struct hpdsl_chunk *c, struct hp_chunk_file *ret,
		      struct hpdsl_error *err)
{
	struct hp_chunk_files *files = ds->files;
	int fd = -1, r;
	bool have;

	pthread_mutex_lock(&files->lock);
	have = take(files, c->number, ret);
	pthread_mutex_unlock(&files->lock);
	if (have)
		return 0;
	/* Opening may wait for a server: others go on meanwhile. */
	r = open_chunk(ds, c, &fd, err);
	if (r < 0)
		return r;
	pthread_mutex_lock(&files->lock);
	fd = keep(files, c->number, fd, ret);
	pthread_mutex_unlock(&files->lock);
	if (fd >= 0)
		ds->io->close(ds->io, fd);
	return 0;
}

void hp_chunk_file_put(const struct hpdsl_dataset *ds,
		       const struct hp_chunk_file *f)
{
	if (f->place < 0) {
		ds->io->close(ds->io, f->fd);
		return;
	}
	pthread_mutex_lock(&ds->files->lock);
	ds->files->place[f->place].users--;
	pthread_mutex_unlock(&ds->files->lock);
}
