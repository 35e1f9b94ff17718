/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The library says what is wrong, in words that are right for every program;
 * what to do about it at a shell, and by which option, is added here.
 */
#include "common/common.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

#define COMPLETES " (hpdsl-pack --resume completes it)"
#define INDEXES(what) " (hpdsl-index makes " what " from the chunks)"
#define EMITS " (hpdsl-pack --emit=LIST DIR OUTPUT makes such again)"
#define INFO " (hpdsl-info says what is there, and what comes next)"
#define NO_GROUPS " (--group=none)"
#define PREFIX " (--prefix-input puts the name of each INPUT in front)"
#define EXCLUDE(what) " (--exclude=GLOB leaves " what " out)"
#define AGAIN " (it has to be copied again)"
#define TREE " (unpack the archive, and pack the tree)"

/* How a text of the library ends, and what goes behind it. */
static const struct advice {
	const char *of; /* the command; NULL: all */
	const char *end, *add;
} advice[] = {
	{ NULL, " unfinished pack", COMPLETES },
	{ NULL, ": index.hpdsl is missing", INDEXES("it") },
	{ NULL, "not a dataset: dataset.yaml is missing", INDEXES("it") },
	{ NULL, "dataset.yaml and index.hpdsl are missing", INDEXES("them") },
	{ "pack", " chunks are there", "; --resume completes it" },
	{ "pack", ": a packed dataset is there", "; --force replaces it" },
	{ "pack", ": an unfinished pack is there",
	  "; --resume completes it, --force begins afresh" },
	{ "pack", "; it can be replaced", " (--force)" },
	{ "pack", "cls needs classes", ": see --labels" },
	{ "pack", "cls does not go with group none", NO_GROUPS },
	{ "pack", "classes of members do not go with group none", NO_GROUPS },
	{ "pack", "; without groups each file is a sample", NO_GROUPS },
	{ "pack", HPDSL_LOOK_MENDS "; what a sample is has to be said",
	  " (--group=last; --group=none: each file is one; --group=key: as "
	  "here)" },
	{ "pack", "; what a sample is has to be said",
	  " (--group=none: each file is one; --group=key: as here)" },
	{ NULL, HPDSL_LOOK_MENDS,
	  " (--group=last; --group=none: each file is one)" },
	{ "pack", "; how they are grouped has to be said", " (--group)" },
	{ "pack", "; these have to be said",
	  " (--group=last --double-suffix=SUFFIX)" },
	{ "pack", "ask for nested archives", " (--nested)" },
	{ "pack", "; excluding these leaves them out", " (--exclude=GLOB)" },
	{ "pack", " left out as litter", " (--keep-litter packs it)" },
	{ "pack", " is left out: it is one or the other",
	  " (--keep-litter packs all of it, --exclude=GLOB none)" },
	{ "pack", ", not a file", EXCLUDE("it") },
	{ "pack", " is cut off", AGAIN },
	{ "pack", ": content differs from its CRC-32 in the archive", AGAIN },
	{ "pack", ": no member can have this path", TREE },
	{ "pack", ": a member has no name", TREE },
	{ "pack", " that began in another archive",
	  " (tar -xM unpacks all volumes)" },
	{ "pack", ": changed since it was scanned",
	  " (--force begins afresh; --resume goes on once it is as it was)" },
	{ "pack", "with their names in front", " (--prefix-input)" },
	{ "mount", ": is there twice", " (--view=chunks shows the tars)" },
	{ NULL, "; a dataset is one", INFO },
	{ "index", "not a dataset, and no tar files", INFO },
	{ "pack", ": no files to pack", INFO },
	{ "pack", "portable names are taken", " (--names=portable)" },
	{ "pack", " has the labels, so it is left out",
	  "; --include='*' packs it, too" },
	{ NULL, "; another folder of the path may name the class",
	  ": --labels=dir:2; --labels=dir:1 takes this one" },
	{ NULL, "; the two have to be named",
	  ": --label-columns=NAME,CLASS, or numbers, as 1,2, which also do "
	  "where there is no header" },
	{ NULL, "the folder that names a class: no sample has one",
	  " (--labels)" },
	{ "pack", " classes, as its files have in their datasets",
	  " (--labels says what the class is)" },
	{ NULL, "the file of labels is not what it was", " (--labels)" },
	{ "index", "; without groups each file is a sample",
	  " (--group=none)" },
	{ "index",
	  "; manifest and index are lost: what a sample is has to be "
	  "said",
	  " (--group=key, last or none, as it was packed)" },
	{ "index", "; classes are given when they are packed again",
	  ": hpdsl-pack --labels=HOW DIR OUTPUT" },
	{ "index", "; it can be made anew", " (--force)" },
	{ "index", "; where the tars lie now has to be given",
	  " (hpdsl-index -o OUTPUT DIR)" },
	{ "index", "; they have to be given again",
	  " (--labels=FILE, or --labels=none)" },
	{ "index", " .cls of the packer may say them",
	  " (hpdsl-index -o OUTPUT --labels=cls DIR/chunk-*.tar)" },
	{ "index", " .cls of the packer in compressed chunks may say them",
	  " (hpdsl-pack --labels=cls DIR/chunk-*.tar.zst OUTPUT)" },
	{ "index", " .cls may say them",
	  " (hpdsl-pack --labels=cls DIR OUTPUT)" },
	{ "index", "; decompress it", " (zstd -d --rm)" },
	{ "index", "the manifest that listed it is lost", EMITS },
	{ "index", "the manifest that listed them is lost", EMITS },
	{ "stage", "; the other one has to make room",
	  " (hpdsl-stage --clean)" },
	{ "stage", " planned for it", " (--mode=auto stages what fits)" },
};

/* What such a text has inside; the first that is there counts. */
static const struct advice inside[] = {
	{ "pack", ": link leads outside the input: ",
	  " (--symlinks=follow-all follows it; in an archive, leaves it out)" },
	{ "pack", ": dangling link to ",
	  " (--symlinks=follow-all leaves it out)" },
	{ "pack", "; so are ",
	  " (--exclude=GLOB leaves them out, --files-from packs what it "
	  "names)" },
	{ "pack", ", which have one name: ", "" },
	{ NULL, "not a dataset (", INFO },
	{ NULL, "no member '", " (hpdsl-ls DATASET lists them)" },
	{ "pack", ": one from ", PREFIX },
	{ "pack", ", and a folder, from ", PREFIX },
	{ "pack", " would be a file and a folder, both from ", EXCLUDE("one") },
	{ "pack", ": link loop, through ",
	  " (--symlinks=follow-all leaves it out)" },
	{ "pack",
	  ": hard link to what is not in the archive: ", EXCLUDE("it") },
	{ "pack", ": Truncated ", AGAIN },
};

static bool is_of(const char *command)
{
	const char *name = program_invocation_short_name;

	return !command ||
	       (!strncmp(name, "hpdsl-", 6) && !strcmp(name + 6, command));
}

static void add_behind(char *text, size_t cap)
{
	size_t len = strlen(text);

	for (size_t i = 0; i < sizeof(advice) / sizeof(*advice); i++) {
		size_t n = strlen(advice[i].end);

		if (len < n || strcmp(text + len - n, advice[i].end) ||
		    !is_of(advice[i].of))
			continue;
		snprintf(text + len, cap - len, "%s", advice[i].add);
		return;
	}
	for (size_t i = 0; i < sizeof(inside) / sizeof(*inside); i++) {
		if (!strstr(text, inside[i].end) || !is_of(inside[i].of))
			continue;
		snprintf(text + len, cap - len, "%s", inside[i].add);
		return;
	}
}

/* Fields of hpdsl_pack()'s options are options with dashes at a shell. */
static void name_option(char *text, size_t cap)
{
	static const char *const fields[] = {
		"memory: ", "cls: ", "cls needs ",    "cls does ",
		"meta '",   "emit=", "label_columns", "double_suffix: "
	};
	size_t n = 0, len = strlen(text);
	bool is = false;

	for (size_t i = 0; i < sizeof(fields) / sizeof(*fields); i++)
		is |= !strncmp(text, fields[i], strlen(fields[i]));
	while (islower((unsigned char)text[n]) || text[n] == '_')
		n++;
	is |= n && !strncmp(text + n, " is ", 4) && strstr(text, " now, was ");
	if (!is || len + 3 > cap || (!is_of("pack") && !is_of("index")))
		return;
	for (size_t i = 0; i < n; i++)
		if (text[i] == '_')
			text[i] = '-';
	memmove(text + 2, text, len + 1);
	memcpy(text, "--", 2);
}

void cmd_advise(char *text, size_t cap)
{
	add_behind(text, cap);
	name_option(text, cap);
}
