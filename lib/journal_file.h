/* SPDX-License-Identifier: Apache-2.0 */
/* An open journal, for journal.c and journal_compare.c only. */
#ifndef HP_JOURNAL_FILE_H
#define HP_JOURNAL_FILE_H

#include "journal.h"

struct hp_journal {
	const struct hp_io *io;
	int dir;    /* borrowed */
	int fd;	    /* locked */
	bool fresh; /* the file was empty: nothing is lost with it */
	struct hp_journal_head head;
	uint64_t end;	 /* where the next record goes */
	int sync_failed; /* what the first failed fsync returned */
};

#endif
