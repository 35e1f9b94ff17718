/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The book of the job's nodes, for servers and readers: which addresses each
 * has, tried once, and a secret for all.  Nothing here makes a run fail: who
 * has no book reads the origin.
 */
#include "reach.h"
#include "run.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#define PATIENCE 1000 /* milliseconds for a connection */

struct book {
	struct stage_run *r;
	struct hpdsl_peer_node mine, *nodes;
	struct hpdsl_peer_book book;
	uint32_t route; /* which of mine leads to the next node */
	int listens;
	uint32_t *ports;	/* of each node; 0: it does not listen */
	struct hpdsl_error err; /* the first that came in the way here */
};

static uint32_t next_node(const struct stage_job *j)
{
	return (j->node + 1) % j->nodes;
}

/* One line for all nodes: if one has no book others may have none, either. */
static void tell(struct book *b)
{
	struct stage_job *j = b->r->j;
	struct stage_failure f, mine = { .err = b->err };
	int code = job_agree(j, &mine, &f);

	b->err.code = 0;
	/* who is to stop does so in its time */
	if (!code || code == HPDSL_ESTOPPED || j->rank != 0)
		return;
	if (j->nodes == 1)
		cmd_warning("%s", f.err.msg);
	else
		cmd_warning("%s: %s", stage_node_name(f.node, f.host).s,
			    f.err.msg);
}

/* ---- Who they are ----------------------------------------------------- */

static int find(void *arg)
{
	struct book *b = arg;
	const struct stage_options *o = b->r->o;
	struct hpdsl_error err;

	snprintf(b->mine.host, sizeof(b->mine.host), "%s", b->r->j->host);
	b->mine.rack = hpdsl_peer_rack(getenv("SLURM_TOPOLOGY_ADDR"));
	/* who is alone needs none */
	if (hpdsl_peer_interfaces(o->interface, NULL, &b->mine, &err) < 0 &&
	    (b->r->j->nodes > 1 || o->interface)) {
		b->err.code = err.code;
		snprintf(b->err.msg, sizeof(b->err.msg),
			 "%.900s; other nodes cannot ask this one for chunks",
			 err.msg);
	}
	return 0;
}

/* With no network that all are in: from where does one go to the next? */
static int find_route(void *arg)
{
	struct book *b = arg;
	const struct hpdsl_peer_node *next = &b->nodes[next_node(b->r->j)];
	struct hpdsl_peer_node *mine = &b->nodes[b->r->j->node];
	uint8_t ip[16];

	for (uint32_t i = 0; i < next->offers; i++) {
		if (!reach_from(next->offer[i].ip, ip))
			continue;
		for (uint32_t k = 0; k < mine->offers; k++)
			if (memcmp(mine->offer[k].ip, ip, sizeof(ip)) == 0) {
				b->route = k;
				return 0;
			}
	}
	return 0;
}

static void prefer_routes(struct book *b)
{
	struct stage_job *j = b->r->j;
	uint32_t *all = cmd_alloc(j->nodes, sizeof(*all));

	job_work(j, find_route, b, "looking for a way to %s",
		 stage_node_name(next_node(j), b->nodes[next_node(j)].host).s);
	job_allgather(j, &b->route, sizeof(*all), all);
	for (uint32_t i = 0; i < j->nodes; i++)
		if (all[i] < b->nodes[i].offers)
			hpdsl_peer_prefer(&b->nodes[i],
					  b->nodes[i].offer[all[i]].ip);
	free(all);
}

static void meet(struct book *b)
{
	struct stage_job *j = b->r->j;
	int common;

	job_work(j, find, b, "looking at interfaces");
	b->nodes = cmd_alloc(j->nodes, sizeof(*b->nodes));
	job_allgather(j, &b->mine, sizeof(b->mine), b->nodes);
	common = hpdsl_peer_choose(b->nodes, j->nodes);
	if (common < 0)
		cmd_no_memory();
	if (!common && j->nodes > 1)
		prefer_routes(b);
	tell(b);
}

/* ---- What they share -------------------------------------------------- */

/* Text for people: whose job it is. */
static void put_job(const struct book *b, char *text, size_t size)
{
	const char *user = getenv("LOGNAME");
	char number[24];

	if (cmd_job_name(text, size))
		return;
	snprintf(number, sizeof(number), "%u", (unsigned)geteuid());
	snprintf(text, size, "%.32s@%.63s, %.20s UTC", user ? user : number,
		 b->r->j->host, cmd_time(b->book.made).s);
}

static int draw(void *arg)
{
	struct book *b = arg;
	const struct stage_run *r = b->r;

	b->book = (struct hpdsl_peer_book){
		.parts = hpdsl_stage_plan_parts(r->plan),
		.rate = r->o->rate / r->j->nodes +
			(r->o->rate % r->j->nodes > 0),
	};
	if (hpdsl_stage_draw_book(r->stage, b->nodes, r->j->nodes,
				  r->o->peer_port, &b->book, &b->err) < 0)
		b->book.port = 0;
	put_job(b, b->book.job, sizeof(b->book.job));
	return 0;
}

/* False: there is no book. */
static bool share(struct book *b)
{
	struct stage_job *j = b->r->j;

	if (j->rank == 0)
		job_work(j, draw, b, "drawing a secret for the nodes");
	job_bcast(j, &b->book, sizeof(b->book), 0);
	tell(b);
	return b->book.port;
}

/* ---- Tried ------------------------------------------------------------ */

static int begin_to_listen(void *arg)
{
	struct book *b = arg;
	const struct hpdsl_peer_node *mine = &b->nodes[b->r->j->node];
	uint32_t port = 0;

	if (!mine->offers)
		return 0;
	b->listens = reach_listen(mine->offer[0].ip, b->book.port, &port);
	if (b->listens >= 0) {
		b->ports[b->r->j->node] = port;
		return 0;
	}
	/* as many nodes on one machine have no room there */
	if (b->listens == -EADDRINUSE && b->r->o->pretend)
		return 0;
	b->err.code = b->listens;
	snprintf(b->err.msg, sizeof(b->err.msg),
		 "%s, ports %u to %u: %s; other nodes cannot ask this one for "
		 "chunks",
		 reach_text(mine->offer[0].ip).s, b->book.port,
		 b->book.port + 15, strerror(-b->listens));
	return 0;
}

static int connect_to_next(void *arg)
{
	struct book *b = arg;
	const struct stage_job *j = b->r->j;
	uint32_t n = next_node(j);
	const struct hpdsl_peer_node *next = &b->nodes[n];
	int code;

	if (!b->ports[n] || !next->offers)
		return 0;
	code = reach_try(next->offer[0].ip, b->ports[n], PATIENCE);
	if (code == 0 || b->err.code)
		return 0;
	b->err.code = code;
	snprintf(b->err.msg, sizeof(b->err.msg),
		 "no connection to %s at %s, %s, port %u: %s; what it has will "
		 "be read from the origin",
		 stage_node_name(n, next->host).s, next->offer[0].interface,
		 reach_text(next->offer[0].ip).s, b->ports[n], strerror(-code));
	return 0;
}

/*
 * Before there is a book, and so a server that wants the port.  Nobody takes
 * the connection: that it comes about is all there is to know.
 */
static void try_once(struct book *b)
{
	struct stage_job *j = b->r->j;
	uint32_t mine;

	b->ports = cmd_alloc(j->nodes, sizeof(*b->ports));
	b->listens = -1;
	job_work(j, begin_to_listen, b, "opening a port");
	mine = b->ports[j->node];
	job_allgather(j, &mine, sizeof(mine), b->ports);
	job_work(j, connect_to_next, b, "connecting to %s",
		 stage_node_name(next_node(j), b->nodes[next_node(j)].host).s);
	tell(b); /* and all have tried */
	if (b->listens >= 0)
		close(b->listens);
	free(b->ports);
}

/* ---- All of it -------------------------------------------------------- */

static int put(void *arg)
{
	struct book *b = arg;

	if (hpdsl_stage_put_book(b->r->stage, &b->book, b->nodes, &b->err) >= 0)
		b->err.code = 0;
	return 0;
}

/* To who has chosen something. */
static void tell_way(const struct book *b)
{
	const struct stage_options *o = b->r->o;
	const struct hpdsl_peer_address *a = b->nodes[0].offer;

	if (b->r->j->rank == 0 && !o->common.quiet && b->nodes[0].offers &&
	    (o->interface || o->peer_port))
		cmd_message("peers: %s, %s, ports %u to %u", a->interface,
			    reach_text(a->ip).s, b->book.port,
			    b->book.port + 15);
}

void run_book(struct stage_run *r)
{
	struct book b = { .r = r };

	meet(&b);
	if (share(&b)) {
		if (r->j->nodes > 1)
			try_once(&b);
		job_work(r->j, put, &b, "writing to %s", r->path);
		tell(&b);
		tell_way(&b);
	}
	r->port = b.book.port;
	explicit_bzero(b.book.secret, sizeof(b.book.secret));
	if (r->j->rank == 0)
		r->peers = b.nodes;
	else
		free(b.nodes);
}
