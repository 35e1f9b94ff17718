/* SPDX-License-Identifier: Apache-2.0 */
/* $NAME in LOCALDIR: what becomes a value, and what is refused. */
#include "cmd/stage/variables.c"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static char *get(const char *name)
{
	static char a[] = "/a", odd[] = "$A %n ${A}", empty[] = "";

	return !strcmp(name, "A")     ? a :
	       !strcmp(name, "ODD_1") ? odd :
	       !strcmp(name, "EMPTY") ? empty :
					NULL;
}

static void is(const char *text, const char *want)
{
	struct hpdsl_error err;
	char *got = variables_expand(text, get, &err);

	if (!got)
		fail_msg("%s", err.msg);
	assert_string_equal(got, want);
	free(got);
}

static void refused(const char *text, const char *why)
{
	struct hpdsl_error err = { 0 };

	assert_null(variables_expand(text, get, &err));
	assert_int_equal(err.code, HPDSL_EUSAGE);
	if (!strstr(err.msg, why))
		fail_msg("%s", err.msg);
}

static void values(void **state)
{
	(void)state;
	is("", "");
	is("/x/y", "/x/y");
	is("$A", "/a");
	is("$A/x", "/a/x");
	is("${A}x$A.y", "/ax/a.y");
	is("$$A$$", "$A$");
	is("$$$A", "$/a");
	/* once: a value is no text to look at */
	is("${ODD_1}/$A", "$A %n ${A}//a");
}

static void refusals(void **state)
{
	static const char *const odd[] = { "$",	  "a$",	      "$/x",
					   "$1",  "${",	      "${}",
					   "${A", "${A/x}",   "${A-x}",
					   "$-",  "$\xc3\xa4" };
	char name[400] = "$";

	(void)state;
	for (size_t i = 0; i < sizeof odd / sizeof *odd; i++)
		refused(odd[i], "behind $ there has to be NAME, {NAME} or "
				"another $");
	refused("/l/$B/x", "LOCALDIR '/l/$B/x': $B is not set");
	refused("$AB", "$AB is not set");
	refused("${EMPTY}/x", "$EMPTY is empty");
	memset(name + 1, 'N', sizeof(name) - 2);
	refused(name, "behind $ there has to be");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(values),
		cmocka_unit_test(refusals),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
