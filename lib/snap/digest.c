/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The digests of a snapshot: XXH3-128 over its entries in order, and over the
 * files among them.  Both are made in one pass, because it is reading names and
 * attributes that takes the time.
 */
#include "snap/writer.h"

#include "base/hash.h"

#include <string.h>

enum {
	BUFFER = 16384,
	LARGEST = HPDSL_PATH_MAX + 1 + 22, /* bytes of one entry */
	STEP = 32,			   /* bytes copied at a time */
};

struct stream {
	XXH3_state_t state;
	size_t used;
	uint8_t buffer[BUFFER];
};

struct digests {
	struct stream all, files;
	size_t prefix_len;
	char prefix[HPDSL_PATH_MAX + 2 + STEP]; /* of what is in the folder */
};

/* Up to STEP bytes more than n, which have to be there on both sides. */
static void copy(uint8_t *to, const void *from, size_t n)
{
	for (size_t i = 0; i < n; i += STEP)
		memcpy(to + i, (const uint8_t *)from + i, STEP);
}

static void begin(struct stream *s)
{
	XXH3_128bits_reset(&s->state);
	s->used = 0;
}

static void flush(struct stream *s)
{
	XXH3_128bits_update(&s->state, s->buffer, s->used);
	s->used = 0;
}

/* Takes over n bytes that are in the buffer. */
static void advance(struct stream *s, size_t n)
{
	s->used += n;
	if (s->used > BUFFER - LARGEST - STEP)
		flush(s);
}

static void end(struct stream *s, uint8_t ret[16])
{
	flush(s);
	hp_hash_canonical(XXH3_128bits_digest(&s->state), ret);
}

/* Bytes of an entry, at p. */
static size_t put_node(const struct digests *d, const struct hp_node *node,
		       uint8_t *p)
{
	size_t path_len = d->prefix_len + node->name_len;

	copy(p, d->prefix, d->prefix_len);
	hp_copy_short(p + d->prefix_len, node->name, node->name_len);
	p += path_len;
	*p++ = 0;
	hp_put16(p, node->mode);
	if (S_ISDIR(node->mode))
		return path_len + 1 + 2;
	hp_put64(p + 2, node->size);
	hp_put64(p + 10, (uint64_t)node->mtime);
	hp_put32(p + 18, node->nsec);
	return path_len + 1 + 22;
}

static void add_node(struct digests *d, const struct hp_node *node)
{
	uint8_t *p = d->all.buffer + d->all.used;
	size_t n = put_node(d, node, p);

	if (S_ISREG(node->mode)) {
		uint8_t *q = d->files.buffer + d->files.used;

		copy(q, p, n);
		hp_put16(q + n - 22, node->mode & (S_IFMT | 0777));
		advance(&d->files, n);
	}
	advance(&d->all, n);
}

int hp_snap_digest(struct hp_snap_writer *w, uint64_t number,
		   struct hpdsl_error *err)
{
	const struct hp_tree *t = w->t;
	struct digests d;

	(void)number;
	(void)err;
	begin(&d.all);
	begin(&d.files);
	d.prefix_len = 0;
	add_node(&d, &t->top);
	for (uint64_t i = 0; i < t->n_folders; i++) {
		const struct hp_folder *f = t->folders[i];

		hp_folder_path(f, d.prefix, &d.prefix_len);
		for (uint64_t k = 0; k < f->n; k++) {
			hp_folder_ahead(f, k);
			add_node(&d, &f->nodes[k]);
		}
	}
	end(&d.all, w->digest);
	end(&d.files, w->files_digest);
	return 0;
}
