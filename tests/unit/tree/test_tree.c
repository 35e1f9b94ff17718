/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Trees: names sorted as a plain sort does, whatever they are; numbers as
 * hpdsl-format(5) says; what no tree can be made of; lack of memory.
 */
#include "make_snap.h"
#include "each_fault.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- Sorting ---------------------------------------------------------- */

static uint64_t random_state;

static uint64_t random_below(uint64_t n)
{
	random_state =
		random_state * 6364136223846793005u + 1442695040888963407;
	return (random_state >> 33) % n;
}

static int compare(const void *a, const void *b)
{
	const struct hp_node *x = a, *y = b;

	return hp_name_compare(x->name, x->name_len, y->name, y->name_len);
}

static struct hp_node node_named(struct hp_arena *arena, const char *name,
				 size_t len)
{
	struct hp_node n = { .name = hp_arena_add(arena, name, len),
			     .name_len = (uint16_t)len,
			     .size = random_below(1 << 30) };

	return n;
}

/* Sorts the nodes, and the same with qsort. */
static void check_sort(struct hp_node *nodes, uint64_t n)
{
	struct hp_node *want = calloc(n + 1, sizeof *want);

	for (uint64_t i = 0; i < n; i++)
		nodes[i].mtime = (int64_t)i;
	memcpy(want, nodes, n * sizeof *want);
	qsort(want, n, sizeof *want, compare);
	assert_int_equal(hp_nodes_sort(nodes, n), 0);
	for (uint64_t i = 0; i < n; i++) {
		assert_int_equal(compare(&nodes[i], &want[i]), 0);
		/* The node came with its name. */
		if (i && compare(&nodes[i - 1], &nodes[i]) < 0 &&
		    (i + 1 == n || compare(&nodes[i], &nodes[i + 1]) < 0))
			assert_memory_equal(&nodes[i], &want[i], sizeof *nodes);
	}
	free(want);
}

enum { MANY = 3000 };

/* What the next name is, to say how names are spread. */
typedef size_t name_fn(char *buf, uint64_t i);

static size_t name_counted(char *buf, uint64_t i)
{
	return (size_t)sprintf(buf, "image_%06d.jpeg", (int)(i * 7919 % MANY));
}

static size_t name_any(char *buf, uint64_t i)
{
	size_t len = 1 + random_below(i % 7 == 0 ? 255 : 12);

	for (size_t k = 0; k < len; k++)
		buf[k] = (char)(1 + random_below(255));
	return len;
}

static size_t name_few_letters(char *buf, uint64_t i)
{
	size_t len = 1 + random_below(40);

	(void)i;
	for (size_t k = 0; k < len; k++)
		buf[k] = "\x01\xff"[random_below(2)];
	return len;
}

/* Each begins the next one. */
static size_t name_longer(char *buf, uint64_t i)
{
	size_t len = 1 + i * 7919 % MANY;

	memset(buf, 'a', len);
	return len;
}

/* Alike for long, in groups that are alike for longer. */
static size_t name_alike(char *buf, uint64_t i)
{
	memset(buf, 'x', 240);
	buf[8 * (i % 30)] = (char)('a' + random_below(3));
	buf[239] = (char)('a' + random_below(26));
	return 200 + random_below(40);
}

static size_t name_same(char *buf, uint64_t i)
{
	(void)i;
	return (size_t)sprintf(buf, "the same name in all");
}

static void test_sort(void **state)
{
	name_fn *const fn[] = { name_counted, name_any,	  name_few_letters,
				name_longer,  name_alike, name_same };
	struct hp_node *nodes = calloc(MANY, sizeof *nodes);
	char buf[4096];

	(void)state;
	for (size_t f = 0; f < sizeof fn / sizeof *fn; f++) {
		for (uint64_t n = 0; n <= MANY; n = n < 40 ? n + 1 : n * 4) {
			struct hp_arena *arena = hp_arena_new();

			random_state = n + f;
			for (uint64_t i = 0; i < n; i++)
				nodes[i] =
					node_named(arena, buf, fn[f](buf, i));
			check_sort(nodes, n);
			check_sort(nodes, n); /* sorted already */
			hp_arena_free(arena);
		}
	}
	free(nodes);
}

static void test_compare(void **state)
{
	(void)state;
	assert_true(hp_name_compare("a", 1, "b", 1) < 0);
	assert_true(hp_name_compare("\xff", 1, "a", 1) > 0);
	assert_true(hp_name_compare("a", 1, "ab", 2) < 0);
	assert_true(hp_name_compare("ab", 2, "a", 1) > 0);
	assert_int_equal(hp_name_compare("ab", 2, "ab", 2), 0);
	assert_int_equal(hp_name_compare("", 0, "", 0), 0);
}

/* ---- Numbers ---------------------------------------------------------- */

static void test_numbers(void **state)
{
	struct hp_leaf leaves[] = {
		leaf_file("b/z", 3),	   leaf_folder("b/c/d"),
		leaf_link("a", "b/z"),	   leaf_folder(""),
		leaf_folder("b"),	   leaf_folder("b/c"),
		leaf_file("b/c/e", 5),	   leaf_folder("empty"),
		leaf_other("z", S_IFIFO),  leaf_file("b/c/d/f", 7),
		leaf_file("empty.txt", 1),
	};
	struct hp_tree t;
	char path[HPDSL_PATH_MAX + 2];
	size_t len;

	(void)state;
	make_tree(&t, leaves, sizeof leaves / sizeof *leaves);
	/* 0 top: a b empty empty.txt z; 1 b: c z; 2 b/c: d e; 3 b/c/d: f;
	 * 4 empty */
	assert_int_equal(t.n_folders, 5);
	assert_int_equal(t.entries, 11);
	assert_int_equal(t.files, 4);
	assert_int_equal(t.symlinks, 1);
	assert_int_equal(t.bytes, 16);
	assert_int_equal(t.target_bytes, 4);
	assert_int_equal(t.name_bytes,
			 1 + 2 + 2 + 6 + 10 + 2 + 2 + 2 + 2 + 2 + 2);
	assert_int_equal(t.members, 0);
	for (unsigned i = 0; i < 5; i++) {
		static const struct {
			unsigned entry, first, n, end;
			const char *path;
		} want[] = { { 0, 1, 5, 5, "" },
			     { 2, 6, 2, 4, "b/" },
			     { 6, 8, 2, 4, "b/c/" },
			     { 8, 10, 1, 4, "b/c/d/" },
			     { 3, 11, 0, 5, "empty/" } };
		const struct hp_folder *f = t.folders[i];

		assert_int_equal(f->number, i);
		assert_int_equal(f->entry, want[i].entry);
		assert_int_equal(f->first, want[i].first);
		assert_int_equal(f->n, want[i].n);
		assert_int_equal(f->end, want[i].end);
		hp_folder_path(f, path, &len);
		assert_string_equal(path, want[i].path);
		assert_int_equal(len, strlen(path));
	}
	assert_string_equal(t.top.folder->nodes[0].target, "b/z");
	assert_int_equal(t.top.mode, S_IFDIR | 0755);
	hp_tree_release(&t);
	hp_tree_release(&t); /* it is zero now */
}

static void test_top_alone(void **state)
{
	struct hp_leaf top = leaf_folder("");
	struct hp_tree t;

	(void)state;
	make_tree(&t, &top, 1);
	assert_int_equal(t.entries, 1);
	assert_int_equal(t.n_folders, 1);
	assert_int_equal(t.top.folder->first, 1);
	assert_int_equal(t.name_bytes, 1);
	hp_tree_release(&t);
}

/* As deep as a path can be, and one deeper. */
static void test_deep(void **state)
{
	static char path[2048][2 * 2049];
	struct hp_leaf *leaves = calloc(2050, sizeof *leaves);
	struct hpdsl_error err;
	struct hp_tree t;

	(void)state;
	leaves[0] = leaf_folder("");
	for (unsigned i = 0; i < 2048; i++) {
		for (unsigned k = 0; k <= i; k++)
			memcpy(path[i] + 2 * k, "d/", 2);
		path[i][2 * i + 1] = '\0';
		leaves[1 + i] = leaf_folder(path[i]);
	}
	/* 2047 slashes and 2048 names are 4095 bytes. */
	make_tree(&t, leaves, 2049);
	assert_int_equal(t.n_folders, 2049);
	assert_int_equal(t.folders[2048]->entry, 2048);
	t.folders[2048]->nodes = calloc(1, sizeof(struct hp_node));
	t.folders[2048]->n = 1;
	t.folders[2048]->nodes[0] = leaf_file("x", 0).node;
	t.folders[2048]->nodes[0].name = "x";
	t.folders[2048]->nodes[0].name_len = 1;
	assert_int_equal(hp_tree_finish(&t, &err), -ENAMETOOLONG);
	assert_non_null(strstr(err.msg, "too long"));
	hp_tree_release(&t);
	free(leaves);
}

/* ---- What cannot be --------------------------------------------------- */

static void refuse(const struct hp_leaf *leaf, size_t n, bool from_dataset,
		   const char *what)
{
	struct hp_leaf leaves[8];
	struct hpdsl_error err = { 0 };
	struct hp_tree t;

	memcpy(leaves, leaf, n * sizeof *leaf);
	assert_int_equal(hp_tree_init(&t), 0);
	t.from_dataset = from_dataset;
	assert_int_equal(hp_tree_build(&t, leaves, n, &err), HPDSL_EUSAGE);
	if (!strstr(err.msg, what))
		fail_msg("'%s' does not say '%s'", err.msg, what);
	hp_tree_release(&t);
}

static void test_refused(void **state)
{
	static const char *const bad[] = { "/a",   "a/", "a//b", "./a",
					   "a/..", "..", "." };
	struct hp_leaf l[4] = { leaf_folder(""), leaf_folder("a"),
				leaf_file("a/b", 1), leaf_file("a/b", 2) };

	(void)state;
	refuse(l, 4, false, "'a/b': is there twice");
	l[3] = leaf_folder("a");
	refuse(l, 4, false, "'a': is there twice");
	l[3] = leaf_folder("");
	refuse(l, 4, false, "'.': is there twice");
	l[3] = leaf_file("a", 1);
	refuse(l, 4, false, "'a': is there twice, as different types");
	l[3] = leaf_file("b/c/d", 1);
	refuse(l, 4, false, "'b/c/d': there is no folder");
	l[3] = leaf_folder("b/c");
	refuse(l, 4, false, "'b/c': there is no folder");
	l[3] = leaf_file("a/b/c", 1);
	refuse(l, 4, false, "'a/b/c': there is no folder");
	refuse(l, 4, true, "'a/b': is there twice, as different types");
	refuse(l + 1, 2, false, "'.': there is no entry");
	l[0] = leaf_file("", 1);
	refuse(l, 1, false, "'.': is no folder");
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		l[0] = leaf_folder("");
		l[1] = leaf_file(bad[i], 1);
		refuse(l, 2, false, "no entry can have this path");
		l[1] = leaf_folder(bad[i]);
		refuse(l, 2, true, "no entry can have this path");
	}
}

static void test_implied(void **state)
{
	struct hp_leaf l[] = { leaf_file("a/b/c", 1), leaf_file("d", 2),
			       leaf_file("a/e", 3) };
	struct hpdsl_error err;
	struct hp_tree t;

	(void)state;
	l[0].node.member = 5;
	l[1].node.member = 0;
	assert_int_equal(hp_tree_init(&t), 0);
	t.from_dataset = true;
	assert_int_equal(hp_tree_build(&t, l, 3, &err), 0);
	assert_int_equal(t.n_folders, 3);
	assert_int_equal(t.members, 6);
	for (unsigned i = 0; i < 3; i++) {
		const struct hp_folder *f = t.folders[i];
		const struct hp_node *node =
			i ? &f->parent->nodes[f->self] : &t.top;

		assert_int_equal(node->mode, S_IFDIR | 0755);
		assert_int_equal(node->size, 0);
		assert_int_equal(node->mtime, 0);
	}
	assert_string_equal(t.folders[2]->parent->nodes[0].name, "b");
	hp_tree_release(&t);
}

static void test_no_memory(void **state)
{
	(void)state;
	for (struct each_alloc e = { .in_turn = true }; each_alloc(&e);) {
		struct hp_leaf l[] = { leaf_folder(""), leaf_folder("b"),
				       leaf_file("b/b", 1), leaf_file("b/a", 1),
				       leaf_folder("a") };
		struct hpdsl_error err = { 0 };
		struct hp_tree t;
		int r;

		each_alloc_begin(&e);
		r = hp_tree_init(&t);
		if (r == 0)
			r = hp_tree_build(&t, l, 5, &err);
		each_alloc_end(&e);
		hp_tree_release(&t);
		if (e.last) {
			assert_int_equal(r, 0);
			break;
		}
		assert_int_equal(r, -ENOMEM);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sort),
		cmocka_unit_test(test_compare),
		cmocka_unit_test(test_numbers),
		cmocka_unit_test(test_top_alone),
		cmocka_unit_test(test_deep),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_implied),
		cmocka_unit_test(test_no_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
