/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A job's nodes that go wrong as they are told (tests/peers/fault_server.py),
 * on addresses of this process alone, and stage directories with their book.
 */
#ifndef TEST_FAULT_NODES_H
#define TEST_FAULT_NODES_H

#include "peers/book.h"
#include "peers/client.h"
#include "tmp.h"

#include <stdio.h>

enum {
	FN_CHUNKS = 7,
	FN_NODES = 9,
	FN_LARGE = (9 << 20) + 17, /* bytes of chunk 0 */
	FN_SMALL = (1 << 20) + 5,  /* of the others */
};

struct fault_nodes {
	FILE *to, *from;
	pid_t pid;
	char folder[TMP_NAME]; /* chunks */
	uint8_t *bytes[FN_CHUNKS];
	uint32_t base; /* of addresses */
	struct hp_book_head head;
	struct hp_book_node node[FN_NODES];
	char host[FN_NODES][16];
	char stage[TMP_NAME]; /* of the last client */
};

/*
 * Nodes 0 to n - 1, of whom 0 asks; its own server is there as well.  With the
 * parts given, 1: all hold all.  The book alone: there is no server.
 */
void fault_nodes_book(struct fault_nodes *f, uint32_t n, uint32_t parts);
void fault_nodes_start(struct fault_nodes *f, uint32_t n, uint32_t parts);
void fault_nodes_stop(struct fault_nodes *f);
/* A line to the servers; the numbers of the answer, if there are. */
void fault_nodes_tell(struct fault_nodes *f, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
void fault_nodes_asked(struct fault_nodes *f, uint32_t node, unsigned *ret,
		       unsigned *ret_adopt);

/* Its facts, and one in a new stage directory where nothing was seen yet. */
struct hp_client_facts fault_nodes_facts(const struct fault_nodes *f);
struct hp_client *fault_nodes_client(struct fault_nodes *f);
/* Closes it and takes its directory away. */
void fault_nodes_close(struct fault_nodes *f, struct hp_client *c);

uint64_t fault_nodes_size(uint32_t chunk);

#endif
