/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CMD_STAGE_H
#define CMD_STAGE_H

#include "common.h"

/* io.c: NULL, the system's; tests have others. */
const struct hp_io *stage_io(uint32_t node);

#endif
