/* SPDX-License-Identifier: Apache-2.0 */
#include "own.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const char folder_name[] = ".hpdsl";
static const char *const names[MOUNT_OWN_FILES] = {
	[MOUNT_OWN_STATUS] = "status",
	[MOUNT_OWN_ERRORS] = "errors",
	[MOUNT_OWN_MANIFEST] = "dataset.yaml",
};

static bool is(const struct mount_request *r, const char *name)
{
	return r->name_len == strlen(name) &&
	       memcmp(r->name, name, r->name_len) == 0;
}

void mount_own_init(struct mount_own *o)
{
	const struct mount_tree *t = o->tree;
	struct hpdsl_entry e;

	/* one that is damaged is not to be hidden, either; beside chunks there
	 * is none */
	o->hidden =
		t->snap &&
		hpdsl_snapshot_child(t->snap, t->top, folder_name,
				     strlen(folder_name), &e, NULL) != -ENOENT;
}

bool mount_own_is_asked(const struct mount_own *o,
			const struct mount_request *r)
{
	if (o->hidden)
		return false;
	switch (r->op) {
	case MOUNT_LOOKUP:
		return r->node >= MOUNT_OWN ||
		       (r->node == MOUNT_TOP && is(r, folder_name));
	case MOUNT_GETATTR:
	case MOUNT_READLINK:
	case MOUNT_READ:
	case MOUNT_GETXATTR:
	case MOUNT_LISTXATTR:
	case MOUNT_READDIR:
	case MOUNT_READDIRPLUS:
		return r->node >= MOUNT_OWN;
	default:
		return false;
	}
}

/* ---- What they are ---------------------------------------------------- */

/* 0: the folder; 1 and so on: a file, and one more. */
static uint64_t which(uint64_t node)
{
	return node - MOUNT_OWN;
}

static struct mount_attr folder_attr(const struct mount_own *o)
{
	return (struct mount_attr){
		.ino = MOUNT_OWN,
		.mtime = o->tree->mtime,
		.mtime_nsec = o->tree->mtime_nsec,
		.mode = S_IFDIR | 0755,
		.nlink = 1,
		.uid = o->tree->uid,
		.gid = o->tree->gid,
	};
}

/* Names of files are not for all who may see the mount. */
static int own_attr(const struct mount_own *o, uint64_t which,
		    struct mount_attr *ret)
{
	struct mount_own_text text;
	int r;

	*ret = folder_attr(o);
	if (!which)
		return 0;
	r = o->make(o->arg, (enum mount_own_file)(which - 1), &text);
	if (r < 0)
		return r;
	free(text.bytes);
	ret->ino += which;
	ret->mode = S_IFREG | 0400;
	ret->size = text.n;
	ret->mtime = text.mtime;
	ret->mtime_nsec = text.mtime_nsec;
	ret->changes = true;
	return 0;
}

/* ---- Answers ---------------------------------------------------------- */

static size_t look_up(const struct mount_own *o, const struct mount_request *r,
		      void *p)
{
	struct mount_attr a;
	uint64_t found = 0;
	int code;

	if (r->node != MOUNT_TOP) {
		if (r->node != MOUNT_OWN)
			return mount_answer(p, r->unique, -ENOTDIR);
		if (r->name_len > MOUNT_NAME)
			return mount_answer(p, r->unique, -ENAMETOOLONG);
		while (found < MOUNT_OWN_FILES && !is(r, names[found]))
			found++;
		if (found == MOUNT_OWN_FILES)
			return mount_answer_nothing(p, r->unique);
		found++;
	}
	code = own_attr(o, found, &a);
	if (code == -ENOENT)
		return mount_answer_nothing(p, r->unique);
	return code < 0 ? mount_answer(p, r->unique, code) :
			  mount_answer_entry(p, r->unique, &a);
}

static size_t tell_attr(const struct mount_own *o,
			const struct mount_request *r, void *p)
{
	struct mount_attr a;
	int code = own_attr(o, which(r->node), &a);

	return code < 0 ? mount_answer(p, r->unique, code) :
			  mount_answer_attr(p, r->unique, &a);
}

static size_t read_of(const struct mount_own *o, const struct mount_request *r,
		      void *p)
{
	const uint64_t w = which(r->node);
	struct mount_own_text text;
	size_t n;
	int code;

	if (!w)
		return mount_answer(p, r->unique, -EISDIR);
	code = o->make(o->arg, (enum mount_own_file)(w - 1), &text);
	if (code < 0)
		return mount_answer(p, r->unique, code);
	n = r->offset < text.n ? text.n - (size_t)r->offset : 0;
	n = n < r->size ? n : r->size;
	n = n < MOUNT_READ_MOST ? n : MOUNT_READ_MOST;
	if (n)
		memcpy((uint8_t *)p + MOUNT_HEAD, text.bytes + r->offset, n);
	free(text.bytes);
	return mount_answer_bytes(p, r->unique, n);
}

/* Offsets: 0 is before ".", 1 before "..", 2 and so on before files. */
static size_t list_own(const struct mount_own *o, const struct mount_request *r,
		       void *p)
{
	struct mount_listing l = { .p = p, .plus = r->op == MOUNT_READDIRPLUS };
	struct mount_attr a = folder_attr(o);

	if (r->node != MOUNT_OWN)
		return mount_answer(p, r->unique, -ENOTDIR);
	l.room = r->size < MOUNT_READ_MOST ? r->size : MOUNT_READ_MOST;
	for (uint64_t at = r->offset; at < 2 + MOUNT_OWN_FILES; at++) {
		const char *name = at >= 2 ? names[at - 2] : at ? ".." : ".";
		int code = at < 2 ? 0 : own_attr(o, at - 1, &a);

		a.ino = at == 1 ? MOUNT_TOP : a.ino;
		if (code == -ENOENT)
			continue;
		if (code < 0 && !l.at)
			return mount_answer(p, r->unique, code);
		if (code < 0 || !mount_listing_add(&l, &a, name, strlen(name),
						   at + 1, at >= 2))
			break;
	}
	return mount_listing_end(&l, r->unique);
}

size_t mount_own_answer(const struct mount_own *o,
			const struct mount_request *r, void *p)
{
	if (r->node != MOUNT_TOP && which(r->node) > MOUNT_OWN_FILES)
		return mount_answer(p, r->unique, -ENOENT);
	switch (r->op) {
	case MOUNT_LOOKUP:
		return look_up(o, r, p);
	case MOUNT_GETATTR:
		return tell_attr(o, r, p);
	case MOUNT_READ:
		return read_of(o, r, p);
	case MOUNT_READDIR:
	case MOUNT_READDIRPLUS:
		return list_own(o, r, p);
	case MOUNT_LISTXATTR:
		return r->attr.room ? mount_answer_bytes(p, r->unique, 0) :
				      mount_answer_attr_size(p, r->unique, 0);
	case MOUNT_GETXATTR:
		return mount_answer(p, r->unique, -ENODATA);
	default: /* READLINK */
		return mount_answer(p, r->unique, -EINVAL);
	}
}

/* ---- Numbers in columns ----------------------------------------------- */

enum { WIDTH = 20 /* of 2^64 - 1, and of -2^63 */ };

static bool is_of_number(char c)
{
	return c == '-' || isdigit((unsigned char)c);
}

char *mount_own_widen(const char *json, size_t n)
{
	char *ret = n < SIZE_MAX / WIDTH ? calloc(n + 1, WIDTH) : NULL;
	bool quoted = false;
	char *to = ret;

	for (size_t i = 0; ret && i < n;) {
		size_t len = 0;

		while (!quoted && i + len < n && is_of_number(json[i + len]))
			len++;
		if (len) {
			to += sprintf(to, "%*.*s", WIDTH, (int)len, json + i);
			i += len;
			continue;
		}
		if (quoted && json[i] == '\\' && i + 1 < n)
			*to++ = json[i++];
		else if (json[i] == '"')
			quoted = !quoted;
		*to++ = json[i++];
	}
	return ret;
}
