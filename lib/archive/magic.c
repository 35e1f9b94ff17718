/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What lies where an archive should be, by its first bytes or its name, with
 * what makes it one that is read here.
 */
#include "archive/archive.h"

#include "base/archive_name.h"

#include <string.h>
#include <strings.h>

#define UNPACK(with) ": unpack it (" with ") and pack the tree"
#define SEND "as servers send where something is wrong: get it again"

static const struct kind {
	const char *bytes;
	size_t n;
	const char *what;
} kinds[] = {
	{ "Rar!\x1a\x07", 6, "a RAR archive" UNPACK("unrar x, 7z x") },
	{ "\x04\x22\x4d\x18", 4, "compressed with lz4: lz4 -d it first" },
	{ "\x02\x21\x4c\x18", 4, "compressed with lz4: lz4 -d it first" },
	{ "\x1f\x9d", 2, "compressed with compress: gzip -d it first" },
	{ "PK\7\x8", 4,
	  "the first part of a split zip: join the parts (zip -s 0 PARTS.zip "
	  "-O WHOLE.zip) and pack that" },
	{ "PK00PK", 6, "a zip with the mark of a split one" UNPACK("unzip") },
	{ "070701", 6, "a cpio archive" UNPACK("bsdtar -xf") },
	{ "070702", 6, "a cpio archive" UNPACK("bsdtar -xf") },
	{ "070707", 6, "a cpio archive" UNPACK("bsdtar -xf") },
	{ "\xc7\x71", 2, "a cpio archive" UNPACK("bsdtar -xf") },
	{ "\x71\xc7", 2, "a cpio archive" UNPACK("bsdtar -xf") },
	{ "!<arch>\n", 8, "an ar archive" UNPACK("ar x") },
	{ "MSCF", 4, "a cabinet" UNPACK("7z x, bsdtar -xf") },
	{ "\xed\xab\xee\xdb", 4, "an RPM package" UNPACK("bsdtar -xf") },
	{ "\x89LZO", 4, "compressed with lzop: lzop -d it first" },
	{ "LRZI", 4, "compressed with lrzip: lrzip -d it first" },
};

static const char *pointer_kind(const char *p, size_t n)
{
	static const char begin[] = "version https://git-lfs.github.com/spec/";
	size_t len = sizeof begin - 1;

	return n >= len && !memcmp(p, begin, len) ?
		       "a Git LFS pointer, not the data: git lfs pull gets it" :
		       NULL;
}

/* A page or a message, blanks and a byte order mark before it. */
static const char *text_kind(const char *p, size_t n)
{
	size_t at = n >= 3 && !memcmp(p, "\xef\xbb\xbf", 3) ? 3 : 0;

	while (at < n && strchr(" \t\r\n", p[at]) && p[at])
		at++;
	p += at;
	n -= at;
	if ((n >= 14 && !strncasecmp(p, "<!doctype html", 14)) ||
	    (n >= 5 && !strncasecmp(p, "<html", 5)))
		return "an HTML page, " SEND;
	if (n >= 5 && !memcmp(p, "<?xml", 5))
		return "an XML text, " SEND;
	return NULL;
}

const char *hp_archive_hollow(const void *head, size_t n, bool *pointer)
{
	const char *what = pointer_kind(head, n);

	*pointer = what;
	return what ? what : text_kind(head, n);
}

const char *hp_archive_kind(const void *head, size_t n)
{
	bool pointer;

	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
		if (n >= kinds[i].n &&
		    !memcmp(head, kinds[i].bytes, kinds[i].n))
			return kinds[i].what;
	/* Behind the length and checksum of its first header. */
	if (n >= 7 && !memcmp((const char *)head + 2, "-lh", 3) &&
	    ((const char *)head)[6] == '-')
		return "an LHA archive" UNPACK("7z x, bsdtar -xf");
	return hp_archive_hollow(head, n, &pointer);
}

const char *hp_archive_kind_by_end(const void *head, size_t n, unsigned disk)
{
	const char *p = head;

	if (disk && disk != UINT16_MAX)
		return "the last part of a split zip: join the parts (zip -s 0 "
		       "PARTS.zip -O WHOLE.zip) and pack that";
	if ((n >= 2 && (!memcmp(p, "MZ", 2) || !memcmp(p, "#!", 2))) ||
	    (n >= 4 && !memcmp(p,
			       "\x7f"
			       "ELF",
			       4)))
		return "a self-extracting zip: take the program off (zip -J), "
		       "or unzip it and pack the tree";
	return "a zip behind other bytes: unzip it and pack the tree";
}

const char *hp_archive_part(const char *name)
{
	size_t n = strlen(name);

	if (n < 5 || name[n - 4] != '.' ||
	    strspn(name + n - 3, "0123456789") != 3 ||
	    !hp_archive_suffix(name, n - 4))
		return NULL;
	return "a part of a split archive: join the parts (cat) and pack that";
}
