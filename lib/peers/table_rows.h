/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows of peers.health as they lie in the file, hpdsl-format(5).  The last one,
 * behind those of N nodes, is of none.
 */
#ifndef HP_PEERS_TABLE_ROWS_H
#define HP_PEERS_TABLE_ROWS_H

#include "peers/table.h"

#include <stddef.h>

enum { HP_TABLE_HEAD = 64 };

struct hp_table_state {
	uint64_t until, told, load;
	uint32_t port;
	uint8_t zero[4];
	uint64_t up;
	uint8_t rest[16];
	uint64_t check; /* hp_table_check() */
};

struct hp_table_counts {
	struct hp_table_tally tally;
	uint8_t rest[56];
	uint64_t check;
};

struct hp_table_disk {
	struct hp_table_state state;
	struct hp_table_counts counts;
};

_Static_assert(sizeof(struct hp_table_state) == 64, "hpdsl-format(5)");
_Static_assert(sizeof(struct hp_table_counts) == 512, "hpdsl-format(5)");
_Static_assert(sizeof(struct hp_table_disk) == 576, "hpdsl-format(5)");

static inline uint64_t hp_table_row_at(uint64_t node)
{
	return HP_TABLE_HEAD + node * sizeof(struct hp_table_disk);
}

#endif
