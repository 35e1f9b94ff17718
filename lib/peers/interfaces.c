/* SPDX-License-Identifier: Apache-2.0 */
/* The interfaces of this machine, as the system lists them. */
#include "peers/offer.h"

#include "base/error.h"
#include "peers/book.h"
#include "sys/io.h"

#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Mbit/s; 0: the driver does not say. */
static uint32_t speed_of(const struct hp_io *io, const char *name)
{
	char path[80], text[24];
	long long mbits;
	ssize_t n;

	snprintf(path, sizeof path, "/sys/class/net/%s/speed", name);
	{
		hp_auto_fd f = { io, io->open(io, AT_FDCWD, path,
					      O_RDONLY | O_NONBLOCK, 0) };

		n = f.fd < 0 ? 0 : io->read(io, f.fd, text, sizeof text - 1);
	}
	if (n <= 0)
		return 0;
	text[n] = '\0';
	mbits = strtoll(text, NULL, 10);
	/* -1, as 32 bits with or without a sign. */
	return mbits > 0 && mbits < UINT32_MAX ? (uint32_t)mbits : 0;
}

static uint32_t count_bits(const uint8_t *p, size_t n)
{
	uint32_t bits = 0;

	for (size_t i = 0; i < n; i++)
		bits += (uint32_t)__builtin_popcount(p[i]);
	return bits;
}

static void take_ipv4(const struct ifaddrs *f, struct hpdsl_peer_address *ret)
{
	struct sockaddr_in a, mask;

	memcpy(&a, f->ifa_addr, sizeof a);
	memcpy(&mask, f->ifa_netmask, sizeof mask);
	hp_book_ipv4((const uint8_t *)&a.sin_addr, ret->ip);
	ret->prefix = 96 + count_bits((const uint8_t *)&mask.sin_addr, 4);
}

static void take_ipv6(const struct ifaddrs *f, struct hpdsl_peer_address *ret)
{
	struct sockaddr_in6 a, mask;

	memcpy(&a, f->ifa_addr, sizeof a);
	memcpy(&mask, f->ifa_netmask, sizeof mask);
	memcpy(ret->ip, &a.sin6_addr, 16);
	ret->prefix = count_bits((const uint8_t *)&mask.sin6_addr, 16);
}

static bool take(const struct hp_io *io, const struct ifaddrs *f,
		 struct hp_interface *ret)
{
	struct hp_interface it = { 0 };
	int family = f->ifa_addr ? f->ifa_addr->sa_family : AF_UNSPEC;

	if (!f->ifa_netmask || (family != AF_INET && family != AF_INET6))
		return false;
	if (family == AF_INET)
		take_ipv4(f, &it.address);
	else
		take_ipv6(f, &it.address);
	snprintf(it.address.interface, sizeof it.address.interface, "%s",
		 f->ifa_name);
	it.address.mbits = speed_of(io, f->ifa_name);
	it.up = f->ifa_flags & IFF_UP && f->ifa_flags & IFF_RUNNING;
	it.loopback = f->ifa_flags & IFF_LOOPBACK;
	*ret = it;
	return true;
}

/* All of them, to be freed. */
static int list(const struct hp_io *io, struct hp_interface **ret, size_t *n)
{
	struct ifaddrs *all;
	size_t room = 0;

	if (getifaddrs(&all) < 0)
		return -errno;
	for (const struct ifaddrs *f = all; f; f = f->ifa_next)
		room++;
	*n = 0;
	*ret = calloc(room + 1, sizeof **ret);
	for (const struct ifaddrs *f = all; f && *ret; f = f->ifa_next)
		*n += take(io, f, *ret + *n);
	freeifaddrs(all);
	return *ret ? 0 : -ENOMEM;
}

int hpdsl_peer_interfaces(const char *only, const struct hp_io *io,
			  struct hpdsl_peer_node *ret, struct hpdsl_error *err)
{
	struct hp_interface *all = NULL;
	struct hp_only wanted;
	size_t n = 0;
	int r = hp_only_parse(only, &wanted);

	ret->offers = 0;
	if (r < 0)
		return hp_fail(err, HPDSL_EUSAGE,
			       "'%.64s' is neither the beginning of an "
			       "interface's name nor a subnet",
			       only);
	r = list(hp_io_or_system(io), &all, &n);
	if (r < 0)
		return hp_fail_errno(err, r, "this node's interfaces");
	hp_offer(all, n, &wanted, ret);
	free(all);
	if (ret->offers)
		return 0;
	return only ? hp_fail(err, -ENODEV,
			      "no address of an interface that is up agrees "
			      "with '%.64s'",
			      only) :
		      hp_fail(err, -ENODEV,
			      "no interface that others could reach is up");
}
