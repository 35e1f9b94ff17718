/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Walks the input as a foreign tar, header by header.  Each input is tried as
 * it is and with every header's checksum put right on the way, which no
 * mutation would find.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "chunk/tar_foreign.h"
#include "chunk/tar.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

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

static void check(const struct hp_foreign_member *m)
{
	if (m->size > INT64_MAX || m->name_len > HP_FOREIGN_NAME ||
	    m->name[m->name_len] != '\0' || m->mode > 07777 ||
	    m->nsec >= 1000000000)
		abort();
}

/* An exact copy, so that a sanitizer sees reads past the end. */
static int hand_in(struct hp_foreign *t, const uint8_t *data, size_t n)
{
	uint8_t *copy = malloc(n ? n : 1);
	int r;

	if (!copy)
		abort();
	memcpy(copy, data, n);
	r = hp_foreign_extra(t, copy, n, NULL);
	free(copy);
	return r;
}

static void walk(const uint8_t *data, size_t n, bool mend)
{
	static struct hp_foreign t;
	uint8_t block[HP_TAR_BLOCK];
	struct hp_foreign_member m;

	hp_foreign_begin(&t);
	while (n >= HP_TAR_BLOCK) {
		memcpy(block, data, HP_TAR_BLOCK);
		if (mend && block[0])
			set_sum(block);
		if (hp_foreign_header(&t, block, &m, NULL) < 0 ||
		    m.kind == HP_FOREIGN_END)
			return;
		data += HP_TAR_BLOCK;
		n -= HP_TAR_BLOCK;
		if (m.size > n)
			return;
		if (m.kind != HP_FOREIGN_EXTRA)
			check(&m);
		else if (m.size > HP_FOREIGN_EXTRA_MAX)
			abort();
		else if (hand_in(&t, data, (size_t)m.size) < 0)
			return;
		if (hp_tar_padded(m.size) > n)
			return;
		data += hp_tar_padded(m.size);
		n -= (size_t)hp_tar_padded(m.size);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	walk(data, n, false);
	walk(data, n, true);
	return 0;
}
