/* SPDX-License-Identifier: Apache-2.0 */
#include "kept.h"

#include "reply.h"

#include "common/common.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>

static void release(struct mount_kept *k)
{
	k->blame = (struct mount_blame){ 0 };
	atomic_store(&k->is, MOUNT_KEPT_FREE);
}

/* Of the other view a number is a thing's. */
static int64_t read_thing(struct mount_session *s, const struct mount_kept *k,
			  uint8_t *buf)
{
	const struct mount_thing *v = &s->chunks->v[k->member];

	return v->is == MOUNT_CHUNK ?
		       mount_stretch_read(s->stretches,
					  mount_chunk_of(k->member), k->offset,
					  buf, k->size) :
		       mount_beside_read(s->bytes, v, k->member, k->offset, buf,
					 k->size);
}

static int64_t read_any(struct mount_session *s, const struct mount_kept *k,
			uint8_t *buf)
{
	if (s->chunks)
		return k->member < s->chunks->n ? read_thing(s, k, buf) : -EIO;
	return mount_bytes_read(s->bytes, k->member, k->offset, buf, k->size);
}

static void read_kept(struct mount_session *s, struct mount_kept *k,
		      uint8_t *buf)
{
	const uint64_t thing = k->member, offset = k->offset;
	const bool again = s->store && mount_bytes_is_good(s->bytes, thing);
	int64_t n = read_any(s, k, buf + MOUNT_HEAD);

	if (n < 0)
		mount_refuse(s, k->unique, (int)n);
	else
		mount_give(s, k->unique, buf, (size_t)n);
	/* What comes is not this one's fault. */
	release(k);
	if (n > 0 && s->store && !offset)
		mount_store_near(s->store, thing, (uint64_t)n, again);
	if (n > 0 && s->chunks && s->chunks->v[thing].is == MOUNT_CHUNK)
		mount_stretch_ahead(s->stretches, mount_chunk_of(thing), offset,
				    (size_t)n);
}

/* Under the lock: the first one that waits, or MOUNT_KEPT. */
static uint32_t take_first(struct mount_session *s)
{
	const uint32_t i = s->first;

	if (i == MOUNT_KEPT)
		return i;
	s->first = s->next[i];
	if (s->first == MOUNT_KEPT)
		s->last = MOUNT_KEPT;
	atomic_store(&s->slots->kept[i].is, MOUNT_KEPT_BEGUN);
	return i;
}

static void put_last(struct mount_session *s, uint32_t i)
{
	s->next[i] = MOUNT_KEPT;
	if (s->last == MOUNT_KEPT)
		s->first = i;
	else
		s->next[s->last] = i;
	s->last = i;
}

/* NULL: it is to end. */
static struct mount_kept *take(struct mount_session *s)
{
	uint32_t i;

	pthread_mutex_lock(&s->lock);
	s->idle++;
	while ((i = take_first(s)) == MOUNT_KEPT && !s->ends)
		pthread_cond_wait(&s->more, &s->lock);
	s->idle--;
	pthread_mutex_unlock(&s->lock);
	return i == MOUNT_KEPT ? NULL : &s->slots->kept[i];
}

/* What reading has found out of the job's other nodes, once. */
static void tell_peers(const struct hpdsl_dataset *ds)
{
	char text[HPDSL_PEER_NOTE];

	while (hpdsl_peer_note(ds, text))
		cmd_warning("%s", text);
}

static void *reader(void *arg)
{
	struct mount_session *s = arg;
	uint8_t *buf = malloc(MOUNT_HEAD + MOUNT_READ_MOST);
	struct mount_kept *k;

	while ((k = take(s))) {
		if (buf) {
			read_kept(s, k, buf);
			tell_peers(s->bytes->ds);
			continue;
		}
		mount_refuse(s, k->unique, -ENOMEM);
		release(k);
	}
	free(buf);
	pthread_mutex_lock(&s->lock);
	s->readers--;
	pthread_cond_broadcast(&s->more);
	pthread_mutex_unlock(&s->lock);
	return NULL;
}

/* Under the lock: one thread more, if all there are have something to do. */
static void enough_readers(struct mount_session *s)
{
	pthread_t t;

	if (s->idle || s->readers == s->most)
		return;
	if (pthread_create(&t, NULL, reader, s) == 0) {
		pthread_detach(t);
		s->readers++;
	}
}

/* Under the lock: the first one that is free, so that those that are not are
 * few to look at; or MOUNT_KEPT. */
static uint32_t find_free(struct mount_session *s)
{
	for (uint32_t i = 0; i < MOUNT_KEPT; i++)
		if (atomic_load(&s->slots->kept[i].is) == MOUNT_KEPT_FREE)
			return i;
	return MOUNT_KEPT;
}

int mount_kept_add(struct mount_session *s, const struct mount_kept *what)
{
	struct mount_kept *k;
	int r = -ENOMEM;
	uint32_t i;

	pthread_mutex_lock(&s->lock);
	enough_readers(s);
	i = s->readers ? find_free(s) : MOUNT_KEPT;
	if (i != MOUNT_KEPT) {
		k = &s->slots->kept[i];
		if (i >= atomic_load(&s->slots->kept_most))
			atomic_store(&s->slots->kept_most, i + 1);
		k->unique = what->unique;
		atomic_store(&k->member, atomic_load(&what->member));
		k->offset = what->offset;
		k->size = what->size;
		atomic_store(&k->is, MOUNT_KEPT_WAITS);
		put_last(s, i);
		pthread_cond_signal(&s->more);
		r = 0;
	}
	pthread_mutex_unlock(&s->lock);
	return r;
}

/* Under the lock: one that waits, and does so no more; NULL: none. */
static struct mount_kept *take_out(struct mount_session *s, uint64_t unique)
{
	uint32_t before = MOUNT_KEPT, i = s->first;

	for (; i != MOUNT_KEPT; before = i, i = s->next[i])
		if (s->slots->kept[i].unique == unique)
			break;
	if (i == MOUNT_KEPT)
		return NULL;
	if (before == MOUNT_KEPT)
		s->first = s->next[i];
	else
		s->next[before] = s->next[i];
	if (s->last == i)
		s->last = before;
	return &s->slots->kept[i];
}

void mount_kept_interrupt(struct mount_session *s, uint64_t unique)
{
	struct mount_kept *k;

	pthread_mutex_lock(&s->lock);
	k = take_out(s, unique);
	pthread_mutex_unlock(&s->lock);
	if (!k)
		return;
	atomic_fetch_add(&s->slots->counts.interrupted, 1);
	mount_refuse(s, unique, -EINTR);
	release(k);
}

/* Under the lock: it waits, as before; false: there is nobody to read it. */
static bool begin_again(struct mount_session *s, uint32_t i)
{
	enough_readers(s);
	if (!s->readers)
		return false;
	atomic_store(&s->slots->kept[i].is, MOUNT_KEPT_WAITS);
	put_last(s, i);
	pthread_cond_signal(&s->more);
	return true;
}

void mount_kept_begin(struct mount_session *s)
{
	for (uint32_t i = 0; i < MOUNT_KEPT; i++) {
		struct mount_kept *k = &s->slots->kept[i];
		bool begun = false;

		if (atomic_load(&k->is) == MOUNT_KEPT_FREE)
			continue;
		if (!s->refuses && !mount_may_try(&k->blame)) {
			mount_give_up(s, k->unique);
			release(k);
			continue;
		}
		pthread_mutex_lock(&s->lock);
		if (!s->refuses)
			begun = begin_again(s, i);
		pthread_mutex_unlock(&s->lock);
		if (begun)
			continue;
		mount_refuse(s, k->unique, s->refuses ? -EIO : -ENOMEM);
		release(k);
	}
}

void mount_kept_end(struct mount_session *s)
{
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += 1;
	pthread_mutex_lock(&s->lock);
	s->ends = true;
	pthread_cond_broadcast(&s->more);
	while (s->readers &&
	       pthread_cond_timedwait(&s->more, &s->lock, &until) == 0)
		;
	s->hangs = s->readers;
	pthread_mutex_unlock(&s->lock);
	if (s->store)
		s->hangs = !mount_store_end(s->store, &until) || s->hangs;
}
