/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What readers do with tars, beyond names.  Found in the sources of WebDataset
 * 1.0, DALI and its wds2idx, Energon, wids, Hugging Face datasets and Ray Data;
 * four of them read through Python's tarfile as a stream.
 */
#include "compat/compat.h"

#include <string.h>

/*
 * A letter for each of webdataset, dali, energon, wids, hf, ray: - nothing,
 * d drops, n renames, s splits or mixes, m misreads, r refuses, i a note.
 */
static const struct {
	const char *text, *unit, *effects;
} table[HP_TRIPS] = {
	[HP_TRIP_LINK] = { "a link", "member", "dddddd" },
	[HP_TRIP_SPECIAL] = { "a device or FIFO", "member", "dddddd" },
	[HP_TRIP_SPARSE] = { "a sparse file", "member", "-m-d--" },
	[HP_TRIP_TYPE] = { "a file, but not of type '0'", "member", "-d-d--" },
	[HP_TRIP_GNU_NAME] = { "its name in a GNU header", "member", "-m----" },
	[HP_TRIP_PAX_SIZE] = { "its size in a pax header", "member", "-m-m--" },
	[HP_TRIP_BASE256] = { "its size in base 256", "member", "-r-r--" },
	[HP_TRIP_PREFIX] = { "a short name with a prefix", "member", "---n--" },
	[HP_TRIP_AGAIN] = { "a name again in its sample", "member", "rddmdr" },
	[HP_TRIP_DECODED] = { "hf decompresses these", "member", "----i-" },
	[HP_TRIP_APART] = { "members not adjacent", "sample", "ssrsss" },
	[HP_TRIP_SPLIT] = { "goes on in the next tar", "sample", "ssrsss" },
	[HP_TRIP_KEY_AGAIN] = { "key of another sample", "sample", "--r---" },
	[HP_TRIP_FIELDS] = { "other suffixes than the first sample", "sample",
			     "----r-" },
	[HP_TRIP_GLOBAL] = { "global pax header", "tar", "-rm---" },
	[HP_TRIP_MAGIC] = { "no ustar magic: its cache takes no such", "tar",
			    "r-----" },
	[HP_TRIP_EMPTY] = { "no samples", "tar", "-rr---" },
	[HP_TRIP_BROKEN] = { "damaged, or cut off", "tar", "rrrrrr" },
	[HP_TRIP_MISSING] = { "missing", "tar", "rrrrrr" },
	[HP_TRIP_ZSTD] = { "compressed with zstd", "tar", "rrrrrr" },
	[HP_TRIP_PACKED] = { "compressed, so not looked into", "tar",
			     "irrrii" },
	[HP_TRIP_SUFFIX] = { "its name does not end in .tar", "tar", "--d--d" },
	[HP_TRIP_DOTS] = { "a dot inside its name: wds2idx cuts that of the "
			   "index there",
			   "tar", "-i----" },
	[HP_TRIP_STRANGER] = { "below the folder: energon prepare takes it, "
			       "too",
			       "tar", "--s---" },
	[HP_TRIP_NO_IDX] = { "no index: it will read all headers first", "tar",
			     "-i----" },
	[HP_TRIP_NO_META] = { "no index: energon prepare has to make it", "tar",
			      "--i---" },
	[HP_TRIP_MANY] = { "open all at a time: see ulimit -n", "tar",
			   "-i----" },
	[HP_TRIP_MIXED] = { "train, val and the like in one: it cannot read "
			    "them apart",
			    "tar", "iiiiii" },
	[HP_TRIP_FILES] = { "read_webdataset takes each file in it for a tar, "
			    "but with file_extensions=[\"tar\"]",
			    "folder", "-----i" },
};

static const unsigned readers[] = {
	HPDSL_READER_WEBDATASET, HPDSL_READER_DALI, HPDSL_READER_ENERGON,
	HPDSL_READER_WIDS,	 HPDSL_READER_HF,   HPDSL_READER_RAY,
};

static char letter(enum hp_trip trip, unsigned reader)
{
	for (size_t i = 0; i < sizeof readers / sizeof *readers; i++)
		if (reader == readers[i])
			return table[trip].effects[i];
	return '-';
}

const char *hp_lint_effect(unsigned lint, unsigned reader)
{
	if (lint < HP_RISKS)
		return hp_effect_text(
			hp_risk_effect((enum hp_risk)lint, reader));
	switch (letter((enum hp_trip)(lint - HP_RISKS), reader)) {
	case 'd':
		return hp_effect_text(HP_EFFECT_DROPS);
	case 'n':
		return hp_effect_text(HP_EFFECT_RENAMES);
	case 's':
		return hp_effect_text(HP_EFFECT_SPLITS);
	case 'r':
		return hp_effect_text(HP_EFFECT_REFUSES);
	case 'm':
		return "misreads";
	case 'i':
		return "note";
	default:
		return NULL;
	}
}

bool hp_lint_trips(unsigned lint, unsigned reader)
{
	const char *effect = hp_lint_effect(lint, reader);

	return effect && strcmp(effect, "note") != 0;
}

const char *hp_lint_text(unsigned lint)
{
	return lint < HP_RISKS ? hp_risk_text((enum hp_risk)lint) :
				 table[lint - HP_RISKS].text;
}

const char *hp_lint_unit(unsigned lint)
{
	return lint < HP_RISKS ? "member" : table[lint - HP_RISKS].unit;
}

/* ---- One member ------------------------------------------------------- */

#define BIT(trip) (UINT32_C(1) << HP_TRIP_##trip)

static bool ends_in(const char *s, size_t len, const char *end)
{
	size_t n = strlen(end);

	if (len < n)
		return false;
	for (size_t i = 0; i < n; i++) {
		char c = s[len - n + i];

		if ((c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c) != end[i])
			return false;
	}
	return true;
}

/* Contents that Hugging Face datasets decodes by their names. */
static bool is_decoded(const char *name, size_t len)
{
	static const char *const ends[] = { ".bz2", ".gz", ".lz4", ".xz",
					    ".zst" };

	for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
		if (ends_in(name, len, ends[i]))
			return true;
	return false;
}

static uint32_t of_form(unsigned form)
{
	return (form & HP_FORM_GNU_NAME ? BIT(GNU_NAME) : 0) |
	       (form & HP_FORM_PAX_SIZE ? BIT(PAX_SIZE) : 0) |
	       (form & HP_FORM_BASE256 ? BIT(BASE256) : 0) |
	       (form & HP_FORM_SPARSE ? BIT(SPARSE) : 0);
}

uint32_t hp_lint_of_member(const struct hp_lint_member *m)
{
	const char *slash = memrchr(m->name, '/', m->len);
	const char *base = slash ? slash + 1 : m->name;
	uint32_t found = 0;

	if (m->kind == HP_FOREIGN_LINK)
		return BIT(LINK);
	if (m->kind == HP_FOREIGN_SPECIAL)
		return BIT(SPECIAL);
	if (m->kind != HP_FOREIGN_FILE)
		return 0;
	found = of_form(m->form);
	if (m->type != '0' && m->type != '\0' && !(m->form & HP_FORM_SPARSE))
		found |= BIT(TYPE);
	if (m->form & HP_FORM_PREFIX && m->len <= 100)
		found |= BIT(PREFIX);
	if (is_decoded(base, m->len - (size_t)(base - m->name)))
		found |= BIT(DECODED);
	return found;
}

uint32_t hp_lint_of_tar(const char *name)
{
	const char *slash = strrchr(name, '/');
	const char *base = slash ? slash + 1 : name;
	size_t len = strlen(base);
	uint32_t found = 0;

	if (len < 4 || strcmp(base + len - 4, ".tar") != 0)
		return BIT(SUFFIX);
	if (memchr(base, '.', len - 4))
		found |= BIT(DOTS);
	return found;
}
