/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hpdsl-mount: a random name space, listed and looked up through requests and
 * answers alone, is what it is.
 */
#include "cmd/mount/tree.c"
#include "cmd/mount/wire.c"
#include "snap_model.h"

#include <linux/fuse.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

static uint8_t buf[MOUNT_ANSWER_ROOM];

static int ask(const struct mount_tree *t, uint32_t op, uint64_t node,
	       const char *name)
{
	struct mount_request r = { .unique = 1, .node = node, .op = op };
	struct hpdsl_error err;
	size_t n;

	if (name) {
		r.name = name;
		r.name_len = strlen(name);
	}
	n = mount_tree_answer(t, &r, buf, &err);
	assert_true(n >= MOUNT_HEAD && n <= sizeof buf);
	assert_int_equal(((struct fuse_out_header *)buf)->len, n);
	return ((struct fuse_out_header *)buf)->error;
}

static void check(const struct mount_tree *t, const struct thing *is,
		  const struct fuse_attr *a)
{
	assert_int_equal(a->mode & S_IFMT, is->mode & S_IFMT);
	assert_int_equal(a->uid, 7);
	if (S_ISDIR(is->mode))
		return;
	assert_int_equal(a->mode, is->mode & (S_IFMT | 0777));
	assert_int_equal(a->size, is->size);
	assert_int_equal((int64_t)a->mtime, is->mtime);
	assert_int_equal(a->mtimensec, is->nsec);
	(void)t;
}

/* ---- By name ---------------------------------------------------------- */

/* From the top down; the node, 0: there is none. */
static uint64_t walk(const struct mount_tree *t, const char *path)
{
	const struct fuse_entry_out *e = (const void *)(buf + MOUNT_HEAD);
	uint64_t node = MOUNT_TOP;
	char name[HPDSL_PATH_MAX + 1];

	while (*path) {
		size_t n = strcspn(path, "/");

		memcpy(name, path, n);
		name[n] = '\0';
		assert_int_equal(ask(t, MOUNT_LOOKUP, node, name), 0);
		node = e->nodeid;
		if (!node)
			return 0;
		path += n + (path[n] == '/');
	}
	return node;
}

static void test_lookup(const struct mount_tree *t, const struct model *m)
{
	const struct fuse_attr_out *a = (const void *)(buf + MOUNT_HEAD);

	for (size_t i = 0; i < m->n; i++) {
		const struct thing *is = &m->things[i];
		uint64_t node = walk(t, is->path);

		assert_true(node > 0);
		assert_int_equal(ask(t, MOUNT_GETATTR, node, NULL), 0);
		assert_int_equal(a->attr.ino, node);
		check(t, is, &a->attr);
		assert_int_equal(ask(t, MOUNT_READLINK, node, NULL),
				 S_ISLNK(is->mode) ? 0 : -EINVAL);
		if (S_ISLNK(is->mode))
			assert_memory_equal(buf + MOUNT_HEAD, is->target,
					    is->size);
		assert_int_equal(ask(t, MOUNT_LOOKUP, node, "is not here"),
				 S_ISDIR(is->mode) ? 0 : -ENOTDIR);
	}
}

/* ---- By listing ------------------------------------------------------- */

struct seen {
	char *path;
	uint64_t node;
};

/* One answer's worth, from *at on; how many names. */
static size_t list_some(const struct mount_tree *t, uint64_t node, bool plus,
			uint32_t size, uint64_t *at, const char *path,
			struct seen *seen, size_t n)
{
	struct mount_request r = { .unique = 1, .node = node };
	struct hpdsl_error err;
	size_t end, off = MOUNT_HEAD;

	r.op = plus ? MOUNT_READDIRPLUS : MOUNT_READDIR;
	r.offset = *at;
	r.size = size;
	end = mount_tree_answer(t, &r, buf, &err);
	assert_true(end <= MOUNT_HEAD + size);
	assert_int_equal(((struct fuse_out_header *)buf)->error, 0);
	for (size_t k = 0; off < end; k++) {
		const struct fuse_entry_out *e = (const void *)(buf + off);
		const struct fuse_dirent *d;

		off += plus ? sizeof *e : 0;
		d = (const void *)(buf + off);
		off += FUSE_DIRENT_SIZE(d);
		*at = d->off;
		if (d->off <= 2) {
			assert_int_equal(d->namelen, d->off);
			assert_memory_equal(d->name, "..", d->namelen);
			continue;
		}
		assert_true(!plus || e->nodeid == d->ino);
		assert_true(asprintf(&seen[n].path, "%s%s%.*s", path,
				     *path ? "/" : "", (int)d->namelen,
				     d->name) > 0);
		seen[n++].node = d->ino;
	}
	assert_int_equal(off, end);
	return n;
}

/* All below node; sizes of answers as random as can be. */
static size_t list_all(const struct mount_tree *t, struct model *m,
		       uint64_t node, const char *path, struct seen *seen,
		       size_t n)
{
	size_t first = n, before;
	uint64_t at = 0, then;

	do {
		uint32_t size = 1400 + (uint32_t)(m->random++ * 7919 % 5000);

		then = at;
		before = n;
		n = list_some(t, node, m->random & 1, size, &at, path, seen, n);
	} while (n > before || at > then);
	before = n;
	for (size_t i = first; i < before; i++)
		if (S_ISDIR(model_find(m, seen[i].path)->mode))
			n = list_all(t, m, seen[i].node, seen[i].path, seen, n);
	return n;
}

static int by_path(const void *a, const void *b)
{
	return model_compare(((const struct seen *)a)->path,
			     ((const struct seen *)b)->path);
}

static void test_list(const struct mount_tree *t, struct model *m)
{
	struct seen *seen = calloc(m->n + 1, sizeof *seen);
	size_t n;

	n = list_all(t, m, MOUNT_TOP, "", seen, 0);
	assert_int_equal(n, m->n - 1);
	qsort(seen, n, sizeof *seen, by_path);
	model_sort(m);
	for (size_t i = 0; i < n; i++) {
		assert_string_equal(seen[i].path, m->things[i + 1].path);
		assert_int_equal(walk(t, seen[i].path), seen[i].node);
		free(seen[i].path);
	}
	free(seen);
}

/* ---- All of it -------------------------------------------------------- */

static void test_random(void **unused)
{
	(void)unused;
	for (uint64_t seed = 1; seed <= 4; seed++) {
		struct mount_tree t = { .uid = 7, .gid = 8, .mtime = 5 };
		struct hpdsl_snapshot *s;
		struct hpdsl_error err;
		struct model m;
		void *bytes;

		model_begin(&m, seed & 1, seed);
		model_grow(&m, seed * 60);
		if (m.dataset)
			model_tidy(&m);
		s = model_snap(&m, &bytes);
		assert_int_equal(mount_tree_init(&t, s, "", &err), 0);
		test_lookup(&t, &m);
		test_list(&t, &m);
		model_free_snap(s, bytes);
		model_release(&m);
	}
}

/* A folder as the top: it is node 1, and has nothing above it. */
static void test_folder(void **unused)
{
	struct mount_tree t = { 0 };
	struct hpdsl_snapshot *s;
	struct hpdsl_error err;
	struct hpdsl_entry e;
	struct model m;
	void *bytes;

	(void)unused;
	model_begin(&m, true, 1);
	model_add(&m, "a", S_IFDIR);
	model_add(&m, "a/b", S_IFDIR);
	model_add(&m, "a/b/c", S_IFREG);
	s = model_snap(&m, &bytes);
	assert_int_equal(mount_tree_init(&t, s, "a/b/c", &err), -ENOTDIR);
	assert_int_equal(mount_tree_init(&t, s, "x", &err), -ENOENT);
	assert_int_equal(mount_tree_init(&t, s, "a/b", &err), 0);
	assert_true(walk(&t, "c") > 1);
	assert_int_equal(walk(&t, "a"), 0);
	assert_int_equal(mount_tree_file(&t, walk(&t, "c"), &e, &err), 0);
	assert_int_equal(e.member, 0);
	assert_int_equal(mount_tree_file(&t, MOUNT_TOP, &e, &err), -EISDIR);
	assert_int_equal(mount_tree_file(&t, 0, &e, &err), -ENOENT);
	assert_int_equal(mount_tree_file(&t, 99, &e, &err), -ERANGE);
	/* . and .. are both this one */
	{
		struct mount_request r = { .unique = 1,
					   .node = MOUNT_TOP,
					   .op = MOUNT_READDIR,
					   .size = 4096 };
		const struct fuse_dirent *d = (const void *)(buf + MOUNT_HEAD);

		mount_tree_answer(&t, &r, buf, &err);
		assert_int_equal(d->ino, MOUNT_TOP);
		d = (const void *)((const uint8_t *)d + FUSE_DIRENT_SIZE(d));
		assert_int_equal(d->ino, MOUNT_TOP);
	}
	model_free_snap(s, bytes);
	model_release(&m);
}

/* What the kernel is to forget, or never to ask again. */
static void test_others(void **unused)
{
	struct mount_request r = { .unique = 1, .node = 1 };
	struct mount_tree t = { 0 };
	struct hpdsl_snapshot *s;
	struct hpdsl_error err;
	struct model m;
	void *bytes;

	(void)unused;
	model_begin(&m, true, 1);
	model_add(&m, "a", S_IFREG);
	s = model_snap(&m, &bytes);
	assert_int_equal(mount_tree_init(&t, s, "", &err), 0);
	r.op = MOUNT_FORGET;
	assert_int_equal(mount_tree_answer(&t, &r, buf, &err), 0);
	r.op = MOUNT_BATCH_FORGET;
	assert_int_equal(mount_tree_answer(&t, &r, buf, &err), 0);
	assert_int_equal(ask(&t, MOUNT_OPEN, 1, NULL), -ENOSYS);
	assert_int_equal(ask(&t, MOUNT_OPENDIR, 1, NULL), -ENOSYS);
	assert_int_equal(ask(&t, MOUNT_GETXATTR, 1, NULL), -ENOSYS);
	assert_int_equal(ask(&t, MOUNT_IOCTL, 1, NULL), -ENOTTY);
	assert_int_equal(ask(&t, MOUNT_STATFS, 1, NULL), 0);
	assert_int_equal(ask(&t, MOUNT_GETATTR, 1000, NULL), -ENOENT);
	assert_int_equal(ask(&t, MOUNT_GETATTR, 0, NULL), -ENOENT);
	assert_int_equal(ask(&t, 4711, 1, NULL), -ENOSYS);
	model_free_snap(s, bytes);
	model_release(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_random),
		cmocka_unit_test(test_folder),
		cmocka_unit_test(test_others),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
