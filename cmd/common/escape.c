/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names on standard output.  In a pipe or a file nothing but newline and
 * backslash changes, so that they can be read back; on a terminal control
 * characters, which it would obey, are shown as they are in messages.
 */
#include "common.h"

#include <unistd.h>

/*
 * Length of the UTF-8 sequence at s, or 0: by the table of well-formed
 * sequences in the Unicode standard (3-7), so no surrogates, nothing overlong.
 */
size_t cmd_utf8_length(const unsigned char *s, size_t len)
{
	unsigned char low = 0x80, high = 0xbf;
	size_t n;

	if (s[0] < 0x80)
		return 1;
	if (s[0] < 0xc2 || s[0] > 0xf4)
		return 0;
	n = s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : 4;
	if (s[0] == 0xe0)
		low = 0xa0;
	else if (s[0] == 0xed)
		high = 0x9f;
	else if (s[0] == 0xf0)
		low = 0x90;
	else if (s[0] == 0xf4)
		high = 0x8f;
	if (len < n || s[1] < low || s[1] > high)
		return 0;
	for (size_t i = 2; i < n; i++)
		if ((s[i] & 0xc0) != 0x80)
			return 0;
	return n;
}

static bool is_terminal(void)
{
	static int answer = -1; /* one thread writes */

	if (answer < 0)
		answer = isatty(STDOUT_FILENO);
	return answer;
}

/* Also those of eight bits, as UTF-8 or alone. */
bool cmd_is_control(const unsigned char *s, size_t len)
{
	if (!is_terminal())
		return false;
	if (s[0] < 0x20 || s[0] == 0x7f)
		return true;
	if (s[0] == 0xc2 && len > 1)
		return s[1] >= 0x80 && s[1] < 0xa0;
	return s[0] >= 0x80 && s[0] < 0xa0 && !cmd_utf8_length(s, len);
}

size_t cmd_escape_name(const char *name, size_t len, char *out)
{
	const unsigned char *s = (const unsigned char *)name;
	size_t n = 0, step;

	for (size_t i = 0; i < len; i += step) {
		step = cmd_utf8_length(s + i, len - i);
		step = step ? step : 1;
		if (s[i] == '\n' || !cmd_is_control(s + i, len - i)) {
			n += hpdsl_name_escape(name + i, step, out + n);
			continue;
		}
		for (size_t k = 0; k < step; k++)
			n += (size_t)sprintf(out + n, "\\x%02x", s[i + k]);
	}
	out[n] = '\0';
	return n;
}

char *cmd_escape(const char *name, size_t len)
{
	char *out = cmd_alloc(1, CMD_ESCAPED(len));

	cmd_escape_name(name, len, out);
	return out;
}
