/* SPDX-License-Identifier: Apache-2.0 */
/* Words for a shell: as it would be typed, and read by a shell as it was. */
#include "cmd/common/quote.c"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

/* What it needs of the other files. */
void cmd_no_memory(void)
{
	abort();
}

/* Of two bytes at most: those are in the words here. */
size_t cmd_utf8_length(const unsigned char *s, size_t len)
{
	bool two =
		s[0] >= 0xc2 && s[0] < 0xe0 && len > 1 && (s[1] & 0xc0) == 0x80;

	return s[0] < 0x80 ? 1 : two ? 2 : 0;
}

static void is(const char *word, const char *want)
{
	char *text = cmd_quoted(word);

	assert_string_equal(text, want);
	free(text);
}

static void test_words(void **state)
{
	(void)state;
	is("a/b_%n=1", "a/b_%n=1");
	is("--mode=copies=2", "--mode=copies=2");
	is("user@host:x,y+z-.", "user@host:x,y+z-.");
	is("it's", "'it'\\''s'");
	is("'", "''\\'''");
	is("", "''");
	is("$X", "'$X'");
	is("a b", "'a b'");
	is("*", "'*'");
	is("~", "'~'");
	is("=ls", "'=ls'");
	is("back\\slash", "'back\\slash'");
	is("\xc3\xa9t\xc3\xa9", "'\xc3\xa9t\xc3\xa9'");
}

static void test_lines(void **state)
{
	(void)state;
	is("a\nb", "$'a\\012b'");
	is("\x1b[31m", "$'\\033[31m'");
	is("it's\n", "$'it\\'s\\012'");
	is("\\\x7f", "$'\\\\\\177'");
	is("latin\xe9", "$'latin\\351'");
	is("\xc2\x9b", "$'\\302\\233'");
	is("\xc3\xa9\n", "$'\xc3\xa9\\012'");
}

/* What bash takes the text for. */
static void read_back(const char *text, char *ret, size_t size)
{
	char line[2000];
	FILE *in;
	size_t n;

	snprintf(line, sizeof(line), "bash <<'E'\nprintf %%s %s\nE\n", text);
	in = popen(line, "r");
	assert_non_null(in);
	n = fread(ret, 1, size - 1, in);
	ret[n] = '\0';
	assert_int_equal(pclose(in), 0);
}

/* Each byte but NUL, in the company of others. */
static void test_shell(void **state)
{
	(void)state;
	for (int from = 1; from < 256; from += 40) {
		char word[50] = "", got[256];
		char *text;

		for (int c = from; c < from + 40 && c < 256; c++)
			word[c - from] = (char)c;
		text = cmd_quoted(word);
		read_back(text, got, sizeof(got));
		free(text);
		assert_string_equal(got, word);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_words),
		cmocka_unit_test(test_lines),
		cmocka_unit_test(test_shell),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
