/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A tree from paths in any order.  Folders are found by a hash table of their
 * paths, so that each leaf goes straight to where it belongs, and the names of
 * one folder at a time are all that is ever sorted.
 */
#include "tree/tree.h"

#include "base/error.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/path.h"

#include <errno.h>
#include <string.h>

/* A folder, by its path. */
struct place {
	uint64_t hash;
	const char *path; /* len bytes, a part of some leaf's */
	size_t len;
	struct hp_node node; /* its own; node.folder is ours until linked */
	uint64_t parent;     /* place */
	bool given;	     /* there is a leaf of it */
};

struct builder {
	struct hp_tree *t;
	const struct hp_leaf *leaves;
	uint64_t n;
	uint64_t *folder; /* of each leaf: place, or LEAF_FOLDER */
	struct place *places;
	uint64_t n_places, room;
	uint64_t *table; /* place plus 1; 0: empty */
	uint64_t mask;	 /* size of the table less 1 */
	struct hpdsl_error *err;
};

#define LEAF_FOLDER UINT64_MAX

static int fail_path(const struct builder *b, const char *path, size_t len,
		     const char *why)
{
	char shown[HP_PRINTABLE];

	return hp_fail(b->err, HPDSL_EUSAGE, "'%s': %s",
		       len ? hp_printable(path, len, shown) : ".", why);
}

/* ---- Folders by path -------------------------------------------------- */

static void enter(const struct builder *b, uint64_t place)
{
	uint64_t at = b->places[place].hash & b->mask;

	while (b->table[at])
		at = (at + 1) & b->mask;
	b->table[at] = place + 1;
}

/* Room for one place more; the table is at most half full. */
static int make_room(struct builder *b)
{
	uint64_t room = b->room ? 2 * b->room : 64;
	struct place *places;
	uint64_t *table;

	if (b->n_places < b->room)
		return 0;
	places = reallocarray(b->places, room, sizeof *places);
	if (!places)
		return -ENOMEM;
	b->places = places;
	table = calloc(2 * room, sizeof *table);
	if (!table)
		return -ENOMEM;
	free(b->table);
	b->table = table;
	b->mask = 2 * room - 1;
	b->room = room;
	for (uint64_t i = 0; i < b->n_places; i++)
		enter(b, i);
	return 0;
}

static int add_place(struct builder *b, const char *path, size_t len,
		     uint64_t hash)
{
	struct hp_folder *folder = NULL;

	if (make_room(b) == 0)
		folder = len ? calloc(1, sizeof *folder) : b->t->top.folder;
	if (!folder)
		return hp_fail_nomem(b->err);
	b->places[b->n_places] = (struct place){
		.hash = hash,
		.path = path,
		.len = len,
		.node = { .mode = S_IFDIR | 0755, .folder = folder },
	};
	enter(b, b->n_places++);
	return 0;
}

/* The folder of this path; makes it if it is not there. */
static int find_place(struct builder *b, const char *path, size_t len,
		      uint64_t *ret)
{
	uint64_t hash = hp_hash64(path, len);
	int r;

	for (uint64_t at = hash & b->mask; b->table[at];
	     at = (at + 1) & b->mask) {
		const struct place *p = &b->places[b->table[at] - 1];

		if (p->hash == hash && p->len == len &&
		    memcmp(p->path, path, len) == 0) {
			*ret = b->table[at] - 1;
			return 0;
		}
	}
	r = add_place(b, path, len, hash);
	if (r == 0)
		*ret = b->n_places - 1;
	return r;
}

/* Where the last name of a path begins. */
static size_t base(const char *path, size_t len)
{
	const char *slash = memrchr(path, '/', len);

	return slash ? (size_t)(slash - path) + 1 : 0;
}

static int find_parent(struct builder *b, const char *path, size_t len,
		       uint64_t *ret)
{
	size_t at = base(path, len);
	int r = find_place(b, path, at ? at - 1 : 0, ret);

	if (r == 0 && !b->places[*ret].given && !b->t->from_dataset)
		return fail_path(b, path, len, "there is no folder for it");
	return r;
}

/* ---- Leaves ----------------------------------------------------------- */

/* A leaf that is a folder says what the folder is. */
static int add_folder(struct builder *b, const struct hp_leaf *leaf, size_t len)
{
	struct place *p;
	uint64_t place;
	int r = find_place(b, leaf->path, len, &place);

	if (r < 0)
		return r;
	p = &b->places[place];
	if (p->given)
		return fail_path(b, leaf->path, len, "is there twice");
	p->given = true;
	p->node.size = leaf->node.size;
	p->node.mtime = leaf->node.mtime;
	p->node.nsec = leaf->node.nsec;
	p->node.mode = leaf->node.mode;
	return 0;
}

static int add_folders(struct builder *b)
{
	int r = 0;

	for (uint64_t i = 0; r == 0 && i < b->n; i++) {
		const struct hp_leaf *leaf = &b->leaves[i];
		size_t len = strlen(leaf->path);

		b->folder[i] = LEAF_FOLDER;
		if (!len && !S_ISDIR(leaf->node.mode))
			return fail_path(b, "", 0, "is no folder");
		if (len && !hp_path_valid(leaf->path, len))
			return fail_path(b, leaf->path, len,
					 "no entry can have this path");
		if (S_ISDIR(leaf->node.mode))
			r = add_folder(b, leaf, len);
	}
	if (r == 0 && !b->places[0].given && !b->t->from_dataset)
		return fail_path(b, "", 0, "there is no entry for it");
	return r;
}

/* Which folder everything is in; their number of nodes. */
static int find_parents(struct builder *b)
{
	int r = 0;

	for (uint64_t i = 0; r == 0 && i < b->n; i++) {
		const char *path = b->leaves[i].path;

		if (S_ISDIR(b->leaves[i].node.mode))
			continue;
		r = find_parent(b, path, strlen(path), &b->folder[i]);
		if (r == 0)
			b->places[b->folder[i]].node.folder->n++;
	}
	/* What they are in comes behind them, if it was not there. */
	for (uint64_t i = 1; r == 0 && i < b->n_places; i++) {
		uint64_t parent;

		r = find_parent(b, b->places[i].path, b->places[i].len,
				&parent);
		if (r == 0) {
			b->places[i].parent = parent;
			b->places[parent].node.folder->n++;
		}
	}
	return r;
}

/* ---- Nodes ------------------------------------------------------------ */

static void add_node(struct hp_folder *f, const struct hp_node *node,
		     const char *name, size_t len)
{
	struct hp_node *to = &f->nodes[f->n++];

	*to = *node;
	to->name = name;
	to->name_len = (uint16_t)len;
}

/* Room for the nodes, and strings for names that no leaf ends with. */
static int allocate(struct builder *b)
{
	for (uint64_t i = 0; i < b->n_places; i++) {
		struct place *p = &b->places[i];
		struct hp_folder *f = p->node.folder;
		size_t at = base(p->path, p->len);

		if (f->n)
			f->nodes = hp_array(f->n, sizeof *f->nodes);
		p->node.name =
			hp_arena_add(b->t->arena, p->path + at, p->len - at);
		if ((f->n && !f->nodes) || !p->node.name)
			return hp_fail_nomem(b->err);
		p->node.name_len = (uint16_t)(p->len - at);
	}
	return 0;
}

/* Nothing can fail here: the tree is ours before, its own behind it. */
static void link_nodes(struct builder *b)
{
	for (uint64_t i = 0; i < b->n_places; i++)
		b->places[i].node.folder->n = 0;
	for (uint64_t i = 0; i < b->n; i++) {
		const struct hp_leaf *leaf = &b->leaves[i];
		size_t len, at;

		if (b->folder[i] == LEAF_FOLDER)
			continue;
		len = strlen(leaf->path);
		at = base(leaf->path, len);
		add_node(b->places[b->folder[i]].node.folder, &leaf->node,
			 leaf->path + at, len - at);
	}
	for (uint64_t i = 1; i < b->n_places; i++) {
		const struct place *p = &b->places[i];

		add_node(b->places[p->parent].node.folder, &p->node,
			 p->node.name, p->node.name_len);
	}
	b->t->top = b->places[0].node;
}

static int sort_nodes(struct builder *b)
{
	for (uint64_t i = 0; i < b->n_places; i++) {
		struct hp_folder *f = b->places[i].node.folder;

		if (hp_nodes_sort(f->nodes, f->n) < 0)
			return hp_fail_nomem(b->err);
	}
	return 0;
}

static int place_all(struct builder *b)
{
	int r = make_room(b) < 0 ? hp_fail_nomem(b->err) :
				   add_place(b, "", 0, hp_hash64("", 0));

	if (r == 0)
		r = add_folders(b);
	if (r == 0)
		r = find_parents(b);
	return r < 0 ? r : allocate(b);
}

static void forget(struct builder *b)
{
	for (uint64_t i = 0; i < b->n_places; i++) {
		struct hp_folder *f = b->places[i].node.folder;

		free(f->nodes);
		*f = (struct hp_folder){ 0 };
		if (i > 0)
			free(f);
	}
}

int hp_tree_build(struct hp_tree *t, struct hp_leaf *leaves, uint64_t n,
		  struct hpdsl_error *err)
{
	struct builder b = { .t = t, .leaves = leaves, .n = n, .err = err };
	hp_auto_free uint64_t *folder = hp_array(n, sizeof *folder);
	int r;

	if (!folder)
		return hp_fail_nomem(err);
	b.folder = folder;
	r = place_all(&b);
	if (r < 0) {
		forget(&b);
	} else {
		link_nodes(&b);
		r = sort_nodes(&b);
	}
	free(b.places);
	free(b.table);
	return r < 0 ? r : hp_tree_finish(t, err);
}
