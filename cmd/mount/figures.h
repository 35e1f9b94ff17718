/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a mount is and did, as its server writes it into a file for --status:
 * numbers and three strings, each at a place of its own.  Pure.  Whoever reads
 * it believes nothing of it, and prints nothing that was not looked at here.
 *
 * It is this program's, and of one node: numbers are in its order of bytes, and
 * a version that is not this one is not read.
 */
#ifndef MOUNT_FIGURES_H
#define MOUNT_FIGURES_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What is counted, by the names that --json gives it. */
enum mount_figure {
	MOUNT_N_REPLACED,
	MOUNT_N_REQUESTS,
	MOUNT_N_LOOKUPS,
	MOUNT_N_LISTINGS,
	MOUNT_N_READS,
	MOUNT_N_BYTES,
	MOUNT_N_INTERRUPTED,
	MOUNT_N_FILLED,
	MOUNT_N_FAILED,
	MOUNT_FIGURES
};

enum mount_way { MOUNT_WAY_COMMAND, MOUNT_WAY_FUSERMOUNT, MOUNT_WAY_ROOT };

struct mount_figures {
	uint32_t keeper, worker; /* numbers of processes */
	uint32_t turn;		 /* another one, whenever it was written anew */
	int64_t since;		 /* as time() */
	unsigned view;		 /* enum mount_view */
	unsigned way;		 /* enum mount_way */
	bool chosen;
	bool has_folder;
	uint64_t n[MOUNT_FIGURES];
	char place[PATH_MAX], dataset[PATH_MAX], folder[PATH_MAX];
};

enum {
	/* What changes is in front of the strings. */
	MOUNT_FIGURES_NUMBERS = 48 + 8 * MOUNT_FIGURES,
	MOUNT_FIGURES_BYTES = MOUNT_FIGURES_NUMBERS + 3 * PATH_MAX,
};

void mount_figures_encode(const struct mount_figures *f,
			  uint8_t ret[MOUNT_FIGURES_BYTES]);
/*
 * 0; HPDSL_ENOTOURS: it is no such thing; HPDSL_ETOONEW: of another version;
 * HPDSL_ECORRUPT: it is not what a server would write.
 */
int mount_figures_decode(const uint8_t *p, size_t n, struct mount_figures *ret);

#endif
