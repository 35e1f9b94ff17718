/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each line makes sense, but all together they are no tree: finds the first one
 * that is to blame.  Reads the text again, since this is seldom asked.
 */
#include "snap/text.h"

#include "base/mem.h"
#include "plan/list.h"

#include <string.h>

/* One line; sorted, what is below a folder follows it. */
struct named {
	const char *path;
	size_t len;
	uint64_t line;
	uint64_t member;
	bool folder;
	const struct named *above; /* the nearest line that it lies below */
};

struct blame {
	struct hp_snap_lines lines;
	struct hp_arena *arena;
	struct named *named;
	uint64_t n, room;
	const struct named *guilty;
	const char *reason;
};

static int compare_paths(const struct named *a, const struct named *b)
{
	size_t n = a->len < b->len ? a->len : b->len;

	for (size_t i = 0; i < n; i++) {
		unsigned x = (unsigned char)a->path[i];
		unsigned y = (unsigned char)b->path[i];

		if (x != y)
			return (int)(x == '/' ? 0 : x) -
			       (int)(y == '/' ? 0 : y);
	}
	return (a->len > b->len) - (a->len < b->len);
}

static int by_path(const void *va, const void *vb)
{
	const struct named *a = va, *b = vb;
	int d = compare_paths(a, b);

	return d ? d : (a->line > b->line) - (a->line < b->line);
}

static int by_member(const void *va, const void *vb)
{
	const struct named *a = va, *b = vb;

	if (a->member != b->member)
		return a->member < b->member ? -1 : 1;
	return (a->line > b->line) - (a->line < b->line);
}

static int read_all(struct blame *b, struct hpdsl_error *err)
{
	struct hp_tree ignored = { .arena = NULL };
	struct hp_snap_lines *l = &b->lines;
	struct hp_leaf leaf;
	int r = hp_snap_lines_begin(l, &ignored, err);

	while (r >= 0 && (r = hp_snap_lines_next(l, err)) > 0) {
		if (b->n == b->room) {
			uint64_t room = b->room ? 2 * b->room : 256;
			struct named *more =
				reallocarray(b->named, room, sizeof *more);

			if (!more)
				return hp_fail_nomem(err);
			b->named = more;
			b->room = room;
		}
		r = hp_snap_line_parse(l, b->arena, &leaf, err);
		if (r < 0)
			return r;
		b->named[b->n++] = (struct named){
			.path = leaf.path,
			.len = strlen(leaf.path),
			.line = l->number,
			.member = S_ISREG(leaf.node.mode) ? leaf.node.member :
							    HPDSL_NO_MEMBER,
			.folder = S_ISDIR(leaf.node.mode),
		};
	}
	return r;
}

static void accuse(struct blame *b, const struct named *n, const char *reason)
{
	if (b->guilty && b->guilty->line <= n->line)
		return;
	b->guilty = n;
	b->reason = reason;
}

/* Does b lie below the folder a? */
static bool is_below(const struct named *a, const struct named *b)
{
	if (!a->len)
		return b->len;
	return b->len > a->len && b->path[a->len] == '/' &&
	       !memcmp(a->path, b->path, a->len);
}

/*
 * The folder it lies in has to be there and to be one.  Of a dataset, whose
 * folders need no lines, the nearest line above it is looked at.  Those further
 * up are the concern of that line.
 */
static void look_above(struct blame *b, struct named *n)
{
	const char *slash = memrchr(n->path, '/', n->len);
	size_t len = slash ? (size_t)(slash - n->path) : 0;
	const struct named *above = n > b->named ? n - 1 : NULL;

	while (above && !is_below(above, n))
		above = above->above;
	n->above = above;
	if (!n->len)
		return;
	if (!b->lines.dataset && (!above || above->len != len))
		accuse(b, n, "no line has the folder it is in");
	else if (above && !above->folder)
		accuse(b, n, "what it lies in is no folder");
}

static void look_for_empty(struct blame *b, const struct named *n)
{
	if (b->lines.dataset && n->folder && n->len &&
	    (n + 1 == b->named + b->n || !is_below(n, n + 1)))
		accuse(b, n, "an empty folder, which no dataset has");
}

static void look_at_paths(struct blame *b)
{
	qsort(b->named, b->n, sizeof *b->named, by_path);
	for (uint64_t i = 1; i < b->n; i++)
		if (!compare_paths(&b->named[i - 1], &b->named[i]))
			accuse(b, &b->named[i], "this path for a second time");
	/* Of two with one path, which is it that others lie in? */
	if (b->guilty)
		return;
	for (uint64_t i = 0; i < b->n; i++) {
		look_above(b, &b->named[i]);
		look_for_empty(b, &b->named[i]);
	}
}

static void look_at_members(struct blame *b)
{
	qsort(b->named, b->n, sizeof *b->named, by_member);
	for (uint64_t i = 1; i < b->n; i++)
		if (b->named[i].member != HPDSL_NO_MEMBER &&
		    b->named[i].member == b->named[i - 1].member)
			accuse(b, &b->named[i],
			       "this member number for a second time");
}

static int find(struct blame *b, struct hpdsl_error *err)
{
	char path[HP_PRINTABLE];
	int r = read_all(b, err);

	if (r < 0)
		return r;
	look_at_paths(b);
	if (!b->guilty)
		look_at_members(b);
	if (!b->guilty)
		return err->code;
	b->lines.number = b->guilty->line;
	return hp_snap_lines_fail(
		&b->lines, err, "%s: '%s'", b->reason,
		hp_printable(b->guilty->path, b->guilty->len, path));
}

int hp_snap_text_blame(const struct hp_snap_text *text, struct hpdsl_error *err)
{
	struct blame b = { .lines.text = text, .arena = hp_arena_new() };
	int r = b.arena ? find(&b, err) : hp_fail_nomem(err);

	hp_arena_free(b.arena);
	free(b.named);
	return r;
}
