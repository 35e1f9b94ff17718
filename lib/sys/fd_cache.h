/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Open files, kept for the next reader: a bounded number, the one not used for
 * the longest time making place.  One in use is never closed; if all are, a
 * reader gets a descriptor of its own.  Any number of threads.
 */
#ifndef HP_FD_CACHE_H
#define HP_FD_CACHE_H

#include "sys/io.h"

struct hp_fd_cache;

/* A descriptor that stays open until it is given back. */
struct hp_cached_fd {
	int fd;
	int place; /* in the cache, or -1: closed when given back */
};

/* How a file is opened: a descriptor, or a negative code with *err set. */
typedef int hp_open_fn(void *arg, struct hpdsl_error *err);

/*
 * places: how many files at most, and no more than an eighth of what the
 * process may have open.  NULL: no memory.
 */
struct hp_fd_cache *hp_fd_cache_new(const struct hp_io *io, int places);
/* Nobody may hold one any more.  NULL is harmless. */
void hp_fd_cache_free(struct hp_fd_cache *cache);

/*
 * The file of this number, opened if it is not open.  Where the process has no
 * descriptors left (-EMFILE, -ENFILE) those that nobody uses are closed.
 */
int hp_fd_cache_get(struct hp_fd_cache *cache, uint64_t number,
		    hp_open_fn *open, void *arg, struct hp_cached_fd *ret,
		    struct hpdsl_error *err);
/* The same if it is open already: true.  Waits for nobody who opens it. */
bool hp_fd_cache_find(struct hp_fd_cache *cache, uint64_t number,
		      struct hp_cached_fd *ret);
void hp_fd_cache_put(struct hp_fd_cache *cache, const struct hp_cached_fd *f);
/* The same of one that its name does not mean any more: it is opened anew for
 * who comes next. */
void hp_fd_cache_drop(struct hp_fd_cache *cache, const struct hp_cached_fd *f);

#endif
