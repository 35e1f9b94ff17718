/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The user's list of paths.  It is checked as a whole before anything is asked
 * of the file system, then cut into jobs that point into it.
 */
#include "scan_walk.h"

#include "error.h"
#include "path.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <string.h>

/* "." and the like: all of the root. */
static bool is_top(const char *name, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (name[i] != '.' && name[i] != '/')
			return false;
		if (name[i] == '.' && i && name[i - 1] == '.')
			return false;
	}
	return n > 0;
}

static size_t name_length(const char *p, const char *end)
{
	const char *nul = memchr(p, '\0', (size_t)(end - p));

	return (size_t)((nul ? nul : end) - p);
}

static int check_name(const char *name, size_t n, uint64_t line,
		      struct hpdsl_error *err)
{
	char clean[HPDSL_PATH_MAX + 1], buf[HP_PRINTABLE];
	int r = -ENAMETOOLONG;

	if (n == 0 || is_top(name, n))
		return 0;
	if (n <= HPDSL_PATH_MAX)
		r = hp_path_clean(name, n, clean);
	if (r >= 0)
		return 0;
	return hp_fail(err, HPDSL_EUSAGE, "list, line %" PRIu64 ": '%s': %s",
		       line, hp_printable(name, n, buf),
		       r == -ENAMETOOLONG ? "longer than 4095 bytes" :
					    "\"..\" is not allowed in a path");
}

static int push_names(struct hp_scan *s, const char *begin, const char *end)
{
	struct hp_scan_job *job;

	if (begin == end)
		return 0;
	job = hp_scan_job(s, 0, 0);
	if (!job)
		return -ENOMEM;
	job->kind = HP_SCAN_LISTED;
	job->names = begin;
	job->bytes = (uint32_t)(end - begin);
	hp_scan_push(s, job);
	return 0;
}

int hp_scan_list(struct hp_scan *s, struct hpdsl_error *err)
{
	const char *p = s->opt->list, *begin = p;
	const char *end = p + s->opt->list_bytes;
	uint64_t line = 0;
	int r;

	while (p < end) {
		size_t n = name_length(p, end);

		r = check_name(p, n, ++line, err);
		if (r < 0)
			return r;
		p += n + (p + n < end);
		if (line % HP_SCAN_BATCH && p < end)
			continue;
		if (push_names(s, begin, p) < 0)
			return hp_fail_nomem(err);
		begin = p;
	}
	return 0;
}

static void take_top(struct hp_scan_worker *w, uint16_t root)
{
	struct hpdsl_error err;

	if (w->s->more[root].above_output) {
		hp_scan_fail_output(w->s, w->s->list->roots[root].name, &err);
		hp_scan_abort(w->s, err.code, err.msg);
		return;
	}
	w->len = w->s->list->roots[root].prefix_len;
	w->path[w->len] = '\0';
	hp_scan_enter(w, root);
}

static void take_listed(struct hp_scan_worker *w, const char *name, size_t n)
{
	uint16_t root = !w->s->opt->n_inputs && *name == '/';
	size_t prefix = w->s->list->roots[root].prefix_len;
	int r;

	memcpy(w->path, w->s->more[root].prefix, prefix);
	if (is_top(name, n)) {
		take_top(w, root);
		return;
	}
	r = hp_path_clean(name, n, w->path + prefix);
	if (r < 0)
		return; /* was checked */
	w->len = prefix + (size_t)r;
	if (w->len > HPDSL_PATH_MAX)
		hp_scan_problem(w, root, -ENAMETOOLONG, NULL);
	else
		hp_scan_name(w, root, DT_UNKNOWN, true);
}

void hp_scan_listed(struct hp_scan_worker *w, const struct hp_scan_job *job)
{
	const char *p = job->names, *end = p + job->bytes;

	while (p < end && !hp_scan_over(w->s)) {
		size_t n = name_length(p, end);

		if (n)
			take_listed(w, p, n);
		hp_scan_tick(w);
		p += n + (p + n < end);
	}
}
