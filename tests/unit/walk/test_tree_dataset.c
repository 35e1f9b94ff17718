/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Trees of packed datasets: what the index says of each member is in them, and
 * nothing else; what cannot be a tree; damage, lack of memory.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "make_index.h"
#include "memio.h"
#include "snap/write.h"
#include "tree/tree.h"
#include "each_fault.h"

struct fixture {
	struct corpus c;
	struct memio *m;
	struct hpdsl_snapshot_options opt;
	uint8_t pack[16];
};

static void begin(struct fixture *f, uint64_t samples, uint32_t flags)
{
	*f = (struct fixture){ .m = memio_new() };
	f->opt.threads = HPDSL_SERIAL;
	f->opt.watch.io = memio_io(f->m);
	corpus_make(&f->c, samples, 3, 0, flags);
}

static void put_index(struct fixture *f)
{
	struct hpdsl_error err;
	struct image im;

	corpus_place(&f->c);
	if (image_write(&f->c, &im, &err) < 0)
		fail_msg("%s", err.msg);
	memio_add(f->m, "out/index.hpdsl", im.p, im.n);
	memio_add(f->m, "out/dataset.yaml", "", 0);
	hp_hash128(im.p, im.n, f->pack);
	free(im.p);
}

static void end(struct fixture *f)
{
	memio_free(f->m);
	corpus_free(&f->c);
}

static int try_tree(struct fixture *f, struct hp_tree *t,
		    struct hpdsl_error *err)
{
	memset(err, 0, sizeof *err);
	memset(t, 0, sizeof *t);
	return hp_tree_of_dataset(t, "out/", &f->opt, err);
}

static void get_tree(struct fixture *f, struct hp_tree *t)
{
	struct hpdsl_error err;

	if (try_tree(f, t, &err))
		fail_msg("%s", err.msg);
}

/* A node is the member that it says to be. */
static void check_node(const struct fixture *f, const struct hp_folder *folder,
		       const struct hp_node *node)
{
	const struct hp_index_member *m;
	char path[HPDSL_PATH_MAX + 300];
	size_t len;

	if (S_ISDIR(node->mode)) {
		assert_int_equal(node->mode, S_IFDIR | 0755);
		assert_int_equal(node->size, 0);
		assert_true(node->folder->n > 0);
		return;
	}
	hp_folder_path(folder, path, &len);
	memcpy(path + len, node->name, node->name_len + 1u);
	assert_true(node->member < f->c.src.members);
	m = &f->c.members[node->member];
	assert_string_equal(path, m->path);
	assert_int_equal(node->mode, S_IFREG | (m->mode & 0777));
	assert_int_equal(node->size, m->size);
	assert_int_equal(node->mtime, m->mtime);
	assert_int_equal(node->nsec, m->nsec);
	assert_int_equal(node->checksum, m->checksum);
	assert_false(m->mode & HP_MEMBER_GENERATED);
}

static void check_tree(const struct fixture *f, const struct hp_tree *t)
{
	assert_true(t->from_dataset);
	assert_memory_equal(t->dataset_id, "0123456789abcdef", 16);
	assert_memory_equal(t->pack, f->pack, 16);
	for (uint64_t i = 0; i < t->n_folders; i++)
		for (uint64_t k = 0; k < t->folders[i]->n; k++)
			check_node(f, t->folders[i], &t->folders[i]->nodes[k]);
}

static void check_same(const struct hp_tree *a, const struct hp_tree *b)
{
	struct hpdsl_snapshot *sa, *sb;
	void *pa, *pb;
	struct hpdsl_snapshot_info ia, ib;

	assert_int_equal(hp_snap_in_memory(a, 0, "a", &pa, &sa, NULL), 0);
	assert_int_equal(hp_snap_in_memory(b, 0, "b", &pb, &sb, NULL), 0);
	hpdsl_snapshot_info(sa, &ia);
	hpdsl_snapshot_info(sb, &ib);
	assert_int_equal(ia.file_bytes, ib.file_bytes);
	assert_memory_equal(pa, pb, ia.file_bytes);
	assert_int_equal(hpdsl_snapshot_verify(sa, NULL, NULL, NULL), 0);
	hpdsl_snapshot_close(sa);
	hpdsl_snapshot_close(sb);
	free(pa);
	free(pb);
}

static void test_members(void **state)
{
	static const char *const patterns[] = { "s*7.m0", "nobody" };
	struct fixture f;
	struct hp_tree t, u;
	uint64_t generated = 0, excluded = 0;

	(void)state;
	begin(&f, 20000, 0);
	for (uint64_t i = 0; i < f.c.src.members; i++) {
		if (i % 11 == 5) {
			f.c.members[i].mode |= HP_MEMBER_GENERATED;
			generated++;
		} else if (strstr(f.c.paths[i], "7.m0")) {
			excluded++;
		}
	}
	put_index(&f);
	get_tree(&f, &t);
	check_tree(&f, &t);
	assert_int_equal(t.files, f.c.src.members - generated);
	assert_int_equal(t.n_folders, 2);
	for (uint32_t threads = 0; threads < 4; threads++) {
		f.opt.threads = threads;
		get_tree(&f, &u);
		check_same(&t, &u);
		hp_tree_release(&u);
	}
	hp_tree_release(&t);
	f.opt.exclude = patterns;
	f.opt.n_exclude = 2;
	get_tree(&f, &t);
	check_tree(&f, &t);
	assert_int_equal(t.excluded, excluded);
	assert_int_equal(t.files, f.c.src.members - generated - excluded);
	hp_tree_release(&t);
	end(&f);
}

struct choice {
	const struct fixture *f;
	uint64_t bad; /* member of which it is not known */
};

static int choose_odd(void *arg, const struct hpdsl_member *m,
		      struct hpdsl_error *err)
{
	const struct choice *c = arg;

	assert_string_equal(m->path, c->f->c.members[m->number].path);
	assert_null(strstr(m->path, ".m0"));
	if (m->number != c->bad)
		return m->number & 1;
	strcpy(err->msg, "who knows");
	return err->code = HPDSL_ECORRUPT;
}

static void test_chosen(void **state)
{
	static const char *const patterns[] = { "*.m0" };
	struct hpdsl_error err;
	struct fixture f;
	struct choice c = { &f, UINT64_MAX };
	struct hp_tree t;
	uint64_t odd = 0;

	(void)state;
	begin(&f, 20000, 0);
	put_index(&f);
	for (uint64_t i = 0; i < f.c.src.members; i++) {
		bool left_out = strstr(f.c.paths[i], ".m0");

		odd += !left_out && (i & 1);
		if (!left_out && i > 20000)
			c.bad = i;
	}
	f.opt.exclude = patterns;
	f.opt.n_exclude = 1;
	f.opt.choose = choose_odd;
	f.opt.choose_arg = &c;
	assert_int_equal(try_tree(&f, &t, &err), HPDSL_ECORRUPT);
	assert_string_equal(err.msg, "who knows");
	c.bad = UINT64_MAX;
	get_tree(&f, &t);
	check_tree(&f, &t);
	assert_int_equal(t.files, odd);
	hp_tree_release(&t);
	end(&f);
}

/* Nothing is left: the top alone. */
static void test_none(void **state)
{
	static const char *const patterns[] = { "*" };
	struct fixture f;
	struct hp_tree t;

	(void)state;
	begin(&f, 10, 0);
	put_index(&f);
	f.opt.exclude = patterns;
	f.opt.n_exclude = 1;
	get_tree(&f, &t);
	assert_int_equal(t.entries, 1);
	assert_int_equal(t.members, 0);
	hp_tree_release(&t);
	end(&f);
}

static void test_adopted(void **state)
{
	struct hpdsl_error err;
	struct fixture f;
	struct hp_tree t;

	(void)state;
	begin(&f, 10, HP_INDEX_FOREIGN);
	strcpy(f.c.paths[3], f.c.paths[4]);
	f.c.members[3].path_len = f.c.members[4].path_len;
	put_index(&f);
	assert_int_equal(try_tree(&f, &t, &err), HPDSL_EUSAGE);
	assert_string_equal(err.msg, "out: 'in/s000002.m1': is there twice");
	strcpy(f.c.paths[3], "in");
	f.c.members[3].path_len = 2;
	put_index(&f);
	assert_int_equal(try_tree(&f, &t, &err), HPDSL_EUSAGE);
	assert_string_equal(err.msg, "out: 'in': is there twice, as different "
				     "types");
	end(&f);
}

static void test_trouble(void **state)
{
	struct hpdsl_error err;
	struct fixture f;
	struct hp_tree t;
	size_t n;

	(void)state;
	begin(&f, 50, 0);
	memio_add(f.m, "out/other", "x", 1);
	assert_int_equal(try_tree(&f, &t, &err), HPDSL_ENOTOURS);
	put_index(&f);
	memio_bytes(f.m, "out/index.hpdsl", &n);
	for (uint64_t bit = 0; bit < 8 * n; bit += 997) {
		int r;

		memio_flip(f.m, "out/index.hpdsl", bit);
		r = try_tree(&f, &t, &err);
		if (r == 0)
			hp_tree_release(&t);
		else
			assert_true(r == HPDSL_ECORRUPT || r == HPDSL_ENOTOURS);
		assert_int_equal(memio_open_count(f.m), 0);
		memio_flip(f.m, "out/index.hpdsl", bit);
	}
	for (struct each_alloc e = { .in_turn = true }; each_alloc(&e);) {
		int r;

		each_alloc_begin(&e);
		r = try_tree(&f, &t, &err);
		each_alloc_end(&e);
		if (r == 0)
			hp_tree_release(&t);
		else
			assert_int_equal(r, -ENOMEM);
		assert_int_equal(memio_open_count(f.m), 0);
	}
	end(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_members), cmocka_unit_test(test_chosen),
		cmocka_unit_test(test_none),	cmocka_unit_test(test_adopted),
		cmocka_unit_test(test_trouble),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
