/* SPDX-License-Identifier: Apache-2.0 */
/* A name space as a plain list of paths. */
#include "snap_model.h"

#include "base/mem.h"
#include "base/path.h"
#include "make_list.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

static uint64_t pick(struct model *m, uint64_t n)
{
	return next_random(&m->random) % n;
}

/* ---- Things ----------------------------------------------------------- */

static void free_thing(struct thing *t)
{
	free(t->path);
	free(t->target);
}

static char *copy(const char *s)
{
	size_t n = s ? strlen(s) + 1 : 0;
	char *p = s ? malloc(n) : NULL;

	return p ? memcpy(p, s, n) : NULL;
}

struct thing *model_find(const struct model *m, const char *path)
{
	for (size_t i = 0; i < m->n; i++)
		if (!strcmp(m->things[i].path, path))
			return &m->things[i];
	return NULL;
}

static void set_target(struct model *m, struct thing *t)
{
	char target[64];
	size_t n = 1 + pick(m, 40);

	for (size_t i = 0; i < n; i++)
		target[i] = (char)(1 + pick(m, 255));
	target[n] = '\0';
	free(t->target);
	t->target = copy(target);
	t->size = n;
}

static int64_t random_time(struct model *m)
{
	switch (pick(m, 8)) {
	case 0:
		return INT64_MIN + (int64_t)pick(m, 2);
	case 1:
		return INT64_MAX;
	case 2:
		return -(int64_t)pick(m, 3);
	default:
		return (int64_t)(next_random(&m->random) >> 33) - (1 << 29);
	}
}

static void set_attributes(struct model *m, struct thing *t, uint32_t type)
{
	t->mode = type | (uint32_t)pick(m, m->dataset ? 01000 : 010000);
	t->size = pick(m, 4) ? pick(m, 100000) : next_random(&m->random);
	t->mtime = random_time(m);
	t->nsec = pick(m, 3) ? (uint32_t)pick(m, 1000000000) : 999999999;
	t->member = HPDSL_NO_MEMBER;
	if (m->dataset && type == S_IFREG) {
		t->member = m->members;
		m->members += 1 + pick(m, 2);
		t->checksum = next_random(&m->random);
	}
	if (m->dataset && type == S_IFDIR) {
		t->mode = S_IFDIR | 0755;
		t->size = t->nsec = 0;
		t->mtime = 0;
	}
	if (type == S_IFLNK)
		set_target(m, t);
}

static struct thing *append(struct model *m, const char *path)
{
	if (m->n == m->room) {
		m->room = m->room ? 2 * m->room : 64;
		m->things = reallocarray(m->things, m->room, sizeof *m->things);
		assert_non_null(m->things);
	}
	m->things[m->n] = (struct thing){ .path = copy(path) };
	return &m->things[m->n++];
}

struct thing *model_add(struct model *m, const char *path, uint32_t type)
{
	struct thing *t;

	if (!hp_path_valid(path, strlen(path)) || model_find(m, path))
		return NULL;
	t = append(m, path);
	set_attributes(m, t, type);
	return t;
}

void model_begin(struct model *m, bool dataset, uint64_t seed)
{
	*m = (struct model){ .dataset = dataset, .random = seed * 2 + 1 };
	for (int i = 0; i < 4; i++)
		next_random(&m->random);
	set_attributes(m, append(m, ""), S_IFDIR);
}

void model_release(struct model *m)
{
	for (size_t i = 0; i < m->n; i++)
		free_thing(&m->things[i]);
	free(m->things);
}

void model_copy(struct model *to, const struct model *from)
{
	*to = *from;
	to->things = calloc(from->room, sizeof *to->things);
	for (size_t i = 0; i < from->n; i++) {
		to->things[i] = from->things[i];
		to->things[i].path = copy(from->things[i].path);
		to->things[i].target = copy(from->things[i].target);
	}
}

static bool is_below(const char *folder, const char *path)
{
	size_t n = strlen(folder);

	return *path && (!n || (!strncmp(folder, path, n) && path[n] == '/'));
}

static void remove_if(struct model *m, const char *path, bool itself)
{
	char *hp_auto_free name = copy(path);
	size_t n = 0;

	for (size_t i = 0; i < m->n; i++) {
		struct thing *t = &m->things[i];

		if (is_below(name, t->path) ||
		    (itself && !strcmp(name, t->path)))
			free_thing(t);
		else
			m->things[n++] = *t;
	}
	m->n = n;
}

void model_remove(struct model *m, const char *path)
{
	remove_if(m, path, true);
}

/* ---- At random -------------------------------------------------------- */

static void random_name(struct model *m, char out[256])
{
	static const char *const nasty[] = {
		"a",
		"b",
		"a.b",
		"a b",
		"a-",
		"a0",
		"\\",
		"\n",
		"\t",
		"\r",
		"\x7f",
		"\x01",
		"\xff",
		"\xc3",
		"é",
		"\\n",
		"\\x0",
		"\xed\xa0\x80",
		"\xf0\x9f\x98\x80",
		"-",
		" ",
		"...",
		"\xc0\x80",
		"\xf4\x90\x80\x80",
		"日本",
		"\x1b[1m",
	};
	size_t n = 1 + pick(m, 10);

	switch (pick(m, 4)) {
	case 0:
		strcpy(out, nasty[pick(m, sizeof nasty / sizeof *nasty)]);
		return;
	case 1:
		n = pick(m, 20) ? n : 255;
		for (size_t i = 0; i < n; i++)
			out[i] = (char)(1 + pick(m, 255));
		out[n] = '\0';
		for (char *at; (at = strchr(out, '/'));)
			*at = '_';
		return;
	default:
		sprintf(out, "%c%u", "abcABC"[pick(m, 6)],
			(unsigned)pick(m, 200));
	}
}

static uint32_t random_type(struct model *m)
{
	static const uint32_t types[] = { S_IFREG, S_IFREG, S_IFREG, S_IFREG,
					  S_IFREG, S_IFDIR, S_IFDIR, S_IFLNK,
					  S_IFLNK, S_IFIFO, S_IFCHR, S_IFBLK,
					  S_IFSOCK };

	return types[pick(m, m->dataset ? 7 : sizeof types / sizeof *types)];
}

static struct thing *random_folder(struct model *m)
{
	for (;;) {
		struct thing *t = &m->things[pick(m, m->n)];

		if (S_ISDIR(t->mode))
			return t;
	}
}

static void grow_one(struct model *m)
{
	char path[2 * HPDSL_PATH_MAX], name[256];
	const struct thing *in = random_folder(m);

	random_name(m, name);
	sprintf(path, "%s%s%s", in->path, *in->path ? "/" : "", name);
	model_add(m, path, random_type(m));
}

void model_grow(struct model *m, size_t n)
{
	for (size_t i = 0; i < n; i++)
		grow_one(m);
}

static void change(struct model *m, struct thing *t)
{
	switch (pick(m, 5)) {
	case 0:
		if (S_ISLNK(t->mode))
			set_target(m, t);
		else if (!m->dataset || S_ISREG(t->mode))
			t->size++;
		break;
	case 1:
		if (!m->dataset || S_ISREG(t->mode))
			t->mtime ^= 1;
		break;
	case 2:
		if (!m->dataset || S_ISREG(t->mode))
			t->nsec ^= 1;
		break;
	case 3:
		if (!m->dataset || S_ISREG(t->mode))
			t->mode ^= UINT32_C(1) << pick(m, m->dataset ? 9 : 12);
		break;
	default:
		if (m->dataset && S_ISREG(t->mode))
			t->checksum++;
	}
}

static void replace(struct model *m, struct thing *t)
{
	char *hp_auto_free path = copy(t->path);

	model_remove(m, path);
	model_add(m, path, random_type(m));
}

void model_edit(struct model *m)
{
	struct thing *t = &m->things[pick(m, m->n)];

	switch (pick(m, 8)) {
	case 0:
	case 1:
		grow_one(m);
		break;
	case 2:
		if (*t->path)
			model_remove(m, t->path);
		break;
	case 3:
		if (*t->path)
			replace(m, t);
		break;
	default:
		change(m, t);
	}
}

void model_tidy(struct model *m)
{
	model_sort(m);
	/* From the end, so that what becomes empty is seen. */
	for (size_t i = m->n; i-- > 1;)
		if (S_ISDIR(m->things[i].mode) &&
		    (i + 1 == m->n ||
		     !is_below(m->things[i].path, m->things[i + 1].path)))
			model_remove(m, m->things[i].path);
}

/* ---- Order ------------------------------------------------------------ */

int model_compare(const char *a, const char *b)
{
	for (; *a && *a == *b; a++, b++)
		;
	if (*a == '/' || *b == '/')
		return *a == '/' ? (*b ? -1 : 1) : (*a ? 1 : -1);
	return (unsigned char)*a - (unsigned char)*b;
}

static int by_path(const void *a, const void *b)
{
	return model_compare(((const struct thing *)a)->path,
			     ((const struct thing *)b)->path);
}

void model_sort(struct model *m)
{
	qsort(m->things, m->n, sizeof *m->things, by_path);
}

void model_shuffle(struct model *m)
{
	for (size_t i = m->n; i > 1; i--) {
		size_t j = pick(m, i);
		struct thing t = m->things[i - 1];

		m->things[i - 1] = m->things[j];
		m->things[j] = t;
	}
}

/* ---- As a snapshot ---------------------------------------------------- */

static void fill_leaf(const struct thing *t, struct hp_tree *tree,
		      struct hp_leaf *ret)
{
	*ret = (struct hp_leaf){ .path = t->path };
	ret->node.mode = (uint16_t)t->mode;
	ret->node.size = t->size;
	ret->node.mtime = t->mtime;
	ret->node.nsec = t->nsec;
	ret->node.checksum = t->checksum;
	if (S_ISREG(t->mode))
		ret->node.member = t->member;
	if (S_ISLNK(t->mode))
		ret->node.target = t->target;
	if (tree->from_dataset && S_ISREG(t->mode) &&
	    t->member >= tree->members)
		tree->members = t->member + 1;
}

struct hpdsl_snapshot *model_snap(struct model *m, void **ret_bytes)
{
	struct hp_leaf *leaves = calloc(m->n, sizeof *leaves);
	struct hpdsl_error err = { .msg = "" };
	struct hp_tree tree;
	struct hpdsl_snapshot *s = NULL;
	int r;

	assert_int_equal(hp_tree_init(&tree), 0);
	tree.from_dataset = m->dataset;
	for (int i = 0; m->dataset && i < 16; i++) {
		tree.dataset_id[i] = (uint8_t)(i * 17);
		tree.pack[i] = (uint8_t)(255 - i);
	}
	for (size_t i = 0; i < m->n; i++)
		fill_leaf(&m->things[i], &tree, &leaves[i]);
	r = hp_tree_build(&tree, leaves, m->n, &err);
	if (r == 0)
		r = hp_snap_in_memory(&tree, HPDSL_SERIAL, "model", ret_bytes,
				      &s, &err);
	if (r < 0)
		fail_msg("%d: %s", r, err.msg);
	hp_tree_release(&tree);
	free(leaves);
	return s;
}

void model_free_snap(struct hpdsl_snapshot *s, void *bytes)
{
	hpdsl_snapshot_close(s);
	free(bytes);
}

/* ---- As text ---------------------------------------------------------- */

/* Bytes of the character at s, by decoding it and encoding it again. */
static int utf8_naive(const unsigned char *s)
{
	uint32_t v = s[0];
	int n = v < 0x80 ? 1 : v < 0xc0 ? 0 : v < 0xe0 ? 2 : v < 0xf0 ? 3 : 4;
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };

	if (n < 2 || v >= 0xf8)
		return v < 0x80;
	v &= 0xffu >> (n + 1);
	for (int i = 1; i < n; i++) {
		if ((s[i] & 0xc0) != 0x80)
			return 0;
		v = v << 6 | (s[i] & 0x3f);
	}
	return v < least[n] || v > 0x10ffff || (v >= 0xd800 && v < 0xe000) ? 0 :
									     n;
}

static void put_name(struct hp_text *out, const char *name)
{
	const unsigned char *s = (const unsigned char *)name;
	char escape[8];

	while (*s) {
		int n = utf8_naive(s);

		if (*s == '\\')
			hp_text_puts(out, "\\\\");
		else if (*s == '\n')
			hp_text_puts(out, "\\n");
		else if (*s == '\t')
			hp_text_puts(out, "\\t");
		else if (!n || *s < 0x20 || *s == 0x7f) {
			sprintf(escape, "\\x%02x", *s);
			hp_text_puts(out, escape);
		} else {
			hp_text_add(out, s, (size_t)n);
			s += n - 1;
		}
		s++;
	}
}

static void put_thing(const struct model *m, const struct thing *t,
		      struct hp_text *out)
{
	char line[160];
	char type = S_ISREG(t->mode)  ? 'f' :
		    S_ISDIR(t->mode)  ? 'd' :
		    S_ISLNK(t->mode)  ? 'l' :
		    S_ISFIFO(t->mode) ? 'p' :
		    S_ISCHR(t->mode)  ? 'c' :
		    S_ISBLK(t->mode)  ? 'b' :
					's';

	sprintf(line, "%c %04o %llu %lld.%09u ", type, t->mode & 07777,
		(unsigned long long)t->size, (long long)t->mtime, t->nsec);
	hp_text_puts(out, line);
	if (m->dataset && S_ISREG(t->mode))
		sprintf(line, "%llu %016llx ", (unsigned long long)t->member,
			(unsigned long long)t->checksum);
	else
		strcpy(line, "- - ");
	hp_text_puts(out, line);
	put_name(out, *t->path ? t->path : ".");
	if (t->target && S_ISLNK(t->mode)) {
		hp_text_puts(out, "\t");
		put_name(out, t->target);
	}
	hp_text_puts(out, "\n");
}

void model_text(struct model *m, struct hp_text *ret)
{
	hp_text_puts(ret, "hpdsl-snapshot 1\n");
	if (m->dataset)
		hp_text_puts(ret, "dataset 00112233445566778899aabbccddeeff "
				  "fffefdfcfbfaf9f8f7f6f5f4f3f2f1f0\n");
	model_sort(m);
	for (size_t i = 0; i < m->n; i++)
		put_thing(m, &m->things[i], ret);
	assert_false(ret->failed);
}
