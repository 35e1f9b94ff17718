/* SPDX-License-Identifier: Apache-2.0 */
/* Members of a chunk by their places in its plain tar. */
#ifndef HP_MEMBER_BEHIND_H
#define HP_MEMBER_BEHIND_H

#include "index/index.h"

/*
 * The first of the chunk's members whose content ends behind this byte; the
 * number behind the chunk's last member if there is none.  HPDSL_ECORRUPT.
 */
int hp_member_behind(const struct hp_index *ix, const struct hpdsl_chunk *c,
		     uint64_t offset, uint64_t *ret, struct hpdsl_error *err);

#endif
