/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hpdsl-bench --skip-bad: bad samples, told once.  Those of one chunk have one
 * reason more often than not, as that it is gone: of these the first few are
 * named, and the others counted.
 */
#include "bench.h"

#include <search.h>
#include <string.h>

enum {
	NAMED = 3,	   /* samples of a kind */
	KINDS_MOST = 4096, /* what comes after these is always named */
};

struct kind {
	struct kind *next; /* in the order in which they were met */
	uint64_t samples;
	size_t reason; /* where in text it begins */
	char text[];   /* file, NUL, reason, NUL */
};

struct bench_bad {
	void *tree; /* of kinds, for tsearch(3) */
	struct kind *first, **last;
	uint64_t samples;
	size_t kinds;
};

static int compare(const void *a, const void *b)
{
	const struct kind *x = a, *y = b;
	int r = strcmp(x->text, y->text);

	return r ? r : strcmp(x->text + x->reason, y->text + y->reason);
}

static struct kind *new_kind(const struct hpdsl_damage *d)
{
	const char *file = d->file ? d->file : "";
	size_t n = strlen(file) + 1, m = strlen(d->reason) + 1;
	struct kind *k = cmd_alloc(1, sizeof(*k) + n + m);

	k->next = NULL;
	k->samples = 0;
	k->reason = n;
	memcpy(k->text, file, n);
	memcpy(k->text + n, d->reason, m);
	return k;
}

/* What is like this one; NULL: there are too many kinds. */
static struct kind *kind_of(struct bench_bad *b, const struct hpdsl_damage *d)
{
	struct kind *k = new_kind(d), **found;

	found = b->kinds < KINDS_MOST ? tsearch(k, &b->tree, compare) :
					tfind(k, &b->tree, compare);
	if (found && *found == k) {
		b->kinds++;
		*b->last = k;
		b->last = &k->next;
		return k;
	}
	free(k);
	return found ? *found : NULL;
}

struct bench_bad *bench_bad_new(void)
{
	struct bench_bad *b = cmd_alloc(1, sizeof(*b));

	*b = (struct bench_bad){ .last = &b->first };
	return b;
}

void bench_bad_add(void *bad, const struct hpdsl_damage *d)
{
	cmd_auto_free char *path =
		d->path ? cmd_escape(d->path, strlen(d->path)) : NULL;
	struct bench_bad *b = bad;
	struct kind *k = kind_of(b, d);

	b->samples++;
	if (k && k->samples++ >= NAMED)
		return;
	cmd_progress_clear();
	cmd_warning("%s%ssample %llu: %s%s%s", d->file ? d->file : "",
		    d->file ? ": " : "", (unsigned long long)d->sample,
		    path ? path : "", path ? ": " : "", d->reason);
}

uint64_t bench_bad_end(struct bench_bad *b)
{
	uint64_t samples = b->samples;

	for (struct kind *k = b->first, *next; k; k = next) {
		next = k->next;
		if (k->samples > NAMED)
			cmd_warning("%s%sand %s more: %s", k->text,
				    *k->text ? ": " : "",
				    cmd_many(k->samples - NAMED, "sample").s,
				    k->text + k->reason);
		tdelete(k, &b->tree, compare);
		free(k);
	}
	free(b);
	return samples;
}
