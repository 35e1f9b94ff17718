/* SPDX-License-Identifier: Apache-2.0 */
/* The control groups of a process, of either version, and what they say. */
#include "sys/cgroup.h"

#include "base/mem.h"
#include "sys/kernel_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Texts ------------------------------------------------------------ */

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
	for (const char *p = text; *p; p = hp_kernel_line(p)) {
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
	for (const char *p = text; *p; p = hp_kernel_line(p))
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

/* ---- What groups say -------------------------------------------------- */

bool hp_cgroup_file(const struct hp_io *io, const char *dir, const char *name,
		    char *text)
{
	char path[2100];
	int n = snprintf(path, sizeof path, "%s/%s", dir, name);

	return n < (int)sizeof path &&
	       hp_kernel_file(io, path, text, HP_CGROUP_TEXT) >= 0;
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
