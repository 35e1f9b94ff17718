/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as a snapshot: as they are, and with their checksums put right,
 * without which hardly any input would get past the first one.
 */
#include "forge_snap.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void try_open(const uint8_t *p, size_t size)
{
	struct hpdsl_error err;
	struct hp_snap *s;

	if (hp_snap_open(p, size, "it", &s, &err) < 0)
		return;
	snap_ask_all(s);
	hp_snap_free(s);
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
	snap_repair(p, size);
	try_open(p, size);
	free(p);
	return 0;
}
