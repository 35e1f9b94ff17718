/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Nodes that staging knows nothing of: a list of hosts, and a secret, from
 * files that all servers of the job read.
 */
#ifndef CMD_SERVE_HOSTS_H
#define CMD_SERVE_HOSTS_H

#include "common/common.h"

struct serve_hosts_options {
	const char *hosts, *secret; /* files; NULL: none */
	const char *subnet;
	uint32_t node; /* UINT32_MAX: to be found out */
	uint32_t port; /* the first; 0: one that follows from the secret */
};

struct serve_hosts {
	struct hpdsl_peer_node *nodes; /* NULL: none were given */
	uint32_t n, node;
	struct hpdsl_peer_book book;
};

/* 64 hexadecimal digits, and blanks around them: pure; false: it is not. */
bool serve_secret_parse(const char *text, size_t size, uint8_t ret[32]);

/* Reads both; an exit status: what is wrong has been told. */
int serve_hosts_read(const struct serve_hosts_options *o,
		     struct serve_hosts *ret);
void serve_hosts_free(struct serve_hosts *h);

#endif
