/* SPDX-License-Identifier: Apache-2.0 */
/* Records of what a job did to files, sorted. */
#include "told.h"

#include <stdlib.h>
#include <string.h>

/* By letter; names that the job gave to files are its own, whatever these are.
 */
static int kind_of(char letter)
{
	switch (letter) {
	case 'a':
		return STALL_ASIDE;
	case 'r':
		return STALL_REFUSED;
	case 'k':
		return STALL_KEPT;
	case 'e':
		return STALL_FILLED;
	case 'm':
	case 'l':
		return STALL_MADE;
	default:
		return -1;
	}
}

void stall_paths_add(struct stall_paths *p, const char *path)
{
	p->v = cmd_grow(p->v, p->n, sizeof(*p->v));
	p->v[p->n] = strdup(path);
	if (!p->v[p->n++])
		cmd_no_memory();
}

static int by_bytes(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

void stall_paths_sort(struct stall_paths *p)
{
	size_t n = 0;

	if (p->n)
		qsort(p->v, p->n, sizeof(*p->v), by_bytes);
	for (size_t i = 0; i < p->n; i++) {
		if (n && strcmp(p->v[n - 1], p->v[i]) == 0)
			free(p->v[i]);
		else
			p->v[n++] = p->v[i];
	}
	p->n = n;
}

void stall_told_add(struct stall_told *t, const char *text, size_t n)
{
	const char *end = text + n, *nul;

	for (; text < end && (nul = memchr(text, '\0', (size_t)(end - text)));
	     text = nul + 1) {
		int kind = kind_of(*text);
		const char *path = text + 1;

		if (path < nul)
			path += strspn(path, "0123456789abcdef");
		if (kind >= 0 && path < nul && *path == '/')
			stall_paths_add(&t->of[kind],
					kind < STALL_MADE ? path : text + 1);
	}
}

void stall_told_sort(struct stall_told *t)
{
	for (unsigned i = 0; i < STALL_TOLD_ALL; i++)
		stall_paths_sort(&t->of[i]);
}

void stall_paths_release(struct stall_paths *p)
{
	for (size_t i = 0; i < p->n; i++)
		free(p->v[i]);
	free(p->v);
	*p = (struct stall_paths){ 0 };
}

void stall_told_release(struct stall_told *t)
{
	for (unsigned i = 0; i < STALL_TOLD_ALL; i++)
		stall_paths_release(&t->of[i]);
}
