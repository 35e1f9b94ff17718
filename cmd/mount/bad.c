/* SPDX-License-Identifier: Apache-2.0 */
#include "bad.h"

#include "errors.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

void mount_bad_init(struct mount_bad *b, const struct hpdsl_dataset *ds,
		    const char *dataset, uint64_t members)
{
	struct hpdsl_stage_status *st = malloc(sizeof(*st));
	struct hpdsl_error err;

	*b = (struct mount_bad){ .ds = ds, .members = members };
	pthread_mutex_init(&b->lock, NULL);
	/* What is damaged in a stage directory is read at the origin. */
	if (st && hpdsl_stage_status(dataset, NULL, st, &err) == 0)
		dataset = st->origin;
	b->folder = strdup(dataset);
	free(st);
}

void mount_bad_release(struct mount_bad *b)
{
	free(b->folder);
	free(b->bit);
	free(b->chunk);
	free(b->untold);
	*b = (struct mount_bad){ 0 };
}

void mount_bad_look(const struct mount_bad *b, uint32_t chunk,
		    struct mount_file *ret)
{
	struct hpdsl_error err;
	struct hpdsl_chunk c;
	char *path = NULL;
	struct stat st;

	*ret = (struct mount_file){ 0 };
	if (!b->folder || hpdsl_chunk_get(b->ds, chunk, &c, &err) < 0 ||
	    asprintf(&path, "%s%s%s", *c.name == '/' ? "" : b->folder,
		     *c.name == '/' ? "" : "/", c.name) < 0)
		return;
	if (stat(path, &st) == 0)
		*ret = (struct mount_file){
			.dev = st.st_dev,
			.ino = st.st_ino,
			.size = (uint64_t)st.st_size,
			.mtime = st.st_mtim.tv_sec,
			.mtime_nsec = st.st_mtim.tv_nsec,
			.ctime = st.st_ctim.tv_sec,
			.ctime_nsec = st.st_ctim.tv_nsec,
		};
	free(path);
}

/* Under the lock; NULL: it has none. */
static struct mount_bad_chunk *find_chunk(const struct mount_bad *b,
					  uint32_t chunk)
{
	for (size_t i = 0; i < b->chunks; i++)
		if (b->chunk[i].number == chunk)
			return &b->chunk[i];
	return NULL;
}

static bool is_same(const struct mount_file *a, const struct mount_file *b)
{
	return memcmp(a, b, sizeof(*a)) == 0;
}

/* Under the lock: none of its members is known any more. */
static void forget(struct mount_bad *b, struct mount_bad_chunk *c)
{
	struct hpdsl_error err;
	struct hpdsl_chunk is;

	if (hpdsl_chunk_get(b->ds, c->number, &is, &err) == 0)
		for (uint64_t i = 0; i < is.members; i++) {
			const uint64_t m = is.first_member + i;

			if (m < b->members)
				b->bit[m / 8] &= (uint8_t) ~(1U << m % 8);
		}
	*c = b->chunk[b->chunks - 1];
	b->chunks--;
}

/* Under the lock; NULL: no memory. */
static struct mount_bad_chunk *add(struct mount_bad *b, uint32_t chunk,
				   const struct mount_file *is)
{
	struct mount_bad_chunk *more;

	if (!b->bit)
		b->bit = calloc(b->members / 8 + 1, 1);
	if (!b->bit)
		return NULL;
	more = realloc(b->chunk, (b->chunks + 1) * sizeof(*more));
	if (!more)
		return NULL;
	b->chunk = more;
	more += b->chunks++;
	*more = (struct mount_bad_chunk){ chunk, *is };
	return more;
}

/* Under the lock. */
static void keep_text(struct mount_bad *b, uint64_t member,
		      const struct hpdsl_error *err)
{
	struct mount_untold *more;

	if (b->untolds >= MOUNT_TOLD)
		return;
	more = realloc(b->untold, (b->untolds + 1) * sizeof(*more));
	if (!more)
		return;
	b->untold = more;
	more += b->untolds++;
	*more = (struct mount_untold){ member, *err };
}

bool mount_bad_tell(struct mount_bad *b, uint64_t member,
		    struct hpdsl_error *ret)
{
	bool any = false;

	pthread_mutex_lock(&b->lock);
	for (size_t i = 0; i < b->untolds;) {
		if (b->untold[i].member != member) {
			i++;
			continue;
		}
		*ret = b->untold[i].err;
		b->untold[i] = b->untold[--b->untolds];
		any = true;
	}
	pthread_mutex_unlock(&b->lock);
	return any;
}

void mount_bad_add(struct mount_bad *b, const struct hpdsl_member *m,
		   const struct mount_file *is, const struct hpdsl_error *err)
{
	struct mount_bad_chunk *c;

	if (!is->ino || m->number >= b->members)
		return;
	pthread_mutex_lock(&b->lock);
	c = find_chunk(b, m->chunk);
	if (c && !is_same(&c->is, is)) {
		forget(b, c);
		c = NULL;
	}
	if (!c)
		c = add(b, m->chunk, is);
	if (c) {
		b->bit[m->number / 8] |= (uint8_t)(1U << m->number % 8);
		keep_text(b, m->number, err);
	}
	pthread_mutex_unlock(&b->lock);
}

bool mount_bad_has(struct mount_bad *b, uint32_t chunk)
{
	bool has;

	if (!b->chunks)
		return false;
	pthread_mutex_lock(&b->lock);
	has = find_chunk(b, chunk) != NULL;
	pthread_mutex_unlock(&b->lock);
	return has;
}

bool mount_bad_is(struct mount_bad *b, const struct hpdsl_member *m)
{
	struct mount_bad_chunk *c;
	struct mount_file now;
	bool bad = false;

	/* nothing is asked of a file system where none is known */
	if (!b->chunks || m->number >= b->members)
		return false;
	pthread_mutex_lock(&b->lock);
	if (find_chunk(b, m->chunk))
		bad = b->bit[m->number / 8] >> m->number % 8 & 1;
	pthread_mutex_unlock(&b->lock);
	if (!bad)
		return false;
	mount_bad_look(b, m->chunk, &now);
	pthread_mutex_lock(&b->lock);
	c = find_chunk(b, m->chunk);
	bad = c && is_same(&c->is, &now);
	if (c && !bad)
		forget(b, c);
	pthread_mutex_unlock(&b->lock);
	return bad;
}
