/* SPDX-License-Identifier: Apache-2.0 */
/* hpdsl-pack: its options, from the command line or a file, and its reports. */
#ifndef CMD_PACK_H
#define CMD_PACK_H

#include "common/common.h"

struct pack_config;

/* Who shall read it, of --for; in the order of its words. */
enum pack_reader {
	PACK_WEBDATASET = 1,
	PACK_DALI = 2,
	PACK_ENERGON = 4,
	PACK_WIDS = 8,
	PACK_TORCH = 16, /* hpdsl.torch: by the index */
	PACK_OF_TAR = 15,
};

struct pack {
	struct cmd_common common;
	struct hpdsl_pack_options opt;
	struct cmd_strings args; /* INPUT... OUTPUT */
	struct cmd_strings include, exclude, meta, double_suffix;
	const char *files_from, *config;
	const char *from_snapshot, *snapshot_file;
	uint64_t shard_size; /* --chunk-size by another name */
	unsigned readers;    /* of --for: enum pack_reader */
	bool null, keep_litter;
	uint64_t deadline;  /* seconds; 0: none */
	uint64_t given;	    /* options seen, a bit each: see pack_given() */
	uint64_t in_config; /* the same, in the file of --config */
	struct cmd_names names;
	struct pack_config *config_state;      /* owns strings of --config */
	struct hpdsl_snapshot *from;	       /* of --from-snapshot */
	struct hpdsl_snapshot_report snapshot; /* no entries: not written */
};

/* Parser of the command line; its input is a struct pack. */
const struct argp *pack_argp(void);

/* Sets an option by its key: as cmd_common_set(). */
int pack_set(struct pack *p, int key, const char *arg, struct cmd_why *why);
/*
 * The option of a long name, or NULL.  Only options that a configuration file
 * may hold.
 */
const struct argp_option *pack_option(const char *name);
bool pack_repeats(int key);
/* Bit of pack.given; options that exclude each other share one. */
uint64_t pack_given(int key);
/* Was it given, on the command line or in the file? */
bool pack_has(const struct pack *p, const char *name);
bool pack_on_line(const struct pack *p, const char *name);
/* For a message: " (FILE, line N)" of what the file alone says, or nothing. */
struct pack_place {
	char s[320];
} pack_place(const struct pack *p, const char *name);

/* Sets what file p->config says and the command line did not.  Exit status. */
int pack_config(struct pack *p);
/* The first line of an option in the file, or 0. */
size_t pack_config_line(const struct pack_config *c, const char *name);
void pack_config_free(struct pack_config *c);

/*
 * Opens the snapshot to pack from, sees whether the one to be made can be
 * written.  Exit status.
 */
int pack_snapshot_begin(struct pack *p);
void pack_snapshot_end(struct pack *p);
/* Writes that of the complete dataset. */
int pack_snapshot_write(struct pack *p, struct hpdsl_error *err);
void pack_snapshot_tell(const struct pack *p);
void pack_snapshot_json(struct cmd_json *j, const struct pack *p);

/*
 * Sets what the readers of --for want; what contradicts that is a usage error.
 */
void pack_for(struct pack *p, const struct argp_state *state);
/* "webdataset,dali": of these readers. */
struct pack_list {
	char s[64];
} pack_readers(unsigned readers);

/* Where folders look like train, val and test: how they are read apart.  Exit
 * status: a usage error if they would be the classes. */
int pack_tell_splits(const struct pack *p);
bool pack_is_split(const char *name);
/* Without --labels: do folders look like classes? */
void pack_hint_classes(const struct pack *p);
/* .. and do members .cls say them? */
void pack_hint_members(const struct pack *p, const struct hpdsl_pack_report *r);
/* What to type next, where a person sees it. */
void pack_tell_next(const struct pack *p);

/* inside.c: of the files, before a byte is written, what might not be meant. */
void pack_tell_inside(const struct hpdsl_pack_report *r);
void pack_print_inside(const struct hpdsl_pack_report *r);
void pack_json_inside(struct cmd_json *j, const struct hpdsl_pack_report *r);
/* What was left out as litter; nothing, if nothing was. */
void pack_tell_litter(const struct hpdsl_pack_report *r);
/* What a sample is: when all is planned, and when it is done. */
void pack_tell_sample(const struct hpdsl_pack_report *r);
/* Before a byte is written: names that other readers trip over. */
void pack_tell_names(const struct pack *p, const struct hpdsl_pack_report *r);
/* The same as lines of the plan, and in the JSON object. */
void pack_print_names(const struct pack *p, const struct hpdsl_pack_report *r);
void pack_json_names(struct cmd_json *j, const struct hpdsl_pack_report *r);

/* Tells the error; differences and damage are no answer here, but in the way.
 */
int pack_tell(const struct hpdsl_error *err);

void pack_report(const struct pack *p, const struct hpdsl_pack_report *r);

#endif
