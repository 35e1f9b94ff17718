/* SPDX-License-Identifier: Apache-2.0 */
/* Between the parts of hpdsl_compat: what was given, and the lints of it. */
#ifndef HP_COMPAT_RUN_H
#define HP_COMPAT_RUN_H

#include "compat/compat.h"
#include "dataset/dataset.h"
#include "hpdsl/verify.h"
#include "sys/meter.h"

/* One tar: a file, or a chunk of a dataset. */
struct hp_compat_tar {
	char *name;			   /* below dir, or a path */
	const struct hp_compat_folder *in; /* NULL: a file that was named */
	uint32_t chunk;			   /* of in->ds */
};

/* A folder that was given. */
struct hp_compat_folder {
	int dir;
	bool energon;		  /* its index is there */
	struct hpdsl_dataset *ds; /* or NULL; foreign ones are read, too */
	bool foreign;
};

struct hp_compat {
	const struct hpdsl_compat_options *opt;
	const struct hp_io *io;
	struct hp_meter meter;
	struct hp_compat_folder *folders; /* room for one an argument */
	size_t n_folders;
	struct hp_compat_tar *tars;
	size_t n, room;
	struct hp_lint *lints; /* of the tars, then one for the rest */
};

/* A dataset, a folder of tars, or a tar: its tars, in order. */
int hp_compat_add(struct hp_compat *c, const char *path,
		  struct hpdsl_error *err);
/* Counts tars below the folders that were given, and datasets among these. */
int hp_compat_strangers(struct hp_compat *c, struct hp_lint *l,
			struct hpdsl_error *err);

#endif
