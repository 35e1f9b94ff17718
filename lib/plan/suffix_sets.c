/* SPDX-License-Identifier: Apache-2.0 */
/* Sets of suffixes, and keys in two folders. */
#include "plan/suffix_sets.h"

#include "base/error.h"
#include "base/hash.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* ---- Sets ------------------------------------------------------------- */

static struct hp_name suffix_of(const struct hp_name *name, size_t key)
{
	if (name->len <= key + 1)
		return (struct hp_name){ "", 0 };
	return (struct hp_name){ name->s + key + 1, name->len - key - 1 };
}

void hp_suffix_sets_add(struct hp_suffix_sets *sets,
			const struct hp_name *names, size_t n, size_t key)
{
	uint64_t hash = n;

	for (size_t i = 0; i < n; i++) {
		struct hp_name s = suffix_of(&names[i], key);

		hash += hp_hash64(s.s, s.len);
	}
	sets->samples++;
	for (size_t i = 0; i < sets->n; i++)
		if (sets->v[i].hash == hash) {
			sets->v[i].samples++;
			return;
		}
	if (sets->n == HP_SETS_KEPT) {
		sets->others++;
		return;
	}
	sets->v[sets->n++] = (struct hp_suffix_set){
		.hash = hash,
		.samples = 1,
		.first = sets->samples - 1,
	};
}

static int by_samples(const void *a, const void *b)
{
	const struct hp_suffix_set *x = a, *y = b;

	if (x->samples != y->samples)
		return x->samples < y->samples ? 1 : -1;
	return x->first < y->first ? -1 : x->first > y->first;
}

void hp_suffix_sets_end(struct hp_suffix_sets *sets,
			struct hpdsl_group_look *ret)
{
	uint64_t told = 0;

	if (sets->n)
		qsort(sets->v, sets->n, sizeof *sets->v, by_samples);
	ret->n_sets = sets->n < HPDSL_LOOK_SETS ? sets->n : HPDSL_LOOK_SETS;
	for (size_t i = 0; i < ret->n_sets; i++)
		told += ret->sets[i].samples = sets->v[i].samples;
	ret->other_sets = sets->samples - told;
}

void hp_key_text(const char *key, size_t len, char ret[HPDSL_LOOK_KEY])
{
	char text[HP_PRINTABLE];
	size_t n = strlen(hp_printable(key, len, text));

	if (n < HPDSL_LOOK_KEY)
		memcpy(ret, text, n + 1);
	else
		snprintf(ret, HPDSL_LOOK_KEY, "%.60s...%s", text,
			 text + n - 30);
}

void hp_suffix_set_text(const struct hp_name *names, size_t n, size_t key,
			struct hpdsl_suffix_set *ret)
{
	char text[HP_PRINTABLE];
	size_t at = 0, i;

	hp_key_text(names->s, key, ret->first);
	*ret->suffixes = '\0';
	for (i = 0; i < n; i++) {
		struct hp_name s = suffix_of(&names[i], key);
		size_t len = strlen(hp_printable(s.s, s.len, text));

		if (at + len + 2 > sizeof ret->suffixes)
			break;
		at += (size_t)snprintf(ret->suffixes + at,
				       sizeof ret->suffixes - at, "%s%s",
				       i ? "\n" : "", text);
	}
	ret->suffixes_more = n - i;
}

/* ---- Keys in two folders ---------------------------------------------- */

/* As YOLO, KITTI, VOC and those who follow them call them. */
static const char *const images[] = { "images",	 "image",      "img",
				      "imgs",	 "JPEGImages", "image_2",
				      "pictures" };
static const char *const labels[] = { "labels",	    "label",   "annotations",
				      "annotation", "label_2", "masks",
				      "mask",	    "gt",      "json",
				      "xml",	    "txt",     "Annotations",
				      "Labels" };

static bool is_of_images(const char *name, size_t len)
{
	for (size_t i = 0; i < sizeof images / sizeof *images; i++)
		if (strlen(images[i]) == len &&
		    !strncasecmp(name, images[i], len))
			return true;
	return false;
}

size_t hp_parted_key(const char *key, size_t len, unsigned which,
		     char ret[HPDSL_PATH_MAX + 1])
{
	const size_t n_labels = sizeof labels / sizeof *labels;
	size_t folder = which / n_labels, n;
	const char *label = labels[which % n_labels], *slash;

	for (size_t at = 0; at < len; at += n + 1) {
		slash = memchr(key + at, '/', len - at);
		if (!slash)
			return 0;
		n = (size_t)(slash - (key + at));
		if (!is_of_images(key + at, n) || folder--)
			continue;
		if (len - n + strlen(label) > HPDSL_PATH_MAX)
			return 0;
		return (size_t)snprintf(ret, HPDSL_PATH_MAX + 1, "%.*s%s%.*s",
					(int)at, key, label,
					(int)(len - at - n), slash);
	}
	return 0;
}
