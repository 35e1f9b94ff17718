/* SPDX-License-Identifier: Apache-2.0 */
/* An open journal, for journal.c, journal_rows.c and journal_compare.c only. */
#ifndef HP_JOURNAL_FILE_H
#define HP_JOURNAL_FILE_H

#include "base/error.h"
#include "write/journal.h"

#include <pthread.h>

struct hp_journal_found {
	bool found;
	struct hp_journal_position at;
};

struct hp_journal {
	const struct hp_io *io;
	int dir;    /* borrowed */
	int fd;	    /* locked */
	bool fresh; /* the file was empty: nothing is lost with it */
	struct hp_journal_head head;
	pthread_mutex_t lock;
	uint64_t end; /* where the next record goes: under the lock */
	/* By number of the INPUT, as found by hp_journal_records. */
	struct hp_journal_found *positions;
	size_t n_positions;
	int sync_failed; /* what the first failed fsync returned */
};

int hp_journal_fail(int code, struct hpdsl_error *err);
/* A second sync may report success for data that the first one lost. */
int hp_journal_sync(struct hp_journal *j, struct hpdsl_error *err);

#endif
