/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Portable names, sample by sample.  First the samples whose key may stay as it
 * is get theirs; the others follow in order, so that what is fine keeps its
 * name whatever comes beside it.
 */
#include "plan/portable.h"

#include "base/error.h"
#include "base/hash.h"
#include "base/mem.h"
#include "plan/name_parts.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum {
	HASH = 9,     /* "-" and 8 hex digits */
	SHORTEST = 3, /* a suffix that any key has room for: cls */
	KEY_MAX = 2 * HPDSL_PATH_MAX,
	DIGITS = 24, /* a NUL byte and a number */
};

struct suffix {
	uint8_t len;
	char s[HP_PORTABLE_SUFFIX];
};

/* The sample that is worked on, and what is taken so far. */
struct work {
	struct hp_list *list;
	struct hp_string_set keys; /* of samples */
	uint64_t room;
	struct hp_name *names; /* paths of the sample's members */
	struct suffix *suffixes;
	uint64_t n;
	size_t key_end;	   /* in names[0] */
	size_t suffix_max; /* bytes; not below SHORTEST */
};

/* "-" and the hash of s and, if it is not 0, a NUL byte and the counter. */
static void put_hash(char *out, const struct hp_name *s, uint64_t counter)
{
	char buf[HPDSL_PATH_MAX + 1 + DIGITS], text[HASH + 1];
	size_t n = s->len;

	memcpy(buf, s->s, n);
	if (counter) {
		buf[n++] = '\0';
		n += (size_t)snprintf(buf + n, DIGITS, "%" PRIu64, counter);
	}
	snprintf(text, sizeof text, "-%08" PRIx32, (uint32_t)hp_hash64(buf, n));
	memcpy(out, text, HASH);
}

/* ---- Suffixes --------------------------------------------------------- */

static char suffix_byte(char c)
{
	if (c >= 'A' && c <= 'Z')
		return (char)(c + ('a' - 'A'));
	if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ||
	    (c && strchr("_+-.", c)))
		return c;
	return '_';
}

/* The suffix as it would be, were there no other; false: it is too long. */
static bool plain_suffix(const struct hp_name *name, size_t key_end,
			 struct suffix *ret)
{
	size_t at = key_end + 1, len = 0;

	/* Fields that begin so are the readers' own. */
	if (name->len >= at + 2 && suffix_byte(name->s[at]) == '_' &&
	    suffix_byte(name->s[at + 1]) == '_')
		ret->s[len++] = 'x';
	for (; at < name->len && len < sizeof ret->s; at++)
		ret->s[len++] = suffix_byte(name->s[at]);
	if (len == 0) {
		memcpy(ret->s, "bin", 3);
		len = 3;
	}
	ret->len = (uint8_t)len;
	return at >= name->len;
}

static void hash_suffix(const struct hp_name *name, uint64_t counter,
			struct suffix *ret)
{
	if (ret->len > HP_PORTABLE_SUFFIX - HASH)
		ret->len = HP_PORTABLE_SUFFIX - HASH;
	put_hash(ret->s + ret->len, name, counter);
	ret->len += HASH;
}

static struct hp_name suffix_string(const void *arg, uint64_t number)
{
	const struct suffix *s = (const struct suffix *)arg + number;

	return (struct hp_name){ s->s, s->len };
}

/* Is it what the path has? */
static bool is_same(const struct work *w, uint64_t i, const struct suffix *s)
{
	const struct hp_name *name = &w->names[i];

	return name->len == w->key_end + 1 + s->len &&
	       memcmp(name->s + w->key_end + 1, s->s, s->len) == 0;
}

/* First for those that can stay as they are, then for the others. */
static void make_suffix(struct work *w, struct hp_string_set *taken, uint64_t i,
			bool others)
{
	struct suffix plain, *s = &w->suffixes[i];
	bool good = plain_suffix(&w->names[i], w->key_end, &plain);

	if (others == (good && is_same(w, i, &plain)))
		return;
	*s = plain;
	for (uint64_t counter = 0;
	     !good || !hp_string_set_add(taken, suffix_string(w->suffixes, i),
					 i, suffix_string, w->suffixes);
	     counter++) {
		*s = plain;
		hash_suffix(&w->names[i], counter, s);
		good = true;
	}
	if (s->len > w->suffix_max)
		w->suffix_max = s->len;
}

static int make_suffixes(struct work *w, struct hpdsl_error *err)
{
	struct hp_string_set taken = { 0 };

	w->suffix_max = SHORTEST;
	if (hp_string_set_init(&taken, w->n, err) < 0)
		return -ENOMEM;
	for (uint64_t i = 0; i < w->n; i++)
		make_suffix(w, &taken, i, false);
	for (uint64_t i = 0; i < w->n; i++)
		make_suffix(w, &taken, i, true);
	hp_string_set_release(&taken);
	return 0;
}

/* ---- Keys ------------------------------------------------------------- */

static char key_byte(char c)
{
	if ((c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
	    (c >= '0' && c <= '9') || (c && strchr("/_+-", c)))
		return c;
	return '_';
}

/* Writes at most KEY_MAX bytes; returns how many. */
static size_t plain_key(const struct hp_name *original, char *out)
{
	size_t n = 0, begin = 0;

	for (size_t i = 0; i < original->len; i++) {
		char c = key_byte(original->s[i]);

		out[n++] = c;
		if (c == '/') {
			begin = n;
		} else if (n == begin + 2 && c == '_' && out[begin] == '_') {
			out[begin] = 'x';
			out[n - 1] = '_';
			out[n++] = '_';
		}
	}
	return n;
}

/* The key of a sample that has its names. */
static struct hp_name key_string(const void *arg, uint64_t sample)
{
	const struct hp_list *list = arg;
	const char *name = hp_stored_name(list, list->samples[sample]);

	return (struct hp_name){ name, hp_portable_key(name) };
}

/* Gives the sample its names, unless the key belongs to another one. */
static int take_key(struct work *w, uint64_t sample, const char *key,
		    size_t len, struct hpdsl_error *err)
{
	uint64_t first = w->list->samples[sample];
	char name[HP_PORTABLE_MAX];

	if (!hp_string_set_add(&w->keys, (struct hp_name){ key, len }, sample,
			       key_string, w->list))
		return 0;
	memcpy(name, key, len);
	name[len++] = '.';
	for (uint64_t i = 0; i < w->n; i++) {
		const struct suffix *s = &w->suffixes[i];
		const struct hp_name *path = &w->names[i];
		size_t n = len + s->len;

		memcpy(name + len, s->s, s->len);
		if (n == path->len && memcmp(name, path->s, n) == 0)
			continue;
		w->list->stored[first + i] =
			hp_arena_add(w->list->arena, name, n);
		if (!w->list->stored[first + i])
			return hp_fail_nomem(err);
	}
	return 1;
}

/* ---- Samples ---------------------------------------------------------- */

static int make_room(struct work *w, uint64_t n, struct hpdsl_error *err)
{
	uint64_t room = n + n / 2 + 16;

	if (n <= w->room)
		return 0;
	free(w->names);
	free(w->suffixes);
	w->room = 0;
	w->names = hp_array(room, sizeof *w->names);
	w->suffixes = hp_array(room, sizeof *w->suffixes);
	if (!w->names || !w->suffixes)
		return hp_fail_nomem(err);
	w->room = room;
	return 0;
}

/* Makes suffixes and the plain key. */
static int enter(struct work *w, uint64_t sample, char *key, size_t *ret_len,
		 struct hpdsl_error *err)
{
	const uint64_t *first = &w->list->samples[sample];
	struct hp_name original;
	int r;

	w->n = first[1] - first[0];
	r = make_room(w, w->n, err);
	if (r < 0)
		return r;
	for (uint64_t i = 0; i < w->n; i++) {
		const struct hp_file *f = &w->list->files[first[0] + i];

		w->names[i] = (struct hp_name){ f->path, f->path_len };
	}
	w->key_end = w->list->key.last ? w->list->files[first[0]].key_len :
					 hp_shared_parts(w->names, w->n);
	original = (struct hp_name){ w->names[0].s, w->key_end };
	*ret_len = plain_key(&original, key);
	return make_suffixes(w, err);
}

static size_t room_for_key(const struct work *w)
{
	return HP_PORTABLE_MAX - 1 - w->suffix_max;
}

/* The key stays as it is, if it may: 1; 0: it may not. */
static int keep_key(struct work *w, uint64_t sample, struct hpdsl_error *err)
{
	char key[KEY_MAX];
	size_t len = 0;
	int r = enter(w, sample, key, &len, err);

	if (r < 0)
		return r;
	if (len != w->key_end || len > room_for_key(w) ||
	    memcmp(key, w->names[0].s, len) != 0)
		return 0;
	return take_key(w, sample, key, len, err);
}

static int change_key(struct work *w, uint64_t sample, bool whole_path,
		      struct hpdsl_error *err)
{
	const struct hp_file *f = &w->list->files[w->list->samples[sample]];
	struct hp_name hashed = { f->path,
				  whole_path ? f->path_len : f->key_len };
	char key[KEY_MAX + HASH];
	size_t len = 0, room;
	int r = enter(w, sample, key, &len, err);

	if (r < 0)
		return r;
	room = room_for_key(w);
	if (len <= room) {
		r = take_key(w, sample, key, len, err);
		if (r)
			return r < 0 ? r : 0;
	}
	if (len > room - HASH)
		len = room - HASH;
	for (uint64_t counter = 0; r == 0; counter++) {
		put_hash(key + len, &hashed, counter);
		r = take_key(w, sample, key, len + HASH, err);
	}
	return r < 0 ? r : 0;
}

static int rename_all(struct work *w, uint8_t *kept, bool whole_path,
		      struct hpdsl_error *err)
{
	uint64_t n = w->list->n_samples;
	int r = 0;

	for (uint64_t s = 0; s < n && r >= 0; s++) {
		r = keep_key(w, s, err);
		if (r > 0)
			kept[s / 8] |= (uint8_t)(1u << s % 8);
	}
	for (uint64_t s = 0; s < n && r >= 0; s++)
		if (!(kept[s / 8] & 1u << s % 8))
			r = change_key(w, s, whole_path, err);
	return r < 0 ? r : 0;
}

int hp_list_portable(struct hp_list *list, enum hpdsl_group group,
		     struct hpdsl_error *err)
{
	uint8_t *hp_auto_free kept = calloc(1, list->n_samples / 8 + 1);
	struct work w = { .list = list };
	int r;

	free(list->stored);
	list->stored = calloc(list->n_files + 1, sizeof *list->stored);
	if (!kept || !list->stored)
		return hp_fail_nomem(err);
	r = hp_string_set_init(&w.keys, list->n_samples, err);
	if (r == 0)
		r = rename_all(&w, kept, group == HPDSL_GROUP_NONE, err);
	hp_string_set_release(&w.keys);
	free(w.names);
	free(w.suffixes);
	return r;
}

size_t hp_portable_key(const char *name)
{
	return strcspn(name, ".");
}

uint64_t hp_list_renamed(const struct hp_list *list)
{
	uint64_t n = 0;

	for (uint64_t i = 0; list->stored && i < list->n_files; i++)
		n += list->stored[i] != NULL;
	return n;
}
