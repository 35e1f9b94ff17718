/* SPDX-License-Identifier: Apache-2.0 */
/* The look at names: over layouts of real data, and at its bounds. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/key.h"
#include "base/mem.h"
#include "plan/group_look.h"

#include <stdio.h>
#include <string.h>

/* ---- Paths from patterns ---------------------------------------------- */

enum { PATHS = 8192, CHOICES = 8 };

static struct {
	char *v[PATHS];
	size_t n;
	unsigned counter; /* of the pattern */
} paths;

static void paths_clear(void)
{
	while (paths.n)
		free(paths.v[--paths.n]);
}

/* What is done so far of one path: text, and what the braces became. */
struct done {
	char text[256];
	size_t len;
	char choice[CHOICES][24];
	size_t n;
};

static void expand(const char *pattern, struct done at);

/* Puts a choice in and goes on behind the brace. */
static void choose(const char *rest, struct done at, const char *choice)
{
	assert_true(at.n < CHOICES && strlen(choice) < sizeof *at.choice);
	strcpy(at.choice[at.n++], choice);
	strcpy(at.text + at.len, choice);
	at.len += strlen(choice);
	expand(rest, at);
}

static void expand_alternative(const char *s, const char *rest,
			       const struct done *at)
{
	unsigned long from, to, step = 1;
	char text[24];

	if (sscanf(s, "%lu-%lu/%lu", &from, &to, &step) < 2) {
		choose(rest, *at, s);
		return;
	}
	for (; from <= to; from += step) {
		snprintf(text, sizeof text, "%0*lu",
			 *s == '0' ? (int)strcspn(s, "-") : 1, from);
		choose(rest, *at, text);
	}
}

static void expand_brace(char *s, const char *rest, struct done *at)
{
	char text[24];

	if (*s == '=') {
		const char *is = at->choice[s[1] - '0'];

		while (s[2] == 'd' && is[0] == '0' && is[1])
			is++;
		strcpy(at->text + at->len, is);
		at->len += strlen(is);
		expand(rest, *at);
		return;
	}
	for (long i = *s == '#' ? strtol(s + 1, NULL, 10) : 0; *s == '#';) {
		snprintf(text, sizeof text, "%04u", ++paths.counter);
		choose(rest, *at, text);
		if (--i <= 0)
			return;
	}
	for (char *next; s; s = next) {
		next = strchr(s, ',');
		if (next)
			*next++ = '\0';
		expand_alternative(s, rest, at);
	}
}

static void expand(const char *pattern, struct done at)
{
	size_t n = strcspn(pattern, "{");
	char brace[256];

	memcpy(at.text + at.len, pattern, n);
	at.len += n;
	at.text[at.len] = '\0';
	if (pattern[n]) {
		size_t end = strcspn(pattern, "}");

		snprintf(brace, sizeof brace, "%.*s", (int)(end - n - 1),
			 pattern + n + 1);
		expand_brace(brace, pattern + end + 1, &at);
		return;
	}
	assert_true(paths.n < PATHS);
	paths.v[paths.n++] = strdup(at.text);
}

static void add(const char *pattern)
{
	struct done none = { .n = 0 };

	paths.counter = 0;
	expand(pattern, none);
}

static void look(struct hpdsl_group_look *ret)
{
	assert_int_equal(hpdsl_group_look(NULL, (const char *const *)paths.v,
					  paths.n, ret, NULL),
			 0);
	assert_int_equal(ret->of_files, paths.n);
}

/* ---- Keys that end at the last dot ------------------------------------ */

static size_t last_key(const char *path)
{
	static const struct hp_key_rule last = { .last = true };

	return hp_key_length(&last, path, strlen(path));
}

static int by_key(const void *a, const void *b)
{
	const char *s = *(char *const *)a, *t = *(char *const *)b;
	size_t m = last_key(s), n = last_key(t);
	int d = memcmp(s, t, m < n ? m : n);

	return d ? d : (m > n) - (m < n);
}

/* Is what follows the key no extension, as -00000-of-01024 or 001? */
static bool is_number(const char *suffix)
{
	size_t n = strspn(suffix, "0123456789_.abcdefghijklmnopqrstuvwxyz"
				  "ABCDEFGHIJKLMNOPQRSTUVWXYZ");

	return *suffix && (suffix[n] || !suffix[strspn(suffix, "0123456789.")]);
}

/* Ends the key with the name of a field, as 1.5.seg, where a sample 1.5 is? */
static bool is_field(const char *path, size_t key)
{
	char above[256];
	const char *at = above;
	char *dot;

	snprintf(above, sizeof above, "%.*s", (int)key, path);
	dot = strrchr(above, '.');
	if (!dot || !dot[1] ||
	    dot[1 + strspn(dot + 1, "abcdefghijklmnopqrstuvwxyz")])
		return false;
	/* Any path of that key is equal to it. */
	strcpy(dot, ".x");
	return bsearch(&at, paths.v, paths.n, sizeof at, by_key);
}

/* What is wrong with the samples that --group=last makes, by all that names
 * say: some are still merged, or a field is a sample of its own.  Sorts the
 * paths. */
static void find_wrong(bool *ret_merged, bool *ret_apart)
{
	*ret_merged = *ret_apart = false;
	qsort(paths.v, paths.n, sizeof *paths.v, by_key);
	for (size_t i = 0; i < paths.n; i++) {
		const char *path = paths.v[i];
		size_t key = last_key(path);

		*ret_apart |= is_field(path, key);
		*ret_merged |= i && !by_key(paths.v + i - 1, paths.v + i) &&
			       is_number(path + key + (path[key] == '.'));
	}
}

/* ---- Layouts ---------------------------------------------------------- */

struct layout {
	char verdict[8], want[8], name[64], key[64];
	unsigned files, all;
};

/* Where the verdict is known to be wrong. */
static unsigned refused_falsely, missed, told, layouts;
/* Advised to end keys at the last dot, where that is meant, and where each file
 * is one, which comes to the same. */
static unsigned last_right, last_none;
/* Meant so, and what is wrong then. */
static unsigned meant_last, still_merged, fields_apart;

static void count_last(void)
{
	bool merged, apart;

	find_wrong(&merged, &apart);
	meant_last++;
	still_merged += merged;
	fields_apart += apart;
}

static void count(const struct layout *l, bool last)
{
	bool as_it_is = !strcmp(l->want, "any") || !strcmp(l->want, "key");

	layouts++;
	refused_falsely += as_it_is && !strcmp(l->verdict, "refuse");
	missed += !as_it_is && !strcmp(l->verdict, "pass");
	told += !as_it_is &&
		(!strcmp(l->verdict, "tell") || !strcmp(l->verdict, "differ"));
	last_right += last && !strcmp(l->want, "last");
	last_none += last && !strcmp(l->want, "none");
}

static void check(const struct layout *l)
{
	struct hpdsl_group_look is;
	char key[80];

	if (!*l->name)
		return;
	look(&is);
	count(l, is.last);
	snprintf(key, sizeof key, "'%s': ", l->key);
	if (strcmp(hpdsl_look_word(is.verdict), l->verdict) ||
	    is.files != l->files || paths.n != l->all ||
	    (*l->key && strncmp(is.example, key, strlen(key))))
		fail_msg("%s: %s, %d of %d files, %s; wanted %s, %u of %u",
			 l->name, hpdsl_look_word(is.verdict), (int)is.files,
			 (int)paths.n, is.example, l->verdict, l->files,
			 l->all);
	if (!strcmp(l->want, "last"))
		count_last();
	paths_clear();
}

static void test_layouts(void **state)
{
	const char *src = getenv("SRC");
	struct layout l = { .all = 0 };
	char name[2048], line[1024];
	FILE *in;

	(void)state;
	snprintf(name, sizeof name, "%s/tests/data/layouts.txt",
		 src ? src : ".");
	in = fopen(name, "r");
	assert_non_null(in);
	while (fgets(line, sizeof line, in)) {
		line[strcspn(line, "\n")] = '\0';
		if (*line == '#')
			continue;
		if (*line == '\t') {
			add(line + 1);
			continue;
		}
		check(&l);
		memset(&l, 0, sizeof l);
		assert_true(sscanf(line,
				   "%7[^\t]\t%7[^\t]\t%63[^\t]\t%u\t%u\t"
				   "%63[^\n]",
				   l.verdict, l.want, l.name, &l.files, &l.all,
				   l.key) >= 5);
	}
	check(&l);
	fclose(in);
	assert_int_equal(layouts, 175);
	assert_int_equal(refused_falsely, 7);
	assert_int_equal(missed, 9);
	assert_int_equal(told, 6);
	assert_int_equal(last_right, 54);
	assert_int_equal(last_none, 3);
	/* 57 of 59 are right: train.tfrecord-00000-of-01024 and a UID without
	 * an extension are not.  One of them wants --double-suffix=seg.png. */
	assert_int_equal(meant_last, 59);
	assert_int_equal(still_merged, 2);
	assert_int_equal(fields_apart, 1);
}

/* ---- Bounds ----------------------------------------------------------- */

/* Patterns, and what is made of them. */
static const struct {
	const char *verdict, *patterns[4], *example;
} table[] = {
	/* a number, and what vouches for it */
	{ "refuse", { "a.{0,1}.jpg" }, "'a': 0.jpg 1.jpg" },
	{ "refuse", { "a.{jpg,0.JPG}" }, "'a': 0.JPG jpg" },
	{ "pass", { "a.{0,1}.jpg", "a.json" }, "'a': 0.jpg 1.jpg json" },
	{ "pass", { "a.{00-63}.jpg", "a.json" }, NULL },
	{ "refuse", { "a.{00-64}.jpg", "a.json" }, NULL },
	{ "refuse", { "a.{x 1,x 2}.jpg" }, "'a': x 1.jpg x 2.jpg" },
	{ "refuse", { "a.{001,002}" }, "'a': 001 002" },
	{ "refuse", { "a.{x-,y-}" }, "'a': x- y-" },
	{ "pass", { "a.{_a,_b}" }, NULL },
	{ "refuse", { "a.{_,__}" }, NULL },
	{ "pass", { "a.{0,1}.json.gz", "a.json" }, NULL },
	{ "refuse", { "a.{0,1}.json.gz", "a.json.gz" }, NULL },
	{ "pass", { "a.{0,1}.x.gz", "a.x" }, NULL },
	{ "pass", { "a.0.x.gz", "a.1.x" }, NULL },
	{ "pass",
	  { "a", "a.", "a..", "b." },
	  "'a': (no suffix) (no suffix) ." },
	/* names of fields: sixteen, or any number beside a plain file */
	{ "pass", { "{a,b}.c{00-15}.jpg" }, NULL },
	{ "refuse", { "{a,b}.c{00-16}.jpg" }, NULL },
	{ "pass", { "{a,b}.c{00-16}.jpg", "{a,b}.txt" }, NULL },
	{ "pass", { "{a,b}.c{00-62}.jpg", "{a,b}.jpg" }, NULL },
	{ "refuse", { "{a,b}.c{00-63}.jpg", "{a,b}.jpg" }, NULL },
	/* a 20th of all files */
	{ "tell", { "a.{0,1}.jpg", "b/{00-38}.jpg" }, NULL },
	{ "refuse", { "a.{0,1}.jpg", "b/{00-37}.jpg" }, NULL },
	/* suffixes that differ: over 16, over half, a 20th */
	{ "pass", { "{01-16}. S{=0}.mp3" }, NULL },
	{ "differ", { "{01-17}. S{=0}.mp3" }, "'01':  S01.mp3" },
	{ "pass", { "{a,b}{01-40}. S{=1}.mp3" }, NULL },
	{ "differ", { "{0001-4000}. S{=0}.mp3" }, NULL },
	{ "pass", { "{a,b,c}{0001-1000}. S{=1}.mp3" }, NULL },
	{ "pass", { "{01-17}. S{=0}.mp3", "{001-324}.mp3" }, NULL },
};

static void test_table(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
		struct hpdsl_group_look is;

		for (size_t k = 0; k < 4 && table[i].patterns[k]; k++)
			add(table[i].patterns[k]);
		look(&is);
		if (strcmp(hpdsl_look_word(is.verdict), table[i].verdict) ||
		    (table[i].example && strcmp(is.example, table[i].example)))
			fail_msg("'%s': %s, %s", *table[i].patterns,
				 hpdsl_look_word(is.verdict), is.example);
		paths_clear();
	}
}

static void test_example(void **state)
{
	struct hpdsl_group_look is;
	char longest[HPDSL_PATH_MAX + 1];

	(void)state;
	look(&is);
	assert_string_equal(is.example, "");
	assert_int_equal(is.verdict, HPDSL_LOOK_PASS);
	add("b.{1-9}.x");
	add("a.y");
	look(&is);
	assert_string_equal(is.example, "'b': 1.x 2.x 3.x and 6 more");
	assert_int_equal(is.samples, 2);
	paths_clear();
	/* what does not fit is cut, what is no member's path passed over */
	memset(longest, '\n', sizeof longest - 1);
	for (size_t i = 0; i < 4; i++) {
		longest[sizeof longest - 1] = '\0';
		memcpy(longest + 300, ".x", 2);
		longest[302] = (char)('0' + i);
		paths.v[paths.n++] = strdup(longest);
	}
	look(&is);
	assert_int_equal(is.samples, 1);
	assert_true(strlen(is.example) < HPDSL_LOOK_EXAMPLE - 1);
	assert_true(strlen(is.example) > 300);
	paths_clear();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_layouts),
		cmocka_unit_test(test_table),
		cmocka_unit_test(test_example),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
