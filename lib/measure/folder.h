/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The folder of a measured job:
 *
 *	beat			hpdsl-stall's: a count, the schedule, the end
 *	rank.NODE.PID		a rank's, appended to
 *	loader-rank.NODE.PID	empty: a process that made a loader
 *	bare-rank.NODE.PID	empty: one that had no guard, and killed itself
 *
 * It is on whatever file system all nodes see, so files are small, few, opened
 * by name for each look, and one process writes each.
 */
#ifndef HP_MEASURE_FOLDER_H
#define HP_MEASURE_FOLDER_H

#include "stall/record.h"
#include "sys/io.h"

/* How its name begins. */
#define HP_MEASURE_RUN "hpdsl-stall."
#define HP_MEASURE_BEAT "beat"
#define HP_MEASURE_RANK "rank."
#define HP_MEASURE_MARK "loader-"
#define HP_MEASURE_BARE "bare-"
/* Seconds, by the file system's clock, after which a beat is a dead one's. */
#define HP_MEASURE_STALE 60
/* What hpdsl_stall_guard() of cmd/stall/preload/guard/open.c has to return. */
#define HP_MEASURE_GUARD 1
/* Of a file's name, and a NUL. */
#define HP_MEASURE_NAME 128

/* All that a file has from off on, at most HP_MEASURE_READ bytes, with a NUL
 * behind it; the caller frees *ret.  0, -errno. */
#define HP_MEASURE_READ (1 << 20)
int hp_measure_read(const struct hp_io *io, int dir, const char *name,
		    uint64_t off, char **ret, size_t *ret_n);
/* Adds a line. */
int hp_measure_append(const struct hp_io *io, int dir, const char *name,
		      const struct hp_stall_record *line);
/* A file that is there as a whole or not. */
int hp_measure_replace(const struct hp_io *io, int dir, const char *name,
		       const char *text, size_t n);

#endif
