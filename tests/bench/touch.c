/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Uses so many bytes of memory once, and gives them back: in a virtual machine
 * memory that is used for the first time has to be had from the host, slower
 * than any SSD.  touch BYTES
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

int main(int argc, char **argv)
{
	size_t n = argc == 2 ? strtoull(argv[1], NULL, 10) : 0;
	char *p;

	if (n == 0)
		return 2;
	p = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
		 -1, 0);
	if (p == MAP_FAILED) {
		fprintf(stderr, "touch: %zu bytes: %s\n", n, strerror(errno));
		return 1;
	}
	/* As whole huge pages it goes back to the kernel unbroken. */
	madvise(p, n, MADV_HUGEPAGE);
	memset(p, 1, n);
	return 0;
}
