/* SPDX-License-Identifier: Apache-2.0 */
/* Folders that divide a dataset: hpdsl_split() in hpdsl/pack.h. */
#ifndef HP_SPLITS_H
#define HP_SPLITS_H

#include "hpdsl/pack.h"

/* The names of these bits: "train, val". */
#define HP_SPLITS_TEXT 64
const char *hp_splits_text(unsigned splits, char ret[HP_SPLITS_TEXT]);

#endif
