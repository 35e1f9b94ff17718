/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Chunks with files of compressed archives, which can only be read front to
 * back.  private.h says how.
 */
#ifndef HP_SCATTER_H
#define HP_SCATTER_H

#include "write/run.h"

/*
 * Writes the chunks that are not done and hold files of such archives.
 * HPDSL_ESTOPPED: some are left.
 */
int hp_scatter_chunks(struct hp_writing *p, struct hpdsl_error *err);
/* Are there any such archives? */
bool hp_scatter_wanted(const struct hp_writing *p);
/* Has an interrupted run left temporary files of chunks that can be used? */
bool hp_scatter_resumes(const struct hp_writing *p);
/* Removes all other temporary files. */
int hp_scatter_clear(const struct hp_writing *p, struct hpdsl_error *err);
/* What the one of chunk c takes on the disk. */
uint64_t hp_scatter_space(const struct hp_writing *p, uint32_t c);

#endif
