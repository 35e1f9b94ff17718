/* SPDX-License-Identifier: Apache-2.0 */
/* --probe: do the job's other nodes answer, and how fast? */
#include "life.h"

#include <arpa/inet.h>
#include <errno.h>
#include <string.h>

struct probed {
	struct hpdsl_peer_about book;
	struct hpdsl_peer_probe *node;
	uint32_t n, well;
	const struct hpdsl_peer_probe *slowest; /* NULL: none was read from */
};

/* Words of --json. */
static const char *const words[] = {
	[HPDSL_PROBE_WELL] = "well",
	[HPDSL_PROBE_REFUSED] = "refused",
	[HPDSL_PROBE_SILENT] = "silent",
	[HPDSL_PROBE_MUTE] = "mute",
	[HPDSL_PROBE_CLOSED] = "closed",
	[HPDSL_PROBE_DENIED] = "denied",
	[HPDSL_PROBE_OTHER] = "other",
	[HPDSL_PROBE_LOST] = "lost",
	[HPDSL_PROBE_NOT_ASKED] = "not asked",
};

static void count(struct probed *p)
{
	for (uint32_t i = 0; i < p->n; i++) {
		const struct hpdsl_peer_probe *n = &p->node[i];

		p->well += n->is == HPDSL_PROBE_WELL;
		if (n->bytes && (!p->slowest || n->rate < p->slowest->rate))
			p->slowest = n;
	}
}

static const char *address(const struct hpdsl_peer_probe *n,
			   char text[INET6_ADDRSTRLEN])
{
	static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };
	const bool is_v4 = memcmp(n->ip, mapped, sizeof(mapped)) == 0;

	return inet_ntop(is_v4 ? AF_INET : AF_INET6, is_v4 ? n->ip + 12 : n->ip,
			 text, INET6_ADDRSTRLEN);
}

/* ---- For people ------------------------------------------------------- */

static void print_well(const struct hpdsl_peer_probe *n)
{
	cmd_print(" port %u: answers, %.3f ms, %s", (unsigned)n->port,
		  1e3 * n->round_trip, cmd_many(n->chunks, "chunk").s);
	if (n->bytes)
		cmd_print(", %s at %s/s", cmd_bytes(n->bytes).s,
			  cmd_bytes((uint64_t)n->rate).s);
	cmd_print("\n");
}

static void print_node(const struct probed *p, const struct hpdsl_peer_probe *n)
{
	cmd_auto_free char *host = cmd_escape(n->host, strlen(n->host));
	char text[INET6_ADDRSTRLEN];
	const unsigned first = p->book.port;

	cmd_print("node %u (%s), %s", (unsigned)n->node, host,
		  address(n, text));
	if (n->is == HPDSL_PROBE_WELL)
		print_well(n);
	else if (n->is == HPDSL_PROBE_LOST)
		cmd_print(" port %u: %s\n", (unsigned)n->port,
			  hpdsl_peer_probe_text(n->is));
	else
		cmd_print(" ports %u to %u: %s\n", first,
			  first + p->book.ports - 1,
			  hpdsl_peer_probe_text(n->is));
}

static void print_all(const struct serve_options *o, const struct probed *p)
{
	for (uint32_t i = 0; i < p->n; i++)
		if (!o->quiet || p->node[i].is != HPDSL_PROBE_WELL)
			print_node(p, &p->node[i]);
	if (!p->n) {
		cmd_print("this is the only node of the book\n");
		return;
	}
	cmd_print("%u of %s answer", (unsigned)p->well,
		  cmd_many(p->n, "other node").s);
	if (p->slowest)
		cmd_print("; the slowest, node %u, at %s/s",
			  (unsigned)p->slowest->node,
			  cmd_bytes((uint64_t)p->slowest->rate).s);
	cmd_print("\n");
	if (p->well < p->n)
		cmd_print("between all nodes TCP ports %u to %u are to be "
			  "open\n",
			  p->book.port, p->book.port + p->book.ports - 1);
}

/* ---- For programs ----------------------------------------------------- */

static void put_real(struct cmd_json *j, const char *name, double value)
{
	if (value > 0)
		cmd_json_real(j, name, value);
	else
		cmd_json_null(j, name);
}

static void put_node(struct cmd_json *j, const struct hpdsl_peer_probe *n)
{
	char text[INET6_ADDRSTRLEN];

	cmd_json_open(j, NULL, '{');
	cmd_json_u64(j, "node", n->node);
	cmd_json_name(j, "host", n->host, strlen(n->host));
	cmd_json_string(j, "address", address(n, text));
	cmd_json_u64(j, "port", n->port);
	cmd_json_string(j, "is", words[n->is]);
	cmd_json_string(j, "says", hpdsl_peer_probe_text(n->is));
	cmd_json_u64(j, "chunks", n->chunks);
	put_real(j, "round_trip_ms", 1e3 * n->round_trip);
	cmd_json_u64(j, "bytes", n->bytes);
	put_real(j, "rate", n->rate);
	cmd_json_close(j, '}');
}

static void put_all(const struct serve_options *o, const struct probed *p)
{
	struct cmd_json j = { .out = stdout };

	cmd_json_open(&j, NULL, '{');
	cmd_json_name(&j, "directory", o->local, strlen(o->local));
	cmd_json_hex(&j, "book", p->book.id, sizeof(p->book.id));
	cmd_json_u64(&j, "node", p->book.node);
	cmd_json_u64(&j, "nodes", p->book.nodes);
	cmd_json_u64(&j, "port", p->book.port);
	cmd_json_u64(&j, "ports", p->book.ports);
	cmd_json_u64(&j, "answer", p->well);
	cmd_json_open(&j, "others", '[');
	for (uint32_t i = 0; i < p->n; i++)
		put_node(&j, &p->node[i]);
	cmd_json_close(&j, ']');
	cmd_json_line(&j);
}

/* ---- All of it -------------------------------------------------------- */

static int no_book(const struct serve_options *o)
{
	cmd_message("%s: there is no book of the job's nodes", o->local);
	return CMD_NO;
}

int serve_probe(const struct serve_options *o)
{
	struct probed p = { .n = 0 };
	struct hpdsl_error err;
	int r = hpdsl_peer_about(o->local, NULL, &p.book, &err);

	if (r == -ENOENT)
		return no_book(o);
	cmd_allow_open_files();
	if (r == 0)
		r = hpdsl_peer_probe(o->local, 0, NULL, &p.node, &p.n, &err);
	if (r < 0)
		return cmd_tell(&err);
	count(&p);
	cmd_output_start();
	if (o->json)
		put_all(o, &p);
	else
		print_all(o, &p);
	cmd_flush();
	free(p.node);
	return p.well == p.n ? CMD_DONE : CMD_NO;
}
