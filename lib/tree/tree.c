/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Numbering a tree, and freeing it.  Both go from folder to folder by the
 * parents' pointers: a stack, or recursion, would bound how deep a tree may be.
 */
#include "tree/tree.h"

#include "base/error.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

int hp_tree_init(struct hp_tree *t)
{
	*t = (struct hp_tree){ .top = { .name = "", .mode = S_IFDIR | 0755 } };
	t->arena = hp_arena_new();
	t->top.folder = calloc(1, sizeof *t->top.folder);
	if (t->arena && t->top.folder)
		return 0;
	hp_tree_release(t);
	return -ENOMEM;
}

/* The next sub-folder from node *at on, *at behind it; NULL: no more. */
static struct hp_folder *next_folder(const struct hp_folder *f, uint64_t *at)
{
	while (*at < f->n) {
		const struct hp_node *node = &f->nodes[(*at)++];

		if (S_ISDIR(node->mode) && node->folder)
			return node->folder;
	}
	return NULL;
}

/* Nothing is known of the tree but how it hangs together downwards. */
void hp_tree_release(struct hp_tree *t)
{
	struct hp_folder *f = t->top.folder;

	if (f) {
		f->parent = NULL;
		f->self = 0; /* here: how far its nodes were seen */
	}
	while (f) {
		struct hp_folder *next = next_folder(f, &f->self);

		if (next) {
			next->parent = f;
			next->self = 0;
		} else {
			next = f->parent;
			free(f->nodes);
			free(f);
		}
		f = next;
	}
	free(t->folders);
	hp_arena_free(t->arena);
	*t = (struct hp_tree){ 0 };
}

int hp_name_compare(const char *a, size_t a_len, const char *b, size_t b_len)
{
	int r = memcmp(a, b, a_len < b_len ? a_len : b_len);

	return r ? r : (a_len > b_len) - (a_len < b_len);
}

void hp_folder_path(const struct hp_folder *f, char buf[HPDSL_PATH_MAX + 2],
		    size_t *ret_len)
{
	size_t at = HPDSL_PATH_MAX + 1;

	for (; f->parent; f = f->parent) {
		const struct hp_node *node = &f->parent->nodes[f->self];

		buf[--at] = '/';
		at -= node->name_len;
		memcpy(buf + at, node->name, node->name_len);
	}
	*ret_len = HPDSL_PATH_MAX + 1 - at;
	memmove(buf, buf + at, *ret_len);
	buf[*ret_len] = '\0';
}

/* ---- Numbers ---------------------------------------------------------- */

struct finisher {
	struct hp_tree *t;
	uint64_t room;	 /* in t->folders */
	size_t path_len; /* of the folder, with its slash */
	struct hpdsl_error *err;
};

/* "a/b: WHY", for a node of f, whose ancestors are numbered. */
static int fail_node(const struct finisher *w, const struct hp_folder *f,
		     const struct hp_node *node, int code, const char *why)
{
	char path[HPDSL_PATH_MAX + 2], shown[HP_PRINTABLE];
	char whole[2 * HPDSL_PATH_MAX + 2];
	size_t len;

	hp_folder_path(f, path, &len);
	memcpy(whole, path, len);
	memcpy(whole + len, node->name, node->name_len);
	return hp_fail(w->err, code, "'%s': %s",
		       hp_printable(whole, len + node->name_len, shown), why);
}

static int enter(struct finisher *w, struct hp_folder *f)
{
	struct hp_tree *t = w->t;

	if (t->n_folders == w->room) {
		uint64_t room = w->room ? 2 * w->room : 64;
		struct hp_folder **p =
			reallocarray(t->folders, room, sizeof(*p));

		if (!p)
			return hp_fail_nomem(w->err);
		t->folders = p;
		w->room = room;
	}
	f->number = t->n_folders;
	t->folders[t->n_folders++] = f;
	return 0;
}

/* Its place among its neighbours, its length. */
static int check_node(const struct finisher *w, const struct hp_folder *f,
		      const struct hp_node *node)
{
	int order = -1;

	if (node > f->nodes)
		order = hp_name_compare(node[-1].name, node[-1].name_len,
					node->name, node->name_len);
	assert(order <= 0 && node->name_len > 0);
	if (order == 0)
		return fail_node(w, f, node, HPDSL_EUSAGE,
				 (node[-1].mode ^ node->mode) & S_IFMT ?
					 "is there twice, as different types" :
					 "is there twice");
	if (w->path_len + node->name_len > HPDSL_PATH_MAX)
		return fail_node(w, f, node, -ENAMETOOLONG,
				 "this path is too long");
	return 0;
}

static void count_node(struct hp_tree *t, const struct hp_node *node)
{
	t->name_bytes += node->name_len + 1u;
	if (S_ISREG(node->mode)) {
		t->files++;
		t->bytes += node->size;
		if (node->member != HPDSL_NO_MEMBER &&
		    node->member >= t->members)
			t->members = node->member + 1;
	} else if (S_ISLNK(node->mode)) {
		t->symlinks++;
		t->target_bytes += node->size + 1;
	}
}

/* All nodes, in pre-order. */
static int visit(struct finisher *w)
{
	struct hp_folder *f = w->t->top.folder;
	uint64_t i = 0;
	int r = enter(w, f);

	while (r == 0) {
		struct hp_node *node;

		if (i == f->n) {
			f->end = w->t->n_folders;
			if (!f->parent)
				break;
			i = f->self;
			f = f->parent;
			w->path_len -= f->nodes[i++].name_len + 1u;
			continue;
		}
		hp_folder_ahead(f, i);
		node = &f->nodes[i++];
		r = check_node(w, f, node);
		if (r < 0)
			break;
		count_node(w->t, node);
		if (!S_ISDIR(node->mode))
			continue;
		node->folder->parent = f;
		node->folder->self = i - 1;
		f = node->folder;
		w->path_len += node->name_len + 1u;
		i = 0;
		r = enter(w, f);
	}
	return r;
}

/* Entries are numbered by folders, so all of these have to be known. */
static void number_entries(struct hp_tree *t)
{
	uint64_t at = 1;

	for (uint64_t i = 0; i < t->n_folders; i++) {
		struct hp_folder *f = t->folders[i];

		f->entry = f->parent ? f->parent->first + f->self : 0;
		f->first = at;
		at += f->n;
	}
	t->entries = at;
}

int hp_tree_finish(struct hp_tree *t, struct hpdsl_error *err)
{
	struct finisher w = { .t = t, .err = err };
	int r;

	free(t->folders);
	t->folders = NULL;
	t->n_folders = t->files = t->symlinks = t->bytes = 0;
	t->target_bytes = t->members = 0;
	t->name_bytes = 1;
	t->top.folder->parent = NULL;
	t->top.folder->self = 0;
	r = visit(&w);
	if (r < 0)
		return r;
	number_entries(t);
	if (t->entries > HP_TREE_ENTRIES ||
	    t->name_bytes >= UINT64_C(1) << 48 ||
	    t->target_bytes >= UINT64_C(1) << 40)
		return hp_fail(err, -EFBIG, "too many entries for a snapshot");
	return 0;
}
