/* SPDX-License-Identifier: Apache-2.0 */
/* In front of the C library: to be included first, as it says which of its
 * names are functions. */
#ifndef STALL_GUARD_NEXT_H
#define STALL_GUARD_NEXT_H

#define _GNU_SOURCE 1
/* Both names of each function are here, and none as an inline function. */
#undef _FILE_OFFSET_BITS
#undef _TIME_BITS
#undef _FORTIFY_SOURCE
#include <dlfcn.h>

#define PUBLIC __attribute__((visibility("default")))

/* The next one of that name, looked for once; who is first may be any thread.
 */
#define NEXT(name)                     \
	static __typeof__(&name) next; \
	if (!next)                     \
	next = (__typeof__(&name))dlsym(RTLD_NEXT, #name)

#endif
