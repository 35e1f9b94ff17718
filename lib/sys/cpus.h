/* SPDX-License-Identifier: Apache-2.0 */
/* How many processors' time control groups leave a process. */
#ifndef HP_CPUS_H
#define HP_CPUS_H

#include "sys/io.h"

/* Of cpu.max, "QUOTA PERIOD": thousandths of a processor; UINT64_MAX: "max", or
 * none. */
uint64_t hp_cpu_max(const char *text);
/* The least of its group of version 2 and of all above it. */
uint64_t hp_cpu_limit(const struct hp_io *io);

#endif
