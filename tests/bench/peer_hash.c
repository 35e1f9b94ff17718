/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Beside a snapshot: a mapped hash table of whole paths and 16-byte values,
 * open addressing, a power of two of slots of which half are free: what one
 * would write without a thought of its size.
 */
#include "keys.h"

#include "base/bytes.h"
#include "base/hash.h"

struct head {
	uint64_t slots, width; /* a slot: path with padding, then a value */
};

struct table {
	const char *slots;
	struct head head;
};

static void build(const char *file, const struct keys *list)
{
	struct head h = { 2, list->longest + 1 };
	size_t row = h.width + sizeof(struct value);
	char *p;

	while (h.slots < 2 * list->n)
		h.slots *= 2;
	p = map_new(file, sizeof h + h.slots * row);
	memcpy(p, &h, sizeof h);
	p += sizeof h;
	for (size_t i = 0; i < list->n; i++) {
		const struct hpdsl_path *path = &list->v[i];
		uint64_t at = hp_hash64(path->path, path->len);
		struct value v = make_value(i);

		while (*(p + (at & (h.slots - 1)) * row))
			at++;
		at &= h.slots - 1;
		memcpy(p + at * row, path->path, path->len);
		memcpy(p + at * row + h.width, &v, sizeof v);
	}
}

static void *open_table(const char *file)
{
	struct table *t = malloc(sizeof *t);
	size_t size;
	const char *p = map_old(file, &size);

	if (!t)
		die("no memory");
	memcpy(&t->head, p, sizeof t->head);
	t->slots = p + sizeof t->head;
	return t;
}

static uint64_t find(void *handle, const struct keys *keys)
{
	const struct table *t = handle;
	size_t width = t->head.width, row = width + sizeof(struct value);
	uint64_t mask = t->head.slots - 1, sum = 0;

	for (size_t i = 0; i < keys->n; i++) {
		const struct hpdsl_path *path = &keys->v[i];
		uint64_t h = hp_hash64(path->path, path->len);
		const char *at = t->slots + (h & mask) * row;

		while (memcmp(at, path->path, path->len + 1)) {
			if (!*at)
				die("peer_hash: no '%s'", path->path);
			at = t->slots + (++h & mask) * row;
		}
		sum += hp_get64(at + width);
	}
	return sum;
}

int main(int argc, char **argv)
{
	const struct finder f = { "peer_hash", build, open_table, find };

	return finder_main(&f, argc, argv);
}
