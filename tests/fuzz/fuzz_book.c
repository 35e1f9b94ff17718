/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as the book of a job's nodes: as they are, and with magic, version,
 * size and checksum put right.  What is taken is what the writer makes of what
 * was read, to the byte.
 */
#include "base/bytes.h"
#include "base/hash.h"
#include "peers/book.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct hp_book_node *all_of(const struct hp_book *b)
{
	struct hp_book_node *all = calloc(b->head.nodes, sizeof *all);

	for (uint32_t i = 0; all && i < b->head.nodes; i++) {
		all[i].host = hp_book_host(b, i);
		all[i].rack = hp_book_rack(b, i);
		all[i].addresses = hp_book_addresses(b, i);
		for (uint32_t k = 0; k < all[i].addresses; k++)
			all[i].address[k] = hp_book_address(b, i, k);
	}
	return all;
}

static void write_again(const struct hp_book *b, const uint8_t *p, size_t size)
{
	struct hp_book_node *all = all_of(b);
	uint8_t *again = malloc(size);

	if (all && again) {
		if (hp_book_size(&b->head, all) != size)
			abort();
		hp_book_format(&b->head, all, again);
		if (memcmp(p, again, size) != 0)
			abort();
	}
	if (b->addresses) {
		uint8_t ip[16] = { 0 };
		uint32_t node = hp_book_find(b, ip);

		if (node != UINT32_MAX && node >= b->head.nodes)
			abort();
	}
	if (!hp_book_same_nodes(b, b))
		abort();
	free(again);
	free(all);
}

static void try_book(const uint8_t *p, size_t size)
{
	struct hpdsl_error err;
	struct hp_book b;
	int r = hp_book_parse(p, size, "it", &b, &err);

	if (r == 0)
		write_again(&b, p, size);
	else if (r != HPDSL_ENOTOURS && r != HPDSL_ETOONEW &&
		 r != HPDSL_ECORRUPT)
		abort();
}

static void repair(uint8_t *p, size_t size)
{
	if (size < HP_BOOK_FIXED + 8)
		return;
	memcpy(p, HP_BOOK_MAGIC, 8);
	hp_put32(p + 8, HP_BOOK_VERSION);
	hp_put32(p + 12, 0);
	hp_put64(p + 80, size);
	hp_put64(p + size - 8, hp_hash64(p, size - 8));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	/* Of the exact size, so that reading beyond it is seen. */
	uint8_t *p = calloc(1, size + !size);

	if (p) {
		if (size)
			memcpy(p, data, size);
		try_book(p, size);
		repair(p, size);
		try_book(p, size);
	}
	free(p);
	return 0;
}
