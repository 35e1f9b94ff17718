/* SPDX-License-Identifier: Apache-2.0 */
/* The linter over members in memory: keys, runs, tars, and what is told. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compat/compat.h"
#include "each_fault.h"

static void add_as(struct hp_lint *l, const char *name, unsigned form,
		   char type, enum hp_foreign_kind kind)
{
	struct hp_lint_member m = { .name = name,
				    .len = strlen(name),
				    .kind = kind,
				    .type = type,
				    .form = form };

	assert_int_equal(hp_lint_add(l, &m, NULL), 0);
}

static void add(struct hp_lint *l, const char *name)
{
	add_as(l, name, 0, '0', HP_FOREIGN_FILE);
}

/* Names with blanks between them. */
static void tar_of(struct hp_lint *l, const char *names)
{
	char copy[4096], *at = copy, *name;

	*l = (struct hp_lint){ .members = 0 };
	snprintf(copy, sizeof copy, "%s", names);
	while ((name = strsep(&at, " ")))
		if (*name)
			add(l, name);
	assert_int_equal(hp_lint_end(l, NULL), 0);
}

static uint64_t trips(const struct hp_lint *l, enum hp_trip trip)
{
	return l->tally[HP_RISKS + trip].n;
}

static const char *first(const struct hp_lint *l, enum hp_trip trip)
{
	return l->tally[HP_RISKS + trip].first;
}

static uint64_t all_but(const struct hp_lint *l, enum hp_trip trip)
{
	uint64_t n = 0;

	for (int i = 0; i < HP_LINTS; i++)
		n += i == (int)(HP_RISKS + trip) ? 0 : l->tally[i].n;
	return n;
}

static void samples(void **state)
{
	struct hp_lint l;

	(void)state;
	tar_of(&l, "a/1.jpg a/1.txt a/2.jpg a/2.txt b/1.jpg b/1.txt");
	assert_int_equal(l.samples, 3);
	assert_int_equal(l.members, 6);
	assert_int_equal(all_but(&l, HP_TRIPS), 0);
	assert_int_equal(l.n_keys, 3);
	assert_string_equal(l.first.key, "a/1");
	assert_string_equal(l.last.key, "b/1");
	hp_lint_release(&l);
	tar_of(&l, "");
	assert_int_equal(trips(&l, HP_TRIP_EMPTY), 1);
	hp_lint_release(&l);
	hp_lint_release(&l);
}

/* What readers pass over does not part a sample; another key does. */
static void adjacent(void **state)
{
	struct hp_lint l;

	(void)state;
	tar_of(&l, "a/1.jpg README a/1.txt a/2.x");
	assert_int_equal(trips(&l, HP_TRIP_APART), 0);
	assert_int_equal(l.tally[HP_RISK_NO_SUFFIX].n, 1);
	assert_string_equal(l.tally[HP_RISK_NO_SUFFIX].first, "README");
	hp_lint_release(&l);
	tar_of(&l, "a/1.jpg a/2.jpg a/1.txt a/2.txt a/1.x");
	assert_int_equal(trips(&l, HP_TRIP_APART), 3);
	assert_string_equal(first(&l, HP_TRIP_APART), "a/1");
	assert_int_equal(l.n_keys, 2);
	hp_lint_release(&l);
	tar_of(&l, "a/1.jpg a/1.txt a/1.jpg a/1.jpg");
	assert_int_equal(trips(&l, HP_TRIP_AGAIN), 2);
	/* Not one that differs in case, too. */
	assert_int_equal(l.tally[HP_RISK_SAME].n, 0);
	hp_lint_release(&l);
}

static void forms(void **state)
{
	static const struct {
		unsigned form;
		enum hp_trip trip;
	} of[] = {
		{ HP_FORM_GNU_NAME, HP_TRIP_GNU_NAME },
		{ HP_FORM_PAX_SIZE, HP_TRIP_PAX_SIZE },
		{ HP_FORM_BASE256, HP_TRIP_BASE256 },
		{ HP_FORM_SPARSE, HP_TRIP_SPARSE },
		{ HP_FORM_PREFIX, HP_TRIP_PREFIX },
	};
	struct hp_lint l = { .members = 0 };

	(void)state;
	for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
		add_as(&l, "a/1.jpg", of[i].form, '0', HP_FOREIGN_FILE);
		assert_int_equal(trips(&l, of[i].trip), 1);
		assert_int_equal(all_but(&l, of[i].trip), 0);
		hp_lint_release(&l);
	}
	add_as(&l, "a/1.jpg", HP_FORM_PAX_NAME, '0', HP_FOREIGN_FILE);
	assert_int_equal(l.tally[HP_RISK_PAX].n, 1);
	hp_lint_release(&l);
	add_as(&l, "a/1.jpg", 0, '7', HP_FOREIGN_FILE);
	assert_int_equal(trips(&l, HP_TRIP_TYPE), 1);
	add_as(&l, "a/1.txt", 0, '\0', HP_FOREIGN_FILE);
	assert_int_equal(trips(&l, HP_TRIP_TYPE), 1);
	add_as(&l, "a/1.l", 0, '2', HP_FOREIGN_LINK);
	add_as(&l, "a/1.p", 0, '6', HP_FOREIGN_SPECIAL);
	add_as(&l, "a/", 0, '5', HP_FOREIGN_FOLDER);
	assert_int_equal(trips(&l, HP_TRIP_LINK), 1);
	assert_int_equal(trips(&l, HP_TRIP_SPECIAL), 1);
	assert_int_equal(l.members, 2);
	hp_lint_release(&l);
}

static void bases(void **state)
{
	struct hp_lint l;

	(void)state;
	tar_of(&l, "a/__1.jpg __/1.jpg a/x__.jpg");
	assert_int_equal(l.tally[HP_RISK_UNDERSCORES].n, 1);
	hp_lint_release(&l);
	tar_of(&l, "a/1.gz a/2.txt.ZST a/3.gzip a/4.xz a/gz.x");
	assert_int_equal(trips(&l, HP_TRIP_DECODED), 3);
	hp_lint_release(&l);
	assert_int_equal(hp_lint_of_tar("d.x/a-000.tar"), 0);
	assert_int_equal(hp_lint_of_tar("a.b.tar"), 1u << HP_TRIP_DOTS);
	assert_int_equal(hp_lint_of_tar("a.tar.gz"), 1u << HP_TRIP_SUFFIX);
	assert_int_equal(hp_lint_of_tar("tar"), 1u << HP_TRIP_SUFFIX);
}

/* The first five samples, names that hf does not see left out. */
static void fields(void **state)
{
	struct hp_lint l;

	(void)state;
	tar_of(&l, "1.a 1.b 2.b 2.a 3.a 3.b 4.a 4.b 5.a 5.b 6.a");
	assert_int_equal(trips(&l, HP_TRIP_FIELDS), 0);
	hp_lint_release(&l);
	tar_of(&l, "1.a __x.c 2.b 3.a 4.a");
	assert_int_equal(trips(&l, HP_TRIP_FIELDS), 1);
	assert_string_equal(first(&l, HP_TRIP_FIELDS), "2");
	hp_lint_release(&l);
}

static char asked[64];

static int again(void *arg, size_t tar, uint64_t hash, char **ret,
		 struct hpdsl_error *err)
{
	const char *const *keys = arg;

	(void)err;
	for (; *keys; keys++)
		if (hp_key_hash(*keys, strlen(*keys)) == hash) {
			snprintf(asked, sizeof asked, "%zu %s", tar, *keys);
			*ret = strdup(*keys);
		}
	return 0;
}

static void tars(void **state)
{
	static const char *const keys[] = { "a", "b", "c", "d", NULL };
	struct hp_lint l[3];

	(void)state;
	/* b goes on; c does not, its fields are those of another. */
	tar_of(&l[0], "a.x b.x");
	tar_of(&l[1], "b.y c.x");
	tar_of(&l[2], "c.x d.x a.x");
	assert_int_equal(hp_lint_join(l, 3, again, (void *)keys, NULL), 0);
	assert_int_equal(trips(&l[0], HP_TRIP_SPLIT), 1);
	assert_string_equal(first(&l[0], HP_TRIP_SPLIT), "b");
	assert_int_equal(trips(&l[1], HP_TRIP_SPLIT), 0);
	assert_int_equal(trips(&l[1], HP_TRIP_KEY_AGAIN), 0);
	assert_int_equal(trips(&l[2], HP_TRIP_KEY_AGAIN), 2);
	assert_string_equal(first(&l[2], HP_TRIP_KEY_AGAIN), "c");
	assert_string_equal(asked, "2 c");
	for (int i = 0; i < 3; i++)
		hp_lint_release(&l[i]);
}

static void many_keys(void **state)
{
	struct hp_key_set set = { 0 };
	char key[16];

	(void)state;
	for (int again_ = 0; again_ < 2; again_++)
		for (int i = 0; i < 5000; i++) {
			snprintf(key, sizeof key, "%d", i);
			assert_int_equal(
				hp_key_set_add(&set,
					       hp_key_hash(key, strlen(key))),
				!again_);
		}
	assert_int_equal(set.n, 5000);
	hp_key_set_release(&set);
	hp_key_set_release(&set);
}

/* Each lint says something to somebody, and is told in whole. */
static void table(void **state)
{
	(void)state;
	for (unsigned lint = 0; lint < HP_LINTS; lint++) {
		int told = 0;

		assert_non_null(hp_lint_text(lint));
		assert_non_null(hp_lint_unit(lint));
		for (unsigned r = 1; r < HPDSL_READERS_ALL; r *= 2) {
			told += hp_lint_effect(lint, r) != NULL;
			if (hp_lint_trips(lint, r))
				assert_non_null(hp_lint_effect(lint, r));
		}
		assert_true(told);
		assert_null(hp_lint_effect(lint, 64));
	}
}

/* No memory, wherever it is wanted. */
static void no_memory(void **state)
{
	static const char *const names[] = { "1.a", "1.b", "x",	  ".h", "2.a",
					     "1.c", "1.c", "3.d", "1.A" };
	int r = -ENOMEM;

	(void)state;
	for (struct each_alloc e = { .k = 0 }; r && each_alloc(&e);) {
		struct hp_lint l = { .want = hp_key_hash("2", 1) };

		each_alloc_begin(&e);
		r = 0;
		for (size_t i = 0; i < 9 && r == 0; i++) {
			struct hp_lint_member m = { .name = names[i],
						    .len = strlen(names[i]),
						    .kind = HP_FOREIGN_FILE,
						    .type = '0' };

			r = hp_lint_add(&l, &m, NULL);
		}
		if (r == 0)
			r = hp_lint_end(&l, NULL);
		each_alloc_end(&e);
		assert_true(r == 0 || r == -ENOMEM);
		assert_true(e.k < 1000);
		if (r == 0)
			assert_string_equal(l.found, "2");
		hp_lint_release(&l);
	}
	assert_int_equal(r, 0);
}

/* Of a look at the first members the last sample may go on, and is none. */
static void cut(void **state)
{
	struct hp_lint l[2] = { { .members = 0 } };

	(void)state;
	add(&l[0], "1.a");
	add(&l[0], "1.b");
	add(&l[0], "2.a");
	hp_lint_cut(&l[0]);
	assert_int_equal(hp_lint_end(&l[0], NULL), 0);
	assert_int_equal(l[0].samples, 1);
	assert_int_equal(l[0].members, 2);
	assert_int_equal(all_but(&l[0], HP_TRIPS), 0);
	/* That the next tar goes on with what was seen last, nobody knows. */
	add(&l[1], "1.c");
	assert_int_equal(hp_lint_end(&l[1], NULL), 0);
	assert_null(l[0].last.key);
	hp_lint_release(&l[0]);
	hp_lint_release(&l[1]);
	/* One sample alone is better than none. */
	add(&l[0], "1.a");
	hp_lint_cut(&l[0]);
	assert_int_equal(hp_lint_end(&l[0], NULL), 0);
	assert_int_equal(l[0].samples, 1);
	assert_int_equal(trips(&l[0], HP_TRIP_EMPTY), 0);
	hp_lint_release(&l[0]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cut),	    cmocka_unit_test(samples),
		cmocka_unit_test(adjacent), cmocka_unit_test(forms),
		cmocka_unit_test(bases),    cmocka_unit_test(fields),
		cmocka_unit_test(tars),	    cmocka_unit_test(many_keys),
		cmocka_unit_test(table),    cmocka_unit_test(no_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
