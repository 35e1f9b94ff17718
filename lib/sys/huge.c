/* SPDX-License-Identifier: Apache-2.0 */
/* Large memory in large pages, where there are. */
#include "sys/huge.h"

#include "base/mem.h"

#include <sys/mman.h>

enum { HUGE_PAGE = 2 << 20 };

void *hp_huge_array(uint64_t n, size_t size)
{
	size_t bytes;
	void *p;

	if (__builtin_mul_overflow(n, size, &bytes))
		return NULL;
	if (bytes < HUGE_PAGE)
		return hp_array(n, size);
	if (__builtin_add_overflow(bytes, HUGE_PAGE - 1, &bytes))
		return NULL;
	bytes -= bytes % HUGE_PAGE;
	p = aligned_alloc(HUGE_PAGE, bytes);
	if (p)
		madvise(p, bytes, MADV_HUGEPAGE);
	return p;
}
