/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Telling the caller: of samples that cannot be read, why, in the words of
 * whoever found it; and warnings.
 */
#include "load/load.h"

#include "base/error.h"
#include "base/mem.h"
#include "dataset/dataset.h"
#include "hpdsl/verify.h"
#include "index/copy.h"
#include "sys/meter.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const struct hp_block_member *bad_member(const struct hp_load_batch *b,
						size_t i)
{
	const struct hp_load_row *row = b->row[i];
	const struct hp_block_member *m = b->of[i]->member + row->member;

	for (uint32_t k = 0; k < row->members; k++)
		if (m[k].code < 0)
			return &m[k];
	return NULL;
}

/* A unit knows of its first bad member only: the others are asked again. */
static int ask_again(const struct hpdsl_loader *l,
		     const struct hp_block_member *is, struct hpdsl_error *err)
{
	hp_auto_free void *buf = hp_array(is->size, 1);
	hp_auto_index_copy c;
	struct hpdsl_member m;
	int r;

	hp_index_copy_begin(&c, l->ds->index, false);
	if (!buf)
		return hp_fail_nomem(err);
	r = hp_index_member(&c.ix, is->number, &m, err);
	if (r == 0 && m.size > is->size)
		r = hp_fail(err, HPDSL_ECORRUPT, "%s: is of two sizes",
			    c.ix.name);
	if (r == 0)
		r = hpdsl_member_read(l->ds, &m, 0, buf, (size_t)m.size, err);
	return r;
}

/* Is it the member that the unit tells of? */
static bool is_told(const struct hp_load_unit *u,
		    const struct hp_block_member *m)
{
	for (uint32_t i = 0; i < u->b.n; i++)
		if (u->member[i].code < 0)
			return &u->member[i] == m;
	return false;
}

/* The index is bad there. */
static int bad_row(const struct hpdsl_loader *l, uint64_t sample, int code,
		   struct hpdsl_error *err)
{
	hp_auto_index_copy c;
	struct hpdsl_member m;
	struct hpdsl_sample s;
	int r;

	hp_index_copy_begin(&c, l->ds->index, true);
	r = hp_index_sample(&c.ix, sample, &s, err);
	for (uint64_t k = 0; r == 0 && k < s.members; k++)
		r = hp_index_member(&c.ix, s.first_member + k, &m, err);
	if (r == 0 && code == HPDSL_ECORRUPT)
		r = hp_fail(err, code,
			    "%s: sample %llu does not lie behind those before "
			    "it",
			    c.ix.name, (unsigned long long)sample);
	if (r == 0)
		r = hp_fail_errno(err, code, "sample %llu cannot be loaded",
				  (unsigned long long)sample);
	return hp_dataset_blame(l->ds, r, err);
}

int hp_load_why(struct hpdsl_loader *l, const struct hp_load_batch *b, size_t i,
		int code, struct hpdsl_error *err)
{
	const struct hp_block_member *m = bad_member(b, i);
	const struct hp_load_unit *u = b->of[i];
	int r;

	if (!m)
		return bad_row(l, b->number[i], code, err);
	if (!u->place.p || code == -ENOMEM)
		return hp_fail_nomem(err);
	if (is_told(u, m) && u->b.why.code)
		return hp_fail(err, u->b.why.code, "%s", u->b.why.msg);
	r = ask_again(l, m, err);
	return r < 0 ? r :
		       hp_fail_errno(err, code, "sample %llu could not be read",
				     (unsigned long long)b->number[i]);
}

/* What follows "member 7 'a/b.jpg': ", or all of it. */
static const char *reason_of(const struct hpdsl_error *why)
{
	const char *end = strstr(why->msg, "': ");

	return end ? end + 3 : why->msg;
}

void hp_load_tell_bad(struct hpdsl_loader *l, const struct hp_load_batch *b,
		      size_t i, const struct hpdsl_error *why)
{
	const struct hp_block_member *is = bad_member(b, i);
	struct hpdsl_damage d = { .sample = b->number[i],
				  .reason = reason_of(why) };
	hp_auto_index_copy copy;
	struct hpdsl_member m;
	struct hpdsl_chunk c;

	hp_index_copy_begin(&copy, l->ds->index, false);
	if (!l->opt.bad || hp_stopped(&l->opt.watch))
		return;
	if (is && hpdsl_chunk_get(l->ds, is->chunk, &c, NULL) == 0)
		d.file = c.name;
	if (is && hp_index_member(&copy.ix, is->number, &m, NULL) == 0)
		d.path = m.path;
	l->opt.bad(l->opt.arg, &d);
}

void hp_load_tell_lacking(struct hpdsl_loader *l, const struct hp_load_batch *b,
			  size_t i, uint32_t k)
{
	const char *suffix = hp_load_without_dot(l->suffix[k]);
	char key[HP_PRINTABLE] = "?", shown[HP_PRINTABLE],
	     text[2 * HP_PRINTABLE + 200];
	hp_auto_index_copy copy;
	struct hpdsl_sample s;

	l->caller.told_lacking[k] = true;
	hp_index_copy_begin(&copy, l->ds->index, false);
	if (hp_index_sample(&copy.ix, b->number[i], &s, NULL) == 0)
		hp_printable(s.key, s.key_len, key);
	snprintf(text, sizeof text,
		 "sample %" PRIu64 " '%s' has no member of suffix '%s': such "
		 "samples come without its bytes, and count as lacking",
		 b->number[i], key,
		 hp_printable(suffix, strlen(suffix), shown));
	hp_load_warn(l, text);
}

void hp_load_warn(void *loader, const char *text)
{
	struct hpdsl_loader *l = loader;

	if (!l->opt.watch.warn)
		return;
	pthread_mutex_lock(&l->warn_lock);
	if (!hp_stopped(&l->opt.watch))
		l->opt.watch.warn(l->opt.watch.arg, text);
	pthread_mutex_unlock(&l->warn_lock);
}
