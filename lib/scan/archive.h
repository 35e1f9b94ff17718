/* SPDX-License-Identifier: Apache-2.0 */
/* Between the parts of scan_archive*.c: the walk of one archive. */
#ifndef HP_SCAN_ARCHIVE_H
#define HP_SCAN_ARCHIVE_H

#include "archive/archive.h"
#include "base/twins.h"
#include "scan/private.h"

/* A symbolic or hard link, as long as nobody knows what it leads to. */
struct hp_archive_link {
	const char *path;   /* of the member, the root's prefix included */
	const char *target; /* as the archive has it */
	const char *final;  /* path of what it leads to */
	size_t path_len, target_len, final_len;
	size_t inner_len; /* of path: prefix and folders of inner archives */
	bool hard, wanted;
	bool self; /* a hard link to its own path: nothing new, if .. */
	bool drop; /* .. a file of this path came before, among .. */
	uint64_t before[2]; /* .. so many files, and so many left out */
	/* Of hard ones: */
	struct hp_archive_link *next; /* the link that it is another name of */
	struct hp_archive_link *last; /* of the row of hard links from here */
	struct hp_archive_link *passed; /* by a walk that began there */
	int row_fault;
	bool folder;	     /* it leads to one */
	bool same;	     /* it is another name of a file */
	bool packed;	     /* that has its own name, too */
	bool found;	     /* it leads to a file: */
	struct hp_file file; /* that one */
	int fault;	     /* -ELOOP, -EXDEV */
};

/* Names that are not packed, but that a link may lead to. */
struct hp_archive_names {
	struct hp_file *v;
	uint64_t n, cap;
};

struct hp_archive_walk {
	struct hp_scan_worker *w;
	struct hp_archive *a;
	uint16_t root;
	uint64_t first, end; /* of w->files: the archive's own contents */
	struct hp_archive_names files, folders; /* left out; all of them */
	struct hp_archive_link *links;
	uint64_t n_links;
	struct hp_arena *arena; /* of these names */
	uint64_t contents;	/* bytes that had to be decoded */
	bool in_place;
	/* Of w->files: those that are litter if another name is there. */
	uint64_t *twins;
	uint64_t n_twins;
};

/*
 * archive_litter.c: is what is at w->path left out as litter?  Counts files and
 * links.  One that depends on another name, which may follow, is not yet.
 */
bool hp_archive_is_litter(struct hp_archive_walk *k,
			  const struct hp_archive_entry *e, size_t prefix);
/* The same of the file that a link at w->path is about to become. */
void hp_archive_note_link(struct hp_archive_walk *k);
/* Does it lead to nothing that is packed, nor to a folder? */
static inline bool hp_archive_is_lost(const struct hp_archive_link *l)
{
	return l->fault || (!l->found && (l->hard || !l->folder));
}
/* Links that are lost and called ._X: which X are there.  0, -ENOMEM. */
int hp_archive_see_lost(const struct hp_archive_walk *k, struct hp_twins *t);
/* With them: is such a link left out as litter?  Counts it. */
bool hp_archive_is_lost_litter(struct hp_archive_walk *k,
			       const struct hp_twins *t,
			       const struct hp_archive_link *l);
/* Takes these out, now that all names are known. */
void hp_archive_drop_twins(struct hp_archive_walk *k);

/* archive_names.c: keeps w->path, with what f says. */
void hp_archive_keep_name(struct hp_archive_walk *k,
			  struct hp_archive_names *names,
			  const struct hp_file *f);
void hp_archive_keep_link(struct hp_archive_walk *k,
			  const struct hp_archive_entry *e, size_t inner,
			  bool wanted);
void hp_archive_count_empty(struct hp_archive_walk *k);
/* Is w->path in the user's list, or a folder above it?  Yes without a list. */
bool hp_archive_is_listed(struct hp_archive_walk *k, size_t prefix);
void hp_archive_tell_absent(struct hp_archive_walk *k);
/* w->path becomes this of the archive. */
void hp_scan_archive_path(struct hp_archive_walk *k, const char *path,
			  size_t len);

/* Where a hard link points to: from the top of its own archive. */
struct hp_archive_target {
	char path[2 * HPDSL_PATH_MAX + 2];
	size_t len;
};

/* archive_hard.c */
/* By bytes, what is shorter first. */
int hp_archive_compare(const char *a, size_t n, const char *b, size_t m);
void hp_archive_sort_links(struct hp_archive_walk *k);
/* In sorted ones; or NULL. */
struct hp_archive_link *hp_archive_find_link(const struct hp_archive_walk *k,
					     const char *path, size_t len);
/* 0, -EXDEV, -ENAMETOOLONG. */
int hp_archive_hard_target(const struct hp_archive_link *l,
			   struct hp_archive_target *ret);
/*
 * GNU tar stores a file that it is given twice as a hard link to itself: such
 * links go, where the file is there before.
 */
void hp_archive_drop_selves(struct hp_archive_walk *k,
			    struct hp_archive_target *scratch);
/* Sets last, or row_fault, of all hard links. */
void hp_archive_end_rows(struct hp_archive_walk *k,
			 struct hp_archive_target *scratch);

/* archive_link.c */
/* Makes files of links, at the end of the walk; false: the scan has ended. */
bool hp_scan_archive_links(struct hp_archive_walk *k);

#endif
