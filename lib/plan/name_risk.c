/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which names other readers trip over.  What they do with names was found in
 * their sources: WebDataset, Energon, Hugging Face datasets and Ray share one
 * pattern for key and suffix, ^((?:.*\/|)[^.]+)[.]([^/]*)$; wids and DALI have
 * their own.
 */
#include "plan/name_risk.h"

#include "base/error.h"
#include "base/key.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "chunk/tar.h"
#include "plan/name_parts.h"

#include <stdio.h>
#include <string.h>

#define BIT(risk) (UINT32_C(1) << HP_RISK_##risk)

enum { NAME_FIELD = 100 }; /* of a tar header */

static const unsigned reader_bits[] = {
	HPDSL_READER_WEBDATASET, HPDSL_READER_DALI, HPDSL_READER_ENERGON,
	HPDSL_READER_WIDS,	 HPDSL_READER_HF,   HPDSL_READER_RAY,
};

enum { N_READERS = sizeof reader_bits / sizeof *reader_bits };

/*
 * What the readers do, in the order above: - nothing, d drops, n renames, s
 * splits or mixes samples, r refuses.
 */
static const struct {
	const char *text, *effects;
} table[HP_RISKS] = {
	[HP_RISK_NO_SUFFIX] = { "no suffix", "dsdddd" },
	[HP_RISK_DOTS] = { "dots inside the base name", "nnnnnn" },
	[HP_RISK_BLANK] = { "blanks", "-r----" },
	[HP_RISK_HIDDEN] = { "leading dot", "sdssds" },
	[HP_RISK_META] = { "first component __x__", "d-d---" },
	[HP_RISK_UNDERSCORES] = { "base name begins with __", "----d-" },
	[HP_RISK_FIELD] = { "suffix begins with __", "r-r-rr" },
	[HP_RISK_LONG] = { "over 100 bytes", "---n--" },
	[HP_RISK_PAX] = { "its name in a pax header", "-n-n--" },
	[HP_RISK_UPPER] = { "upper case in the suffix", "n-----" },
	[HP_RISK_SAME] = { "suffixes equal in lower case", "r-----" },
	[HP_RISK_NOT_ASCII] = { "not ASCII", "-r----" },
	[HP_RISK_NOT_UTF8] = { "not UTF-8", "-rrrr-" },
	[HP_RISK_CONTROL] = { "control characters", "-r----" },
	[HP_RISK_NEWLINE] = { "newline", "-r-r--" },
	[HP_RISK_FOLDER] = { "newline, then a dot, in the folder", "drdrdd" },
	[HP_RISK_QUOTE] = { "backslash, or semicolon in the suffix", "-n----" },
	[HP_RISK_SLASH] = { "begins with ./ or /", "n-nnnn" },
	[HP_RISK_KEY_AGAIN] = { "key of another sample", "ssrsss" },
};

_Static_assert(HP_RISKS == HPDSL_NAME_RISKS, "the public header counts them");
_Static_assert(HPDSL_NAME_EXAMPLE <= HP_PRINTABLE, "cut from such");

const char *hpdsl_reader_name(unsigned reader)
{
	static const char *const names[N_READERS] = { "webdataset", "dali",
						      "energon",    "wids",
						      "hf",	    "ray" };

	for (size_t i = 0; i < N_READERS; i++)
		if (reader == reader_bits[i])
			return names[i];
	return NULL;
}

const char *hp_risk_text(enum hp_risk risk)
{
	return table[risk].text;
}

const char *hp_effect_text(enum hp_risk_effect effect)
{
	static const char *const text[] = {
		[HP_EFFECT_NONE] = NULL,
		[HP_EFFECT_DROPS] = "drops",
		[HP_EFFECT_RENAMES] = "renames",
		[HP_EFFECT_SPLITS] = "splits or mixes",
		[HP_EFFECT_REFUSES] = "refuses",
	};

	return text[effect];
}

enum hp_risk_effect hp_risk_effect(enum hp_risk risk, unsigned reader)
{
	static const char letters[] = "-dnsr"; /* as the enum */

	for (size_t i = 0; i < N_READERS; i++)
		if (reader == reader_bits[i])
			return (enum hp_risk_effect)(
				strchr(letters, table[risk].effects[i]) -
				letters);
	return HP_EFFECT_NONE;
}

unsigned hp_risk_readers(enum hp_risk risk)
{
	unsigned readers = 0;

	for (size_t i = 0; i < N_READERS; i++)
		if (table[risk].effects[i] != '-')
			readers |= reader_bits[i];
	return readers;
}

/* ---- One name --------------------------------------------------------- */

static bool is_utf8(const struct hp_name *name)
{
	const unsigned char *s = (const unsigned char *)name->s;

	for (size_t at = 0, n; at < name->len; at += n) {
		n = hp_utf8_char(s + at, name->len - at);
		if (!n)
			return false;
	}
	return true;
}

static uint32_t risks_of_bytes(const struct hp_name *name)
{
	uint32_t found = 0;

	for (size_t i = 0; i < name->len; i++) {
		unsigned char c = (unsigned char)name->s[i];

		if (c > ' ' && c < 0x7f)
			found |= c == '\\' ? BIT(QUOTE) : 0;
		else if (c == ' ')
			found |= BIT(BLANK);
		else if (c == '\n')
			found |= BIT(NEWLINE);
		else
			found |= c < 0x80 ? BIT(CONTROL) : BIT(NOT_ASCII);
	}
	if (found & BIT(NOT_ASCII) && !is_utf8(name))
		found |= BIT(NOT_UTF8);
	return found;
}

/* Is the first component __x__? */
static bool is_meta(const struct hp_name *name)
{
	const char *slash = memchr(name->s, '/', name->len);
	size_t n = slash ? (size_t)(slash - name->s) : name->len;

	return n >= 4 && memcmp(name->s, "__", 2) == 0 &&
	       memcmp(name->s + n - 2, "__", 2) == 0;
}

/*
 * In the readers' pattern ".*" does not go over a newline, and the rest over no
 * dot: a folder with a dot after the last slash before a newline.
 */
static bool hides_folder(const struct hp_name *name, size_t base)
{
	const char *newline = memchr(name->s, '\n', base);
	const char *slash;
	size_t at;

	if (!newline)
		return false;
	slash = memrchr(name->s, '/', (size_t)(newline - name->s));
	at = slash ? (size_t)(slash - name->s) + 1 : 0;
	return memchr(name->s + at, '.', base - at);
}

static uint32_t risks_of_suffix(const char *s, size_t len)
{
	uint32_t found = 0;

	for (size_t i = 0; i < len; i++)
		found |= s[i] >= 'A' && s[i] <= 'Z' ? BIT(UPPER) :
			 s[i] == ';'		    ? BIT(QUOTE) :
						      0;
	if (len >= 2 && memcmp(s, "__", 2) == 0)
		found |= BIT(FIELD);
	return found;
}

static uint32_t risks_of_name(const struct hp_name *name)
{
	const struct hp_tar_member m = { .path = name->s,
					 .path_len = name->len };
	size_t base = hp_base_at(name);
	size_t key = hp_key_first(name->s, name->len);
	uint32_t found = risks_of_bytes(name);

	/* Of a hidden name the readers take all for the suffix. */
	if (base < name->len && name->s[base] == '.')
		found |= BIT(HIDDEN);
	else if (key + 1 >= name->len)
		found |= BIT(NO_SUFFIX);
	if (key + 1 < name->len)
		found |=
			risks_of_suffix(name->s + key + 1, name->len - key - 1);
	if (is_meta(name))
		found |= BIT(META);
	if (name->len >= base + 2 && !memcmp(name->s + base, "__", 2))
		found |= BIT(UNDERSCORES);
	if (name->len > NAME_FIELD)
		found |= BIT(LONG);
	if (hp_tar_header_size(&m) > HP_TAR_BLOCK)
		found |= BIT(PAX);
	if (hides_folder(name, base))
		found |= BIT(FOLDER);
	if (name->s[0] == '/' || (name->s[0] == '.' && name->s[1] == '/'))
		found |= BIT(SLASH);
	return found;
}

/* ---- One sample ------------------------------------------------------- */

static unsigned char lower(char c)
{
	return (unsigned char)(c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c);
}

/* By the bytes in lower case. */
static int compare_folded(const void *va, const void *vb, void *arg)
{
	const struct hp_name *names = arg;
	const struct hp_name *a = &names[*(const size_t *)va];
	const struct hp_name *b = &names[*(const size_t *)vb];
	size_t n = a->len < b->len ? a->len : b->len;

	for (size_t i = 0; i < n; i++) {
		int d = lower(a->s[i]) - lower(b->s[i]);

		if (d)
			return d;
	}
	return (a->len > b->len) - (a->len < b->len);
}

static int find_same(const struct hp_name *names, size_t n, uint32_t *ret,
		     struct hpdsl_error *err)
{
	size_t *hp_auto_free order = hp_array(n, sizeof *order);

	if (!order)
		return hp_fail_nomem(err);
	for (size_t i = 0; i < n; i++)
		order[i] = i;
	qsort_r(order, n, sizeof *order, compare_folded, (void *)names);
	for (size_t i = 1; i < n; i++) {
		if (compare_folded(&order[i - 1], &order[i], (void *)names))
			continue;
		ret[order[i - 1]] |= BIT(SAME);
		ret[order[i]] |= BIT(SAME);
	}
	return 0;
}

int hp_risks_find(const struct hp_name *names, size_t n, uint32_t *ret,
		  struct hpdsl_error *err)
{
	bool dots, upper = false;

	if (!n)
		return 0;
	dots = hp_shared_parts(names, n) > hp_key_first(names->s, names->len);
	for (size_t i = 0; i < n; i++) {
		ret[i] = risks_of_name(&names[i]) | (dots ? BIT(DOTS) : 0);
		upper |= ret[i] & BIT(UPPER);
	}
	return n > 1 && upper ? find_same(names, n, ret, err) : 0;
}

/* ---- Counting --------------------------------------------------------- */

static void note(struct hp_risk_counts *c, const struct hp_name *name,
		 uint32_t found)
{
	char text[HP_PRINTABLE];

	c->risky++;
	for (unsigned i = 0; i < HP_RISKS; i++) {
		if (!(found & UINT32_C(1) << i) || c->of[i].names++)
			continue;
		hp_printable(name->s, name->len, text);
		if (strlen(text) < sizeof c->of[i].first)
			strcpy(c->of[i].first, text);
		else
			snprintf(c->of[i].first, sizeof c->of[i].first,
				 "%.90s...%s", text, text + strlen(text) - 30);
	}
}

int hp_risk_counts_add(struct hp_risk_counts *c, const struct hp_name *names,
		       size_t n, uint32_t also, struct hpdsl_error *err)
{
	int r;

	if (n > c->room) {
		size_t room = n < 64 ? 64 : n + n / 2;
		uint32_t *more = reallocarray(c->found, room, sizeof *more);

		if (!more)
			return hp_fail_nomem(err);
		c->found = more;
		c->room = room;
	}
	r = hp_risks_find(names, n, c->found, err);
	if (r < 0)
		return r;
	c->names += n;
	for (size_t i = 0; i < n; i++)
		if (c->found[i] | also)
			note(c, &names[i], c->found[i] | also);
	return 0;
}

void hp_risk_counts_release(struct hp_risk_counts *c)
{
	free(c->found);
	c->found = NULL;
	c->room = 0;
}

size_t hp_risk_counts_tell(const struct hp_risk_counts *c,
			   struct hpdsl_name_risk ret[HPDSL_NAME_RISKS])
{
	size_t n = 0;

	for (unsigned i = 0; i < HP_RISKS; i++) {
		if (!c->of[i].names)
			continue;
		ret[n].readers = hp_risk_readers((enum hp_risk)i);
		ret[n].reason = hp_risk_text((enum hp_risk)i);
		ret[n].names = c->of[i].names;
		memcpy(ret[n].first, c->of[i].first, sizeof ret[n].first);
		n++;
	}
	return n;
}
