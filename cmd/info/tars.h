/* SPDX-License-Identifier: Apache-2.0 */
/* Tar files of others, as a list: what is told of them, and what comes next. */
#ifndef TARS_H
#define TARS_H

#include "info.h"

/* Of those given so many are held against each other. */
enum { TARS_FEW = 4096 };

struct tar {
	char *name; /* in the directory, or a path */
	enum hpdsl_tar_form form;
	bool empty; /* no byte */
};

struct tars {
	struct tar *v; /* those of a directory by name */
	size_t n;
	size_t packed; /* that are compressed, or zip */
	size_t none;   /* that are no archives */
	size_t looked; /* of those kinds that are looked at for readers */
	const char *dir;
	bool cut; /* there are more */
	struct info_sizes sizes;
	/* Of the first one that has files in it: */
	size_t shown;
	struct info_counts suffixes;
	struct cmd_strings paths; /* without ./ in front; allocated */
	struct hpdsl_group_look look;
	char *first;
	uint64_t names;
	bool whole; /* they were all of it, and of all */
};

/* tars_list.c: those of the directory i->path, or those that were given. */
void tars_list(struct info *i, struct tars *t);
void tars_take(struct info *i, struct tars *t);
void tars_free(struct tars *t);
/* Path of one; the caller frees it. */
char *tars_path(const struct tars *t, size_t k);
/* The end of a name that says that it is an archive; NULL: it says nothing. */
const char *tars_ending(const char *name);

/* tars_next.c */
void tars_next(struct info *i, const struct tars *t);

#endif
