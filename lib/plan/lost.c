/* SPDX-License-Identifier: Apache-2.0 */
/* What an index tells of the options that its dataset was packed with. */
#include "plan/lost.h"

#include "base/error.h"
#include "base/litter.h"
#include "base/twins.h"
#include "format/manifest.h"
#include "plan/list.h"

#include <string.h>

bool hp_lost_options(const char *lost)
{
	return lost && strstr(lost, "options");
}

/* How many classes there are, if each is called its number; else 0. */
static uint64_t called_by_number(const struct hp_index *ix)
{
	struct hpdsl_counts n;
	const char *name;
	uint32_t value;

	hp_index_count(ix, &n);
	for (uint64_t i = 0; i < n.classes; i++)
		if (hp_index_class(ix, (uint32_t)i, &name, NULL) < 0 ||
		    !hp_class_number(name, strlen(name), &value) || value != i)
			return 0;
	return n.classes;
}

bool hp_lost_by_value(const struct hp_index *ix,
		      struct hp_lost_option label_numbers)
{
	if (label_numbers.value)
		return !strcmp(label_numbers.value, HP_LABEL_NUMBERS_VALUE);
	/* More than ten are in this order in no other way. */
	return called_by_number(ix) > (label_numbers.lost ? 0 : 10);
}

/* ---- Litter ----------------------------------------------------------- */

/* Goes through all paths; *ret_any becomes true where one is litter. */
static int look(const struct hp_index *ix, struct hp_twins *twins,
		bool *ret_any, struct hpdsl_error *err)
{
	struct hpdsl_counts n;
	int r = 0;

	hp_index_count(ix, &n);
	for (uint64_t i = 0; i < n.members && r == 0 && !*ret_any; i++) {
		struct hpdsl_member m;
		int row;

		r = hp_index_member(ix, i, &m, err);
		if (r < 0)
			return r;
		row = hp_litter_path(m.path, m.path_len, false);
		*ret_any = row >= 0 && row != HPDSL_LITTER_TWIN;
		if (row == HPDSL_LITTER_TWIN &&
		    hp_twins_ask(twins, m.path, m.path_len) < 0)
			r = hp_fail_nomem(err);
	}
	return r;
}

/* The same, for what is litter beside another name. */
static int look_beside(const struct hp_index *ix, struct hp_twins *twins,
		       bool *ret_any, struct hpdsl_error *err)
{
	struct hpdsl_counts n;
	int r = 0;

	hp_index_count(ix, &n);
	for (uint64_t i = 0; i < n.members && r == 0; i++) {
		struct hpdsl_member m;

		r = hp_index_member(ix, i, &m, err);
		if (r == 0 && hp_twins_see(twins, m.path, m.path_len) < 0)
			r = hp_fail_nomem(err);
	}
	*ret_any = twins->there.n > 0;
	return r;
}

static int has_litter(const struct hp_index *ix, bool *ret,
		      struct hpdsl_error *err)
{
	struct hp_twins twins = { .last = NULL };
	int r;

	*ret = false;
	r = look(ix, &twins, ret, err);
	if (r == 0 && !*ret && twins.asked.n)
		r = look_beside(ix, &twins, ret, err);
	hp_twins_release(&twins);
	return r;
}

int hp_lost_litter(const struct hp_index *ix, struct hp_lost_option litter,
		   enum hpdsl_litter_how *ret, struct hpdsl_error *err)
{
	/* Of tars of others nobody left any out. */
	bool adopted = hp_index_flags(ix) & HP_INDEX_FOREIGN, any = true;
	int r = 0;

	if (litter.value)
		any = strcmp(litter.value, HP_LITTER_VERSION);
	else if (litter.lost && !adopted)
		r = has_litter(ix, &any, err);
	*ret = any ? HPDSL_LITTER_OLD : HPDSL_LITTER_LEAVE;
	return r;
}
