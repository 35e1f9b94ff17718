/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers in bytes, in this machine's order, wherever they begin. */
#ifndef MOUNT_NATIVE_H
#define MOUNT_NATIVE_H

#include <stdint.h>
#include <string.h>

static inline uint32_t mount_get32(const uint8_t *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

static inline uint64_t mount_get64(const uint8_t *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

static inline void mount_put16(uint8_t *p, uint16_t v)
{
	memcpy(p, &v, sizeof(v));
}

static inline void mount_put32(uint8_t *p, uint32_t v)
{
	memcpy(p, &v, sizeof(v));
}

static inline void mount_put64(uint8_t *p, uint64_t v)
{
	memcpy(p, &v, sizeof(v));
}

#endif
