/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whatever the tar reader accepts, the writer gives back byte for byte.  Each
 * input is tried as it is and with its checksums put right, which no mutation
 * would find.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "chunk/tar.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void check(const uint8_t *data, size_t n)
{
	static char path[HPDSL_PATH_MAX + 1];
	static uint8_t again[HP_TAR_HEADER_MAX];
	struct hp_tar_member m;
	struct hpdsl_error err;
	ssize_t got = hp_tar_header_read(data, n, &m, path, &err);

	if (got <= 0)
		return;
	if ((size_t)got > n || hp_tar_header_size(&m) != (size_t)got ||
	    hp_tar_header_write(&m, again) != (size_t)got ||
	    memcmp(again, data, (size_t)got) != 0)
		abort();
}

static void set_sum(uint8_t *block)
{
	unsigned sum = 0;
	char text[16];

	memset(block + 148, ' ', 8);
	for (unsigned i = 0; i < HP_TAR_BLOCK; i++)
		sum += block[i];
	snprintf(text, sizeof text, "%06o", sum);
	memcpy(block + 148, text, 7);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	uint8_t *copy;

	check(data, n);
	if (n < HP_TAR_BLOCK)
		return 0;
	copy = malloc(n);
	if (!copy)
		return 0;
	memcpy(copy, data, n);
	set_sum(copy);
	if (n >= 2 * HP_TAR_BLOCK)
		set_sum(copy + n / HP_TAR_BLOCK * HP_TAR_BLOCK - HP_TAR_BLOCK);
	check(copy, n);
	free(copy);
	return 0;
}
