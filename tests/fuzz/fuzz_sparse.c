/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tars with sparse members, as they are and inside gzip: what is read in place
 * is what is decoded, and both are refused or none.  Checksums of headers are
 * made right first, so that what is behind them is met.
 */
#include "two_ways.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void make_right(uint8_t *block)
{
	unsigned sum = 8 * ' ';
	char text[8] = "";

	for (int i = 0; i < 512; i++)
		sum += i >= 148 && i < 156 ? 0 : block[i];
	snprintf(text, sizeof text, "%06o", sum);
	text[7] = ' ';
	memcpy(block + 148, text, sizeof text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct ways plain, packed;
	uint8_t *copy;

	if (!ways_is_tar(data, n))
		return 0;
	copy = malloc(n);
	if (!copy)
		return 0;
	memcpy(copy, data, n);
	for (size_t at = 0; n - at >= 512; at += 512)
		if (!memcmp(copy + at + 257, "ustar", 5))
			make_right(copy + at);
	if (!ways_agree(copy, n, false, &plain, &packed))
		abort();
	free(copy);
	return 0;
}
