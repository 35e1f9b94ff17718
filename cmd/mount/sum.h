/* SPDX-License-Identifier: Apache-2.0 */
/* FNV-1a, of 64 bits: http://www.isthe.com/chongo/tech/comp/fnv/ */
#ifndef MOUNT_SUM_H
#define MOUNT_SUM_H

#include <stddef.h>
#include <stdint.h>

#define MOUNT_SUM_BEGIN UINT64_C(0xcbf29ce484222325)

static inline uint64_t mount_sum(uint64_t before, const void *bytes, size_t n)
{
	const uint8_t *b = bytes;

	for (size_t i = 0; i < n; i++)
		before = (before ^ b[i]) * 0x100000001b3;
	return before;
}

#endif
