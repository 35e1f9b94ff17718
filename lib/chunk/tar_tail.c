/* SPDX-License-Identifier: Apache-2.0 */
/* Another tar behind the end of one. */
#include "chunk/tar_tail.h"

#include "base/hash.h"
#include "chunk/tar.h"

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

void hp_tar_seen_add(struct hp_tar_seen *s, uint64_t at,
		     const uint8_t block[512])
{
	unsigned i = s->next++ % (sizeof s->last / sizeof *s->last);

	s->last[i].at = at;
	s->last[i].hash = hp_hash64(block, HP_TAR_BLOCK);
}

/* Is the block at t->at what a writer left of the record before? */
static bool is_stale(const struct hp_tar_tail *t)
{
	const struct hp_tar_seen *s = t->seen_before;
	unsigned n = sizeof s->last / sizeof *s->last;
	uint64_t hash = hp_hash64(t->block, HP_TAR_BLOCK);

	if (!s || t->at < HP_TAR_RECORD ||
	    t->at / HP_TAR_RECORD != t->mark / HP_TAR_RECORD)
		return false;
	for (unsigned i = 0; i < n && i < s->next; i++)
		if (s->last[i].at == t->at - HP_TAR_RECORD &&
		    s->last[i].hash == hash)
			return true;
	return false;
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
			  hp_tar_looks_like(t->block) && !is_stale(t);
		t->at += sizeof t->block;
	}
}
