/* SPDX-License-Identifier: Apache-2.0 */
/* Open files by number, the least recently used one making place. */
#include "fd_cache.h"

#include "mem.h"

#include <errno.h>
#include <pthread.h>

struct place {
	int fd; /* -1: free */
	uint32_t users;
	uint64_t last; /* cache->clock at the last use */
};

struct hp_fd_cache {
	const struct hp_io *io;
	pthread_mutex_t lock;
	uint64_t clock;
	int used, places;
	uint64_t *number; /* apart: a search reads nothing else */
	struct place *place;
};

static void release(struct hp_fd_cache *cache)
{
	free(cache->number);
	free(cache->place);
	free(cache);
}

struct hp_fd_cache *hp_fd_cache_new(const struct hp_io *io, int places)
{
	struct hp_fd_cache *cache = calloc(1, sizeof *cache);

	if (!cache)
		return NULL;
	cache->io = io;
	cache->places = places;
	cache->number = calloc((size_t)places, sizeof *cache->number);
	cache->place = calloc((size_t)places, sizeof *cache->place);
	if (!cache->number || !cache->place ||
	    pthread_mutex_init(&cache->lock, NULL)) {
		release(cache);
		return NULL;
	}
	return cache;
}

void hp_fd_cache_free(struct hp_fd_cache *cache)
{
	if (!cache)
		return;
	for (int i = 0; i < cache->used; i++)
		if (cache->place[i].fd >= 0)
			cache->io->close(cache->io, cache->place[i].fd);
	pthread_mutex_destroy(&cache->lock);
	release(cache);
}

/* Takes the file's place, if it has one.  Locked. */
static bool take(struct hp_fd_cache *cache, uint64_t number,
		 struct hp_cached_fd *ret)
{
	for (int i = 0; i < cache->used; i++) {
		struct place *p = &cache->place[i];

		if (cache->number[i] != number || p->fd < 0)
			continue;
		p->users++;
		p->last = ++cache->clock;
		*ret = (struct hp_cached_fd){ p->fd, i };
		return true;
	}
	return false;
}

/* A new place, or the idle one not used for longest; -1: none.  Locked. */
static int find_place(struct hp_fd_cache *cache)
{
	int best = -1;

	if (cache->used < cache->places) {
		cache->place[cache->used].fd = -1;
		return cache->used++;
	}
	for (int i = 0; i < cache->places; i++) {
		const struct place *p = &cache->place[i];

		if (p->users == 0 &&
		    (best < 0 || p->last < cache->place[best].last))
			best = i;
	}
	return best;
}

/*
 * Keeps fd for the file, unless another thread was faster.  Returns the
 * descriptor that has to be closed in exchange, or -1.
 */
static int keep(struct hp_fd_cache *cache, uint64_t number, int fd,
		struct hp_cached_fd *ret)
{
	int i, old;

	if (take(cache, number, ret))
		return fd;
	i = find_place(cache);
	if (i < 0) {
		*ret = (struct hp_cached_fd){ fd, -1 };
		return -1;
	}
	old = cache->place[i].fd;
	cache->number[i] = number;
	cache->place[i] = (struct place){ fd, 1, ++cache->clock };
	*ret = (struct hp_cached_fd){ fd, i };
	return old;
}

/* Closes all that nobody uses: the process has no descriptors left. */
static void close_idle(struct hp_fd_cache *cache)
{
	pthread_mutex_lock(&cache->lock);
	for (int i = 0; i < cache->used; i++) {
		struct place *p = &cache->place[i];

		if (p->users == 0 && p->fd >= 0) {
			cache->io->close(cache->io, p->fd);
			p->fd = -1;
		}
	}
	pthread_mutex_unlock(&cache->lock);
}

int hp_fd_cache_get(struct hp_fd_cache *cache, uint64_t number,
		    hp_open_fn *open, void *arg, struct hp_cached_fd *ret,
		    struct hpdsl_error *err)
{
	bool have;
	int fd;

	pthread_mutex_lock(&cache->lock);
	have = take(cache, number, ret);
	pthread_mutex_unlock(&cache->lock);
	if (have)
		return 0;
	/* Opening may wait for a server: others go on meanwhile. */
	fd = open(arg, err);
	if (fd == -EMFILE || fd == -ENFILE) {
		close_idle(cache);
		fd = open(arg, err);
	}
	if (fd < 0)
		return fd;
	pthread_mutex_lock(&cache->lock);
	fd = keep(cache, number, fd, ret);
	pthread_mutex_unlock(&cache->lock);
	if (fd >= 0)
		cache->io->close(cache->io, fd);
	return 0;
}

void hp_fd_cache_put(struct hp_fd_cache *cache, const struct hp_cached_fd *f)
{
	if (f->place < 0) {
		cache->io->close(cache->io, f->fd);
		return;
	}
	pthread_mutex_lock(&cache->lock);
	cache->place[f->place].users--;
	pthread_mutex_unlock(&cache->lock);
}
