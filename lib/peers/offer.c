/* SPDX-License-Identifier: Apache-2.0 */
/* The addresses that a node offers. */
#include "peers/offer.h"

#include "base/hash.h"
#include "peers/book.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { BITS = 128, MAPPED = 96 }; /* of an address; before IPv4's */

static bool is_mapped(const uint8_t ip[16])
{
	static const uint8_t before[12] = { [10] = 0xff, [11] = 0xff };

	return memcmp(ip, before, sizeof before) == 0;
}

/* Are the first bits of two addresses the same? */
static bool same_bits(const uint8_t a[16], const uint8_t b[16], uint32_t bits)
{
	uint32_t bytes = bits / 8;
	uint8_t mask = (uint8_t)(0xff00 >> bits % 8);

	if (memcmp(a, b, bytes) != 0)
		return false;
	return bits % 8 == 0 || (a[bytes] & mask) == (b[bytes] & mask);
}

/* ---- Which are wanted ------------------------------------------------- */

static int parse_subnet(const char *text, const char *slash,
			struct hp_only *ret)
{
	char ip[INET6_ADDRSTRLEN], *end;
	size_t n = (size_t)(slash - text);
	unsigned long bits, most = BITS;
	uint8_t four[4];

	if (n >= sizeof ip || slash[1] < '0' || slash[1] > '9')
		return -EINVAL;
	memcpy(ip, text, n);
	ip[n] = '\0';
	bits = strtoul(slash + 1, &end, 10);
	if (inet_pton(AF_INET, ip, four) == 1) {
		hp_book_ipv4(four, ret->ip);
		most = BITS - MAPPED;
	} else if (inet_pton(AF_INET6, ip, ret->ip) != 1) {
		return -EINVAL;
	}
	if (*end || bits > most)
		return -EINVAL;
	ret->prefix = (uint32_t)(bits + BITS - most);
	return 0;
}

int hp_only_parse(const char *text, struct hp_only *ret)
{
	struct hp_only only = { .any = !text };
	const char *slash = text ? strchr(text, '/') : NULL;
	size_t n = text ? strlen(text) : 0;

	if (slash) {
		int r = parse_subnet(text, slash, &only);

		if (r < 0)
			return r;
	} else if (text) {
		if (!n || n >= sizeof only.name)
			return -EINVAL;
		memcpy(only.name, text, n);
	}
	*ret = only;
	return 0;
}

bool hpdsl_peer_only_check(const char *only)
{
	struct hp_only ret;

	return only && hp_only_parse(only, &ret) == 0;
}

bool hpdsl_peer_is_in(const char *only, const uint8_t ip[16])
{
	struct hp_only subnet;

	return only && hp_only_parse(only, &subnet) == 0 && !subnet.name[0] &&
	       same_bits(ip, subnet.ip, subnet.prefix);
}

bool hp_only_takes(const struct hp_only *only,
		   const struct hpdsl_peer_address *a)
{
	if (only->any)
		return true;
	if (only->name[0])
		return strncmp(a->interface, only->name, strlen(only->name)) ==
		       0;
	return same_bits(a->ip, only->ip, only->prefix);
}

/* ---- What nobody else can reach --------------------------------------- */

/* To containers and virtual machines of this host, by the names that those who
 * make them give. */
static bool is_bridge(const char *name)
{
	static const char *const begins[] = { "docker",	 "br-",	  "veth",
					      "virbr",	 "vnet",  "cni",
					      "flannel", "cali",  "cilium",
					      "lxc",	 "lxdbr", "podman",
					      "kube",	 "dummy" };

	for (size_t i = 0; i < sizeof begins / sizeof *begins; i++)
		if (strncmp(name, begins[i], strlen(begins[i])) == 0)
			return true;
	return false;
}

/* An address that is good on its own link alone, or of no machine. */
static bool is_local(const uint8_t ip[16])
{
	if (is_mapped(ip))
		return ip[12] == 0 || (ip[12] == 169 && ip[13] == 254) ||
		       ip[12] >= 224;
	return (ip[0] == 0xfe && (ip[1] & 0xc0) == 0x80) || ip[0] == 0xff;
}

static bool is_offered(const struct hp_interface *f, const struct hp_only *only)
{
	const struct hpdsl_peer_address *a = &f->address;

	if (!f->up || is_local(a->ip) || !hp_only_takes(only, a))
		return false;
	return !only->any || (!f->loopback && !is_bridge(a->interface));
}

/* ---- In which order --------------------------------------------------- */

/* The better one first; what is as good in an order that is always the same. */
static int by_speed(const struct hpdsl_peer_address *a,
		    const struct hpdsl_peer_address *b)
{
	int c;

	if (a->mbits != b->mbits)
		return a->mbits > b->mbits ? -1 : 1;
	if (is_mapped(a->ip) != is_mapped(b->ip))
		return is_mapped(a->ip) ? -1 : 1;
	c = strncmp(a->interface, b->interface, sizeof a->interface);
	return c ? c : memcmp(a->ip, b->ip, 16);
}

static int compare(const void *a, const void *b)
{
	return by_speed(a, b);
}

void hp_offer(const struct hp_interface *all, size_t n,
	      const struct hp_only *only, struct hpdsl_peer_node *ret)
{
	ret->offers = 0;
	for (size_t i = 0; i < n; i++) {
		const struct hpdsl_peer_address *a = &all[i].address;
		uint32_t k = 0, at = 0;

		if (!is_offered(&all[i], only))
			continue;
		while (k < ret->offers && memcmp(ret->offer[k].ip, a->ip, 16))
			k++;
		if (k < ret->offers)
			continue;
		/* Where there are too many the worst one goes. */
		while (at < ret->offers && by_speed(&ret->offer[at], a) < 0)
			at++;
		if (at == HPDSL_PEER_OFFERS)
			continue;
		if (ret->offers < HPDSL_PEER_OFFERS)
			ret->offers++;
		memmove(ret->offer + at + 1, ret->offer + at,
			(ret->offers - at - 1) * sizeof *ret->offer);
		ret->offer[at] = *a;
	}
}

/* ---- Of all nodes ----------------------------------------------------- */

struct owner {
	const uint8_t *ip;
	const char *host;
	bool *twice;
};

static int by_ip(const void *a, const void *b)
{
	const struct owner *x = a, *y = b;

	return memcmp(x->ip, y->ip, 16);
}

/* twice: of each node's offers, so many of each. */
static int find_twice(struct hpdsl_peer_node *nodes, uint32_t n, bool *twice)
{
	struct owner *all = calloc((size_t)n * HPDSL_PEER_OFFERS, sizeof *all);
	size_t k = 0;

	if (!all)
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++)
		for (uint32_t o = 0; o < nodes[i].offers; o++)
			all[k++] = (struct owner){
				nodes[i].offer[o].ip, nodes[i].host,
				twice + (size_t)i * HPDSL_PEER_OFFERS + o
			};
	qsort(all, k, sizeof *all, by_ip);
	for (size_t i = 0, end; i < k; i = end) {
		bool is = false;

		for (end = i; end < k && by_ip(all + i, all + end) == 0; end++)
			is = is || strncmp(all[i].host, all[end].host,
					   HPDSL_PEER_HOST) != 0;
		for (size_t x = i; x < end; x++)
			*all[x].twice = is;
	}
	free(all);
	return 0;
}

/* Two nodes that bridge to containers alike have one address there. */
static int drop_twice(struct hpdsl_peer_node *nodes, uint32_t n)
{
	bool *twice = calloc((size_t)n * HPDSL_PEER_OFFERS, sizeof *twice);
	int r = twice ? find_twice(nodes, n, twice) : -ENOMEM;

	for (uint32_t i = 0; i < n && r == 0; i++) {
		struct hpdsl_peer_node *node = &nodes[i];
		uint32_t kept = 0;

		for (uint32_t o = 0; o < node->offers; o++)
			if (!twice[(size_t)i * HPDSL_PEER_OFFERS + o])
				node->offer[kept++] = node->offer[o];
		node->offers = kept;
	}
	free(twice);
	return r;
}

static bool same_subnet(const struct hpdsl_peer_address *a,
			const struct hpdsl_peer_address *b)
{
	return a->prefix == b->prefix && same_bits(a->ip, b->ip, a->prefix);
}

/* Is there one of them in that subnet? */
static bool has_subnet(const struct hpdsl_peer_address *all, uint32_t n,
		       const struct hpdsl_peer_address *subnet)
{
	for (uint32_t i = 0; i < n; i++)
		if (same_subnet(&all[i], subnet))
			return true;
	return false;
}

/* Of one node's offers, those whose subnet all others are in, too. */
static uint32_t find_common(const struct hpdsl_peer_node *nodes, uint32_t n,
			    struct hpdsl_peer_address *ret)
{
	uint32_t found = 0;

	for (uint32_t o = 0; o < nodes[0].offers; o++) {
		const struct hpdsl_peer_address *a = &nodes[0].offer[o];
		uint32_t i = 1;

		while (i < n && has_subnet(nodes[i].offer, nodes[i].offers, a))
			i++;
		if (i == n && !has_subnet(ret, found, a))
			ret[found++] = *a;
	}
	return found;
}

/* Those in one of the subnets to the front, the rest behind them. */
static void put_common_first(struct hpdsl_peer_node *node,
			     const struct hpdsl_peer_address *subnets,
			     uint32_t n)
{
	struct hpdsl_peer_address all[HPDSL_PEER_OFFERS] = { 0 };
	uint32_t first = 0, rest = node->offers;

	for (uint32_t o = 0; o < node->offers; o++) {
		if (has_subnet(subnets, n, &node->offer[o]))
			all[first++] = node->offer[o];
		else
			all[--rest] = node->offer[o];
	}
	qsort(all, first, sizeof *all, compare);
	qsort(all + first, node->offers - first, sizeof *all, compare);
	memcpy(node->offer, all, node->offers * sizeof *all);
}

int hpdsl_peer_choose(struct hpdsl_peer_node *nodes, uint32_t n)
{
	struct hpdsl_peer_address subnets[HPDSL_PEER_OFFERS];
	uint32_t found;
	int r = n ? drop_twice(nodes, n) : 0;

	if (r < 0 || !n)
		return r;
	found = find_common(nodes, n, subnets);
	for (uint32_t i = 0; i < n; i++)
		put_common_first(&nodes[i], subnets, found);
	return (int)found;
}

bool hpdsl_peer_prefer(struct hpdsl_peer_node *node, const uint8_t ip[16])
{
	for (uint32_t o = 0; o < node->offers; o++) {
		struct hpdsl_peer_address a = node->offer[o];

		if (memcmp(a.ip, ip, 16) != 0)
			continue;
		memmove(node->offer + 1, node->offer, o * sizeof a);
		node->offer[0] = a;
		return true;
	}
	return false;
}

uint32_t hpdsl_peer_rack(const char *place)
{
	const char *dot = place ? strrchr(place, '.') : NULL;
	uint32_t hash;

	if (!dot || dot == place)
		return 0;
	hash = (uint32_t)hp_hash64(place, (size_t)(dot - place));
	return hash ? hash : 1;
}
