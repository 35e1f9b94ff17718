/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as an index: as they are, and with their checksums put right,
 * without which hardly any input would get past the first one.
 */
#include "make_index.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void try_open(const uint8_t *p, size_t size)
{
	struct hpdsl_error err;
	struct hp_index *ix;

	if (hp_index_open(p, size, "index.hpdsl", &ix, &err) < 0)
		return;
	image_exercise(ix);
	hp_index_free(ix);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	/* Of the exact size, so that reading beyond it is seen. */
	uint8_t *p = calloc(1, size + !size);

	if (!p)
		return 0;
	if (size)
		memcpy(p, data, size);
	try_open(p, size);
	image_repair(p, size);
	try_open(p, size);
	free(p);
	return 0;
}
