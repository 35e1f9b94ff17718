/* SPDX-License-Identifier: Apache-2.0 */
/* Another tar behind the end of one. */
#include "chunk/tar_tail.h"

#include <string.h>

bool hp_tar_looks_like(const uint8_t block[512])
{
	uint64_t sum = 0, said = 0;
	int64_t sum_signed = 0;
	int at = 148, digits = 0;

	for (int i = 0; i < 512; i++) {
		uint8_t c = i >= 148 && i < 156 ? ' ' : block[i];

		sum += c;
		sum_signed += (int8_t)c;
	}
	while (at < 156 && block[at] == ' ')
		at++;
	for (; at < 156 && block[at] >= '0' && block[at] <= '7'; at++) {
		said = said * 8 + (uint64_t)(block[at] - '0');
		digits++;
	}
	return digits && (said == sum || (int64_t)said == sum_signed);
}

void hp_tar_tail_add(struct hp_tar_tail *t, const uint8_t *p, size_t n)
{
	if (t->seen >= HP_TAR_TAIL_MAX)
		return;
	t->seen += n;
	while (n && !t->more) {
		size_t k = sizeof t->block - t->n;

		if (k > n)
			k = n;
		memcpy(t->block + t->n, p, k);
		t->n += k;
		p += k;
		n -= k;
		if (t->n < sizeof t->block)
			return;
		t->n = 0;
		t->more = !memcmp(t->block + 257, "ustar", 5) &&
			  hp_tar_looks_like(t->block);
	}
}
