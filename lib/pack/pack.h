/* SPDX-License-Identifier: Apache-2.0 */
/* The steps of a pack: target, resume, write, side files, index. */
#ifndef HP_PACK_H
#define HP_PACK_H

#include "format/manifest.h"
#include "pack/was.h"
#include "plan/labels_file.h"
#include "write/run.h"

/* Where the dataset is made, and how it gets its name. */
struct hp_target {
	const struct hp_io *io;
	const char *output; /* as given, for messages */
	int parent;	    /* folder that holds both names below; or -1 */
	int dir;	    /* where chunks are written */
	bool replace;	    /* dir is work, to be swapped in for name */
	bool complete;	    /* a whole dataset is there already */
	bool resumable;	    /* the journal tells of finished chunks */
	bool made;	    /* the directory is new */
	bool found;	    /* a journal was there before */
	bool begun;	    /* something was written that a resume can use */
	uint64_t chunks;    /* of the plan; 0: there is none yet */
	struct hp_journal *journal;
	char name[256]; /* of OUTPUT in parent; beside it: */
	char work[272]; /* the dataset that will replace it, .. */
	char old[272];	/* .. and what was replaced, to be removed */
	char work_journal[288];
};

struct hp_pack {
	struct hp_writing w;
	struct hp_was was;	       /* what this run goes on with */
	struct hpdsl_pack_options opt; /* as given, and what was decided */
	/* Among its patterns the file of labels, where it lies in an input. */
	const char **excludes;
	char *own_table;
	struct hp_labels_file labels;
	struct hp_labels_known known; /* set by hp_pack_labels */
	struct hp_pairs options;
	struct hp_target target;
	/* Side files, once they are written; their names are in one block. */
	struct hp_manifest_file *files;
	size_t n_files;
	char *file_names;
};

/*
 * Refuses at once what hp_target_open would refuse hours later: an output that
 * cannot be made, or a dataset that is not to be replaced.
 */
int hp_target_check(const struct hpdsl_pack_options *opt,
		    struct hpdsl_error *err);
/*
 * Opens or makes the output directory and takes its lock.  Nothing that is
 * there is changed; the journal file is created.  t->chunks is set before.
 */
int hp_target_open(struct hp_target *t, const struct hpdsl_pack_options *opt,
		   struct hpdsl_error *err);
/* The dataset that is there is to be replaced: goes on beside it, locked. */
int hp_target_replace(struct hp_target *t, const struct hpdsl_pack_options *opt,
		      struct hpdsl_error *err);
/* Removes temporary files of an unfinished pack; its chunks too if asked. */
int hp_target_clear(struct hp_target *t, bool chunks, struct hpdsl_error *err);
/* The dataset is complete: swaps it into place, drops the journal. */
int hp_target_finish(struct hp_target *t, struct hpdsl_error *err);
void hp_target_release(struct hp_target *t);

/*
 * Re-reads the chunks that the journal calls finished; those that are whole
 * and right get their place in p->w.done, their members the checksums.
 */
int hp_resume(struct hp_pack *p, struct hpdsl_error *err);

/* Is the complete dataset at the target what this run would make? */
int hp_resume_complete(struct hp_pack *p, struct hpdsl_error *err);

/* Writes all chunks that are not done.  HPDSL_ESTOPPED: some are left. */
int hp_write_chunks(struct hp_pack *p, struct hpdsl_error *err);

/*
 * Archives and datasets that are read: HPDSL_EDIFFERS: one is not that of the
 * interrupted run; and what a later run has to know of them.
 */
int hp_archives_check(const struct hp_pack *p, struct hpdsl_error *err);
int hp_archives_note(const struct hp_pack *p, struct hpdsl_error *err);

/*
 * Can index files of other readers hold the names?  HPDSL_EUSAGE; a warning
 * where they can do without some.
 */
int hp_emit_check(const struct hp_pack *p, struct hpdsl_error *err);
/* Bytes that these files will take at most, and how many there will be. */
uint64_t hp_emit_bound(const struct hp_pack *p, uint64_t *ret_files);
/* Writes them, once all chunks are done.  Sets p->files. */
int hp_emit_write(struct hp_pack *p, struct hpdsl_error *err);

/* Index, then manifest. */
int hp_write_index(struct hp_pack *p, struct hpdsl_error *err);

/*
 * Sets p->opt.litter to what this run does, after hp_was_open; and, once the
 * inputs are known, to what the manifest says: packed inputs are packed as they
 * are, so theirs is what a comparison with their source has to go by.
 */
void hp_pack_litter(struct hp_pack *p);
int hp_pack_litter_of_inputs(struct hp_pack *p, struct hpdsl_error *err);

/*
 * Looks into some files of the sorted list: HPDSL_EUSAGE if those of a suffix
 * are pointers or error pages in place of data; a warning if a few are.
 */
int hp_pack_hollow(const struct hp_pack *p, struct hpdsl_error *err);

/* Reads the file of labels, if there is to be one; after hp_was_open. */
int hp_pack_labels_read(struct hp_pack *p, struct hpdsl_error *err);
/* That it is no sample, if it lies in an input.  goes_on: with a pack by it. */
int hp_pack_own_table(struct hp_pack *p, bool goes_on, struct hpdsl_error *err);
/*
 * Gives the grouped samples their classes, and decides how these are numbered;
 * tells what the user should know of both.
 */
int hp_pack_labels(struct hp_pack *p, struct hpdsl_error *err);

/*
 * How files become samples, with a list that is scanned also where nobody has
 * said it: as in packed inputs.  HPDSL_EUSAGE where these differ.  Sets how
 * keys end, in the list and in p->opt.
 */
int hp_pack_group(struct hp_pack *p, struct hpdsl_error *err);
/*
 * Sets what the report says of the names of grouped files; a line of them, or
 * HPDSL_EUSAGE where a person has to say what a sample is.
 */
int hp_pack_look(const struct hp_pack *p, struct hpdsl_error *err);

/* Warnings: of samples larger than a chunk or of very many members, .. */
void hp_warn_of_samples(const struct hp_pack *p);
/* .. with two members of one suffix, which are counted in the report, .. */
int hp_warn_of_suffixes(const struct hp_pack *p, struct hpdsl_error *err);
/* .. that look like several, or whose suffixes find nothing, .. */
void hp_warn_of_look(const struct hp_pack *p);
/* .. of a zarr store, whose chunks 0.0 and 0.1 are one. */
void hp_warn_of_zarr(const struct hp_pack *p);
/* .. of what looks like litter, and is packed. */
void hp_warn_of_litter(const struct hp_pack *p);
/* Most of the input is archives that stay as they are. */
void hp_warn_of_archives(const struct hp_pack *p);
/* .. and that everybody could read the copy of what only its owner may. */
void hp_warn_of_privacy(const struct hp_pack *p);

/* Classes from members of the samples: HPDSL_LABELS_CLS, _JSON. */
int hp_pack_labels_of_members(struct hp_pack *p, struct hpdsl_error *err);

/* Sets what the report says of names: those at risk, or those changed. */
int hp_pack_names(struct hp_pack *p, struct hpdsl_error *err);

/* Free space and inodes against what the plan needs. */
int hp_check_space(const struct hp_pack *p, struct hpdsl_error *err);

/* Seconds that the whole pack will take, from reading a few files; or 0. */
double hp_estimate(const struct hp_pack *p);

#endif
