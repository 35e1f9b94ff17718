/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Points in time, as people give them: @SECONDS[.FRACTION], a date with or
 * without a time of day, in UTC as cmd_time() prints it, or a file whose time
 * is meant.
 */
#include "common.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#define BILLION 1000000000

/* Exactly n digits at *s, moves it behind them. */
static bool digits(const char **s, int n, int *ret)
{
	int v = 0;

	for (int i = 0; i < n; i++, (*s)++) {
		if (!isdigit((unsigned char)**s))
			return false;
		v = v * 10 + (**s - '0');
	}
	*ret = v;
	return true;
}

/* "", or a dot and up to nine digits: what is finer is not in any file. */
static bool fraction(const char *s, uint32_t *ret)
{
	uint32_t unit = BILLION / 10, n = 0;

	if (*s && (*s++ != '.' || !*s))
		return false;
	for (; isdigit((unsigned char)*s) && unit; s++, unit /= 10)
		n += (uint32_t)(*s - '0') * unit;
	*ret = n;
	return !*s;
}

/* A decimal number: -1.5 is one and a half seconds before 1970. */
static bool seconds(const char *s, int64_t *ret_sec, uint32_t *ret_nsec)
{
	bool minus = *s == '-';
	uint32_t nsec;
	char *end;
	long long sec;

	if (!isdigit((unsigned char)s[minus]))
		return false;
	errno = 0;
	sec = strtoll(s, &end, 10);
	if (errno || !fraction(end, &nsec))
		return false;
	if (minus && nsec) {
		if (sec == INT64_MIN)
			return false;
		sec--;
		nsec = BILLION - nsec;
	}
	*ret_sec = sec;
	*ret_nsec = nsec;
	return true;
}

/* HH:MM, HH:MM:SS */
static bool time_of_day(const char **s, struct tm *tm)
{
	if (!digits(s, 2, &tm->tm_hour) || *(*s)++ != ':' ||
	    !digits(s, 2, &tm->tm_min))
		return false;
	if (**s == ':') {
		++*s;
		if (!digits(s, 2, &tm->tm_sec))
			return false;
	}
	return tm->tm_hour < 24 && tm->tm_min < 60 && tm->tm_sec < 60;
}

static bool date(const char *s, int64_t *ret)
{
	struct tm tm = { 0 };
	int day, month;
	time_t t;

	if (!digits(&s, 4, &tm.tm_year) || *s++ != '-' ||
	    !digits(&s, 2, &month) || *s++ != '-' || !digits(&s, 2, &day))
		return false;
	if (*s == ' ' || *s == 'T') {
		s++;
		if (!time_of_day(&s, &tm))
			return false;
	}
	if (*s == 'Z')
		s++;
	tm.tm_year -= 1900;
	tm.tm_mon = month - 1;
	tm.tm_mday = day;
	t = timegm(&tm);
	/* timegm makes March 2 of February 30 */
	if (*s || tm.tm_mon != month - 1 || tm.tm_mday != day)
		return false;
	*ret = t;
	return true;
}

int cmd_parse_time(const char *s, int64_t *ret_sec, uint32_t *ret_nsec)
{
	struct stat st;

	if (*s == '@' && seconds(s + 1, ret_sec, ret_nsec))
		return 0;
	if (date(s, ret_sec)) {
		*ret_nsec = 0;
		return 0;
	}
	if (stat(s, &st) < 0)
		return -1;
	*ret_sec = st.st_mtim.tv_sec;
	*ret_nsec = (uint32_t)st.st_mtim.tv_nsec;
	return 0;
}
