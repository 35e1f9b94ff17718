/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers, sizes, durations and times, as people write and read them. */
#include "common.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>
#include <time.h>

/* Reads digits at *s, moves it behind them; -1: none, or too large. */
static int digits(const char **s, uint64_t *ret)
{
	uint64_t n = 0;

	if (!isdigit((unsigned char)**s))
		return -1;
	for (; isdigit((unsigned char)**s); (*s)++)
		if (__builtin_mul_overflow(n, 10, &n) ||
		    __builtin_add_overflow(n, (uint64_t)(**s - '0'), &n))
			return -1;
	*ret = n;
	return 0;
}

int cmd_parse_count(const char *s, uint64_t *ret)
{
	uint64_t n;

	if (digits(&s, &n) < 0 || *s)
		return -1;
	*ret = n;
	return 0;
}

int cmd_parse_size(const char *s, uint64_t *ret)
{
	static const char units[] = "KMGT";
	const char *unit;
	uint64_t n;

	if (digits(&s, &n) < 0)
		return -1;
	if (*s) {
		unit = strchr(units, toupper((unsigned char)*s));
		if (!unit || (s[1] && strcasecmp(s + 1, "iB") != 0) ||
		    __builtin_mul_overflow(
			    n, UINT64_C(1) << 10 * (unit - units + 1), &n))
			return -1;
	}
	*ret = n;
	return 0;
}

/* Adds n times unit seconds to *sum. */
static int add_seconds(uint64_t *sum, uint64_t n, uint64_t unit)
{
	uint64_t part;

	if (__builtin_mul_overflow(n, unit, &part) ||
	    __builtin_add_overflow(*sum, part, sum))
		return -1;
	return 0;
}

int cmd_parse_duration(const char *s, uint64_t *ret)
{
	uint64_t field[3] = { 0 }, days = 0, sum = 0, unit;
	bool has_days = strchr(s, '-') != NULL;
	int n = 0;

	if (has_days && (digits(&s, &days) < 0 || *s++ != '-'))
		return -1;
	do {
		if (n == 3 || digits(&s, &field[n]) < 0)
			return -1;
		/* only the first field may say 90 */
		if (n ? field[n] > 59 : has_days && field[0] > 23)
			return -1;
		n++;
	} while (*s == ':' && s++);
	if (*s || add_seconds(&sum, days, 86400) < 0)
		return -1;
	unit = has_days || n == 3 ? 3600 : n == 2 ? 60 : 1;
	for (int i = 0; i < n; i++, unit /= 60)
		if (add_seconds(&sum, field[i], unit) < 0)
			return -1;
	*ret = sum;
	return 0;
}

struct cmd_text cmd_bytes(uint64_t bytes)
{
	static const char *const units[] = { "KiB", "MiB", "GiB",
					     "TiB", "PiB", "EiB" };
	struct cmd_text t;
	double v = (double)bytes / 1024;
	size_t u = 0;

	if (bytes < 1024) {
		snprintf(t.s, sizeof(t.s), "%u bytes", (unsigned)bytes);
		return t;
	}
	for (; v >= 1023.95 && u + 1 < sizeof(units) / sizeof(*units); u++)
		v /= 1024;
	snprintf(t.s, sizeof(t.s), "%.1f %s", v, units[u]);
	return t;
}

struct cmd_text cmd_many(uint64_t n, const char *one)
{
	struct cmd_text t;

	snprintf(t.s, sizeof(t.s), "%llu %s%s", (unsigned long long)n, one,
		 n == 1 ? "" : "s");
	return t;
}

struct cmd_text cmd_thousands(uint64_t n)
{
	struct cmd_text t;
	char plain[24];
	size_t len = (size_t)sprintf(plain, "%llu", (unsigned long long)n);
	char *out = t.s;

	for (size_t i = 0; i < len; i++) {
		if (i && (len - i) % 3 == 0)
			*out++ = ',';
		*out++ = plain[i];
	}
	*out = '\0';
	return t;
}

struct cmd_text cmd_seconds(double seconds)
{
	struct cmd_text t;
	unsigned long s;

	if (seconds < 99.95) {
		snprintf(t.s, sizeof(t.s), "%.1f s", seconds);
		return t;
	}
	s = seconds < 1e9 ? (unsigned long)(seconds + 0.5) : 1000000000;
	if (s < 3600)
		snprintf(t.s, sizeof(t.s), "%lu:%02lu min", s / 60, s % 60);
	else
		snprintf(t.s, sizeof(t.s), "%lu:%02lu:%02lu h", s / 3600,
			 s / 60 % 60, s % 60);
	return t;
}

void cmd_hex(char *out, const uint8_t *bytes, size_t n)
{
	for (size_t i = 0; i < n; i++)
		sprintf(out + 2 * i, "%02x", bytes[i]);
}

struct cmd_text cmd_time(int64_t mtime)
{
	struct cmd_text t;
	time_t seconds = mtime;
	struct tm tm;

	if (!gmtime_r(&seconds, &tm) ||
	    !strftime(t.s, sizeof(t.s), "%Y-%m-%d %H:%M:%S", &tm))
		snprintf(t.s, sizeof(t.s), "%lld", (long long)mtime);
	return t;
}

struct cmd_text cmd_mode(uint32_t mode)
{
	static const char letters[] = "rwxrwxrwx";
	struct cmd_text t;

	t.s[0] = '-';
	for (int i = 0; i < 9; i++)
		t.s[i + 1] = mode >> (8 - i) & 1 ? letters[i] : '-';
	t.s[10] = '\0';
	return t;
}

double cmd_rate(uint64_t n, double seconds)
{
	return seconds > 0 ? (double)n / seconds : 0;
}

struct cmd_text cmd_speed(uint64_t files, uint64_t bytes, double seconds)
{
	struct cmd_text t;

	snprintf(t.s, sizeof(t.s), "%.15s/s, %.20s files/s",
		 cmd_bytes((uint64_t)cmd_rate(bytes, seconds)).s,
		 cmd_thousands((uint64_t)cmd_rate(files, seconds)).s);
	return t;
}
