/* SPDX-License-Identifier: Apache-2.0 */
/* From the text of a snapshot to the tree that it describes. */
#include "snap/text.h"

#include "base/error.h"
#include "base/mem.h"
#include "sys/meter.h"

#include <string.h>

enum { STEP = 8192 }; /* lines */

struct parse {
	struct hp_snap_lines lines;
	struct hp_tree *tree;
	struct hp_leaf *leaves;
	uint64_t n, room;
	bool top;
	struct hp_meter meter;
};

static int reserve(struct parse *p, struct hpdsl_error *err)
{
	uint64_t room = p->room ? 2 * p->room : 256;
	struct hp_leaf *more;

	if (p->n < p->room)
		return 0;
	more = reallocarray(p->leaves, room, sizeof *more);
	if (!more)
		return hp_fail_nomem(err);
	p->leaves = more;
	p->room = room;
	return 0;
}

static int add(struct parse *p, struct hpdsl_error *err)
{
	int r = reserve(p, err);

	if (r == 0)
		r = hp_snap_line_parse(&p->lines, p->tree->arena,
				       &p->leaves[p->n], err);
	if (r < 0)
		return r;
	if (!*p->leaves[p->n].path) {
		if (p->top)
			return hp_snap_lines_fail(&p->lines, err,
						  "the top for a second time");
		p->top = true;
	}
	p->n++;
	return 0;
}

/* Now and then. */
static int look_up(struct parse *p, uint64_t *told, struct hpdsl_error *err)
{
	hp_meter_add(&p->meter, p->lines.at - *told);
	*told = p->lines.at;
	if (hp_stopped(p->lines.text->watch))
		return hp_fail(err, HPDSL_ESTOPPED, "stopped");
	return 0;
}

static int add_all(struct parse *p, struct hpdsl_error *err)
{
	struct hp_snap_lines *l = &p->lines;
	uint64_t told = 0;
	int r;

	hp_meter_phase(&p->meter, "reading", l->text->size, true);
	r = hp_snap_lines_begin(l, p->tree, err);
	if (r < 0)
		return r;
	while ((r = hp_snap_lines_next(l, err)) > 0) {
		r = add(p, err);
		if (r == 0 && l->number % STEP == 0)
			r = look_up(p, &told, err);
		if (r < 0)
			return r;
	}
	if (r == 0 && !p->top && !l->dataset)
		return hp_snap_lines_fail(l, err,
					  "the end, and no line of the top, "
					  "whose path is a dot");
	return r;
}

static int compare_numbers(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* Each number once; sets how many the dataset has at least. */
static int check_members(struct parse *p, struct hpdsl_error *err)
{
	uint64_t *hp_auto_free numbers = hp_array(p->n, sizeof *numbers);
	uint64_t n = 0;

	if (!numbers)
		return hp_fail_nomem(err);
	for (uint64_t i = 0; i < p->n; i++)
		if (S_ISREG(p->leaves[i].node.mode))
			numbers[n++] = p->leaves[i].node.member;
	qsort(numbers, n, sizeof *numbers, compare_numbers);
	for (uint64_t i = 1; i < n; i++)
		if (numbers[i] == numbers[i - 1])
			return hp_fail(err, HPDSL_EUSAGE,
				       "two files are member %llu",
				       (unsigned long long)numbers[i]);
	p->tree->members = n ? numbers[n - 1] + 1 : 0;
	return 0;
}

/* A dataset has none, but the top may be. */
static int check_folders(const struct hp_tree *t, struct hpdsl_error *err)
{
	for (uint64_t i = 1; i < t->n_folders; i++)
		if (!t->folders[i]->n)
			return hp_fail(err, HPDSL_EUSAGE, "an empty folder");
	return 0;
}

static int parse(struct parse *p, struct hpdsl_error *err)
{
	struct hp_tree *t = p->tree;
	int r = hp_tree_init(t);

	if (r < 0)
		return hp_fail_nomem(err);
	r = add_all(p, err);
	if (r < 0)
		return r;
	if (t->from_dataset)
		r = check_members(p, err);
	if (r == 0)
		r = hp_tree_build(t, p->leaves, p->n, err);
	if (r == 0 && t->from_dataset)
		r = check_folders(t, err);
	if (r != HPDSL_EUSAGE)
		return r;
	/* The lines are in another order by now. */
	free(hp_take(p->leaves));
	return hp_snap_text_blame(p->lines.text, err);
}

int hp_snap_parse(const struct hp_snap_text *text, struct hp_tree *t,
		  struct hpdsl_error *err)
{
	struct hpdsl_error own;
	struct parse p = { .lines.text = text, .tree = t };
	int r;

	own.code = 0;
	hp_meter_init(&p.meter, text->watch);
	r = parse(&p, err ? err : &own);
	hp_meter_release(&p.meter);
	free(p.leaves);
	if (r < 0) {
		hp_tree_release(t);
		*t = (struct hp_tree){ .arena = NULL };
	}
	return r;
}
