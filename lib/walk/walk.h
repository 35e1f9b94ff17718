/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From a directory to struct hp_tree, in parallel: many threads list folders
 * and ask for attributes, because that waits for a server.  Symbolic links are
 * recorded, not followed.  What cannot be listed or asked for is an error, told
 * as in scan/scan.h, and no tree comes of it.
 */
#ifndef HP_WALK_H
#define HP_WALK_H

#include "snap/snap.h"
#include "sys/outfile.h"
#include "tree/tree.h"

struct hp_walk_options {
	const struct hpdsl_snapshot_options *opt; /* exclude .. watch */
	/* Two names that are left out in one folder; "": none. */
	char skip_name[HP_OUTFILE_NAME], skip_temp[HP_OUTFILE_NAME];
	dev_t skip_dir_dev;
	ino_t skip_dir_ino;
	/*
	 * With known: a folder that is in it with the same mtime, and whose
	 * ctime is before since, is taken from there; see struct
	 * hpdsl_check_options.  The tree then has names that are in known.
	 */
	const struct hpdsl_snapshot *known;
	int64_t since;
	uint32_t since_nsec;
};

/*
 * Walks the directory path.  Fills *t (zero before), finished, and excluded,
 * mounts, folders_kept and walk_seconds of *report.  On failure *t is zero.
 */
int hp_walk(const char *path, const struct hp_walk_options *opt,
	    struct hp_tree *t, struct hpdsl_snapshot_report *report,
	    struct hpdsl_error *err);

/*
 * The tree of source: of the packed dataset that it is, else of the directory.
 * hp_walk's options say the rest.
 */
int hp_tree_of(const char *source, const struct hp_walk_options *opt,
	       struct hp_tree *t, struct hpdsl_snapshot_report *report,
	       struct hpdsl_error *err);

/*
 * A snapshot's own file is left out of the walk, and so is what a run that was
 * killed left of writing it.  Both by their names: another name of the same
 * file stays what it is when this one is replaced.  The file need not be there,
 * its folder has to.
 */
int hp_walk_skip(struct hp_walk_options *opt, const char *file,
		 struct hpdsl_error *err);

#endif
