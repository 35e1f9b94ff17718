/* SPDX-License-Identifier: Apache-2.0 */
/* Which members a command is about: by number, sample, path and pattern. */
#include "common.h"

#include <errno.h>
#include <string.h>

enum { FEW = 3 }; /* that are not there, and get a longer line */

void cmd_select_add(struct cmd_selection *sel, uint64_t member)
{
	sel->members = cmd_grow(sel->members, sel->n, sizeof(*sel->members));
	sel->members[sel->n++] = member;
}

/* A number past the end is an absent member, not trouble. */
static int tell_number(const struct hpdsl_error *err)
{
	int status = cmd_tell(err);

	return err->code == -ERANGE ? CMD_NO : status;
}

int cmd_select_member(struct cmd_selection *sel, const struct hpdsl_dataset *ds,
		      uint64_t number)
{
	struct hpdsl_member m;
	struct hpdsl_error err;

	if (hpdsl_member_get(ds, number, &m, &err) < 0)
		return tell_number(&err);
	cmd_select_add(sel, number);
	return CMD_DONE;
}

int cmd_select_sample(struct cmd_selection *sel, const struct hpdsl_dataset *ds,
		      uint64_t number)
{
	struct hpdsl_sample s;
	struct hpdsl_error err;

	if (hpdsl_sample_get(ds, number, &s, &err) < 0)
		return tell_number(&err);
	for (uint64_t i = 0; i < s.members; i++)
		cmd_select_add(sel, s.first_member + i);
	return CMD_DONE;
}

int cmd_select_path(struct cmd_selection *sel, const struct hpdsl_dataset *ds,
		    const char *path)
{
	struct hpdsl_member m;
	struct hpdsl_error err;
	/* what is near costs time: of a long list, for the first ones alone */
	bool few = sel->absent < FEW;
	int ret = hpdsl_member_find(ds, path, strlen(path), &m,
				    few ? &err : NULL);

	if (ret == -ENOENT) {
		sel->absent++;
		if (few)
			cmd_tell(&err);
		else
			cmd_message("no member '%s'", path);
		return CMD_NO;
	}
	if (ret < 0 && !few)
		ret = hpdsl_member_find(ds, path, strlen(path), &m, &err);
	if (ret < 0)
		return cmd_tell(&err);
	cmd_select_add(sel, m.number);
	return CMD_DONE;
}

static int select_names(struct cmd_selection *sel,
			const struct hpdsl_dataset *ds,
			const struct cmd_names *names)
{
	const char *name = names->bytes;
	int status = CMD_DONE;

	for (size_t i = 0; i < names->count; i++, name += strlen(name) + 1)
		status = cmd_worse(status, cmd_select_path(sel, ds, name));
	return status;
}

int cmd_select_list(struct cmd_selection *sel, const struct hpdsl_dataset *ds,
		    const char *file, bool null)
{
	struct cmd_names names;
	int status = cmd_names_read(&names, file, null);

	if (status == CMD_DONE)
		status = select_names(sel, ds, &names);
	free(names.bytes);
	return status;
}

/* An exact path may hold what would mean something else in a glob. */
static bool matches(const char *pattern, const char *path)
{
	return strcmp(pattern, path) == 0 || hpdsl_glob_match(pattern, path);
}

/* Does any pattern match?  Each is tried, to know those that match nothing. */
static bool any_matches(char *const *patterns, size_t n, bool *hit,
			const char *path)
{
	bool any = false;

	for (size_t i = 0; i < n; i++) {
		if (any && hit[i])
			continue;
		if (matches(patterns[i], path))
			any = hit[i] = true;
	}
	return any;
}

/* What a path looks like here, for who took it for another one. */
static int tell_absent(const struct hpdsl_dataset *ds, char *const *patterns,
		       size_t n, const bool *hit)
{
	struct hpdsl_member m = { .path = "" };
	int status = CMD_DONE;

	for (size_t i = 0; i < n; i++) {
		if (hit[i])
			continue;
		if (status == CMD_DONE &&
		    hpdsl_member_get(ds, 0, &m, NULL) == 0)
			cmd_message("%s: no member matches; the first is '%s' "
				    "(hpdsl-ls DATASET lists them)",
				    patterns[i], m.path);
		else
			cmd_message("%s: no member matches", patterns[i]);
		status = CMD_NO;
	}
	return status;
}

/* Damage costs what lies in it; members of one damaged block say the same. */
static int scan_patterns(struct cmd_selection *sel,
			 const struct hpdsl_dataset *ds, char *const *patterns,
			 size_t n)
{
	cmd_auto_free bool *hit = cmd_alloc(n, sizeof(*hit));
	struct hpdsl_error err, told = { 0 };
	struct hpdsl_counts count;
	char path[HPDSL_PATH_MAX + 1];
	struct hpdsl_member m;
	int status = CMD_DONE;

	hpdsl_count(ds, &count);
	for (uint64_t i = 0; i < count.members; i++) {
		if (hpdsl_member_get(ds, i, &m, &err) == 0) {
			/* It ends where it ended when it was looked at. */
			memcpy(path, m.path, m.path_len);
			path[m.path_len] = '\0';
			if (any_matches(patterns, n, hit, path))
				cmd_select_add(sel, i);
		} else if (strcmp(told.msg, err.msg) != 0) {
			told = err;
			status = cmd_worse(status, cmd_tell(&err));
		}
	}
	return cmd_worse(status, tell_absent(ds, patterns, n, hit));
}

/* A pattern that can only match the path it spells. */
static bool is_plain(const char *pattern)
{
	size_t n = strlen(pattern);

	/* "/a/b" is tied to the top, "a/" is all below: see the page */
	return strchr(pattern, '/') && pattern[0] != '/' &&
	       pattern[n - 1] != '/' && !strpbrk(pattern, "*?[\\");
}

int cmd_select_patterns(struct cmd_selection *sel,
			const struct hpdsl_dataset *ds, char *const *patterns,
			size_t n)
{
	int status = CMD_DONE;

	for (size_t i = 0; i < n; i++)
		if (!is_plain(patterns[i]))
			return scan_patterns(sel, ds, patterns, n);
	for (size_t i = 0; i < n; i++)
		status = cmd_worse(status,
				   cmd_select_path(sel, ds, patterns[i]));
	return status;
}

int cmd_select_class(const struct hpdsl_dataset *ds, const char *text,
		     uint32_t *ret, struct hpdsl_error *err)
{
	struct hpdsl_error why;
	struct hpdsl_counts counts;
	int r = hpdsl_class_find(ds, text, ret, &why);
	uint64_t n;

	if (r == 0)
		return 0;
	hpdsl_count(ds, &counts);
	if (r == -ENOENT && cmd_parse_count(text, &n) == 0 &&
	    n < counts.classes) {
		*ret = (uint32_t)n;
		return 0;
	}
	snprintf(err->msg, sizeof(err->msg), "%s%.*s",
		 r == -ENOENT ? "--label: " : "", (int)sizeof(why.msg) - 16,
		 why.msg);
	return err->code = r;
}

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

void cmd_select_sort(struct cmd_selection *sel)
{
	size_t n = 0;

	if (!sel->n)
		return;
	qsort(sel->members, sel->n, sizeof(*sel->members), compare);
	for (size_t i = 0; i < sel->n; i++)
		if (!n || sel->members[n - 1] != sel->members[i])
			sel->members[n++] = sel->members[i];
	sel->n = n;
}
