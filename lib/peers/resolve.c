/* SPDX-License-Identifier: Apache-2.0 */
/* Addresses of hosts that are known by name, as the system finds them. */
#include "peers/hosts.h"

#include "base/error.h"
#include "peers/offer.h"
#include "sys/clock.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

#define PATIENCE 60.0 /* seconds for all of them */

static bool take(const struct addrinfo *a, uint8_t ret[16])
{
	if (a->ai_family == AF_INET) {
		struct sockaddr_in in;

		memcpy(&in, a->ai_addr, sizeof in);
		hp_book_ipv4((const uint8_t *)&in.sin_addr, ret);
		return true;
	}
	if (a->ai_family == AF_INET6) {
		struct sockaddr_in6 in;

		memcpy(&in, a->ai_addr, sizeof in);
		memcpy(ret, &in.sin6_addr, 16);
		return true;
	}
	return false;
}

static int resolve(struct hpdsl_peer_node *node, struct hpdsl_error *err)
{
	const struct addrinfo hints = { .ai_socktype = SOCK_STREAM };
	struct addrinfo *all = NULL;
	int code = getaddrinfo(node->host, NULL, &hints, &all);

	if (code)
		return hp_fail(err, -EHOSTUNREACH, "%s: no address: %s",
			       node->host, gai_strerror(code));
	for (const struct addrinfo *a = all;
	     a && node->offers < HPDSL_PEER_ADDRESSES; a = a->ai_next)
		if (take(a, node->offer[node->offers].ip))
			node->offers++;
	freeaddrinfo(all);
	return 0;
}

static int keep(struct hpdsl_peer_node *node, const struct hp_only *only,
		const char *text, struct hpdsl_error *err)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < node->offers; i++)
		if (hp_only_takes(only, &node->offer[i]))
			node->offer[n++] = node->offer[i];
	node->offers = n;
	return n ? 0 :
		   hp_fail(err, -EHOSTUNREACH, "%s: no address %s%s",
			   node->host, text ? "in " : "", text ? text : "");
}

int hpdsl_peer_resolve(struct hpdsl_peer_node *nodes, uint32_t n,
		       const char *subnet, struct hpdsl_error *err)
{
	const double until = hp_now() + PATIENCE;
	struct hp_only only;
	int r = hp_only_parse(subnet, &only);

	if (r < 0 || only.name[0])
		return hp_fail(err, HPDSL_EUSAGE, "'%.64s' is no subnet",
			       subnet);
	for (uint32_t i = 0; i < n; i++) {
		if (!nodes[i].offers) {
			if (hp_now() > until)
				return hp_fail(err, -ETIMEDOUT,
					       "%s: names of hosts take too "
					       "long to be found",
					       nodes[i].host);
			r = resolve(&nodes[i], err);
		}
		if (r == 0)
			r = keep(&nodes[i], &only, subnet, err);
		if (r < 0)
			return r;
	}
	return 0;
}
