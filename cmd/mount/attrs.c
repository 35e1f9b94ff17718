/* SPDX-License-Identifier: Apache-2.0 */
#include "attrs.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* What is known of a file; class: NULL, its sample has none. */
struct place {
	struct hpdsl_member member;
	const char *chunk, *class;
};

enum attr { SAMPLE, MEMBER, CHUNK, OFFSET, XXH3, CLASS, ATTRS };

static const char *const names[ATTRS] = {
	[SAMPLE] = "user.hpdsl.sample", [MEMBER] = "user.hpdsl.member",
	[CHUNK] = "user.hpdsl.chunk",	[OFFSET] = "user.hpdsl.offset",
	[XXH3] = "user.hpdsl.xxh3",	[CLASS] = "user.hpdsl.class",
};

/* 0; -ENODATA: it is no file of the dataset, and has none; else -errno. */
static int find(const struct mount_tree *t, const struct hpdsl_dataset *ds,
		uint64_t node, struct place *ret, struct hpdsl_error *err)
{
	struct hpdsl_sample s;
	struct hpdsl_chunk c;
	struct hpdsl_entry e;
	int r = mount_tree_file(t, node, &e, err);

	if (r == -EISDIR || r == -EINVAL)
		return -ENODATA;
	if (r == 0)
		r = hpdsl_member_get(ds, e.member, &ret->member, err);
	if (r == 0)
		r = hpdsl_chunk_get(ds, ret->member.chunk, &c, err);
	if (r == 0)
		r = hpdsl_sample_get(ds, ret->member.sample, &s, err);
	if (r < 0)
		return r;
	ret->chunk = c.name;
	ret->class = NULL;
	return s.label == HPDSL_NO_LABEL ?
		       0 :
		       hpdsl_class_name(ds, s.label, &ret->class, err);
}

/* Bytes of its value, without a NUL; at most cap are written. */
static size_t value(const struct place *of, enum attr a, char *ret, size_t cap)
{
	const struct hpdsl_member *m = &of->member;
	int n = 0;

	switch (a) {
	case SAMPLE:
		n = snprintf(ret, cap, "%" PRIu64, m->sample);
		break;
	case MEMBER:
		n = snprintf(ret, cap, "%" PRIu64, m->number);
		break;
	case CHUNK:
		n = snprintf(ret, cap, "%s", of->chunk);
		break;
	case OFFSET:
		n = snprintf(ret, cap, "%" PRIu64, m->offset);
		break;
	case XXH3:
		n = snprintf(ret, cap, "%016" PRIx64, m->checksum);
		break;
	default:
		n = snprintf(ret, cap, "%s", of->class ? of->class : "");
		break;
	}
	return (size_t)n;
}

/* Asked with room for nothing, it is how much there is. */
static size_t give(const struct mount_request *r, void *p, size_t n)
{
	if (!r->attr.room)
		return mount_answer_attr_size(p, r->unique, (uint32_t)n);
	if (n > r->attr.room)
		return mount_answer(p, r->unique, -ERANGE);
	return mount_answer_bytes(p, r->unique, n);
}

static size_t list(const struct place *of, const struct mount_request *r,
		   void *p)
{
	char *at = (char *)p + MOUNT_HEAD;
	size_t n = 0;

	for (int a = 0; a < ATTRS; a++) {
		if (a == CLASS && !of->class)
			continue;
		strcpy(at + n, names[a]);
		n += strlen(names[a]) + 1;
	}
	return give(r, p, n);
}

static size_t get(const struct place *of, const struct mount_request *r,
		  void *p)
{
	const size_t room = MOUNT_ANSWER_ROOM - MOUNT_HEAD;
	size_t n;
	int a = 0;

	while (a < ATTRS && strcmp(names[a], r->attr.name) != 0)
		a++;
	if (a == ATTRS || (a == CLASS && !of->class))
		return mount_answer(p, r->unique, -ENODATA);
	n = value(of, (enum attr)a, (char *)p + MOUNT_HEAD, room);
	return n < room ? give(r, p, n) : mount_answer(p, r->unique, -E2BIG);
}

size_t mount_attrs_answer(const struct mount_tree *t,
			  const struct hpdsl_dataset *ds,
			  const struct mount_request *r, void *p,
			  struct hpdsl_error *err)
{
	const bool lists = r->op == MOUNT_LISTXATTR;
	struct place of;
	int code;

	err->code = 0;
	code = find(t, ds, r->node, &of, err);
	if (code == -ENODATA && lists)
		return give(r, p, 0);
	if (code < 0)
		return mount_answer(p, r->unique,
				    code == -ENODATA || code == -ENOENT ? code :
									  -EIO);
	return lists ? list(&of, r, p) : get(&of, r, p);
}
