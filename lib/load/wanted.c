/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Members that are wanted by their suffixes: which member that is, and whether
 * there are any.  Who mistypes one would be given samples without bytes.
 */
#include "base/error.h"
#include "base/mem.h"
#include "dataset/dataset.h"
#include "hpdsl/loader.h"
#include "index/copy.h"
#include "load/extent.h"

#include <stdio.h>
#include <string.h>

enum {
	NAMES = 16, /* that are told of those that there are */
	NAME = 40,  /* bytes of one */
};

/* Of what follows the key the dot between them belongs to neither. */
static size_t suffix_at(const struct hpdsl_member *m)
{
	size_t key = hpdsl_key_length(m->path, m->path_len);

	return key < m->path_len ? key + 1 : key;
}

bool hp_load_has_suffix(const struct hpdsl_member *m, const char *suffix)
{
	const char *want = hp_load_without_dot(suffix);
	size_t at = suffix_at(m), n = strlen(want);

	return n == m->path_len - at && !memcmp(m->path + at, want, n);
}

/* ---- Are there any? --------------------------------------------------- */

struct look {
	struct hp_load_wanted w;
	bool *seen;		/* of each that is wanted */
	uint32_t left;		/* are not */
	char name[NAMES][NAME]; /* of those that there are */
	unsigned names;
	bool more;   /* than these */
	bool unsure; /* not all samples could be looked at */
};

static void note(struct look *k, const struct hpdsl_member *m)
{
	size_t at = suffix_at(m), n = m->path_len - at;

	n = n < NAME - 1 ? n : NAME - 1;
	for (unsigned i = 0; i < k->names; i++)
		if (!k->name[i][n] && !memcmp(k->name[i], m->path + at, n))
			return;
	if (k->names == NAMES) {
		k->more = true;
		return;
	}
	memcpy(k->name[k->names], m->path + at, n);
	k->name[k->names++][n] = '\0';
}

static void see_member(struct look *k, const struct hpdsl_member *m)
{
	for (uint32_t i = 0; i < k->w.n_suffixes; i++)
		if (!k->seen[i] && hp_load_has_suffix(m, k->w.suffixes[i])) {
			k->seen[i] = true;
			k->left--;
		}
	note(k, m);
}

/* A sample whose rows are damaged is no proof. */
static void see_sample(struct look *k, const struct hp_index *ix,
		       uint64_t number)
{
	struct hp_sample_row row;
	struct hpdsl_member m;

	if (hp_index_sample_row(ix, number, &row, NULL) < 0) {
		k->unsure = true;
		return;
	}
	for (uint64_t i = row.first; i < row.end && k->left; i++)
		if (hp_index_member(ix, i, &m, NULL) < 0)
			k->unsure = true;
		else
			see_member(k, &m);
}

static int by_name(const void *a, const void *b)
{
	return strcmp(a, b);
}

/* "'jpg', 'json'": as many as fit. */
static void list(struct look *k, char *buf, size_t room)
{
	char shown[HP_PRINTABLE];
	size_t at = 0;

	qsort(k->name, k->names, NAME, by_name);
	for (unsigned i = 0; i < k->names; i++) {
		size_t n = strlen(
			hp_printable(k->name[i], strlen(k->name[i]), shown));

		if (at + n + sizeof "'', " > room) {
			k->more = true;
			return;
		}
		at += (size_t)snprintf(buf + at, room - at, "%s'%s'",
				       at ? ", " : "", shown);
	}
}

static int tell(struct look *k, const char *which, struct hpdsl_error *err)
{
	char text[500] = "", shown[HP_PRINTABLE];
	const char *want;
	uint32_t i = 0;

	while (k->seen[i])
		i++;
	want = hp_load_without_dot(k->w.suffixes[i]);
	list(k, text, sizeof text);
	return hp_fail(err, HPDSL_EUSAGE,
		       "suffix '%s': %s has such a member; there are %s%s",
		       hp_printable(want, strlen(want), shown), which, text,
		       k->more ? " and others" : "");
}

/* Most often the first one has them all. */
static void look(struct look *k, const struct hpdsl_dataset *ds,
		 const struct hpdsl_choice *choice, uint64_t most)
{
	hp_auto_index_copy copy;
	struct hpdsl_counts n;

	hp_index_copy_begin(&copy, ds->index, true);
	hpdsl_count(ds, &n);
	for (uint64_t i = 0; i < n.samples && k->left; i++) {
		if (choice && !hpdsl_choice_has(choice, i))
			continue;
		if (!most--) {
			k->unsure = true;
			return;
		}
		see_sample(k, &copy.ix, i);
	}
}

int hp_load_look(const struct hpdsl_dataset *ds,
		 const struct hpdsl_choice *choice,
		 const struct hp_load_wanted *w, uint64_t most,
		 struct hpdsl_error *err)
{
	hp_auto_free bool *seen = NULL;
	struct look k = { .w = *w, .left = w->n_suffixes };

	if (!k.left)
		return 0;
	seen = calloc(k.left, sizeof *seen);
	if (!seen)
		return hp_fail_nomem(err);
	k.seen = seen;
	look(&k, ds, choice, most);
	if (!k.left || k.unsure || !k.names)
		return 0;
	return tell(&k, choice ? "none of the samples chosen" : "no sample",
		    err);
}
