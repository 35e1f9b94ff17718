/* SPDX-License-Identifier: Apache-2.0 */
/* What is told of the files of a list: doubtful, twice, hollow. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "make_list.h"
#include "plan/doubtful.h"
#include "plan/hollow.h"
#include "plan/twice.h"

#include <stdio.h>

static void test_doubtful(void **state)
{
	static const struct {
		const char *path;
		int row;
	} vectors[] = {
		{ ".git/config", 0 },
		{ "a/.git/objects/pack/x.pack", 0 },
		{ ".git", -1 },
		{ "a/.gitignore", -1 },
		{ ".github/x", -1 },
		{ "x.git/config", -1 },
		{ "a.b/.git/c.part", 0 },
		{ ".cache/huggingface/download/x.metadata", 1 },
		{ "a/.cache/huggingface/x", 1 },
		{ ".cache/other/x", -1 },
		{ "cache/huggingface/x", -1 },
		{ "a/blob.incomplete", 2 },
		{ "a/1.tar.part", 3 },
		{ "a/x.crdownload", 4 },
		{ "train/shard.00000.mds", 5 },
		{ "a/shard.00000.mds.zstd", -1 },
		{ "a/x.tfrecord", 6 },
		{ "a/x.tfrecord-00000-of-00010", 6 },
		{ "a/x.tfrecor", -1 },
		{ "a/x.array_record", 7 },
		{ "a/data.mdb", 8 },
		{ "a/.part", -1 },
		{ "a/x.party", -1 },
		{ "a/x.part.jpg", -1 },
		{ "part", -1 },
		{ "", -1 },
	};
	struct hpdsl_doubtful rows[HPDSL_DOUBTFUL];
	struct hp_list list;

	(void)state;
	for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++)
		assert_int_equal(hp_doubtful_row(vectors[i].path,
						 strlen(vectors[i].path)),
				 vectors[i].row);
	LIST_OF(&list, "a", ".git/x", "b.part", "c/.git/y", "d.part");
	list.files[4].root = 1;
	list.roots[1].kind = HP_ROOT_DATASET;
	hp_list_doubtful(&list, rows);
	assert_string_equal(rows[0].pattern, ".git/");
	assert_int_equal(rows[0].files, 2);
	assert_int_equal(rows[0].bytes, 1 + 3);
	assert_int_equal(rows[3].files, 1);
	assert_int_equal(rows[3].bytes, 2);
	assert_false(rows[4].records);
	assert_true(rows[5].records);
	assert_int_equal(rows[1].files + rows[2].files + rows[4].files, 0);
	hp_list_release(&list);
}

/* A file of a size, stamp as said. */
static void is_file(struct hp_file *f, uint64_t size, uint32_t stamp,
		    unsigned flags)
{
	f->size = size;
	f->stamp = stamp;
	f->flags = (uint16_t)(flags & 0xf);
}

static void test_twice(void **state)
{
	struct hpdsl_twice t;
	struct hp_list list;

	(void)state;
	/* A store, two links to one of it, one to another, hard links. */
	LIST_OF(&list, "blobs/a", "blobs/b", "h1", "h2", "h3", "plain", "s/a",
		"s/a2", "s/b", "s/outside");
	is_file(&list.files[0], 1000, 7, 0);
	is_file(&list.files[1], 10, 8, 0);
	for (int i = 2; i < 5; i++) {
		is_file(&list.files[i], 1, 9, 0);
		list.files[i].full[HP_FULL_LINKED] = 1;
	}
	is_file(&list.files[5], 1000, 5, 0);
	is_file(&list.files[6], 1000, 7, HP_FILE_FOLLOW);
	is_file(&list.files[7], 1000, 7, HP_FILE_FOLLOW);
	is_file(&list.files[8], 10, 8, HP_FILE_FOLLOW);
	is_file(&list.files[9], 10, 11, HP_FILE_FOLLOW);
	assert_int_equal(hp_list_twice(&list, &t, NULL), 0);
	assert_int_equal(t.links, 2 + 1 + 2);
	assert_int_equal(t.bytes, 2000 + 10 + 2);
	assert_string_equal(t.example[0], "h1");
	assert_string_equal(t.example[1], "h2");
	/* Another size or time is another file, whatever the stamp says. */
	for (int i = 2; i < 9; i++)
		list.files[i].mtime = i;
	assert_int_equal(hp_list_twice(&list, &t, NULL), 0);
	assert_int_equal(t.links, 0);
	/* In an archive the place counts; a packed dataset has no links. */
	list.roots[0].kind = HP_ROOT_TAR;
	list.files[0].source = list.files[6].source = 512;
	for (int i = 1; i < 10; i++)
		list.files[i].source = i == 6 ? 512 : 1024 * (uint64_t)i;
	assert_int_equal(hp_list_twice(&list, &t, NULL), 0);
	assert_int_equal(t.links, 1);
	assert_int_equal(t.bytes, 1000);
	assert_string_equal(t.example[1], "s/a");
	list.roots[0].kind = HP_ROOT_DATASET;
	assert_int_equal(hp_list_twice(&list, &t, NULL), 0);
	assert_int_equal(t.links, 0);
	hp_list_release(&list);
}

/* n files of a suffix and size, all hollow or none. */
struct lot {
	const char *form;
	unsigned n;
	uint64_t size;
	enum hp_hollow_kind kind;
};

/* Looks as a pack does; how many files were looked at. */
static unsigned look(struct hp_hollow *h, const struct lot *lots, size_t n)
{
	unsigned looks = 0;

	memset(h, 0, sizeof *h);
	for (int pass = 0; pass < 2; pass++)
		for (size_t k = 0; k < n; k++)
			for (unsigned i = 0; i < lots[k].n; i++) {
				struct hp_hollow_ask ask;
				char path[64];
				int len =
					snprintf(path, sizeof path, "d%u/%u%s",
						 i, i, lots[k].form);

				if (!pass) {
					hp_hollow_count(h, path, (size_t)len,
							lots[k].size);
					continue;
				}
				ask = hp_hollow_wants(h, path, (size_t)len,
						      lots[k].size);
				looks += ask.pointer || ask.page;
				hp_hollow_see(h, ask, lots[k].kind);
			}
	return looks;
}

#define LOOK(...)                               \
	look(&h, (struct lot[]){ __VA_ARGS__ }, \
	     sizeof((struct lot[]){ __VA_ARGS__ }) / sizeof(struct lot))

static void verdict(const struct hp_hollow *h, const char *suffix,
		    enum hp_hollow_kind kind)
{
	enum hp_hollow_kind is;
	const struct hp_hollow_suffix *s = hp_hollow_judge(h, &is);

	assert_string_equal(s ? s->name : "-", suffix);
	assert_int_equal(is, kind);
}

static void test_hollow(void **state)
{
	struct hp_hollow h;
	unsigned n;

	(void)state;
	/* Nothing of that size, and no suffix that has to be looked at. */
	assert_int_equal(LOOK({ ".txt", 500, 1000, HP_HOLLOW_NOT }), 0);
	verdict(&h, "-", HP_HOLLOW_NOT);
	/* Most of a suffix, of other sizes, too. */
	n = LOOK({ ".safetensors", 3, 135, HP_HOLLOW_POINTER },
		 { ".safetensors", 2, 4096, HP_HOLLOW_NOT },
		 { ".json", 50, 130, HP_HOLLOW_NOT });
	assert_in_range(n, 53, 55);
	verdict(&h, "safetensors", HP_HOLLOW_POINTER);
	/* Half is not most; capital letters are the same suffix. */
	LOOK({ ".bin", 4, 120, HP_HOLLOW_POINTER },
	     { ".BIN", 4, 9, HP_HOLLOW_NOT });
	verdict(&h, "-", HP_HOLLOW_NOT);
	LOOK({ ".bin", 4, 140, HP_HOLLOW_POINTER },
	     { ".BIN", 1, 140, HP_HOLLOW_POINTER },
	     { ".bin", 4, 9, HP_HOLLOW_NOT });
	verdict(&h, "bin", HP_HOLLOW_POINTER);
	LOOK({ "", 9, 130, HP_HOLLOW_POINTER });
	verdict(&h, "", HP_HOLLOW_POINTER);
	/* Of very many a thousand speak for all. */
	n = LOOK({ ".x", 30000, 130, HP_HOLLOW_POINTER },
		 { ".x", 20000, 130, HP_HOLLOW_NOT });
	assert_in_range(n, 900, HP_HOLLOW_POINTERS);
	verdict(&h, "x", HP_HOLLOW_POINTER);
	n = LOOK({ ".x", 20000, 130, HP_HOLLOW_POINTER },
		 { ".x", 30000, 130, HP_HOLLOW_NOT });
	assert_in_range(n, 900, HP_HOLLOW_POINTERS);
	verdict(&h, "-", HP_HOLLOW_NOT);
}

static void test_pages(void **state)
{
	struct hp_hollow h;
	unsigned n;

	(void)state;
	n = LOOK({ ".jpg", 5000, 3000, HP_HOLLOW_PAGE },
		 { ".txt", 5000, 3000, HP_HOLLOW_PAGE });
	assert_in_range(n, 8, HP_HOLLOW_PAGES);
	verdict(&h, "jpg", HP_HOLLOW_PAGE);
	/* Text may well be a page. */
	n = LOOK({ ".html", 500, 130, HP_HOLLOW_PAGE },
		 { "", 500, 3000, HP_HOLLOW_PAGE });
	assert_int_equal(n, 500);
	verdict(&h, "-", HP_HOLLOW_NOT);
	/* A crawl has some of any name. */
	LOOK({ ".html", 500, 3000, HP_HOLLOW_PAGE },
	     { ".pdf", 3, 3000, HP_HOLLOW_PAGE });
	verdict(&h, "-", HP_HOLLOW_NOT);
	LOOK({ ".jpg", 5000, 3000, HP_HOLLOW_NOT },
	     { ".jpg", 1000, 3000, HP_HOLLOW_PAGE });
	verdict(&h, "-", HP_HOLLOW_NOT);
	assert_true(h.v[0].pages > 0);
}

/* More suffixes than are told apart. */
static void test_suffixes(void **state)
{
	struct hp_hollow h = { .n = 0 };
	char path[64];

	(void)state;
	for (int i = 0; i < 200; i++)
		hp_hollow_count(&h, path,
				(size_t)snprintf(path, sizeof path, "a.s%d", i),
				130);
	assert_int_equal(h.n, HP_HOLLOW_SUFFIXES);
	assert_int_equal(h.files, 200);
	for (int i = 0; i < 200; i++) {
		size_t len = (size_t)snprintf(path, sizeof path, "a.s%d", i);
		struct hp_hollow_ask ask = hp_hollow_wants(&h, path, len, 130);

		assert_int_equal(ask.pointer, i < HP_HOLLOW_SUFFIXES);
	}
	/* One that is too long is none; so is that of a leading dot. */
	memset(&h, 0, sizeof h);
	hp_hollow_count(&h, "a.0123456789abcdef", 18, 1);
	hp_hollow_count(&h, "b/.gitattributes", 16, 1);
	hp_hollow_count(&h, "b.c/a", 5, 1);
	assert_int_equal(h.n, 1);
	assert_string_equal(h.v[0].name, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_doubtful), cmocka_unit_test(test_twice),
		cmocka_unit_test(test_hollow),	 cmocka_unit_test(test_pages),
		cmocka_unit_test(test_suffixes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
