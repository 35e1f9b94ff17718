/* SPDX-License-Identifier: Apache-2.0 */
#include "peers/carry.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

void hp_carry_url(const struct hp_ask *a, const uint8_t ip[16], uint16_t port,
		  char ret[HP_CARRY_URL])
{
	static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };
	const bool is_v4 = memcmp(ip, mapped, sizeof mapped) == 0;
	char text[INET6_ADDRSTRLEN], path[HP_ASK_PATH];

	inet_ntop(is_v4 ? AF_INET : AF_INET6, is_v4 ? ip + 12 : ip, text,
		  sizeof text);
	hp_ask_path(a, path);
	snprintf(ret, HP_CARRY_URL,
		 is_v4 ? "http://%s:%u%s" : "http://[%s]:%u%s", text, port,
		 path);
}

bool hp_carry_sign(const struct hp_book_head *b, struct hp_ask *a,
		   char ret_proof[HP_ASK_PROOF + 16],
		   char ret_range[HP_CARRY_RANGE])
{
	char range[HP_ASK_RANGE], proof[HP_ASK_PROOF];
	uint8_t mac[HP_MAC];

	if (getrandom(a->nonce, sizeof a->nonce, 0) != sizeof a->nonce ||
	    !hp_ask_mac(b, a, mac))
		return false;
	hp_ask_proof(b, a, mac, proof);
	hp_ask_range(a, range);
	snprintf(ret_proof, HP_ASK_PROOF + 16, "%s: %s", HP_WIRE_HEADER, proof);
	snprintf(ret_range, HP_CARRY_RANGE, "%s%s", *range ? "Range: " : "",
		 range);
	return true;
}

enum hp_answer_is hp_carry_answered(const struct hp_book_head *b,
				    const struct hp_ask *a,
				    const struct hp_expected *e,
				    const struct hp_head *h,
				    struct hp_answer *ret)
{
	const struct hp_answered what = {
		.status = h->status,
		.length = hp_head_get(h, HP_HEAD_LENGTH),
		.range = hp_head_get(h, HP_HEAD_RANGE),
		.tag = hp_head_get(h, HP_HEAD_TAG),
		.proof = hp_head_get(h, HP_HEAD_OWN),
		.encoding = hp_head_get(h, HP_HEAD_ENCODING),
	};

	return hp_answered(b, a, e, &what, ret);
}
