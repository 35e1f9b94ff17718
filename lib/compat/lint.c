/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The members of one tar, sample by sample.  A sample is a run of files with
 * one key and a suffix; what most readers pass over does not end it.
 */
#include "compat/compat.h"

#include "base/error.h"
#include "base/hash.h"
#include "base/key.h"
#include "base/mem.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int tally(struct hp_tally *t, const char *first, size_t len,
		 struct hpdsl_error *err)
{
	if (!t->n++ && first) {
		t->first = strndup(first, len);
		if (!t->first)
			return hp_fail_nomem(err);
	}
	return 0;
}

int hp_lint_count(struct hp_lint *l, enum hp_trip trip, const char *first,
		  struct hpdsl_error *err)
{
	return tally(&l->tally[HP_RISKS + trip], first,
		     first ? strlen(first) : 0, err);
}

/* Each bit of the word, as lints from base on. */
static int tally_bits(struct hp_lint *l, unsigned base, uint32_t bits,
		      const struct hp_name *name, struct hpdsl_error *err)
{
	int r = 0;

	for (; bits && r == 0; bits &= bits - 1)
		r = tally(&l->tally[base + (unsigned)__builtin_ctz(bits)],
			  name->s, name->len, err);
	return r;
}

/*
 * That a name needs a pax header is so in our chunks; here it has one or not,
 * which hp_lint_add counts.
 */
static int tally_risks(struct hp_lint *l, const struct hp_name *names,
		       const uint32_t *risks, size_t n, struct hpdsl_error *err)
{
	const uint32_t not_here =
		UINT32_C(1) << HP_RISK_PAX | UINT32_C(1) << HP_RISK_KEY_AGAIN;
	int r = 0;

	for (size_t i = 0; i < n && r == 0; i++)
		r = tally_bits(l, 0, risks[i] & ~not_here, &names[i], err);
	return r;
}

/* ---- A sample --------------------------------------------------------- */

static int make_room(struct hp_lint *l, struct hpdsl_error *err)
{
	if (l->run_n <= l->room)
		return 0;
	free(l->names);
	free(l->risks);
	l->room = 2 * l->run_n;
	l->names = hp_array(l->room, sizeof *l->names);
	l->risks = hp_array(l->room, sizeof *l->risks);
	return l->names && l->risks ? 0 : hp_fail_nomem(err);
}

static int by_bytes(const void *va, const void *vb)
{
	const struct hp_name *a = va, *b = vb;

	/* Each has a NUL behind it. */
	return strcmp(a->s, b->s) ? strcmp(a->s, b->s) :
				    (a->s > b->s) - (a->s < b->s);
}

/* Takes out names that are there twice; sorts. */
static int take_out_doubles(struct hp_lint *l, size_t *n,
			    struct hpdsl_error *err)
{
	const uint32_t again = UINT32_C(1) << HP_TRIP_AGAIN;
	size_t kept = 1;
	int r = 0;

	qsort(l->names, *n, sizeof *l->names, by_bytes);
	for (size_t i = 1; i < *n && r == 0; i++) {
		if (strcmp(l->names[i].s, l->names[kept - 1].s) == 0)
			r = tally_bits(l, HP_RISKS, again, &l->names[i], err);
		else
			l->names[kept++] = l->names[i];
	}
	*n = kept;
	return r;
}

/* Each key once: the key of a sample that was there before is told. */
static int note_key(struct hp_lint *l, const struct hp_name *key,
		    struct hpdsl_error *err)
{
	uint64_t hash = hp_key_hash(key->s, key->len);
	int r = hp_key_set_add(&l->set, hash);

	if (r == 0)
		return tally_bits(l, HP_RISKS, UINT32_C(1) << HP_TRIP_APART,
				  key, err);
	if (r > 0 && l->n_keys == l->keys_room) {
		size_t room = l->keys_room ? 2 * l->keys_room : 64;
		uint64_t *more = reallocarray(l->keys, room, sizeof *more);

		if (!more)
			return hp_fail_nomem(err);
		l->keys = more;
		l->keys_room = room;
	}
	if (r < 0)
		return hp_fail_nomem(err);
	l->keys[l->n_keys++] = hash;
	if (hash != l->want || l->found)
		return 0;
	l->found = strndup(key->s, key->len);
	return l->found ? 0 : hp_fail_nomem(err);
}

static void release_run(struct hp_lint_run *run)
{
	free(run->key);
	free(run->fields);
	*run = (struct hp_lint_run){ .key = NULL };
}

static int by_number(const void *va, const void *vb)
{
	uint64_t a = *(const uint64_t *)va, b = *(const uint64_t *)vb;

	return (a > b) - (a < b);
}

static int copy_run(const struct hp_lint *l, size_t n, struct hp_lint_run *ret,
		    struct hpdsl_error *err)
{
	release_run(ret);
	ret->key = strndup(l->names[0].s, l->key_len);
	ret->fields = hp_array(n, sizeof *ret->fields);
	if (!ret->key || !ret->fields)
		return hp_fail_nomem(err);
	ret->n = n;
	for (size_t i = 0; i < n; i++)
		ret->fields[i] = hp_hash64(l->names[i].s + l->key_len,
					   l->names[i].len - l->key_len);
	qsort(ret->fields, n, sizeof *ret->fields, by_number);
	return 0;
}

/*
 * Hugging Face datasets: the first five samples must have the same suffixes;
 * base names that begin with __ it does not see.
 */
static int note_fields(struct hp_lint *l, const struct hp_name *key, size_t n,
		       struct hpdsl_error *err)
{
	const char *slash = memrchr(key->s, '/', key->len);
	uint64_t sum = 0;

	if (l->n_fields == 5 ||
	    strncmp(slash ? slash + 1 : key->s, "__", 2) == 0)
		return 0;
	for (size_t i = 0; i < n; i++)
		sum += hp_hash64(l->names[i].s + l->key_len,
				 l->names[i].len - l->key_len);
	l->fields[l->n_fields++] = sum;
	return sum == l->fields[0] ?
		       0 :
		       tally_bits(l, HP_RISKS, UINT32_C(1) << HP_TRIP_FIELDS,
				  key, err);
}

/* The names of the run, where they do not move any more. */
static int gather_run(struct hp_lint *l, struct hpdsl_error *err)
{
	const char *s = l->run.p;
	int r = l->run.failed ? hp_fail_nomem(err) : make_room(l, err);

	for (size_t i = 0; r == 0 && i < l->run_n; i++) {
		l->names[i] = (struct hp_name){ s, strlen(s) };
		s += l->names[i].len + 1;
		/* A NUL in it: the index it came from is being written. */
		if (l->names[i].len < l->key_len)
			r = hp_fail(err, HPDSL_ECORRUPT,
				    "a name has changed while it was read");
	}
	return r;
}

static int end_run(struct hp_lint *l, struct hpdsl_error *err)
{
	size_t n = l->run_n;
	struct hp_name key;
	int r;

	if (!n)
		return 0;
	r = gather_run(l, err);
	if (r < 0)
		return r;
	key = (struct hp_name){ l->names[0].s, l->key_len };
	r = take_out_doubles(l, &n, err);
	if (r == 0)
		r = hp_risks_find(l->names, n, l->risks, err);
	if (r == 0)
		r = tally_risks(l, l->names, l->risks, n, err);
	if (r == 0)
		r = note_key(l, &key, err);
	if (r == 0)
		r = note_fields(l, &key, n, err);
	if (r == 0 && !l->first.key)
		r = copy_run(l, n, &l->first, err);
	if (r == 0)
		r = copy_run(l, n, &l->last, err);
	l->run.n = 0;
	l->run_n = 0;
	return r;
}

/* ---- Members ---------------------------------------------------------- */

/* A name that makes no sample with others, in the eyes of most. */
static int add_alone(struct hp_lint *l, const struct hp_name *name,
		     size_t key_len, struct hpdsl_error *err)
{
	uint64_t hash = hp_key_hash(name->s, key_len);
	uint32_t risks;
	int r = hp_risks_find(name, 1, &risks, err);

	/* Our own key rule has it in a sample with those beside it. */
	if (hash != l->alone && !(l->run_n && key_len == l->key_len &&
				  memcmp(l->run.p, name->s, key_len) == 0))
		l->samples++;
	l->alone = hash;
	return r < 0 ? r : tally_risks(l, name, &risks, 1, err);
}

/* Is it of another sample of the dataset than the one before it? */
static bool is_apart(const struct hp_lint *l, const struct hp_name *name)
{
	struct hp_name last = { l->run.p + l->run_last,
				l->run.n - l->run_last - 1 };
	size_t n;

	if (!l->rule)
		return l->each;
	n = hp_key_length(l->rule, name->s, name->len);
	return n != hp_key_length(l->rule, last.s, last.len) ||
	       memcmp(last.s, name->s, n) != 0;
}

static int add_to_run(struct hp_lint *l, const struct hp_name *name,
		      size_t key_len, bool apart, struct hpdsl_error *err)
{
	int r = 0;

	if (l->run_n &&
	    (key_len != l->key_len || memcmp(l->run.p, name->s, key_len) != 0))
		r = end_run(l, err);
	else if (l->run_n && (apart || is_apart(l, name)))
		r = tally_bits(l, 0, UINT32_C(1) << HP_RISK_KEY_AGAIN, name,
			       err);
	if (!l->run_n)
		l->samples += hp_key_hash(name->s, key_len) != l->alone;
	l->key_len = key_len;
	l->run_last = l->run.n;
	hp_text_add(&l->run, name->s, name->len);
	hp_text_add(&l->run, "", 1);
	l->run_n++;
	return r < 0 || !l->run.failed ? r : hp_fail_nomem(err);
}

/* Of which part of the dataset is it, if the first folders are these? */
static void note_split(struct hp_lint *l, const char *name, size_t len)
{
	size_t here = len > 2 && memcmp(name, "./", 2) == 0 ? 2 : 0;
	const char *slash = memchr(name + here, '/', len - here);
	unsigned bit = slash ? hpdsl_split(name + here,
					   (size_t)(slash - name) - here) :
			       0;

	l->splits |= bit;
	l->unsplit |= !bit;
}

int hp_lint_add(struct hp_lint *l, const struct hp_lint_member *m,
		struct hpdsl_error *err)
{
	struct hp_name name = { m->name, m->len };
	size_t key_len = hp_key_first(m->name, m->len);
	const char *slash = memrchr(m->name, '/', m->len);
	int r = tally_bits(l, HP_RISKS, hp_lint_of_member(m), &name, err);

	if (r < 0 || m->kind != HP_FOREIGN_FILE || !m->len)
		return r;
	l->members++;
	note_split(l, m->name, m->len);
	if (m->form & HP_FORM_PAX_NAME)
		r = tally_bits(l, 0, UINT32_C(1) << HP_RISK_PAX, &name, err);
	if (r < 0)
		return r;
	if (key_len + 1 >= m->len || (slash ? slash[1] : m->name[0]) == '.')
		return add_alone(l, &name, key_len, err);
	return add_to_run(l, &name, key_len, m->apart, err);
}

void hp_lint_cut(struct hp_lint *l)
{
	/* It is all there is, or not begun. */
	if (l->samples < 2 || !l->run_n)
		return;
	l->samples--;
	l->members -= l->run_n;
	l->run.n = 0;
	l->run_n = 0;
	release_run(&l->last);
}

int hp_lint_end(struct hp_lint *l, struct hpdsl_error *err)
{
	int r = end_run(l, err);

	if (r == 0 && !l->samples)
		r = hp_lint_count(l, HP_TRIP_EMPTY, NULL, err);
	if (r == 0 && !l->unsplit && l->splits & (l->splits - 1))
		r = hp_lint_count(l, HP_TRIP_MIXED, NULL, err);
	hp_key_set_release(&l->set);
	hp_text_release(&l->run);
	free(l->names);
	free(l->risks);
	l->names = NULL;
	l->risks = NULL;
	l->room = 0;
	return r;
}

void hp_lint_release(struct hp_lint *l)
{
	for (int i = 0; i < HP_LINTS; i++)
		free(l->tally[i].first);
	hp_key_set_release(&l->set);
	hp_text_release(&l->run);
	release_run(&l->first);
	release_run(&l->last);
	free(l->keys);
	free(l->names);
	free(l->risks);
	free(l->found);
	memset(l, 0, sizeof *l);
}

/* ---- All tars --------------------------------------------------------- */

static bool share_field(const struct hp_lint_run *a,
			const struct hp_lint_run *b)
{
	size_t i = 0, k = 0;

	while (i < a->n && k < b->n && a->fields[i] != b->fields[k])
		if (a->fields[i] < b->fields[k])
			i++;
		else
			k++;
	return i < a->n && k < b->n;
}

/* Is the first sample of b the rest of the last one of a? */
static bool goes_on(const struct hp_lint *a, const struct hp_lint *b)
{
	return a->last.key && b->first.key &&
	       strcmp(a->last.key, b->first.key) == 0 &&
	       !share_field(&a->last, &b->first);
}

static int join_keys(struct hp_lint *tars, size_t i, struct hp_key_set *all,
		     uint64_t *ret_hash, struct hpdsl_error *err)
{
	struct hp_lint *l = &tars[i];
	bool on = i && goes_on(l - 1, l);

	for (size_t k = 0; k < l->n_keys; k++) {
		int r = hp_key_set_add(all, l->keys[k]);

		if (r < 0)
			return hp_fail_nomem(err);
		/* The first key is told as one that goes on. */
		if (r == 0 && !(on && k == 0)) {
			if (!l->tally[HP_RISKS + HP_TRIP_KEY_AGAIN].n++)
				*ret_hash = l->keys[k];
		}
	}
	free(l->keys);
	l->keys = NULL;
	l->n_keys = l->keys_room = 0;
	return on ? hp_lint_count(l - 1, HP_TRIP_SPLIT, l->first.key, err) : 0;
}

int hp_lint_join(struct hp_lint *tars, size_t n,
		 int (*again)(void *arg, size_t tar, uint64_t hash, char **ret,
			      struct hpdsl_error *err),
		 void *arg, struct hpdsl_error *err)
{
	struct hp_key_set all = { 0 };
	bool asked = false;
	int r = 0;

	for (size_t i = 0; i < n && r == 0; i++) {
		uint64_t hash = 0;

		r = join_keys(tars, i, &all, &hash, err);
		if (r < 0 || !hash || asked)
			continue;
		/* One example is enough. */
		asked = true;
		r = again(arg, i, hash,
			  &tars[i].tally[HP_RISKS + HP_TRIP_KEY_AGAIN].first,
			  err);
	}
	hp_key_set_release(&all);
	return r;
}
