/* SPDX-License-Identifier: Apache-2.0 */
#include "fill.h"

#include <errno.h>
#include <stdlib.h>

/* A chunk's byte: how often it was tried, and if it is to be. */
enum { QUEUED = 0x80, PAGE = 4096 };

int mount_fill_init(struct mount_fill *f, uint32_t chunks)
{
	*f = (struct mount_fill){ .chunks = chunks };
	f->state = calloc(chunks + 1ul, 1);
	f->queue = calloc(chunks + 1ul, sizeof(*f->queue));
	if (f->state && f->queue)
		return 0;
	mount_fill_release(f);
	return -ENOMEM;
}

void mount_fill_release(struct mount_fill *f)
{
	free(f->state);
	free(f->queue);
	*f = (struct mount_fill){ .chunks = 0 };
}

bool mount_fill_is_new(const struct mount_fill *f, uint32_t chunk)
{
	return chunk < f->chunks &&
	       __atomic_load_n(&f->state[chunk], __ATOMIC_RELAXED) <
		       MOUNT_FILL_TRIES;
}

bool mount_fill_is_over(const struct mount_fill *f, uint32_t chunk)
{
	return chunk < f->chunks &&
	       __atomic_load_n(&f->state[chunk], __ATOMIC_RELAXED) ==
		       MOUNT_FILL_TRIES;
}

static void set(struct mount_fill *f, uint32_t chunk, unsigned state)
{
	__atomic_store_n(&f->state[chunk], (uint8_t)state, __ATOMIC_RELAXED);
}

bool mount_fill_want(struct mount_fill *f, uint32_t chunk)
{
	if (!mount_fill_is_new(f, chunk))
		return false;
	set(f, chunk, f->state[chunk] | QUEUED);
	f->queue[((uint64_t)f->first + f->n++) % f->chunks] = chunk;
	return true;
}

bool mount_fill_next(struct mount_fill *f, uint32_t *ret)
{
	if (!f->n)
		return false;
	*ret = f->queue[f->first];
	f->first = (f->first + 1) % f->chunks;
	f->n--;
	return true;
}

void mount_fill_done(struct mount_fill *f, uint32_t chunk, uint64_t tried,
		     uint64_t known)
{
	unsigned tries = f->state[chunk] & ~(unsigned)QUEUED;

	set(f, chunk, known < tried - known ? tries + 1 : MOUNT_FILL_TRIES);
}

/* ---- Frames ----------------------------------------------------------- */

enum { FUTILE_MOST = 6 /* one of 64 is tried */ };

bool mount_frames_want(struct mount_frames *f, const struct mount_run *run)
{
	for (unsigned i = 0; i < f->n; i++)
		if (f->run[(f->first + i) % MOUNT_FRAMES].first == run->first)
			return false;
	if (f->n == MOUNT_FRAMES || ++f->passed < 1u << f->futile)
		return false;
	f->passed = 0;
	f->run[(f->first + f->n++) % MOUNT_FRAMES] = *run;
	return true;
}

bool mount_frames_next(struct mount_frames *f, struct mount_run *ret)
{
	if (!f->n)
		return false;
	*ret = f->run[f->first];
	f->first = (f->first + 1) % MOUNT_FRAMES;
	f->n--;
	return true;
}

void mount_frames_done(struct mount_frames *f, uint64_t tried, uint64_t known)
{
	/* One is known at least, which is read. */
	if (known > tried / 4 + 1)
		f->futile = 0;
	else if (f->futile < FUTILE_MOST && tried > 4)
		f->futile++;
}

/* ---- Memory ----------------------------------------------------------- */

bool mount_fill_fits(const struct mount_memory *m, uint64_t bytes,
		     uint64_t files)
{
	uint64_t half = m->available / 2;

	/* The last page of a file is its own. */
	return bytes <= half && files <= (half - bytes) / (PAGE / 2);
}

bool mount_fill_goes_on(const struct mount_memory *m)
{
	return m->available >= m->all / 8;
}
