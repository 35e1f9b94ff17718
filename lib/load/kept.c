/* SPDX-License-Identifier: Apache-2.0 */
/* Batches that are handed out again and again. */
#include "load/kept.h"

#include "base/error.h"
#include "base/mem.h"

#include <string.h>

static void *copy(const void *from, size_t n, size_t size)
{
	void *p = hp_array(n, size);

	if (p && n)
		memcpy(p, from, n * size);
	return p;
}

static bool copy_arrays(const struct hpdsl_batch *b, struct hpdsl_batch *k)
{
	size_t members = b->first[b->n];

	k->n = b->n;
	k->whole = b->whole;
	k->data = copy(b->data, b->n, sizeof(*b->data));
	k->size = copy(b->size, b->n, sizeof *b->size);
	k->number = copy(b->number, b->n, sizeof *b->number);
	k->label = copy(b->label, b->n, sizeof *b->label);
	k->mask = copy(b->mask, b->n, 1);
	k->bad = copy(b->bad, b->n, 1);
	k->first = copy(b->first, b->n + 1, sizeof *b->first);
	k->member_data = copy(b->member_data, members, sizeof(*b->member_data));
	k->member_size = copy(b->member_size, members, sizeof *b->member_size);
	k->member_number =
		copy(b->member_number, members, sizeof *b->member_number);
	return k->data && k->size && k->number && k->label && k->mask &&
	       k->bad && k->first && k->member_data && k->member_size &&
	       k->member_number;
}

/* The copies point to copies. */
static bool copy_bytes(struct hp_load_kept *k)
{
	const void **data = (const void **)k->b.data;
	const void **member = (const void **)k->b.member_data;
	size_t members = k->b.first[k->b.n], bytes = 0;

	for (size_t i = 0; i < members; i++)
		bytes += k->b.member_size[i];
	k->bytes = malloc(bytes ? bytes : 1);
	if (!k->bytes)
		return false;
	for (size_t i = 0, at = 0; i < members; i++) {
		if (!member[i])
			continue;
		memcpy(k->bytes + at, member[i], k->b.member_size[i]);
		member[i] = k->bytes + at;
		at += k->b.member_size[i];
	}
	for (size_t i = 0; i < k->b.n; i++)
		if (data[i])
			data[i] = member[k->b.first[i]];
	return true;
}

int hp_load_keep(const struct hpdsl_batch *b, struct hp_load_kept *ret,
		 struct hpdsl_error *err)
{
	struct hp_load_kept k = { 0 };

	if (!copy_arrays(b, &k.b) || !copy_bytes(&k)) {
		hp_load_kept_release(&k);
		return hp_fail_nomem(err);
	}
	*ret = k;
	return 0;
}

void hp_load_kept_release(struct hp_load_kept *k)
{
	free((void *)k->b.data);
	free((void *)k->b.size);
	free((void *)k->b.number);
	free((void *)k->b.label);
	free((void *)k->b.mask);
	free((void *)k->b.bad);
	free((void *)k->b.first);
	free((void *)k->b.member_data);
	free((void *)k->b.member_size);
	free((void *)k->b.member_number);
	free(k->bytes);
	*k = (struct hp_load_kept){ 0 };
}

static void fill(struct hp_load_batch *b, const struct hpdsl_batch *k)
{
	size_t n = k->n, members = k->first[n];

	b->pub.n = n;
	b->pub.whole = k->whole;
	memcpy(b->data, k->data, n * sizeof(*b->data));
	memcpy(b->size, k->size, n * sizeof *b->size);
	memcpy(b->number, k->number, n * sizeof *b->number);
	memcpy(b->label, k->label, n * sizeof *b->label);
	memcpy(b->mask, k->mask, n);
	memcpy(b->bad, k->bad, n);
	memcpy(b->first, k->first, (n + 1) * sizeof *b->first);
	memcpy(b->member_data, k->member_data,
	       members * sizeof(*b->member_data));
	memcpy(b->member_size, k->member_size,
	       members * sizeof *b->member_size);
	memcpy(b->member_number, k->member_number,
	       members * sizeof *b->member_number);
}

int hp_load_hand_kept(struct hpdsl_loader *l, const struct hp_load_kept *k,
		      struct hp_load_batch **ret, struct hpdsl_error *err)
{
	struct hp_load_batch *b = l->idle;
	size_t members = k->b.first[k->b.n];

	if (b)
		l->idle = b->next;
	pthread_mutex_unlock(&l->lock);
	if (!b)
		b = hp_load_batch_new(l);
	if (b && members > b->member_room &&
	    !hp_load_batch_members(b, members)) {
		hp_load_batch_free(b);
		b = NULL;
	}
	if (b)
		fill(b, &k->b);
	pthread_mutex_lock(&l->lock);
	if (!b)
		return hp_fail_nomem(err);
	b->units = 0;
	b->loader = l;
	l->out++;
	*ret = b;
	return 0;
}
