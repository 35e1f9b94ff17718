/* SPDX-License-Identifier: Apache-2.0 */
/* How large reads are, in classes that are narrow. */
#ifndef HP_SIZES_H
#define HP_SIZES_H

#include <stdint.h>

enum { HP_SIZES_FINE = 32, HP_SIZES_CLASSES = 64 * HP_SIZES_FINE };

/* Zero everywhere is none. */
struct hp_sizes {
	uint64_t n[HP_SIZES_CLASSES], bytes[HP_SIZES_CLASSES];
};

/* One of so many bytes more; any number of threads. */
void hp_sizes_add(struct hp_sizes *s, uint64_t bytes);
/* Half of all bytes are in those of no more bytes, within 3 %; of none 0. */
uint64_t hp_sizes_median(const struct hp_sizes *s);

#endif
