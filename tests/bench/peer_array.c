/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Beside a snapshot: a mapped array of rows of one width, sorted by path, and
 * binary search in it.
 */
#include "keys.h"

#include "base/bytes.h"

struct head {
	uint64_t n, width; /* of a path with its padding; a value follows it */
};

struct array {
	const char *rows;
	struct head head;
};

static int by_bytes(const void *a, const void *b)
{
	return strcmp(((const struct hpdsl_path *)a)->path,
		      ((const struct hpdsl_path *)b)->path);
}

static void build(const char *file, const struct keys *list)
{
	struct head h = { list->n, list->longest + 1 };
	size_t row = h.width + sizeof(struct value);
	char *p = map_new(file, sizeof h + h.n * row);

	qsort(list->v, list->n, sizeof *list->v, by_bytes);
	memcpy(p, &h, sizeof h);
	p += sizeof h;
	for (size_t i = 0; i < list->n; i++, p += row) {
		struct value v = make_value(i);

		memcpy(p, list->v[i].path, list->v[i].len);
		memcpy(p + h.width, &v, sizeof v);
	}
}

static void *open_array(const char *file)
{
	struct array *a = malloc(sizeof *a);
	size_t size;
	const char *p = map_old(file, &size);

	if (!a)
		die("no memory");
	memcpy(&a->head, p, sizeof a->head);
	a->rows = p + sizeof a->head;
	return a;
}

static uint64_t find(void *handle, const struct keys *keys)
{
	const struct array *a = handle;
	size_t width = a->head.width, row = width + sizeof(struct value);
	uint64_t sum = 0;

	for (size_t i = 0; i < keys->n; i++) {
		size_t low = 0, n = a->head.n;
		int c = 1;

		while (n > 0 && c) {
			const char *at = a->rows + (low + n / 2) * row;

			/* With the NUL, so that no path is another's start. */
			c = memcmp(keys->v[i].path, at, keys->v[i].len + 1);
			if (c > 0) {
				low += n / 2 + 1;
				n -= n / 2 + 1;
			} else if (c < 0) {
				n /= 2;
			} else {
				sum += hp_get64(at + width);
			}
		}
		if (c)
			die("peer_array: no '%s'", keys->v[i].path);
	}
	return sum;
}

int main(int argc, char **argv)
{
	const struct finder f = { "peer_array", build, open_array, find };

	return finder_main(&f, argc, argv);
}
