/* SPDX-License-Identifier: Apache-2.0 */
/* Names of chunks, written and read, and of what is not whole yet. */
#include "format/names.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

void hp_chunk_name(uint32_t c, char out[HP_CHUNK_NAME])
{
	snprintf(out, HP_CHUNK_NAME, "chunk-%06" PRIu32 ".tar", c);
}

void hp_chunk_zst_name(uint32_t c, char out[HP_CHUNK_NAME])
{
	snprintf(out, HP_CHUNK_NAME, "chunk-%06" PRIu32 ".tar.zst", c);
}

void hp_chunk_name_of(uint32_t c, bool compressed, char out[HP_CHUNK_NAME])
{
	if (compressed)
		hp_chunk_zst_name(c, out);
	else
		hp_chunk_name(c, out);
}

bool hp_chunk_name_is_zst(const char *name)
{
	size_t n = strlen(name);

	return n > 4 && strcmp(name + n - 4, ".zst") == 0;
}

int64_t hp_chunk_number(const char *name)
{
	char again[HP_CHUNK_NAME];
	uint32_t c = 0;

	if (strncmp(name, "chunk-", 6) != 0)
		return -1;
	for (int i = 6; i < 12; i++) {
		if (name[i] < '0' || name[i] > '9')
			return -1;
		c = 10 * c + (uint32_t)(name[i] - '0');
	}
	hp_chunk_name_of(c, hp_chunk_name_is_zst(name), again);
	return strcmp(name, again) == 0 ? (int64_t)c : -1;
}

bool hp_name_is_part(const char *name)
{
	size_t n = strlen(name), end = strlen(".part");

	return name[0] == '.' && n > end + 1 &&
	       strcmp(name + n - end, ".part") == 0;
}
