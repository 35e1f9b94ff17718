/* SPDX-License-Identifier: Apache-2.0 */
/* Which files in a directory of the packer are ours. */
#ifndef HP_TARGET_KNOWN_H
#define HP_TARGET_KNOWN_H

#include "write/journal.h"

/* What a name in a directory of ours means. */
enum hp_target_name {
	HP_STRANGE, /* nothing: it is another's */
	HP_OURS,
	HP_OUR_PART, /* a temporary file of one that is ours */
};

/*
 * The chunks below this number are ours: by what lies in the directory, or by
 * its journal, if there is one, and plan if that is no dataset.  planned: 0,
 * there is no plan yet.
 */
uint64_t hp_target_known(const struct hp_io *io, int dir,
			 const struct hp_journal *journal, uint64_t planned);
/* inner: in the folder of side files.  All but the journal. */
enum hp_target_name hp_target_name(const char *name, uint64_t known,
				   bool inner);

#endif
