/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sockets of a server and the threads behind them.  That of this node's
 * tools is there from the beginning, those of other nodes once there is a book
 * of more than one.
 */
#include "life.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

static int start(struct serve_life *l, struct serve_listener *d,
		 struct hpdsl_error *err)
{
	bool local = d == &l->listeners.local;
	const struct serve_listen what = { .unix_fd = local ? d->fd : -1,
					   .tcp_fd = local ? -1 : d->fd,
					   .status = serve_status_json,
					   .arg = l };

	return serve_http_start(&d->http, l->s, &what, err);
}

static void shut(struct serve_listener *d)
{
	serve_http_stop(d->http);
	if (d->fd >= 0)
		close(d->fd);
	*d = (struct serve_listener){ .fd = -1 };
}

/* What /v1/status says; by threads of their own. */
static void set_port(struct serve_life *l)
{
	pthread_mutex_lock(&l->mutex);
	l->port = l->listeners.tcp[0].port;
	pthread_mutex_unlock(&l->mutex);
}

/* It becomes the first, and the last one goes: true, it was one. */
static bool add(struct serve_life *l, const struct serve_listener *d)
{
	struct serve_listener *tcp = l->listeners.tcp;
	bool went = tcp[SERVE_TCP - 1].fd >= 0;

	shut(&tcp[SERVE_TCP - 1]);
	memmove(tcp + 1, tcp, (SERVE_TCP - 1) * sizeof(*tcp));
	tcp[0] = *d;
	set_port(l);
	/* At one address alone it may not be that which readers try first. */
	if (!l->o->interface)
		hpdsl_serve_listens(l->s, d->port);
	return went;
}

/*
 * The address of the interface that was named, by which the others know this
 * node; NULL: they know none of them.
 */
static const uint8_t *find_address(const struct serve_life *l,
				   const struct hpdsl_serve_book *b,
				   struct hpdsl_error *err)
{
	const char *only = l->o->interface;
	struct hpdsl_peer_node own = { .offers = 0 };

	if (!strchr(only, '/') &&
	    hpdsl_peer_interfaces(only, NULL, &own, err) < 0)
		return NULL;
	for (uint32_t i = 0; i < b->addresses; i++) {
		if (hpdsl_peer_is_in(only, b->ip[i]))
			return b->ip[i];
		for (uint32_t k = 0; k < own.offers; k++)
			if (memcmp(b->ip[i], own.offer[k].ip, 16) == 0)
				return b->ip[i];
	}
	snprintf(err->msg, sizeof(err->msg),
		 "%s: the book has no address of '%.64s' of this node",
		 l->place.path, only);
	return NULL;
}

static int open_port(const struct serve_life *l,
		     const struct hpdsl_serve_book *b, uint16_t *ret_port,
		     struct hpdsl_error *err)
{
	const uint8_t *ip = NULL;

	if (l->o->interface) {
		ip = find_address(l, b, err);
		if (!ip)
			return -ENODEV;
	}
	return serve_tcp_listen(ip, b->port, b->ports, ret_port, err);
}

/* Nothing of this ends a server: its node's tools have the other socket. */
static bool add_tcp(struct serve_life *l, const struct hpdsl_serve_book *b)
{
	struct serve_listener d = { .first = b->port };
	struct hpdsl_error err;
	bool went;

	d.fd = open_port(l, b, &d.port, &err);
	if (d.fd < 0) {
		if (l->listeners.told != b->port)
			cmd_warning("%s; other nodes cannot read from this one",
				    err.msg);
		l->listeners.told = b->port;
		return false;
	}
	if (start(l, &d, &err) < 0) {
		cmd_warning("%s", err.msg);
		shut(&d);
		return false;
	}
	l->listeners.told = 0;
	went = add(l, &d);
	if (!l->o->quiet)
		cmd_message("%s: node %u of %u, port %u", l->place.path,
			    b->node, b->nodes, d.port);
	return went;
}

bool serve_listeners_look(struct serve_life *l)
{
	struct hpdsl_serve_book b;

	hpdsl_serve_book(l->s, &b);
	if (l->o->no_tcp || !b.any || b.nodes < 2)
		return false;
	if (l->listeners.tcp[0].fd >= 0 && l->listeners.tcp[0].first == b.port)
		return false;
	return add_tcp(l, &b);
}

int serve_listeners_open(struct serve_life *l, struct hpdsl_error *err)
{
	struct serve_listeners *d = &l->listeners;

	d->local.fd = serve_unix_listen(&l->place, err);
	if (d->local.fd >= 0)
		return start(l, &d->local, err);
	/* Where it is anybody may have been before; but who detaches it is to
	 * print it. */
	if (!l->place.elsewhere || l->o->no_tcp || l->o->detach)
		return d->local.fd;
	cmd_warning("%s; tools of this node are not served", err->msg);
	return 0;
}

void serve_listeners_close(struct serve_life *l)
{
	bool had = l->listeners.local.fd >= 0;

	shut(&l->listeners.local);
	for (int i = 0; i < SERVE_TCP; i++)
		shut(&l->listeners.tcp[i]);
	set_port(l);
	if (had)
		serve_unix_remove(&l->place);
}
