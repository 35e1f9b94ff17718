/* SPDX-License-Identifier: Apache-2.0 */
/* What is promised of portable names, checked over a list that has them. */
#ifndef CHECK_NAMES_H
#define CHECK_NAMES_H

#include "plan/name_risk.h"
#include "plan/portable.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * What WebDataset does: ^((?:.*\/|)[^.]+)[.]([^/]*)$, where .* goes over no
 * newline.  The key's length, 0 if there is no match.
 */
static inline size_t wds_key(const char *s)
{
	const char *newline = strchr(s, '\n');
	size_t reach = newline ? (size_t)(newline - s) : strlen(s);

	for (size_t at = reach + 1; at-- > 0;) {
		size_t n;

		if (at && s[at - 1] != '/')
			continue;
		n = strcspn(s + at, ".");
		if (n && s[at + n] == '.' && !strchr(s + at + n, '/'))
			return at + n;
	}
	return 0;
}

static inline bool name_is_good(const char *name)
{
	size_t n = strlen(name), key = wds_key(name);
	struct hp_name one = { name, n };
	uint32_t found = 1;

	if (n > HP_PORTABLE_MAX || !key || key != hp_portable_key(name) ||
	    key != hpdsl_key_length(name, n) ||
	    key + 4 > HP_PORTABLE_MAX || /* room for .cls */
	    n - key - 1 < 1 || n - key - 1 > HP_PORTABLE_SUFFIX)
		return false;
	if (strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
			 "0123456789/_+-") != key ||
	    strspn(name + key, "abcdefghijklmnopqrstuvwxyz0123456789_+-.") !=
		    n - key ||
	    strstr(name, "/__") || !strncmp(name, "__", 2))
		return false;
	/* A suffix of several parts is one to its siblings. */
	return hp_risks_find(&one, 1, &found, NULL) == 0 &&
	       !(found & ~(UINT32_C(1) << HP_RISK_DOTS));
}

static inline int compare_strings(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Sorts them; equal ones are then neighbours. */
static inline bool strings_differ(const char **v, uint64_t n)
{
	if (n)
		qsort(v, n, sizeof *v, compare_strings);
	for (uint64_t i = 1; i < n; i++)
		if (!strcmp(v[i - 1], v[i]))
			return false;
	return true;
}

static inline bool same_keys(const struct hp_list *list, uint64_t s)
{
	const char *first = hp_stored_name(list, list->samples[s]);
	size_t key = wds_key(first);

	for (uint64_t i = list->samples[s]; i < list->samples[s + 1]; i++) {
		const char *name = hp_stored_name(list, i);

		if (wds_key(name) != key || memcmp(name, first, key) != 0)
			return false;
	}
	return true;
}

/* NULL, or what of the promises is broken. */
static inline const char *names_wrong(const struct hp_list *list)
{
	const char **v = calloc(list->n_files + 1, sizeof *v);
	static char text[HPDSL_PATH_MAX + 64];
	const char *wrong = NULL;

	if (!v)
		return NULL;
	for (uint64_t i = 0; i < list->n_files; i++) {
		v[i] = hp_stored_name(list, i);
		if (list->stored[i] &&
		    !strcmp(list->stored[i], list->files[i].path))
			wrong = "a path is stored again";
		if (name_is_good(v[i]))
			continue;
		snprintf(text, sizeof text, "a bad name: '%s'", v[i]);
		wrong = text;
	}
	if (!strings_differ(v, list->n_files))
		wrong = "two names are the same";
	for (uint64_t s = 0; s < list->n_samples; s++) {
		const char *name = hp_stored_name(list, list->samples[s]);

		if (!same_keys(list, s))
			wrong = "a sample has two keys";
		v[s] = strndup(name, hp_portable_key(name));
	}
	if (!strings_differ(v, list->n_samples))
		wrong = "two samples have the same key";
	for (uint64_t s = 0; s < list->n_samples; s++)
		free((void *)v[s]);
	free(v);
	return wrong;
}

#endif
