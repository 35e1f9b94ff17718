/* SPDX-License-Identifier: Apache-2.0 */
/* Options of a file that was read, as they are handed out. */
#ifndef HP_LOOK_PAIRS_H
#define HP_LOOK_PAIRS_H

#include "format/manifest.h"
#include "hpdsl/look.h"

/* An array of its own, with the strings of p; NULL: no memory. */
struct hpdsl_pair *hp_look_pairs(const struct hp_pairs *p);

#endif
