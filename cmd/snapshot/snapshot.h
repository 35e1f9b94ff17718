/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The commands of hpdsl-snapshot, a file each, and what they share.  Each reads
 * its own options: argv[0] is "hpdsl-snapshot NAME".
 */
#ifndef CMD_SNAPSHOT_H
#define CMD_SNAPSHOT_H

#include "common/subcommand.h"

int snapshot_create(int argc, char **argv);
int snapshot_check(int argc, char **argv);
int snapshot_diff(int argc, char **argv);
int snapshot_ls(int argc, char **argv);
int snapshot_stat(int argc, char **argv);
int snapshot_find(int argc, char **argv);
int snapshot_du(int argc, char **argv);
int snapshot_dump(int argc, char **argv);
int snapshot_load(int argc, char **argv);
int snapshot_verify(int argc, char **argv);

extern const struct argp snapshot_create_argp, snapshot_check_argp,
	snapshot_diff_argp, snapshot_ls_argp, snapshot_stat_argp,
	snapshot_find_argp, snapshot_du_argp, snapshot_dump_argp,
	snapshot_load_argp, snapshot_verify_argp;
extern const struct cmd_option snapshot_create_options[],
	snapshot_check_options[], snapshot_diff_options[],
	snapshot_ls_options[], snapshot_stat_options[], snapshot_find_options[],
	snapshot_du_options[], snapshot_load_options[],
	snapshot_verify_options[], snapshot_walk_options[];

/* shared.c */

/*
 * Opens FILE and takes care of SIGINT, SIGTERM and SIGBUS, which can name up to
 * two such files.  Gives an exit status; what was wrong has been told.
 */
int snapshot_open(const char *file, struct hpdsl_snapshot **ret);
/* NULL is harmless. */
void snapshot_close(struct hpdsl_snapshot *s);

/*
 * An argument PATH as the library takes it, in place: without "." and empty
 * names, so without slashes at its ends; "" is the top.  Returns its length.
 */
size_t snapshot_path_clean(char *path);

/*
 * Finds the entry of an argument PATH, which it cleans.  Gives an exit status:
 * CMD_NO when there is none, which has been told.
 */
int snapshot_lookup(const struct hpdsl_snapshot *s, char *path,
		    struct hpdsl_entry *ret);

/* The path as it is printed: "." for the top. */
const char *snapshot_path_shown(const char *path, size_t *len);
/* Prints it and what ends it, as cmd_print_name() does. */
void snapshot_print_path(const char *path, size_t len, bool null);

char snapshot_type(uint32_t mode);	      /* one of "fdlpcbs" */
struct cmd_text snapshot_mode(uint32_t mode); /* drwxr-sr-t, as ls -l */
struct cmd_text snapshot_entries(uint64_t n); /* 1 entry, 1,281,167 entries */
/* With "type", "mode", "size", "mtime", "mtime_nsec" and, if any, "member". */
void snapshot_json_entry(struct cmd_json *j, const struct hpdsl_entry *e);

/* walk.c: options of what walks a tree */

struct snapshot_walk {
	struct cmd_common common;
	struct cmd_strings exclude;
	struct hpdsl_snapshot_options opt;
};

/*
 * The list that has the parser of these options alone; its input is a struct
 * snapshot_walk.
 */
extern const struct argp_child snapshot_walk_children[];
/* cmd_parse for one that has this list. */
void snapshot_walk_parse(const struct cmd_option *rows, const struct argp *with,
			 int argc, char **argv, void *input);
/* Fills opt from what was given, progress and the stop flag. */
void snapshot_walk_begin(struct snapshot_walk *w);

/* info.c: what a snapshot is, for people and as JSON */

struct snapshot_line {
	char s[256];
};

/* 31 entries: 3 folders, 28 files of 1.2 MiB */
struct snapshot_line snapshot_counts(const struct hpdsl_snapshot_info *i);
/* Tells its size, both digests and the dataset that it is of. */
void snapshot_tell_info(const struct hpdsl_snapshot_info *i);
void snapshot_json_info(struct cmd_json *j,
			const struct hpdsl_snapshot_info *i);
/* What create and load say at their end; a line before all tells the time. */
void snapshot_made(const struct cmd_common *c,
		   const struct hpdsl_snapshot_report *r);
void snapshot_tell_passed(const struct hpdsl_snapshot_report *r);

/* difference.c: what diff and check print */

struct snapshot_differences {
	bool json, null;
	struct cmd_json j; /* the object, once begun */
	bool begun;
};

/* For struct hpdsl_diff_options; arg is a struct snapshot_differences. */
void snapshot_difference(void *arg, const struct hpdsl_difference *d);
/*
 * With --json: ends the array of differences and gives the object, for more
 * about them; with err it ends with that instead, and NULL is returned.
 */
struct cmd_json *snapshot_differences_end(struct snapshot_differences *d,
					  const struct hpdsl_error *err);
/* What a report counts, of n entries. */
void snapshot_json_diff(struct cmd_json *j, const struct hpdsl_diff_report *r,
			uint64_t n);
struct snapshot_line snapshot_diff_counts(const struct hpdsl_diff_report *r,
					  uint64_t n);

#endif
