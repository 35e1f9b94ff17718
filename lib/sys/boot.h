/* SPDX-License-Identifier: Apache-2.0 */
/* This boot and this process: what tells them from others. */
#ifndef HP_BOOT_H
#define HP_BOOT_H

#include "sys/io.h"

/* This boot's id; zeros and -errno where the system does not tell. */
int hp_boot_id(const struct hp_io *io, uint8_t ret[16]);

/* When a process began, clock ticks since boot, from its stat; 0: no idea. */
uint64_t hp_parse_start(const char *stat);
uint64_t hp_pid_start(const struct hp_io *io);

#endif
