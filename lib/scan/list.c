/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The user's list of paths.  It is checked as a whole before anything is asked
 * of the file system, then cut into jobs that point into it.
 */
#include "scan/private.h"

#include "base/error.h"
#include "base/path.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
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

/* An archive is walked once, with all wishes at hand. */
static int add_wish(struct hp_scan *s, const char *name, size_t n)
{
	char clean[HPDSL_PATH_MAX + 1];
	struct hp_scan_wish *w;
	int len;

	if (n == 0)
		return 0;
	if (is_top(name, n)) {
		s->wish_all = true;
		return 0;
	}
	len = hp_path_clean(name, n, clean); /* was checked */
	if (s->n_wishes % 1024 == 0) {
		w = reallocarray(s->wishes, s->n_wishes + 1024, sizeof *w);
		if (!w)
			return -ENOMEM;
		s->wishes = w;
	}
	if (!s->wish_arena)
		s->wish_arena = hp_arena_new();
	w = &s->wishes[s->n_wishes];
	w->path = s->wish_arena ?
			  hp_arena_add(s->wish_arena, clean, (size_t)len) :
			  NULL;
	if (!w->path)
		return -ENOMEM;
	w->len = (size_t)len;
	w->found = false;
	s->n_wishes++;
	return 0;
}

static int compare_wishes(const void *a, const void *b)
{
	const struct hp_scan_wish *x = a, *y = b;

	return strcmp(x->path, y->path);
}

static int enter_wishes(struct hp_scan *s, struct hpdsl_error *err)
{
	if (s->n_wishes)
		qsort(s->wishes, s->n_wishes, sizeof *s->wishes,
		      compare_wishes);
	return hp_scan_enter_archive(s, 0) < 0 ? hp_fail_nomem(err) : 0;
}

static int push_names(struct hp_scan *s, const char *begin, const char *end)
{
	struct hp_scan_job *job;

	if (begin == end)
		return 0;
	job = hp_scan_job(s, 0, 0);
	if (!job)
		return -ENOMEM;
	job->job.kind = HP_SCAN_LISTED;
	job->names = begin;
	job->bytes = (uint32_t)(end - begin);
	hp_crew_push(&s->crew, &job->job, false);
	return 0;
}

int hp_scan_list(struct hp_scan *s, struct hpdsl_error *err)
{
	const char *p = s->opt->list, *begin = p;
	const char *end = p + s->opt->list_bytes;
	bool archive = s->list->roots[0].kind == HP_ROOT_STREAM;
	uint64_t line = 0;
	char buf[HP_PRINTABLE];
	int r;

	/* Its files are not those that lie there. */
	if (s->list->roots[0].kind == HP_ROOT_DATASET)
		return hp_fail(err, HPDSL_EUSAGE,
			       "%s: a list of files does not go with a packed "
			       "dataset; patterns do",
			       hp_printable(s->list->roots[0].name,
					    strlen(s->list->roots[0].name),
					    buf));
	while (p < end) {
		size_t n = name_length(p, end);

		r = check_name(p, n, ++line, err);
		if (r == 0 && archive && add_wish(s, p, n) < 0)
			r = hp_fail_nomem(err);
		if (r < 0)
			return r;
		p += n + (p + n < end);
		if (archive)
			continue;
		if (line % HP_SCAN_BATCH && p < end)
			continue;
		if (push_names(s, begin, p) < 0)
			return hp_fail_nomem(err);
		begin = p;
	}
	return archive ? enter_wishes(s, err) : 0;
}

static void take_top(struct hp_scan_worker *w, uint16_t root)
{
	struct hpdsl_error err;

	if (w->s->more[root].above_output) {
		hp_scan_fail_output(w->s, w->s->list->roots[root].name, &err);
		hp_crew_abort(&w->s->crew, err.code, err.msg);
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

	while (p < end && !hp_crew_over(&w->s->crew)) {
		size_t n = name_length(p, end);

		if (n)
			take_listed(w, p, n);
		hp_scan_tick(w);
		p += n + (p + n < end);
	}
}
