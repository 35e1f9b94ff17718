/* SPDX-License-Identifier: Apache-2.0 */
/* The digests of a snapshot: XXH3-128 over its entries in order. */
#include "snap_writer.h"

#include "hash.h"

#include <string.h>

enum {
	BUFFER = 32768,
	LARGEST = HPDSL_PATH_MAX + 1 + 22, /* bytes of one entry */
};

struct digest {
	XXH3_state_t state;
	bool files; /* only */
	size_t used, prefix_len;
	char prefix[HPDSL_PATH_MAX + 2]; /* of what is in the folder */
	uint8_t buffer[BUFFER];
};

static void add(struct digest *d, const struct hp_node *node)
{
	uint16_t mode = d->files ? node->mode & 0170777 : node->mode;
	uint8_t *p = d->buffer + d->used;

	memcpy(p, d->prefix, d->prefix_len);
	p += d->prefix_len;
	memcpy(p, node->name, node->name_len + 1u);
	p += node->name_len + 1u;
	hp_put16(p, mode);
	p += 2;
	if (!S_ISDIR(mode)) {
		hp_put64(p, node->size);
		hp_put64(p + 8, (uint64_t)node->mtime);
		hp_put32(p + 16, node->nsec);
		p += 20;
	}
	d->used = (size_t)(p - d->buffer);
	if (d->used > BUFFER - LARGEST) {
		XXH3_128bits_update(&d->state, d->buffer, d->used);
		d->used = 0;
	}
}

static void add_folder(struct digest *d, const struct hp_tree *t,
		       const struct hp_folder *f)
{
	hp_folder_path(t, f, d->prefix, &d->prefix_len);
	for (uint64_t i = 0; i < f->n; i++)
		if (!d->files || S_ISREG(f->nodes[i].mode))
			add(d, &f->nodes[i]);
}

static void digest(const struct hp_tree *t, bool files, uint8_t ret[16])
{
	struct digest d;

	XXH3_128bits_reset(&d.state);
	d.files = files;
	d.used = d.prefix_len = 0;
	if (!files)
		add(&d, &t->top);
	for (uint64_t i = 0; i < t->n_folders; i++)
		add_folder(&d, t, t->folders[i]);
	XXH3_128bits_update(&d.state, d.buffer, d.used);
	hp_hash_canonical(XXH3_128bits_digest(&d.state), ret);
}

int hp_snap_digest_all(struct hp_snap_writer *w, uint64_t number,
		       struct hpdsl_error *err)
{
	(void)number;
	(void)err;
	digest(w->t, false, w->digest);
	return 0;
}

int hp_snap_digest_files(struct hp_snap_writer *w, uint64_t number,
			 struct hpdsl_error *err)
{
	(void)number;
	(void)err;
	digest(w->t, true, w->files_digest);
	return 0;
}
