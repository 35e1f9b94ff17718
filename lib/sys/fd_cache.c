/* SPDX-License-Identifier: Apache-2.0 */
/* Open files by number, the least recently used one making place. */
#include "sys/fd_cache.h"

#include "base/mem.h"

#include <errno.h>
#include <pthread.h>
#include <sys/resource.h>

enum { FREE = -1, OPENING = -2 };
enum { PLACES_LEAST = 8 };

struct place {
	int fd; /* or one of these */
	uint32_t users;
	uint64_t last; /* cache->clock at the last use */
	bool dropped;  /* nobody finds it, and its last user closes it */
};

struct hp_fd_cache {
	const struct hp_io *io;
	pthread_mutex_t lock;
	pthread_cond_t opened; /* one, or it could not be */
	uint64_t clock;
	int used, places;
	uint64_t *number; /* apart: a search reads nothing else */
	struct place *place;
};

/* A process that reads several datasets has other files to open, too. */
static int affordable(int places)
{
	struct rlimit limit;
	rlim_t most;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
		return places;
	most = limit.rlim_cur / 8;
	if (most < PLACES_LEAST)
		most = PLACES_LEAST;
	return (rlim_t)places < most ? places : (int)most;
}

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
	cache->places = places = affordable(places);
	cache->number = calloc((size_t)places, sizeof *cache->number);
	cache->place = calloc((size_t)places, sizeof *cache->place);
	if (!cache->number || !cache->place) {
		release(cache);
		return NULL;
	}
	pthread_mutex_init(&cache->lock, NULL);
	pthread_cond_init(&cache->opened, NULL);
	return cache;
}

void hp_fd_cache_free(struct hp_fd_cache *cache)
{
	if (!cache)
		return;
	for (int i = 0; i < cache->used; i++)
		if (cache->place[i].fd >= 0)
			cache->io->close(cache->io, cache->place[i].fd);
	pthread_cond_destroy(&cache->opened);
	pthread_mutex_destroy(&cache->lock);
	release(cache);
}

/* The place that the file has, or will have; NULL: none.  Locked. */
static struct place *find(struct hp_fd_cache *cache, uint64_t number)
{
	for (int i = 0; i < cache->used; i++) {
		struct place *p = &cache->place[i];

		if (cache->number[i] == number && p->fd != FREE && !p->dropped)
			return p;
	}
	return NULL;
}

/* A new place, or the idle one not used for longest; NULL: none.  Locked. */
static struct place *find_room(struct hp_fd_cache *cache)
{
	struct place *best = NULL;

	if (cache->used < cache->places) {
		best = &cache->place[cache->used++];
		best->fd = FREE;
		return best;
	}
	for (int i = 0; i < cache->places; i++) {
		struct place *p = &cache->place[i];

		if (p->users == 0 && (!best || p->last < best->last))
			best = p;
	}
	return best;
}

/*
 * The file's place with one user more, waited for while another thread opens
 * it: a server is asked once.  If it has none, one that is OPENING now, for
 * this thread, and in *ret_old what is to be closed in exchange, or FREE.
 * NULL: there is none to be had, or the file could not be opened just now, and
 * all who have waited try for themselves.  Locked.
 */
static struct place *take(struct hp_fd_cache *cache, uint64_t number,
			  int *ret_old)
{
	struct place *p;
	bool waited = false;

	*ret_old = FREE;
	while ((p = find(cache, number)) && p->fd == OPENING) {
		pthread_cond_wait(&cache->opened, &cache->lock);
		waited = true;
	}
	if (p) {
		p->users++;
		p->last = ++cache->clock;
		return p;
	}
	p = waited ? NULL : find_room(cache);
	if (!p)
		return NULL;
	*ret_old = p->fd;
	cache->number[p - cache->place] = number;
	*p = (struct place){ .fd = OPENING, .users = 1 };
	p->last = ++cache->clock;
	return p;
}

/* Closes all that nobody uses: the process has no descriptors left. */
static void close_idle(struct hp_fd_cache *cache)
{
	pthread_mutex_lock(&cache->lock);
	for (int i = 0; i < cache->used; i++) {
		struct place *p = &cache->place[i];

		if (p->users == 0 && p->fd >= 0) {
			cache->io->close(cache->io, p->fd);
			p->fd = FREE;
		}
	}
	pthread_mutex_unlock(&cache->lock);
}

static int open_file(struct hp_fd_cache *cache, hp_open_fn *open, void *arg,
		     struct hpdsl_error *err)
{
	int fd = open(arg, err);

	if (fd == -EMFILE || fd == -ENFILE) {
		close_idle(cache);
		fd = open(arg, err);
	}
	return fd;
}

/* It was opened, or not. */
static void settle(struct hp_fd_cache *cache, struct place *p, int fd)
{
	pthread_mutex_lock(&cache->lock);
	if (fd >= 0)
		p->fd = fd;
	else
		*p = (struct place){ .fd = FREE };
	pthread_cond_broadcast(&cache->opened);
	pthread_mutex_unlock(&cache->lock);
}

bool hp_fd_cache_find(struct hp_fd_cache *cache, uint64_t number,
		      struct hp_cached_fd *ret)
{
	struct place *p;

	pthread_mutex_lock(&cache->lock);
	p = find(cache, number);
	if (p && p->fd == OPENING)
		p = NULL;
	if (p) {
		p->users++;
		p->last = ++cache->clock;
		*ret = (struct hp_cached_fd){ p->fd, (int)(p - cache->place) };
	}
	pthread_mutex_unlock(&cache->lock);
	return p != NULL;
}

int hp_fd_cache_get(struct hp_fd_cache *cache, uint64_t number,
		    hp_open_fn *open, void *arg, struct hp_cached_fd *ret,
		    struct hpdsl_error *err)
{
	struct place *p;
	int fd, old;

	pthread_mutex_lock(&cache->lock);
	p = take(cache, number, &old);
	fd = p ? p->fd : OPENING;
	pthread_mutex_unlock(&cache->lock);
	if (old >= 0)
		cache->io->close(cache->io, old);
	if (fd == OPENING) {
		/* It may wait for a server: others go on meanwhile. */
		fd = open_file(cache, open, arg, err);
		if (p)
			settle(cache, p, fd);
	}
	if (fd < 0)
		return fd;
	*ret = (struct hp_cached_fd){ fd, p ? (int)(p - cache->place) : -1 };
	return 0;
}

static void give_back(struct hp_fd_cache *cache, const struct hp_cached_fd *f,
		      bool drop)
{
	struct place *p;

	if (f->place < 0) {
		cache->io->close(cache->io, f->fd);
		return;
	}
	pthread_mutex_lock(&cache->lock);
	p = &cache->place[f->place];
	p->users--;
	p->dropped |= drop;
	if (p->dropped && p->users == 0) {
		cache->io->close(cache->io, p->fd);
		*p = (struct place){ .fd = FREE };
	}
	pthread_mutex_unlock(&cache->lock);
}

void hp_fd_cache_put(struct hp_fd_cache *cache, const struct hp_cached_fd *f)
{
	give_back(cache, f, false);
}

void hp_fd_cache_drop(struct hp_fd_cache *cache, const struct hp_cached_fd *f)
{
	give_back(cache, f, true);
}
