/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The text of a snapshot: one line an entry, which greps and diffs well.
 * hpdsl-format(5), "Text".
 */
#ifndef HP_SNAP_TEXT_H
#define HP_SNAP_TEXT_H

#include "tree/tree.h"

#define HP_SNAP_TEXT_FIRST "hpdsl-snapshot 1\n" /* the first line */

/*
 * Writes len bytes of a name, a path or a target as they stand on a line, to
 * out of at least 4 * len bytes; returns how many it took.
 */
size_t hp_snap_escape(const char *s, size_t len, char *out);

/*
 * The inverse: len bytes at s to out, which may be s.  Returns their number, or
 * -1 and in *ret_bad a byte that cannot stand there: a backslash that begins no
 * escape, or a byte that has to be escaped.
 */
ssize_t hp_snap_unescape(const char *s, size_t len, char *out,
			 const char **ret_bad);

/* Letter of the type in mode, as in ls -l but f for a file; 0: no such type. */
char hp_snap_type_letter(uint32_t mode);
/* The type of a letter, S_IFREG for f; 0: no such letter. */
uint32_t hp_snap_type_of(char letter);

struct hp_snap_text {
	const char *p; /* size bytes, not terminated */
	uint64_t size;
	const char *name; /* for messages */
	const struct hpdsl_watch *watch;
};

/*
 * Fills *t, zero before, with what the text describes, finished.  On failure it
 * is zero.  HPDSL_ECORRUPT: "NAME: line 7: reason"; HPDSL_ETOONEW.
 */
int hp_snap_parse(const struct hp_snap_text *text, struct hp_tree *t,
		  struct hpdsl_error *err);

/* Goes from line to line. */
struct hp_snap_lines {
	const struct hp_snap_text *text;
	uint64_t at;	 /* where the next line begins */
	uint64_t number; /* of this one, from 1 */
	const char *p;	 /* this one, without its newline */
	size_t len;
	bool dataset; /* the second line said so */
};

/* To the next line: 1, or 0 at the end. */
int hp_snap_lines_next(struct hp_snap_lines *l, struct hpdsl_error *err);
/* HPDSL_ECORRUPT, with name and line in front. */
int hp_snap_lines_fail(const struct hp_snap_lines *l, struct hpdsl_error *err,
		       const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* Reads the first line, and those behind it that are no entries. */
int hp_snap_lines_begin(struct hp_snap_lines *l, struct hp_tree *t,
			struct hpdsl_error *err);
/* The entry on this line; its strings go to the arena. */
int hp_snap_line_parse(const struct hp_snap_lines *l, struct hp_arena *arena,
		       struct hp_leaf *ret, struct hpdsl_error *err);

/*
 * Each line makes sense, but together they are no tree, as *err says (never
 * NULL): puts there on which line and why.  Returns err->code.
 */
int hp_snap_text_blame(const struct hp_snap_text *text,
		       struct hpdsl_error *err);

#endif
