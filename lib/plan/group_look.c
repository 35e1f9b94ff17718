/* SPDX-License-Identifier: Apache-2.0 */
/* The look at names, a sample at a time. */
#include "plan/group_look.h"

#include "base/error.h"
#include "base/hash.h"
#include "base/key.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* ---- One suffix ------------------------------------------------------- */

/* What the suffix of a file says. */
struct says {
	uint64_t extension; /* hash of it; 0: it has none */
	bool plain;	    /* it is nothing else */
	bool number;	    /* it has what no name of a field has */
};

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_letter(char c)
{
	return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
}

/* Where the last part of s begins. */
static size_t last_part(const char *s, size_t len)
{
	const char *dot = memrchr(s, '.', len);

	return dot ? (size_t)(dot - s) + 1 : 0;
}

/* FNV-1a, as the letters are made small one by one. */
static uint64_t hash_byte(uint64_t hash, char c)
{
	return (hash ^ (unsigned char)c) * UINT64_C(0x100000001b3);
}

/* Of bytes [at, end) of s, and those of a compressor up to len. */
static uint64_t extension(const char *s, size_t at, size_t end, size_t len)
{
	uint64_t hash = UINT64_C(0xcbf29ce484222325);
	bool letter = false;

	for (size_t i = at; i < end; i++) {
		bool is = is_letter(s[i]);

		if (!is && !is_digit(s[i]) && s[i] != '_')
			return 0;
		letter |= is;
		hash = hash_byte(hash, (char)(is ? s[i] | 0x20 : s[i]));
	}
	for (size_t i = end; i < len; i++)
		hash = hash_byte(hash, s[i]);
	return letter ? hash : 0;
}

static struct says what_says(const char *s, size_t len)
{
	size_t end = hp_without_compressor(s, len);
	size_t at = last_part(s, end);
	struct says says = { .extension = extension(s, at, end, len) };

	says.plain = !at && says.extension;
	says.number = !says.extension || is_digit(*s) || memchr(s, ' ', len);
	return says;
}

/* ---- One sample ------------------------------------------------------- */

/* Its files of one extension. */
struct alike {
	uint64_t extension, files;
	bool plain, number;
};

/*
 * Those of more extensions than there is room for are passed over: nothing of a
 * sample of so many is alike.
 */
struct sample {
	const struct hp_name *names;
	size_t n, key;
	struct alike alike[64];
	size_t n_alike;
	size_t n_plain; /* of alike, with a plain file */
};

enum { ALIKE = sizeof(((struct sample *)0)->alike) / sizeof(struct alike) };

/* The suffix of a name; its length is 0 for none. */
static struct hp_name suffix_of(const struct sample *z, size_t i)
{
	const struct hp_name *name = &z->names[i];

	if (name->len <= z->key + 1)
		return (struct hp_name){ "", 0 };
	return (struct hp_name){ name->s + z->key + 1, name->len - z->key - 1 };
}

static struct alike *alike_of(struct sample *z, uint64_t extension)
{
	for (size_t i = 0; i < z->n_alike; i++)
		if (z->alike[i].extension == extension)
			return &z->alike[i];
	return NULL;
}

static void see_name(struct sample *z, size_t i)
{
	struct hp_name s = suffix_of(z, i);
	struct says says;
	struct alike *a;

	if (!s.len)
		return;
	says = what_says(s.s, s.len);
	a = alike_of(z, says.extension);
	if (!a && z->n_alike == ALIKE)
		return;
	if (!a) {
		a = &z->alike[z->n_alike++];
		*a = (struct alike){ .extension = says.extension };
	}
	a->files++;
	a->number |= says.number;
	z->n_plain += says.plain && !a->plain;
	a->plain |= says.plain;
}

/* What the rule makes of files of one extension. */
enum verdict { FINE, ALONE, NUMBERS, NAMED };

static enum verdict judge(const struct sample *z, const struct alike *a)
{
	bool crowd = a->files > HP_LOOK_VOUCHED;

	if (a->files < 2)
		return a->extension && !a->plain ? ALONE : FINE;
	if (a->number)
		return crowd || z->n_plain == (size_t)a->plain ? NUMBERS : FINE;
	return crowd || !z->n_plain ? NAMED : FINE;
}

/* ---- All of them ------------------------------------------------------ */

static void keep_field(struct hp_group_look *look, uint64_t hash)
{
	for (size_t i = 0; i < look->n_fields; i++)
		if (look->fields[i] == hash)
			return;
	if (look->n_fields <= HP_LOOK_FIELDS)
		look->fields[look->n_fields++] = hash;
}

static bool is_kept(const struct hp_group_look *look, uint64_t hash)
{
	return !(hash & ((UINT64_C(1) << look->level) - 1));
}

/* Half of them go, so that each suffix is counted whole or not at all. */
static void make_room(struct hp_group_look *look)
{
	size_t n = 0;

	look->level++;
	for (size_t i = 0; i < look->n_some; i++)
		if (is_kept(look, look->some[i].hash))
			look->some[n++] = look->some[i];
	look->n_some = n;
}

static void keep_alone(struct hp_group_look *look, uint64_t hash)
{
	look->alone++;
	for (size_t i = 0; is_kept(look, hash) && i < look->n_some; i++) {
		if (look->some[i].hash == hash) {
			look->some[i].files++;
			return;
		}
	}
	while (look->n_some == HP_LOOK_SOME && is_kept(look, hash))
		make_room(look);
	if (!is_kept(look, hash))
		return;
	look->some[look->n_some].hash = hash;
	look->some[look->n_some++].files = 1;
}

/* The suffixes of those extensions of which they matter. */
static void keep_suffixes(struct hp_group_look *look, struct sample *z)
{
	for (size_t i = 0; i < z->n; i++) {
		struct hp_name s = suffix_of(z, i);
		const struct alike *a;
		enum verdict verdict;

		if (!s.len)
			continue;
		a = alike_of(z, what_says(s.s, s.len).extension);
		verdict = a ? judge(z, a) : FINE;
		if (verdict == NAMED)
			keep_field(look, hp_hash64(s.s, s.len));
		else if (verdict == ALONE)
			keep_alone(look, hp_hash64(s.s, s.len));
	}
}

static void set_first(uint64_t *first, uint64_t samples)
{
	if (!*first)
		*first = samples;
}

void hp_group_look_add(struct hp_group_look *look, const struct hp_name *names,
		       size_t n, size_t key)
{
	struct sample z;
	uint64_t numbers = 0, named = 0;
	bool alone = false;

	z.names = names;
	z.n = n;
	z.key = key;
	z.n_alike = z.n_plain = 0;
	look->samples++;
	look->files += n;
	for (size_t i = 0; i < n; i++)
		see_name(&z, i);
	for (size_t i = 0; i < z.n_alike; i++) {
		enum verdict verdict = judge(&z, &z.alike[i]);

		numbers += verdict == NUMBERS ? z.alike[i].files : 0;
		named += verdict == NAMED ? z.alike[i].files : 0;
		alone |= verdict == ALONE;
	}
	look->numbers += numbers;
	look->named += named;
	if (n > 1)
		set_first(&look->first_several, look->samples);
	if (numbers)
		set_first(&look->first_number, look->samples);
	if (named)
		set_first(&look->first_named, look->samples);
	if (alone)
		set_first(&look->first_alone, look->samples);
	if (named || alone)
		keep_suffixes(look, &z);
}

/* ---- What is to be said ----------------------------------------------- */

/* Over 16 suffixes with a dot, over half of which differ; a few are nothing. */
static bool all_differ(const struct hp_group_look *look)
{
	uint64_t files = 0;

	for (size_t i = 0; i < look->n_some; i++)
		files += look->some[i].files;
	return (look->level || look->n_some > HP_LOOK_FIELDS) &&
	       2 * look->n_some > files &&
	       look->alone * HP_LOOK_SHARE >= look->files;
}

uint64_t hp_group_look_end(const struct hp_group_look *look,
			   struct hpdsl_group_look *ret)
{
	bool fields = look->n_fields <= HP_LOOK_FIELDS;
	uint64_t files = look->numbers + (fields ? 0 : look->named);
	uint64_t first = look->first_several;

	*ret = (struct hpdsl_group_look){ .samples = look->samples,
					  .files = files,
					  .of_files = look->files };
	if (files) {
		ret->verdict = files * HP_LOOK_SHARE >= look->files ?
				       HPDSL_LOOK_REFUSE :
				       HPDSL_LOOK_TELL;
		first = look->numbers ? look->first_number : look->first_named;
	} else if (all_differ(look)) {
		ret->verdict = HPDSL_LOOK_DIFFER;
		first = look->first_alone;
	}
	return first ? first - 1 : 0;
}

const char *hpdsl_look_word(enum hpdsl_look verdict)
{
	static const char *const words[] = { [HPDSL_LOOK_PASS] = "pass",
					     [HPDSL_LOOK_DIFFER] = "differ",
					     [HPDSL_LOOK_TELL] = "tell",
					     [HPDSL_LOOK_REFUSE] = "refuse" };

	return words[verdict];
}

const char *hpdsl_look_text(const struct hpdsl_group_look *look,
			    char ret[HPDSL_LOOK_TEXT])
{
	*ret = '\0';
	if (look->files)
		snprintf(ret, HPDSL_LOOK_TEXT,
			 "%" PRIu64 " of %" PRIu64 " files look like samples "
			 "of their own that share a key, first %s",
			 look->files, look->of_files, look->example);
	else if (look->verdict == HPDSL_LOOK_DIFFER)
		snprintf(ret, HPDSL_LOOK_TEXT,
			 "suffixes with a dot nearly all differ, as in %s; no "
			 "other member is found by such a one",
			 look->example);
	return ret;
}

void hp_group_look_example(const struct hp_name *names, size_t n, size_t key,
			   char ret[HPDSL_LOOK_EXAMPLE])
{
	const struct sample z = { .names = names, .n = n, .key = key };
	char text[HP_PRINTABLE];
	size_t shown = n > 4 ? 3 : n, len, at;

	hp_printable(names->s, key, text);
	len = strlen(text);
	at = (size_t)snprintf(
		ret, HPDSL_LOOK_EXAMPLE, "'%.*s%s%s':", len < 128 ? 128 : 90,
		text, len < 128 ? "" : "...", len < 128 ? "" : text + len - 30);
	for (size_t i = 0; i < shown; i++) {
		struct hp_name s = suffix_of(&z, i);

		hp_printable(s.s, s.len, text);
		at += (size_t)snprintf(ret + at, HPDSL_LOOK_EXAMPLE - at,
				       " %.50s", s.len ? text : "(no suffix)");
	}
	if (n > shown)
		snprintf(ret + at, HPDSL_LOOK_EXAMPLE - at, " and %zu more",
			 n - shown);
}
