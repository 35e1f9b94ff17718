/* SPDX-License-Identifier: Apache-2.0 */
/* Allocations of the library, and of what it uses, that can be made to fail. */
#ifndef WRAP_H
#define WRAP_H

#include <stdbool.h>

/* The k-th allocation from now on fails (0: none), once or for ever. */
void wrap_fail_at(long k, bool forever);
/* Allocations since then. */
long wrap_count(void);

#endif
