/* SPDX-License-Identifier: Apache-2.0 */
/* What a table or a member has for a class: is it one? */
#include "plan/labels_table.h"

#include <string.h>

static size_t digits(const char *s, size_t n)
{
	size_t i = 0;

	while (i < n && s[i] >= '0' && s[i] <= '9')
		i++;
	return i;
}

/* 1.5, -2e3: of digits, one of the two, and more digits. */
static bool is_fraction(const char *s, size_t n)
{
	size_t i = n && (*s == '-' || *s == '+'), before, behind = 0;
	bool point = false, power = false;

	before = digits(s + i, n - i);
	i += before;
	if (i < n && s[i] == '.') {
		point = true;
		behind = digits(s + i + 1, n - i - 1);
		i += 1 + behind;
	}
	if (i < n && (s[i] == 'e' || s[i] == 'E')) {
		size_t at = i + 1;
		size_t sign = at < n && (s[at] == '-' || s[at] == '+');
		size_t k = digits(s + at + sign, n - at - sign);

		power = k > 0;
		i = at + sign + k;
	}
	return i == n && before + behind && (point || power);
}

bool hp_label_is_class(const char *s, size_t n)
{
	static const char *const nothing[] = { "null", "NaN", "nan" };

	for (size_t i = 0; i < sizeof nothing / sizeof *nothing; i++)
		if (strlen(nothing[i]) == n && !memcmp(nothing[i], s, n))
			return false;
	if (n > 1 &&
	    ((*s == '[' && s[n - 1] == ']') || (*s == '{' && s[n - 1] == '}')))
		return false;
	return n && !is_fraction(s, n);
}
