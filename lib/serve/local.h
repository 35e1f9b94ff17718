/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What tools of the node ask for, over memory: a chunk by its name, a range of
 * it as HTTP has them (RFC 9110, section 14).
 */
#ifndef HP_SERVE_LOCAL_H
#define HP_SERVE_LOCAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The name in the path of a request line, "/a%20b.tar" or
 * "http://host/a%20b.tar", decoded to ret of n bytes, NUL included.  False: it
 * is none, has a NUL, or is too long.
 */
bool hp_local_name(const char *path, char *ret, size_t n);

enum hp_local_range {
	HP_RANGE_NONE, /* or one that is to be ignored: all of it */
	HP_RANGE_SOME,
	HP_RANGE_BAD, /* 416: nothing of it is there */
};
/* text: of the field, or NULL.  Bytes of so many, both inclusive. */
enum hp_local_range hp_local_range(const char *text, uint64_t size,
				   uint64_t *ret_first, uint64_t *ret_last);

#endif
