/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How much memory a process may still take: what the machine has available, and
 * the limits of its control group and of all above it, of either version.
 */
#include "sys/memory.h"

#include "base/mem.h"
#include "hpdsl/core.h"
#include "sys/boot.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Texts ------------------------------------------------------------ */

/* The line after this one, or its end. */
static const char *next_line(const char *p)
{
	const char *end = strchr(p, '\n');

	return end ? end + 1 : p + strlen(p);
}

/* What follows name and c at the beginning of a line; NULL: there is none. */
static const char *find_value(const char *text, const char *name, char c)
{
	size_t n = strlen(name);

	for (const char *p = text; *p; p = next_line(p))
		if (!strncmp(p, name, n) && p[n] == c)
			return p + n + 1;
	return NULL;
}

uint64_t hp_memory_number(const char *text)
{
	char *end;
	uint64_t v;

	while (*text == ' ' || *text == '\t')
		text++;
	if (*text < '0' || *text > '9')
		return UINT64_MAX;
	v = strtoull(text, &end, 10);
	return *end == '\0' || *end == '\n' || *end == ' ' ? v : UINT64_MAX;
}

uint64_t hp_meminfo(const char *text, const char *name)
{
	const char *p = find_value(text, name, ':');
	uint64_t kib = p ? hp_memory_number(p) : UINT64_MAX;

	return kib <= UINT64_MAX / 1024 - 1 ? kib * 1024 : UINT64_MAX;
}

uint64_t hp_memory_stat(const char *text, const char *name)
{
	const char *p = find_value(text, name, ' ');
	uint64_t v = p ? hp_memory_number(p) : 0;

	return v == UINT64_MAX ? 0 : v;
}

/* Is word among those of a list with commas, which ends at end? */
static bool in_list(const char *p, const char *end, const char *word)
{
	size_t n = strlen(word);

	while (p < end) {
		const char *comma = memchr(p, ',', (size_t)(end - p));
		const char *stop = comma ? comma : end;

		if ((size_t)(stop - p) == n && !memcmp(p, word, n))
			return true;
		p = stop + 1;
	}
	return false;
}

/* "4:memory,cpu:/slurm/job1"; of version 2 "0::/slurm/job1". */
const char *hp_cgroup_path(const char *text, bool v2, size_t *ret_len)
{
	for (const char *p = text; *p; p = next_line(p)) {
		size_t len = strcspn(p, "\n");
		const char *a = memchr(p, ':', len);
		const char *b =
			a ? memchr(a + 1, ':', len - (size_t)(a + 1 - p)) :
			    NULL;

		if (!b)
			continue;
		if (v2 ? b == a + 1 && a == p + 1 && *p == '0' :
			 in_list(a + 1, b, "memory")) {
			*ret_len = len - (size_t)(b + 1 - p);
			return b + 1;
		}
	}
	return NULL;
}

/* ---- Mounts ----------------------------------------------------------- */

/* A field as mountinfo writes it: \040 and the like.  False: too long. */
static bool unescape(const char *p, size_t len, char *out, size_t size)
{
	size_t n = 0;

	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)p[i];

		if (c == '\\' && len - i > 3) {
			c = (unsigned char)((p[i + 1] - '0') * 64 +
					    (p[i + 2] - '0') * 8 +
					    (p[i + 3] - '0'));
			i += 3;
		}
		if (n + 1 >= size)
			return false;
		out[n++] = (char)c;
	}
	out[n] = '\0';
	return true;
}

enum { FIELDS = 32 };

/* Splits a line at its blanks: how many fields. */
static size_t split(const char *p, const char *field[FIELDS],
		    size_t len[FIELDS])
{
	size_t n = 0;

	while (*p && *p != '\n' && n < FIELDS) {
		field[n] = p;
		len[n] = strcspn(p, " \n");
		p += len[n++];
		while (*p == ' ')
			p++;
	}
	return n;
}

static bool is(const char *p, size_t len, const char *word)
{
	return strlen(word) == len && !memcmp(p, word, len);
}

/* 30 23 0:26 ROOT AT rw,nosuid shared:9 - TYPE SOURCE SUPER-OPTIONS */
static bool read_mount(const char *line, bool v2, struct hp_cgroup_mount *ret)
{
	const char *f[FIELDS];
	size_t len[FIELDS], n = split(line, f, len), dash = 6;

	while (dash < n && !is(f[dash], len[dash], "-"))
		dash++;
	if (dash + 3 >= n)
		return false;
	if (!is(f[dash + 1], len[dash + 1], v2 ? "cgroup2" : "cgroup"))
		return false;
	if (!v2 && !in_list(f[dash + 3], f[dash + 3] + len[dash + 3], "memory"))
		return false;
	return unescape(f[3], len[3], ret->root, sizeof ret->root) &&
	       unescape(f[4], len[4], ret->at, sizeof ret->at);
}

bool hp_cgroup_mount(const char *text, bool v2, struct hp_cgroup_mount *ret)
{
	for (const char *p = text; *p; p = next_line(p))
		if (read_mount(p, v2, ret))
			return true;
	return false;
}

bool hp_cgroup_dir(const struct hp_cgroup_mount *m, const char *path,
		   size_t len, char *ret, size_t size)
{
	size_t root = strcmp(m->root, "/") ? strlen(m->root) : 0;
	int n;

	if (len < root || memcmp(path, m->root, root) != 0 ||
	    (len > root && path[root] != '/') || len - root == 1 ||
	    !strncmp(path, "/..", 3))
		len = root = 0;
	n = snprintf(ret, size, "%s%.*s", m->at, (int)(len - root),
		     path + root);
	return n >= 0 && (size_t)n < size;
}

/* ---- Limits ----------------------------------------------------------- */

struct names {
	const char *limit, *usage;
	const char *cache[2]; /* in memory.stat: taken back when needed */
};
static const struct names of_v1 = {
	"memory.limit_in_bytes",
	"memory.usage_in_bytes",
	{ "total_inactive_file", "total_active_file" },
};
static const struct names of_v2 = {
	"memory.max",
	"memory.current",
	{ "inactive_file", "active_file" },
};

bool hp_cgroup_file(const struct hp_io *io, const char *dir, const char *name,
		    char *text)
{
	char path[2100];
	int n = snprintf(path, sizeof path, "%s/%s", dir, name);

	return n < (int)sizeof path &&
	       hp_kernel_file(io, path, text, HP_CGROUP_TEXT) >= 0;
}

/* Left in one group. */
static uint64_t group_left(const struct hp_io *io, bool v2, const char *dir,
			   char *text)
{
	const struct names *names = v2 ? &of_v2 : &of_v1;
	uint64_t limit, usage, cache = 0;

	limit = hp_cgroup_file(io, dir, names->limit, text) ?
			hp_memory_number(text) :
			UINT64_MAX;
	/* Version 1 writes a number for no limit, too. */
	if (limit >= UINT64_C(1) << 62)
		return UINT64_MAX;
	if (!hp_cgroup_file(io, dir, names->usage, text))
		return limit;
	usage = hp_memory_number(text);
	if (usage != UINT64_MAX && hp_cgroup_file(io, dir, "memory.stat", text))
		cache = hp_memory_stat(text, names->cache[0]) +
			hp_memory_stat(text, names->cache[1]);
	usage -= cache < usage ? cache : usage;
	return usage < limit ? limit - usage : 0;
}

uint64_t hp_cgroup_least(const struct hp_io *io, bool v2, hp_cgroup_says *says)
{
	hp_auto_free char *text = malloc(HP_CGROUP_TEXT);
	struct hp_cgroup_mount m;
	const char *path;
	char dir[2048];
	uint64_t least = UINT64_MAX;
	size_t len;

	if (!text ||
	    hp_kernel_file(io, "/proc/self/mountinfo", text, HP_CGROUP_TEXT) <
		    0 ||
	    !hp_cgroup_mount(text, v2, &m) ||
	    hp_kernel_file(io, "/proc/self/cgroup", text, HP_CGROUP_TEXT) < 0)
		return least;
	path = hp_cgroup_path(text, v2, &len);
	if (!path || !hp_cgroup_dir(&m, path, len, dir, sizeof dir))
		return least;
	for (size_t stop = strlen(m.at);;) {
		uint64_t left = says(io, v2, dir, text);
		char *slash = strrchr(dir, '/');

		least = left < least ? left : least;
		if (!slash || strlen(dir) <= stop)
			return least;
		*slash = '\0';
	}
}

uint64_t hp_memory_left(const struct hp_io *io)
{
	hp_auto_free char *text = malloc(HP_CGROUP_TEXT);
	uint64_t least = UINT64_MAX;

	if (!text)
		return least;
	if (hp_kernel_file(io, "/proc/meminfo", text, HP_CGROUP_TEXT) >= 0)
		least = hp_meminfo(text, "MemAvailable");
	for (int v2 = 0; v2 < 2; v2++) {
		uint64_t left = hp_cgroup_least(io, v2, group_left);

		least = left < least ? left : least;
	}
	return least;
}

uint64_t hpdsl_memory_left(void)
{
	return hp_memory_left(&hp_io_system);
}
