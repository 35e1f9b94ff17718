/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A snapshot as text and back: the text is what a few lines of the test write,
 * the bytes are the same again, and what makes no sense is refused on its line.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "make_list.h"
#include "snap/text.h"
#include "snap_model.h"
#include "each_fault.h"

#include <errno.h>
#include <time.h>

static const struct hpdsl_watch silent;

static int to_text(void *arg, const void *buf, size_t n,
		   struct hpdsl_error *err)
{
	(void)err;
	hp_text_add(arg, buf, n);
	return 0;
}

static int parse(const char *p, size_t n, struct hp_tree *t,
		 struct hpdsl_error *err)
{
	const struct hp_snap_text text = { p, n, "text", &silent };

	return hp_snap_parse(&text, t, err);
}

static uint64_t size_of(const struct hpdsl_snapshot *s)
{
	struct hpdsl_snapshot_info info;

	hpdsl_snapshot_info(s, &info);
	return info.file_bytes;
}

/* ---- Escapes ---------------------------------------------------------- */

static void check_escape(const char *name, const char *want)
{
	char escaped[256], back[256];
	const char *bad;
	size_t n = hp_snap_escape(name, strlen(name), escaped);

	escaped[n] = '\0';
	assert_string_equal(escaped, want);
	assert_int_equal(hp_snap_unescape(escaped, n, back, &bad),
			 strlen(name));
	assert_memory_equal(back, name, strlen(name));
}

static void check_bad(const char *text, size_t at)
{
	char back[256];
	const char *bad = NULL;

	assert_int_equal(hp_snap_unescape(text, strlen(text), back, &bad), -1);
	assert_ptr_equal(bad, text + at);
}

static void test_escapes(void **state)
{
	(void)state;
	check_escape("", "");
	check_escape("a b/c\"'*", "a b/c\"'*");
	check_escape("\\", "\\\\");
	check_escape("a\nb\tc\rd", "a\\nb\\tc\\x0dd");
	check_escape("\x01\x1f\x7f ~", "\\x01\\x1f\\x7f ~");
	check_escape("é日\xf0\x9f\x98\x80", "é日\xf0\x9f\x98\x80");
	check_escape("\xc3", "\\xc3");
	check_escape("\xc3(", "\\xc3(");
	check_escape("\xc0\x80\xff", "\\xc0\\x80\\xff");
	check_escape("\xed\xa0\x80", "\\xed\\xa0\\x80");
	check_escape("\xe2\x82", "\\xe2\\x82");
	check_escape("\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80");
	check_bad("a\\", 1);
	check_bad("a\\q", 1);
	check_bad("\\x1", 0);
	check_bad("\\x1g", 0);
	check_bad("ab\\xFF", 2);
	check_bad("\\x00", 0);
	check_bad("\\N", 0);
	check_bad("a\tb", 1);
	check_bad("ab\r", 2);
	check_bad("ab\x7f", 2);
	check_bad("é\xc3", 2);
}

/* An escape may stand for any byte. */
static void test_needless_escapes(void **state)
{
	char out[16];
	const char *bad;

	(void)state;
	assert_int_equal(
		hp_snap_unescape("\\x61\\x2f\\x5c\\x0a", 16, out, &bad), 4);
	assert_memory_equal(out, "a/\\\n", 4);
	assert_int_equal(hp_snap_unescape("\\xc3\\xa9", 8, out, &bad), 2);
	assert_memory_equal(out, "é", 2);
}

/* ---- There and back --------------------------------------------------- */

/* The lines behind the head, in another order. */
static void shuffle_lines(struct hp_text *t, bool dataset, uint64_t *random)
{
	struct hp_text out = { .p = NULL };
	size_t starts[4000], n = 0, at = 0;

	for (int skip = dataset ? 2 : 1; skip; skip--)
		at = (size_t)((char *)memchr(t->p + at, '\n', t->n - at) -
			      t->p) +
		     1;
	hp_text_add(&out, t->p, at);
	while (at < t->n) {
		starts[n++] = at;
		at = (size_t)((char *)memchr(t->p + at, '\n', t->n - at) -
			      t->p) +
		     1;
	}
	for (size_t i = n; i > 0; i--) {
		size_t j = next_random(random) % i;
		size_t from = starts[j];
		const char *end = memchr(t->p + from, '\n', t->n - from);

		hp_text_add(&out, t->p + from, (size_t)(end - t->p) + 1 - from);
		starts[j] = starts[i - 1];
	}
	assert_int_equal(out.n, t->n);
	hp_text_release(t);
	*t = out;
}

/* The text makes these bytes. */
static void check_load(const struct hp_text *text, const void *bytes,
		       uint64_t size)
{
	struct hpdsl_error err = { .msg = "" };
	struct hp_tree tree = { .arena = NULL };
	struct hpdsl_snapshot *s;
	void *again;

	if (parse(text->p, text->n, &tree, &err) < 0)
		fail_msg("%s", err.msg);
	assert_int_equal(hp_snap_in_memory(&tree, HPDSL_SERIAL, "again", &again,
					   &s, &err),
			 0);
	assert_int_equal(size_of(s), size);
	assert_memory_equal(again, bytes, size);
	hp_tree_release(&tree);
	model_free_snap(s, again);
}

static void check_model(struct model *m, uint64_t *random)
{
	struct hp_text want = { .p = NULL }, got = { .p = NULL };
	struct hpdsl_error err = { .msg = "" };
	void *bytes;
	struct hpdsl_snapshot *s;

	model_shuffle(m);
	s = model_snap(m, &bytes);
	model_text(m, &want);
	if (hpdsl_snapshot_dump(s, to_text, &got, &err) < 0)
		fail_msg("%s", err.msg);
	assert_int_equal(got.n, want.n);
	assert_memory_equal(got.p, want.p, want.n);
	check_load(&got, bytes, size_of(s));
	shuffle_lines(&got, m->dataset, random);
	check_load(&got, bytes, size_of(s));
	hp_text_release(&want);
	hp_text_release(&got);
	model_free_snap(s, bytes);
}

static void test_there_and_back(void **state)
{
	uint64_t random = 777;

	(void)state;
	for (uint64_t seed = 0; seed < 300; seed++) {
		struct model m;

		model_begin(&m, seed % 3 == 2, seed);
		model_grow(&m, next_random(&random) % 200);
		if (m.dataset)
			model_tidy(&m);
		check_model(&m, &random);
		model_release(&m);
	}
}

/* Names of all bytes, long ones, deep folders, long targets. */
static void test_extremes(void **state)
{
	char path[HPDSL_PATH_MAX + 1], *target = malloc(300001);
	uint64_t random = 3;
	struct thing *t;
	struct model m;

	(void)state;
	model_begin(&m, false, 5);
	for (int c = 1; c < 256; c++) {
		if (c == '/' || c == 0xff) /* a folder, below */
			continue;
		sprintf(path, "%c", c);
		model_add(&m, path, S_IFREG);
		sprintf(path, "x%cy", c);
		model_add(&m, path, S_IFLNK);
	}
	memset(path, 0x80, 255);
	path[255] = '\0';
	model_add(&m, path, S_IFREG);
	for (size_t i = 0; i + 2 < HPDSL_PATH_MAX; i += 2) {
		strcpy(path + i, "\xff");
		model_add(&m, path, S_IFDIR);
		strcpy(path + i + 1, "/");
	}
	path[HPDSL_PATH_MAX - 1] = '\x01';
	path[HPDSL_PATH_MAX] = '\0';
	assert_non_null(model_add(&m, path, S_IFREG));
	t = model_add(&m, "link", S_IFLNK);
	memset(target, 0x1b, 300000);
	target[300000] = '\0';
	free(t->target);
	t->target = target;
	t->size = 300000;
	check_model(&m, &random);
	model_release(&m);
}

/* ---- What makes no sense ---------------------------------------------- */

#define HEAD "hpdsl-snapshot 1\n"
#define TOP "d 0755 4096 5.000000000 - - .\n"
#define DATASET                                          \
	HEAD "dataset 00112233445566778899aabbccddeeff " \
	     "00112233445566778899aabbccddeeff\n"
#define DTOP "d 0755 0 0.000000000 - - .\n"

static const struct {
	const char *text, *message;
} bad[] = {
	{ "", "text: line 1: no text of a snapshot, which begins with "
	      "'hpdsl-snapshot 1'" },
	{ "\n", "text: line 1: no text of a snapshot" },
	{ "hpdsl-snapshot", "text: line 1: no newline at its end" },
	{ "hpdsl-snapshot 1\r\n", "text: line 1: no text of a snapshot" },
	{ "hpdsl-snapshot 0\n", "text: line 1: no text of a snapshot" },
	{ "hpdsl-snapshot 01\n", "text: line 1: no text of a snapshot" },
	{ "hpdsl-snapshot 2x\n", "text: line 1: no text of a snapshot" },
	{ "hpdsl-snapshot 1", "text: line 1: no newline at its end" },
	{ HEAD, "text: line 2: the end, and no line of the top" },
	{ HEAD "\n", "text: line 2: not the 7 fields of an entry" },
	{ HEAD TOP "\n", "text: line 3: not the 7 fields of an entry" },
	{ HEAD "d 0755 4096 5.000000000 - - .", "text: line 2: no newline" },
	{ HEAD TOP TOP, "text: line 3: the top for a second time" },
	{ HEAD "f 0755 4096 5.000000000 - - .\n",
	  "text: line 2: the top is no" },
	{ HEAD "d 0755 4096 5.000000000 - - \\x2e\n" TOP,
	  "text: line 3: the top for a second time" },
	{ HEAD "d 0755 4096 5.000000000 - -\n",
	  "text: line 2: not the 7 fields" },
	{ HEAD "d  0755 4096 5.000000000 - - .\n",
	  "text: line 2: mode '' is not" },
	{ HEAD " d 0755 4096 5.000000000 - - .\n",
	  "text: line 2: no type is ''" },
	{ HEAD TOP "x 0644 0 0.000000000 - - a\n",
	  "text: line 3: no type is 'x'" },
	{ HEAD TOP "fd 0644 0 0.000000000 - - a\n", "no type is 'fd'" },
	{ HEAD TOP "f 644 0 0.000000000 - - a\n", "mode '644' is not 4" },
	{ HEAD TOP "f 10644 0 0.000000000 - - a\n", "mode '10644' is not 4" },
	{ HEAD TOP "f 0648 0 0.000000000 - - a\n", "mode '0648' is not 4" },
	{ HEAD TOP "f 0644 00 0.000000000 - - a\n", "size '00' is no" },
	{ HEAD TOP "f 0644 -1 0.000000000 - - a\n", "size '-1' is no" },
	{ HEAD TOP "f 0644 0x1 0.000000000 - - a\n", "size '0x1' is no" },
	{ HEAD TOP "f 0644 18446744073709551616 0.000000000 - - a\n",
	  "size '18446744073709551616' is no" },
	{ HEAD TOP "f 0644 0 0 - - a\n", "mtime '0' is not" },
	{ HEAD TOP "f 0644 0 .000000000 - - a\n", "mtime '.000000000' is" },
	{ HEAD TOP "f 0644 0 0.00000000 - - a\n", "mtime '0.00000000' is" },
	{ HEAD TOP "f 0644 0 0.0000000000 - - a\n", "mtime '0.0000000000'" },
	{ HEAD TOP "f 0644 0 0.00000000a - - a\n", "mtime '0.00000000a' is" },
	{ HEAD TOP "f 0644 0 -0.000000000 - - a\n", "mtime '-0.000000000'" },
	{ HEAD TOP "f 0644 0 -.000000000 - - a\n", "mtime '-.000000000'" },
	{ HEAD TOP "f 0644 0 +1.000000000 - - a\n", "mtime '+1.000000000'" },
	{ HEAD TOP "f 0644 0 9223372036854775808.000000000 - - a\n",
	  "mtime '9223372036854775808.000000000' is not" },
	{ HEAD TOP "f 0644 0 -9223372036854775809.000000000 - - a\n",
	  "mtime '-9223372036854775809.000000000' is not" },
	{ HEAD TOP "f 0644 0 0.000000000 0 0000000000000000 a\n",
	  "text: line 3: only files of a dataset have a member number" },
	{ HEAD TOP "f 0644 0 0.000000000 0 - a\n", "only files of a dataset" },
	{ HEAD TOP "f 0644 0 0.000000000 - x a\n", "only files of a dataset" },
	{ HEAD TOP "f 0644 0 0.000000000 - - \n", "'' is no path below" },
	{ HEAD TOP "f 0644 0 0.000000000 - - /a\n", "'/a' is no path" },
	{ HEAD TOP "f 0644 0 0.000000000 - - a/\n", "'a/' is no path" },
	{ HEAD TOP "f 0644 0 0.000000000 - - a//b\n", "'a//b' is no path" },
	{ HEAD TOP "f 0644 0 0.000000000 - - ./a\n", "'./a' is no path" },
	{ HEAD TOP "f 0644 0 0.000000000 - - ..\n", "'..' is no path" },
	{ HEAD TOP "f 0644 0 0.000000000 - - a\\x2f..\n", "'a/..' is no" },
	{ HEAD TOP "f 0644 0 0.000000000 - - a\\\n",
	  "text: line 3: a backslash" },
	{ HEAD TOP "f 0644 0 0.000000000 - - a\\x00\n", "a backslash that" },
	{ HEAD TOP "f 0644 0 0.000000000 - - a\\xAB\n", "a backslash that" },
	{ HEAD TOP "f 0644 0 0.000000000 - - a\r\n",
	  "text: line 3: byte 0x0d, which has to be written \\x0d" },
	{ HEAD TOP "f 0644 0 0.000000000 - - \xff\n",
	  "text: line 3: byte 0xff, which has to be written \\xff" },
	{ HEAD TOP "f 0644 0 0.000000000 - - a\tb\n",
	  "text: line 3: a tab and a target, but no symbolic link" },
	{ HEAD TOP "l 0777 1 0.000000000 - - a\n",
	  "text: line 3: a symbolic link without a target" },
	{ HEAD TOP "l 0777 2 0.000000000 - - a\tb\n",
	  "text: line 3: size 2, but the target has 1" },
	{ HEAD TOP "l 0777 3 0.000000000 - - a\tb\tc\n",
	  "text: line 3: a second tab" },
	{ HEAD TOP "l 0777 1 0.000000000 - - a\t\\q\n", "a backslash that" },
	{ HEAD TOP "f 0644 0 0.000000000 - - b\n"
		   "f 0644 0 0.000000000 - - a\n"
		   "f 0644 0 0.000000000 - - b\n",
	  "text: line 5: this path for a second time: 'b'" },
	{ HEAD TOP "d 0755 0 0.000000000 - - b\n"
		   "f 0644 0 0.000000000 - - b\n",
	  "text: line 4: this path for a second time: 'b'" },
	{ HEAD "f 0644 0 0.000000000 - - x/y/z\n" TOP
	       "f 0644 0 0.000000000 - - a\n",
	  "text: line 2: no line has the folder it is in: 'x/y/z'" },
	{ HEAD "d 0755 0 0.000000000 - - x/y\n" TOP,
	  "text: line 2: no line has the folder it is in: 'x/y'" },
	{ HEAD TOP "f 0644 0 0.000000000 - - x/y/z\n"
		   "d 0755 0 0.000000000 - - x/y\n",
	  "text: line 4: no line has the folder it is in: 'x/y'" },
	{ HEAD TOP "d 0755 0 0.000000000 - - x\n"
		   "f 0644 0 0.000000000 - - x-/z\n"
		   "f 0644 0 0.000000000 - - x/y\n",
	  "text: line 4: no line has the folder it is in: 'x-/z'" },
	{ HEAD TOP "f 0644 0 0.000000000 - - a/b\n"
		   "l 0777 1 0.000000000 - - a\tb\n",
	  "text: line 3: what it lies in is no folder: 'a/b'" },
	{ HEAD TOP "dataset 00112233445566778899aabbccddeeff "
		   "00112233445566778899aabbccddeeff\n",
	  "text: line 3: not the 7 fields" },
	{ HEAD "dataset 00\n", "text: line 2: not a dataset's id and pack" },
	{ HEAD "dataset 00112233445566778899aabbccddeeff "
	       "00112233445566778899aabbccddeefF\n",
	  "text: line 2: not a dataset's id and pack" },
	{ HEAD "dataset 00112233445566778899aabbccddeeff "
	       "00112233445566778899aabbccddeeff \n",
	  "text: line 2: not a dataset's id and pack" },
	{ HEAD "dataset 00112233445566778899aabbccddeeff ",
	  "text: line 2: no newline" },
	{ DATASET DTOP "f 0644 0 0.000000000 - - a\n",
	  "text: line 4: a file of a dataset has a member number and a "
	  "checksum" },
	{ DATASET DTOP "f 0644 0 0.000000000 1 - a\n", "checksum '-' is not" },
	{ DATASET DTOP "f 0644 0 0.000000000 - 0123456789abcdef a\n",
	  "member '-' is no number" },
	{ DATASET DTOP "f 0644 0 0.000000000 01 0123456789abcdef a\n",
	  "member '01' is no number" },
	{ DATASET DTOP
	  "f 0644 0 0.000000000 1099511627774 0123456789abcdef a\n",
	  "member '1099511627774' is no number" },
	{ DATASET DTOP "f 0644 0 0.000000000 1 0123456789abcde a\n",
	  "checksum '0123456789abcde' is not" },
	{ DATASET DTOP "f 0644 0 0.000000000 1 0123456789abcdeF a\n",
	  "checksum '0123456789abcdeF' is not" },
	{ DATASET DTOP "f 1644 0 0.000000000 1 0123456789abcdef a\n",
	  "text: line 4: modes in a dataset are up to 0777" },
	{ DATASET DTOP "l 0777 1 0.000000000 - - a\tb\n",
	  "text: line 4: a dataset has files and folders only" },
	{ DATASET DTOP "d 0755 0 1.000000000 - - a\n",
	  "text: line 4: a folder of a dataset is 'd 0755 0 0.000000000'" },
	{ DATASET DTOP "d 0700 0 0.000000000 - - a\n",
	  "text: line 4: a folder of a dataset is 'd 0755 0 0.000000000'" },
	{ DATASET DTOP "d 0755 0 0.000000000 1 0123456789abcdef a\n",
	  "text: line 4: only files of a dataset have a member number" },
	{ DATASET DTOP "d 0755 0 0.000000000 - - a\n",
	  "text: line 4: an empty folder, which no dataset has: 'a'" },
	{ DATASET DTOP "d 0755 0 0.000000000 - - a\n"
		       "f 0644 0 0.000000000 1 0123456789abcdef a/b\n"
		       "d 0755 0 0.000000000 - - a\n",
	  "text: line 6: this path for a second time: 'a'" },
	{ DATASET DTOP "d 0755 0 0.000000000 - - a/b\n"
		       "f 0644 0 0.000000000 1 0123456789abcdef a/b/c/d\n"
		       "f 0644 0 0.000000000 2 0123456789abcdef a/b/c\n",
	  "text: line 5: what it lies in is no folder: 'a/b/c/d'" },
	{ DATASET "f 0644 0 0.000000000 1 0123456789abcdef a/b\n"
		  "f 0644 0 0.000000000 1 0123456789abcdef a/c\n",
	  "text: line 4: this member number for a second time: 'a/c'" },
	{ DATASET "f 0644 0 0.000000000 1 0123456789abcdef a/b/c\n"
		  "f 0644 0 0.000000000 2 0123456789abcdef a\n",
	  "text: line 3: what it lies in is no folder: 'a/b/c'" },
};

static void test_bad_lines(void **state)
{
	struct hp_tree tree = { .arena = NULL };

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		struct hpdsl_error err = { .code = 0 };
		int r = parse(bad[i].text, strlen(bad[i].text), &tree, &err);

		if (r != HPDSL_ECORRUPT || err.code != r ||
		    strncmp(err.msg, "text:", 5) ||
		    !strstr(err.msg, bad[i].message))
			fail_msg("%s-> %d %s, not %s", bad[i].text, r, err.msg,
				 bad[i].message);
		assert_int_equal(
			parse(bad[i].text, strlen(bad[i].text), &tree, NULL),
			HPDSL_ECORRUPT);
		assert_null(tree.arena);
		assert_null(tree.top.folder);
	}
}

static void test_nul(void **state)
{
	static const char text[] = HEAD TOP "f 0644 0 0.000000000 - - a\0b\n";
	struct hp_tree tree = { .arena = NULL };
	struct hpdsl_error err;

	(void)state;
	assert_int_equal(parse(text, sizeof text - 1, &tree, &err),
			 HPDSL_ECORRUPT);
	assert_string_equal(err.msg,
			    "text: line 3: byte 0x00, which cannot be in a "
			    "name");
}

static void test_versions(void **state)
{
	static const char *const later[] = { "hpdsl-snapshot 2\nanything",
					     "hpdsl-snapshot 10\n",
					     "hpdsl-snapshot 11\n" };
	struct hp_tree tree = { .arena = NULL };
	struct hpdsl_error err;

	(void)state;
	for (int i = 0; i < 3; i++) {
		assert_int_equal(parse(later[i], strlen(later[i]), &tree, &err),
				 HPDSL_ETOONEW);
		assert_string_equal(err.msg,
				    "text: line 1: the text of a later "
				    "version than this one reads");
	}
}

/* A path of the longest length is taken, one byte more is not. */
static void test_long_path(void **state)
{
	char text[HPDSL_PATH_MAX + 200];
	struct hp_tree tree = { .arena = NULL };
	struct hpdsl_error err;

	(void)state;
	for (int more = 0; more < 2; more++) {
		int n = sprintf(text, HEAD TOP "f 0644 0 0.000000000 - - ");
		int r;

		memset(text + n, 'n', HPDSL_PATH_MAX + 1);
		n += HPDSL_PATH_MAX + more;
		text[n++] = '\n';
		r = parse(text, (size_t)n, &tree, &err);
		assert_int_equal(r, more ? HPDSL_ECORRUPT : 0);
		if (more)
			assert_non_null(strstr(
				err.msg, "text: line 3: a path over 4095"));
		hp_tree_release(&tree);
	}
}

/* Whatever a bit flip makes of it: refused, or dumped as it was loaded. */
static void test_bit_flips(void **state)
{
	struct hp_text text = { .p = NULL };
	struct model m;

	(void)state;
	model_begin(&m, false, 9);
	model_grow(&m, 12);
	model_text(&m, &text);
	for (size_t bit = 0; bit < 8 * text.n; bit++) {
		struct hp_tree tree = { .arena = NULL };
		struct hp_text got = { .p = NULL };
		struct hpdsl_error err;
		struct hpdsl_snapshot *s;
		void *bytes;
		int r;

		text.p[bit / 8] ^= (char)(1 << bit % 8);
		r = parse(text.p, text.n, &tree, &err);
		if (r == 0) {
			assert_int_equal(hp_snap_in_memory(&tree, HPDSL_SERIAL,
							   "flipped", &bytes,
							   &s, NULL),
					 0);
			assert_int_equal(
				hpdsl_snapshot_dump(s, to_text, &got, NULL), 0);
			check_load(&got, bytes, size_of(s));
			model_free_snap(s, bytes);
			hp_text_release(&got);
		} else {
			assert_true(r == HPDSL_ECORRUPT || r == HPDSL_ETOONEW);
			assert_int_equal(strncmp(err.msg, "text:", 5), 0);
		}
		hp_tree_release(&tree);
		text.p[bit / 8] ^= (char)(1 << bit % 8);
	}
	hp_text_release(&text);
	model_release(&m);
}

/* ---- What goes wrong besides ------------------------------------------ */

static int failing(void *arg, const void *buf, size_t n,
		   struct hpdsl_error *err)
{
	(void)buf;
	(void)n;
	(void)err;
	return *(int *)arg;
}

static void test_sink_fails(void **state)
{
	struct hpdsl_error err;
	struct model m;
	struct hpdsl_snapshot *s;
	void *bytes;
	int code;

	(void)state;
	model_begin(&m, false, 3);
	model_grow(&m, 50);
	s = model_snap(&m, &bytes);
	code = -ENOSPC;
	assert_int_equal(hpdsl_snapshot_dump(s, failing, &code, &err), code);
	code = 7;
	assert_int_equal(hpdsl_snapshot_dump(s, failing, &code, &err), code);
	model_free_snap(s, bytes);
	model_release(&m);
}

static void test_no_memory(void **state)
{
	struct hp_text text = { .p = NULL };
	struct hp_tree tree = { .arena = NULL };
	int code = 0, r = -1;
	struct model m;
	struct hpdsl_snapshot *s;
	void *bytes;

	(void)state;
	model_begin(&m, true, 4);
	model_grow(&m, 300);
	model_tidy(&m);
	model_text(&m, &text);
	for (struct each_alloc e = { .k = 0 }; r && each_alloc(&e);) {
		each_alloc_begin(&e);
		r = parse(text.p, text.n, &tree, NULL);
		each_alloc_end(&e);
		assert_true(r == 0 || r == -ENOMEM);
	}
	hp_tree_release(&tree);
	/* Now twice the same path. */
	hp_text_puts(&text,
		     "f 0644 0 0.000000000 99999 0123456789abcdef twice\n"
		     "f 0644 0 0.000000000 99998 0123456789abcdef twice\n");
	for (struct each_alloc e = { .k = 0 };
	     r != HPDSL_ECORRUPT && each_alloc(&e);) {
		each_alloc_begin(&e);
		r = parse(text.p, text.n, &tree, NULL);
		each_alloc_end(&e);
		assert_true(r == HPDSL_ECORRUPT || r == -ENOMEM);
	}
	assert_int_equal(r, HPDSL_ECORRUPT);
	hp_text_release(&text);
	s = model_snap(&m, &bytes);
	for (struct each_alloc e = { .k = 0 }; r && each_alloc(&e);) {
		each_alloc_begin(&e);
		r = hpdsl_snapshot_dump(s, failing, &code, NULL);
		each_alloc_end(&e);
		assert_true(r == 0 || r == -ENOMEM);
	}
	assert_int_equal(r, 0);
	model_free_snap(s, bytes);
	model_release(&m);
}

/* ---- Speed ------------------------------------------------------------ */

static double milliseconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t); /* clock: only told */
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static void fill_text(struct hp_text *text, unsigned folders)
{
	char line[128];

	hp_text_puts(text, HEAD "d 0755 0 0.000000000 - - .\n");
	for (unsigned i = 0; i < folders; i++) {
		sprintf(line, "d 0755 0 0.000000000 - - class%04u\n", i);
		hp_text_puts(text, line);
		for (unsigned j = 0; j < 999; j++) {
			sprintf(line,
				"f 0644 %u 1700000000.123456789 - - "
				"class%04u/image_%06u.jpg\n",
				i * j, i, j);
			hp_text_puts(text, line);
		}
	}
}

static void progress(void *arg, const struct hpdsl_progress *p)
{
	uint64_t *done = arg;

	assert_string_equal(p->phase, "reading");
	assert_true(p->bytes && p->done >= *done && p->done <= p->total);
	*done = p->done;
}

static void test_speed(void **state)
{
	const char *folders = getenv("SNAP_FOLDERS");
	unsigned n = folders ? (unsigned)atoi(folders) : 50;
	struct hp_text text = { .p = NULL }, again = { .p = NULL };
	uint64_t done = 0;
	int stop = 0;
	const struct hpdsl_watch watch = { .progress = progress,
					   .arg = &done,
					   .stop = &stop };
	struct hp_tree tree = { .arena = NULL };
	struct hp_snap_text t;
	struct hpdsl_snapshot *s;
	void *bytes;
	double at[4];

	(void)state;
	fill_text(&text, n);
	t = (struct hp_snap_text){ text.p, text.n, "text", &watch };
	at[0] = milliseconds();
	assert_int_equal(hp_snap_parse(&t, &tree, NULL), 0);
	at[1] = milliseconds();
	assert_int_equal(hp_snap_in_memory(&tree, 0, "large", &bytes, &s, NULL),
			 0);
	at[2] = milliseconds();
	assert_int_equal(hpdsl_snapshot_dump(s, to_text, &again, NULL), 0);
	at[3] = milliseconds();
	print_message("# %u lines parsed in %.1f ms, written in %.1f ms, "
		      "dumped in %.1f ms\n",
		      n * 1000 + 1, at[1] - at[0], at[2] - at[1],
		      at[3] - at[2]);
	assert_int_equal(again.n, text.n);
	assert_memory_equal(again.p, text.p, text.n);
	assert_true(done > 0);
	hp_tree_release(&tree);
	stop = 1;
	done = 0;
	assert_int_equal(hp_snap_parse(&t, &tree, NULL), HPDSL_ESTOPPED);
	hp_text_release(&text);
	hp_text_release(&again);
	model_free_snap(s, bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_escapes),
		cmocka_unit_test(test_needless_escapes),
		cmocka_unit_test(test_there_and_back),
		cmocka_unit_test(test_extremes),
		cmocka_unit_test(test_bad_lines),
		cmocka_unit_test(test_nul),
		cmocka_unit_test(test_versions),
		cmocka_unit_test(test_long_path),
		cmocka_unit_test(test_bit_flips),
		cmocka_unit_test(test_sink_fails),
		cmocka_unit_test(test_no_memory),
		cmocka_unit_test(test_speed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
