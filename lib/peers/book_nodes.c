/* SPDX-License-Identifier: Apache-2.0 */
#include "peers/hosts.h"

#include "base/bytes.h"
#include "base/mem.h"
#include "base/sha256.h"

#include <string.h>

static void fill(const struct hpdsl_peer_node *from, struct hp_book_node *to)
{
	/* A name may not be empty. */
	to->host = *from->host ? from->host : "?";
	to->rack = from->rack;
	to->addresses = from->offers < HP_BOOK_ADDRESSES ? from->offers :
							   HP_BOOK_ADDRESSES;
	for (uint32_t i = 0; i < to->addresses; i++) {
		memcpy(to->address[i].ip, from->offer[i].ip, 16);
		to->address[i].mbits = from->offer[i].mbits;
	}
}

struct hp_book_node *hp_book_nodes(const struct hpdsl_peer_node *nodes,
				   uint32_t n)
{
	struct hp_book_node *ret = hp_array(n, sizeof *ret);

	for (uint32_t i = 0; ret && i < n; i++)
		fill(&nodes[i], &ret[i]);
	return ret;
}

/* Pack, parts, and each name with its NUL, one behind the other. */
bool hp_hosts_id(const struct hp_book_head *h,
		 const struct hpdsl_peer_node *nodes, uint8_t ret[16])
{
	static const char what[] = "HPDSL hosts 1";
	const size_t room =
		sizeof what + 24 + (size_t)h->nodes * HPDSL_PEER_HOST;
	hp_auto_free uint8_t *text = hp_array(room, 1);
	uint8_t mac[HP_SHA256];
	uint8_t *p = text;

	if (!text)
		return false;
	memcpy(p, what, sizeof what);
	p += sizeof what;
	memcpy(p, h->pack, 16);
	hp_put32(p + 16, h->parts);
	hp_put32(p + 20, h->nodes);
	p += 24;
	for (uint32_t i = 0; i < h->nodes; i++) {
		size_t n = strnlen(nodes[i].host, HPDSL_PEER_HOST - 1);

		memcpy(p, nodes[i].host, n);
		p[n] = '\0';
		p += n + 1;
	}
	if (!hp_hmac_sha256(h->secret, text, (size_t)(p - text), mac))
		return false;
	memcpy(ret, mac, 16);
	return true;
}
