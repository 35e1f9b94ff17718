/* SPDX-License-Identifier: Apache-2.0 */
/* Members by folder, against a sorted list of paths; over files in memory. */
#include "hpdsl.h"
#include "make_index.h"
#include "memio.h"
#include "each_fault.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

enum { MOST = 3000 };

struct fixture {
	struct memio *m;
	struct corpus c;
	struct hpdsl_dataset *ds;
};

/* Samples of one member each, whose paths name() makes. */
static void set_up(struct fixture *f, uint64_t n, uint32_t flags,
		   void (*name)(uint64_t i, char *path))
{
	struct hpdsl_error err = { 0 };
	struct image im;

	f->m = memio_new();
	corpus_make(&f->c, n, 1, 0, HP_INDEX_GROUP_NONE | flags);
	for (uint64_t i = 0; i < n; i++) {
		name(i, f->c.paths[i]);
		f->c.members[i].path_len = strlen(f->c.paths[i]);
		if (strstr(f->c.paths[i], ".cls"))
			f->c.members[i].mode |= HP_MEMBER_GENERATED;
	}
	if (image_write(&f->c, &im, &err) < 0)
		fail_msg("%s", err.msg);
	memio_add(f->m, "out/index.hpdsl", im.p, im.n);
	memio_add(f->m, "out/dataset.yaml", "", 0);
	free(im.p);
	if (hpdsl_open("out", memio_io(f->m), &f->ds, &err) < 0)
		fail_msg("%s", err.msg);
}

static void tear_down(struct fixture *f)
{
	hpdsl_close(f->ds);
	memio_free(f->m);
	corpus_free(&f->c);
}

/* ---- A model ---------------------------------------------------------- */

struct row {
	char top[MADE_PATH], folder[MADE_PATH], name[MADE_PATH];
	uint64_t number;
};

static int compare(const void *x, const void *y)
{
	const struct row *a = x, *b = y;
	int c = strcmp(a->top, b->top);

	if (!c)
		c = strcmp(a->folder, b->folder);
	if (!c)
		c = strcmp(a->name, b->name);
	return c ? c : (a->number > b->number) - (a->number < b->number);
}

static bool ends_in(const char *name, const char *suffix)
{
	size_t n = strlen(name), k = strlen(suffix);

	return n >= k && !strcasecmp(name + n - k, suffix);
}

/* Members below, but for those that the packer made; sorted. */
static size_t model(const struct fixture *f, const char *below,
		    struct row *rows)
{
	size_t n = 0, skip = *below ? strlen(below) + 1 : 0;

	for (uint64_t i = 0; i < f->c.src.members; i++) {
		const char *path = f->c.paths[i], *slash;
		struct row *r = &rows[n];

		if (strstr(path, ".cls") ||
		    (skip &&
		     (strncmp(path, below, skip - 1) || path[skip - 1] != '/')))
			continue;
		memset(r, 0, sizeof *r);
		slash = strrchr(path, '/');
		if (slash && slash > path + skip)
			memcpy(r->folder, path + skip,
			       (size_t)(slash - path) - skip);
		strcpy(r->top, r->folder);
		r->top[strcspn(r->top, "/")] = '\0';
		strcpy(r->name, slash ? slash + 1 : path);
		r->number = i;
		n++;
	}
	qsort(rows, n, sizeof *rows, compare);
	return n;
}

/* Those of a folder that have the suffix, once each. */
static void expect_folder(const struct hpdsl_folders *got, uint64_t k,
			  const struct row *row, size_t n, const char *suffix)
{
	const struct hpdsl_folder *at = &got->folder[k];
	uint64_t member = at->first;

	for (size_t i = 0; i < n; i++) {
		if ((suffix && !ends_in(row[i].name, suffix)) ||
		    (i && !strcmp(row[i].name, row[i - 1].name)))
			continue;
		assert_true(member < at->first + at->members);
		assert_int_equal(got->member[member++], row[i].number);
	}
	assert_int_equal(member, at->first + at->members);
}

static void expect(const struct fixture *f, const char *below,
		   const char *suffix)
{
	static struct row rows[MOST];
	size_t n = model(f, below, rows), skip = *below ? strlen(below) + 1 : 0;
	struct hpdsl_folders_options o = { .below = below,
					   .below_len = strlen(below),
					   .suffixes = &suffix,
					   .n_suffixes = suffix != NULL };
	struct hpdsl_error err = { 0 };
	struct hpdsl_folders *got;
	uint64_t k = 0, first = 0;

	if (hpdsl_folders_of(f->ds, &o, &got, &err) < 0)
		fail_msg("%s", err.msg);
	for (size_t i = 0, end; i < n; i = end, k++) {
		const struct hpdsl_folder *at = &got->folder[k];

		for (end = i;
		     end < n && !strcmp(rows[end].folder, rows[i].folder);
		     end++)
			;
		assert_true(k < got->n);
		assert_string_equal(at->path_len > skip ? at->path + skip : "",
				    rows[i].folder);
		assert_int_equal(at->path_len, strlen(at->path));
		assert_int_equal(at->first, first);
		expect_folder(got, k, rows + i, end - i, suffix);
		first += at->members;
	}
	assert_int_equal(k, got->n);
	assert_int_equal(first, got->members);
	hpdsl_folders_free(got);
}

/* ---- Tests ------------------------------------------------------------ */

static uint64_t state;

static uint64_t next(uint64_t below)
{
	state = state * 6364136223846793005u + 1442695040888963407u;
	return (state >> 33) % below;
}

/* Folders that begin alike, names that do for long. */
static void any_name(uint64_t i, char *path)
{
	static const char *const part[] = { "a", "a-b", "a.b", "ab", "b", "A" };
	static const char *const end[] = { ".jpg", ".JPG", ".txt",
					   ".cls", "",	   ".Jpeg-2000" };
	size_t n = 0;

	for (uint64_t k = next(4); k > 0; k--)
		n += (size_t)sprintf(path + n, "%s/", part[next(6)]);
	if (next(2))
		n += (size_t)sprintf(path + n, "12345678abcdefgh");
	sprintf(path + n, "%x-%d%s", (unsigned)next(40) * 0x1111, (int)i,
		end[next(6)]);
}

static void test_any(void **s)
{
	static const char *const below[] = { "", "a", "a-b", "a/a", "a.b/b" };
	struct fixture f;

	(void)s;
	for (state = 0; state < 6;) {
		uint64_t seed = state;

		set_up(&f, seed % 2 ? MOST : 150, 0, any_name);
		for (size_t i = 0; i < sizeof below / sizeof *below; i++) {
			if (i > 2 && !(seed % 2))
				continue;
			expect(&f, below[i], NULL);
			expect(&f, below[i], ".jpg");
			expect(&f, below[i], "7.txt");
			expect(&f, below[i], ".jpeg-2000");
		}
		tear_down(&f);
		state = seed + 1;
	}
}

/* Long runs of names that differ late, and paths that repeat. */
static void alike(uint64_t i, char *path)
{
	sprintf(path, "c/%s%04u.jpg", i % 2 ? "aaaaaaaaaaaaaaaaaaaaaaaa" : "a",
		(unsigned)(i * 7919 % 1000 / (i % 3 + 1)));
}

static void test_alike(void **s)
{
	struct fixture f;

	(void)s;
	set_up(&f, 2500, HP_INDEX_FOREIGN, alike);
	expect(&f, "", NULL);
	expect(&f, "c", ".jpg");
	tear_down(&f);
}

static void alone(uint64_t i, char *path)
{
	sprintf(path, "%u/x", (unsigned)(i * 7919 % 2003));
}

static void test_folders_of_one(void **s)
{
	struct fixture f;

	(void)s;
	set_up(&f, 2003, 0, alone);
	expect(&f, "", NULL);
	expect(&f, "17", NULL);
	tear_down(&f);
}

static void odd(uint64_t i, char *path)
{
	static const char *const of[] = { "\xc3\xa9/1",
					  "\xff/1",
					  "a/1",
					  "a/\xed\xa0\x80",
					  "b/\xf0\x9f\xa6\x8a",
					  "b/12345678\xe9",
					  "c/1234567890abc" };

	strcpy(path, of[i]);
}

static void test_utf8(void **s)
{
	static const bool want[] = { false, false, true, true, false };
	struct hpdsl_folders *got;
	struct fixture f;

	(void)s;
	set_up(&f, 7, 0, odd);
	assert_int_equal(hpdsl_folders_of(f.ds, NULL, &got, NULL), 0);
	assert_int_equal(got->n, 5);
	for (size_t i = 0; i < 5; i++)
		assert_int_equal(got->folder[i].utf8, want[i]);
	hpdsl_folders_free(got);
	hpdsl_folders_free(NULL);
	tear_down(&f);
}

static void test_fails(void **s)
{
	struct hpdsl_folders_options o = { .below = "a\nb", .below_len = 3 };
	struct hpdsl_folders *got = NULL;
	struct hpdsl_error err = { 0 };
	struct each_alloc e = { .k = 0 };
	struct fixture f;
	int r = -ENOMEM;

	(void)s;
	set_up(&f, 600, 0, alone);
	assert_int_equal(hpdsl_folders_of(f.ds, &o, &got, &err), -ENOENT);
	assert_non_null(strstr(err.msg, "out: no folder 'a\\nb', there are "));

	assert_null(got);
	while (r && each_alloc(&e)) {
		each_alloc_begin(&e);
		r = hpdsl_folders_of(f.ds, NULL, &got, &err);
		each_alloc_end(&e);
		assert_true(r == 0 || r == -ENOMEM);
		assert_true(r == 0 || !got);
	}
	assert_int_equal(r, 0);
	assert_true(e.k > 6);
	hpdsl_folders_free(got);
	tear_down(&f);
}

static void test_paths(void **s)
{
	uint64_t number[] = { 3, 0, 3, 599 };
	struct hpdsl_error err = { 0 };
	struct fixture f;
	char buf[64], want[64];
	int n = 0;

	(void)s;
	set_up(&f, 600, 0, alone);
	for (size_t i = 0; i < 4; i++)
		n += sprintf(want + n, "%s", f.c.paths[number[i]]) + 1;
	assert_int_equal(hpdsl_member_paths(f.ds, number, 4, buf, 64, &err), 4);
	assert_memory_equal(buf, want, (size_t)n);
	assert_int_equal(
		hpdsl_member_paths(f.ds, number, 4, buf, (size_t)n, &err), 4);
	assert_int_equal(
		hpdsl_member_paths(f.ds, number, 4, buf, (size_t)n - 1, &err),
		3);
	assert_int_equal(hpdsl_member_paths(f.ds, number, 0, buf, 0, &err), 0);
	assert_int_equal(hpdsl_member_paths(f.ds, number, 4, buf, 2, &err),
			 -ENOSPC);
	number[2] = 600;
	assert_int_equal(hpdsl_member_paths(f.ds, number, 4, buf, 64, &err),
			 -ERANGE);
	tear_down(&f);
}

static void test_seats(void **s)
{
	struct hpdsl_error err = { 0 };
	struct hpdsl_seat seat[60];
	uint64_t number[60], before = 0;
	struct fixture f;
	struct image im;

	(void)s;
	f.m = memio_new();
	corpus_make(&f.c, 30, 2, 0, 0);
	for (uint64_t i = 0; i < f.c.src.members; i += 4)
		f.c.members[i].mode |= HP_MEMBER_GENERATED;
	assert_int_equal(image_write(&f.c, &im, &err), 0);
	memio_add(f.m, "out/index.hpdsl", im.p, im.n);
	memio_add(f.m, "out/dataset.yaml", "", 0);
	free(im.p);
	assert_int_equal(hpdsl_open("out", memio_io(f.m), &f.ds, &err), 0);
	assert_int_equal(f.c.src.members, 60);
	for (uint64_t i = 0; i < 60; i++)
		number[i] = i;
	assert_int_equal(hpdsl_member_seats(f.ds, number, 60, seat, &err), 0);
	for (uint64_t i = 0; i < 60; i++) {
		if (i && seat[i].sample != seat[i - 1].sample)
			before = 0;
		assert_int_equal(seat[i].sample, f.c.members[i].sample);
		assert_int_equal(seat[i].before, before);
		before += i % 4 != 0;
	}
	number[7] = 60;
	assert_int_equal(hpdsl_member_seats(f.ds, number, 60, seat, &err),
			 -ERANGE);
	tear_down(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_any),
		cmocka_unit_test(test_alike),
		cmocka_unit_test(test_folders_of_one),
		cmocka_unit_test(test_utf8),
		cmocka_unit_test(test_fails),
		cmocka_unit_test(test_paths),
		cmocka_unit_test(test_seats),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
