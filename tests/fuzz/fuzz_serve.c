/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any path and any Range of a tool of this node: what is understood of them
 * lies inside the chunk, and a name has no NUL, and an end.
 */
#include "serve/local.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_name(const char *path, size_t room)
{
	char name[64];

	memset(name, 1, sizeof name);
	if (hp_local_name(path, name, room) &&
	    (strlen(name) >= room || !name[0] || strlen(name) > strlen(path)))
		abort();
	for (size_t i = room; i < sizeof name; i++)
		if (name[i] != 1)
			abort();
}

static void check_range(const char *text, uint64_t size)
{
	uint64_t first = 0, last = 0;

	if (hp_local_range(text, size, &first, &last) == HP_RANGE_SOME &&
	    (first > last || last >= size))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint64_t sizes[] = { 0, 1, 512, 10240, UINT64_MAX };
	char *text = malloc(size + 1);

	if (!text)
		return 0;
	if (size)
		memcpy(text, data, size);
	text[size] = '\0';
	for (size_t room = 1; room <= 64; room *= 4)
		check_name(text, room);
	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
		check_range(text, sizes[i]);
	free(text);
	return 0;
}
