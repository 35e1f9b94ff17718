/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hollow files: a Git LFS pointer, or an error page, where the data should be.
 * A few files are looked at, and what they are speaks for those of their
 * suffix.  Pure: which files, and what follows from what was found in them.
 */
#ifndef HP_HOLLOW_H
#define HP_HOLLOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	HP_HOLLOW_LEAST = 120, /* bytes of a pointer of Git LFS .. */
	HP_HOLLOW_MOST = 140,
	HP_HOLLOW_POINTERS = 1000, /* files of that size that are looked at */
	HP_HOLLOW_PAGES = 16,	   /* files of a suffix that no page has, .. */
	HP_HOLLOW_MEDIA = 16,	   /* .. of so many such suffixes */
	HP_HOLLOW_SUFFIXES = 64,   /* that are told apart */
	HP_HOLLOW_NAME = 16,
	HP_HOLLOW_SHARE = 20, /* pages: so much of all files, at least */
};

enum hp_hollow_kind { HP_HOLLOW_NOT, HP_HOLLOW_POINTER, HP_HOLLOW_PAGE };

/* A suffix: what follows the last dot, in small letters. */
struct hp_hollow_suffix {
	char name[HP_HOLLOW_NAME];
	size_t len;
	bool media;	   /* no page has it: files are looked at for pages */
	uint64_t files;	   /* all of them, .. */
	uint64_t sized;	   /* .. of the size of a pointer, .. */
	uint64_t asked;	   /* .. of these looked at, .. */
	uint64_t pointers; /* .. and found to be one */
	uint64_t met;	   /* by hp_hollow_wants */
	uint64_t opened, pages; /* the same for pages */
};

/* Zero at first. */
struct hp_hollow {
	struct hp_hollow_suffix v[HP_HOLLOW_SUFFIXES];
	size_t n, n_media, last;
	uint64_t files, sized, met; /* of all suffixes */
};

/* Why a file is looked at; zero: it is not. */
struct hp_hollow_ask {
	bool pointer, page;
	uint8_t suffix;
};

/* Each file once. */
void hp_hollow_count(struct hp_hollow *h, const char *path, size_t len,
		     uint64_t size);
/* Then each again, in the same order: is it to be looked at?  At most
 * HP_HOLLOW_POINTERS + HP_HOLLOW_PAGES * HP_HOLLOW_MEDIA are. */
struct hp_hollow_ask hp_hollow_wants(struct hp_hollow *h, const char *path,
				     size_t len, uint64_t size);
/* What came of it; true: it is hollow. */
bool hp_hollow_see(struct hp_hollow *h, struct hp_hollow_ask ask,
		   enum hp_hollow_kind kind);

/* How many files of the suffix are such, as far as they were looked at. */
uint64_t hp_hollow_pointers(const struct hp_hollow_suffix *s);
/* A suffix whose files mostly are such, or NULL.  A crawl of the web may well
 * have a few pages of any name: they count where the suffix has its share. */
const struct hp_hollow_suffix *hp_hollow_judge(const struct hp_hollow *h,
					       enum hp_hollow_kind *ret);

#endif
