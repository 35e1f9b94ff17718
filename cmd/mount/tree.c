/* SPDX-License-Identifier: Apache-2.0 */
#include "tree.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

/* The kernel's top is node 1, whatever entry it is; others are as they are. */
static uint64_t node_of(const struct mount_tree *t, uint64_t entry)
{
	return entry == t->top ? MOUNT_TOP : entry + 1;
}

static uint64_t entry_of(const struct mount_tree *t, uint64_t node)
{
	return node == MOUNT_TOP ? t->top : node - 1;
}

static void attr_of(const struct mount_tree *t, const struct hpdsl_entry *e,
		    struct mount_attr *ret)
{
	bool folder = S_ISDIR(e->mode), nameless = !e->mtime && !e->mtime_nsec;

	*ret = (struct mount_attr){
		.ino = node_of(t, e->number),
		.size = e->size,
		.mtime = folder && nameless ? t->mtime : e->mtime,
		.mtime_nsec =
			folder && nameless ? t->mtime_nsec : e->mtime_nsec,
		.mode = e->mode & (S_IFMT | 0777),
		.nlink = 1,
		.uid = t->uid,
		.gid = t->gid,
	};
}

static int get(const struct mount_tree *t, uint64_t node,
	       struct hpdsl_entry *ret, struct hpdsl_error *err)
{
	if (!node)
		return -ENOENT;
	return hpdsl_snapshot_stat(t->snap, entry_of(t, node), ret, err);
}

/* ---- What is mounted -------------------------------------------------- */

int mount_tree_init(struct mount_tree *t, const struct hpdsl_snapshot *snap,
		    const char *top, struct hpdsl_error *err)
{
	struct hpdsl_snapshot_info info;
	struct hpdsl_entry e;
	int r = hpdsl_snapshot_lookup(snap, top, strlen(top), &e, err);

	if (r < 0)
		return r;
	if (!S_ISDIR(e.mode))
		return -ENOTDIR;
	hpdsl_snapshot_info(snap, &info);
	t->snap = snap;
	t->top = e.number;
	t->all = (struct mount_statfs){ info.bytes, info.files };
	return 0;
}

int mount_tree_file(const struct mount_tree *t, uint64_t node,
		    struct hpdsl_entry *ret, struct hpdsl_error *err)
{
	int r = get(t, node, ret, err);

	if (r < 0)
		return r;
	if (S_ISDIR(ret->mode))
		return -EISDIR;
	return S_ISREG(ret->mode) && ret->member != HPDSL_NO_MEMBER ? 0 :
								      -EINVAL;
}

/* ---- Answers ---------------------------------------------------------- */

/* What the kernel is to be told of a code of the library. */
static int code_of(int code)
{
	switch (code) {
	case -ENOENT:
	case -ENOTDIR:
	case -EINVAL:
	case -EISDIR:
		return code;
	case -ERANGE:
		return -ENOENT;
	default:
		return -EIO;
	}
}

/* A name that is not there is no reason for a text. */
static int child(const struct mount_tree *t, const struct mount_request *r,
		 struct hpdsl_entry *ret, struct hpdsl_error *err)
{
	uint64_t folder = entry_of(t, r->node);
	int code;

	if (!r->node)
		return -ENOENT;
	code = hpdsl_snapshot_child(t->snap, folder, r->name, r->name_len, ret,
				    NULL);
	if (code == HPDSL_ECORRUPT)
		code = hpdsl_snapshot_child(t->snap, folder, r->name,
					    r->name_len, ret, err);
	return code;
}

static size_t lookup(const struct mount_tree *t, const struct mount_request *r,
		     void *p, struct hpdsl_error *err)
{
	struct hpdsl_entry e;
	struct mount_attr a;
	int code = child(t, r, &e, err);

	if (code == -ENOENT && r->name_len <= MOUNT_NAME)
		return mount_answer_nothing(p, r->unique);
	if (code == -ENOENT)
		return mount_answer(p, r->unique, -ENAMETOOLONG);
	if (code < 0)
		return mount_answer(p, r->unique, code_of(code));
	attr_of(t, &e, &a);
	return mount_answer_entry(p, r->unique, &a);
}

static size_t getattr(const struct mount_tree *t, const struct mount_request *r,
		      void *p, struct hpdsl_error *err)
{
	struct hpdsl_entry e;
	struct mount_attr a;
	int code = get(t, r->node, &e, err);

	if (code < 0)
		return mount_answer(p, r->unique, code_of(code));
	attr_of(t, &e, &a);
	return mount_answer_attr(p, r->unique, &a);
}

static size_t readlink_of(const struct mount_tree *t,
			  const struct mount_request *r, void *p,
			  struct hpdsl_error *err)
{
	const char *target;
	struct hpdsl_entry e;
	int code = get(t, r->node, &e, err);

	if (code == 0)
		code = hpdsl_snapshot_target(t->snap, &e, &target, err);
	if (code == 0 && e.size > MOUNT_ANSWER_ROOM - MOUNT_HEAD)
		code = -ENAMETOOLONG;
	if (code < 0)
		return mount_answer(p, r->unique, code_of(code));
	memcpy((uint8_t *)p + MOUNT_HEAD, target, e.size);
	return mount_answer_bytes(p, r->unique, e.size);
}

/* ---- Listings --------------------------------------------------------- */

/* Offsets: 0 is before ".", 1 before "..", 2 + cursor before the others. */
enum { DOTS = 2, AT_ONCE = 64 };

static bool add(const struct mount_tree *t, struct mount_listing *l,
		const struct hpdsl_entry *e, const char *name, uint64_t next)
{
	bool known = next > DOTS;
	struct mount_attr a;

	attr_of(t, e, &a);
	return mount_listing_add(
		l, &a, name, known ? e->name_len : strlen(name), next, known);
}

/* 1: both are there; 0: no room for more. */
static int add_dots(const struct mount_tree *t, struct mount_listing *l,
		    const struct hpdsl_entry *folder, uint64_t *at,
		    struct hpdsl_error *err)
{
	struct hpdsl_entry up = *folder;
	int code = 0;

	if (*at == 0 && !add(t, l, folder, ".", ++*at))
		return 0;
	if (*at != 1)
		return 1;
	if (folder->number != t->top)
		code = hpdsl_snapshot_stat(t->snap, folder->parent, &up, err);
	if (code < 0)
		return code;
	return add(t, l, &up, "..", ++*at);
}

static int add_names(const struct mount_tree *t, struct mount_listing *l,
		     uint64_t folder, uint64_t cursor, struct hpdsl_error *err)
{
	struct hpdsl_entry e[AT_ONCE];

	for (;;) {
		uint64_t at = cursor;
		int64_t n = hpdsl_snapshot_readdir(t->snap, folder, &cursor, e,
						   AT_ONCE, err);

		if (n <= 0)
			return (int)n;
		for (int64_t i = 0; i < n; i++)
			if (!add(t, l, &e[i], e[i].name, ++at + DOTS))
				return 0;
	}
}

static size_t list(const struct mount_tree *t, const struct mount_request *r,
		   void *p, struct hpdsl_error *err)
{
	struct mount_listing l = { .p = p, .plus = r->op == MOUNT_READDIRPLUS };
	uint64_t at = r->offset;
	struct hpdsl_entry e;
	int code = get(t, r->node, &e, err);

	l.room = r->size < MOUNT_ANSWER_ROOM - MOUNT_HEAD ?
			 r->size :
			 MOUNT_ANSWER_ROOM - MOUNT_HEAD;
	if (code == 0 && !S_ISDIR(e.mode))
		code = -ENOTDIR;
	if (code == 0)
		code = add_dots(t, &l, &e, &at, err);
	if (code > 0)
		code = add_names(t, &l, e.number, at - DOTS, err);
	/* What came before what is wrong is told first. */
	if (code < 0 && !l.at)
		return mount_answer(p, r->unique, code_of(code));
	return mount_listing_end(&l, r->unique);
}

size_t mount_tree_answer(const struct mount_tree *t,
			 const struct mount_request *r, void *p,
			 struct hpdsl_error *err)
{
	err->code = 0;
	switch (r->op) {
	case MOUNT_LOOKUP:
		return lookup(t, r, p, err);
	case MOUNT_GETATTR:
		return getattr(t, r, p, err);
	case MOUNT_READLINK:
		return readlink_of(t, r, p, err);
	case MOUNT_READDIR:
	case MOUNT_READDIRPLUS:
		return list(t, r, p, err);
	case MOUNT_STATFS:
		return mount_answer_statfs(p, r->unique, &t->all);
	/* isatty() asks, and is told no. */
	case MOUNT_IOCTL:
		return mount_answer(p, r->unique, -ENOTTY);
	/* What the kernel is told once, it never asks again. */
	default:
		return mount_is_silent(r->op) ?
			       0 :
			       mount_answer(p, r->unique, -ENOSYS);
	}
}
