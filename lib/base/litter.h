/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Litter: what desktops, file systems and archivers put beside people's files.
 * The list is that of hpdsl-pack(1), "Litter".  A dataset says the version that
 * its packer went by, and whatever compares it with its input goes by the same:
 * so no row ever changes; another list is another version.
 */
#ifndef HP_LITTER_H
#define HP_LITTER_H

#include "hpdsl/pack.h"

#define HP_LITTER_VERSION "1" /* as a manifest has it */

/* hpdsl_litter_name() for a path and all folders on it: the first that fits. */
int hp_litter_path(const char *path, size_t len, bool is_folder);

#endif
