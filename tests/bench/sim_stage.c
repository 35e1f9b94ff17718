/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plays whole jobs and prints what came of them, as the table that is in
 * hpdsl-stage(1), SCALE: of received and sent bytes, streams, messages and
 * memory the most of any node.  Petabytes are played in longer segments than
 * 4 MiB, for time; only the messages are then counted as if they were not.
 */
#include "sim_job.h"

struct largest {
	uint64_t received, sent, written, messages, tables;
	uint32_t in_streams, out_streams, buffers;
	uint64_t read; /* by all */
};

static void more(uint64_t *max, uint64_t n)
{
	if (n > *max)
		*max = n;
}

static void more32(uint32_t *max, uint32_t n)
{
	if (n > *max)
		*max = n;
}

static uint64_t tables(const struct node *n)
{
	const struct hp_exchange *x = n->x;

	return sizeof *x + x->buckets * sizeof *x->bucket +
	       n->n_want * (sizeof *x->want + 2 * sizeof *n->want) +
	       x->heap_room * (sizeof *x->heap + sizeof(struct hp_out));
}

static void look(const struct sim *s, struct largest *l)
{
	for (uint32_t i = 0; i < s->nodes; i++) {
		struct hp_exchange_counts k;

		hp_exchange_count(s->node[i].x, &k);
		if (!k.idle || k.ready != s->node[i].n_want) {
			fprintf(stderr, "sim_stage: node %u is not done\n", i);
			exit(1);
		}
		more(&l->received, k.received_bytes);
		more(&l->sent, k.sent_bytes);
		more(&l->written, k.received_bytes + k.read_bytes);
		more(&l->messages, k.messages);
		more(&l->tables, tables(&s->node[i]));
		more32(&l->in_streams, k.in_streams);
		more32(&l->out_streams, k.out_streams);
		more32(&l->buffers,
		       k.in_buffers + k.out_buffers + ORIGIN_BUFFERS);
		l->read += k.read_bytes;
	}
}

/* "3.9T": decimal units, as all of this table. */
static const char *amount(uint64_t bytes, char buf[16])
{
	static const char unit[] = "kMGTP";
	double v = (double)bytes / 1000;
	int u = 0;

	for (; v >= 999.5 && unit[u + 1]; u++)
		v /= 1000;
	snprintf(buf, 16, v < 9.95 ? "%.1f%c" : "%.0f%c", v, unit[u]);
	return bytes ? buf : "0";
}

static uint64_t bound(const struct largest *l, const char **ret_name)
{
	uint64_t o = l->read * origin_pace;
	uint64_t n = l->written * link_pace;
	uint64_t w = l->written * write_pace;

	*ret_name = o >= n && o >= w ? "origin" : n >= w ? "link" : "SSD";
	return o >= n && o >= w ? o : n >= w ? n : w;
}

/* As many as there would be with segments of 4 MiB. */
static uint64_t messages(const struct sim *s, const struct largest *l)
{
	return s->segment <= REAL_SEGMENT ?
		       l->messages :
		       l->messages * (s->segment / REAL_SEGMENT);
}

static unsigned long long rounded(uint64_t n, uint64_t unit)
{
	return (n + unit / 2) / unit;
}

static void head(void)
{
	printf("%39s%17s%9s\n", "seconds", "bytes", "streams");
	printf("%-9s%6s%5s%6s%5s%6s %-6s%5s%5s%3s%4s%9s%4s\n", "mode", "nodes",
	       "data", "parts", "time", "bound", "by", "in", "out", "in", "out",
	       "messages", "MB");
}

static void print(const struct sim *s)
{
	struct largest l = { 0 };
	const char *name;
	uint64_t least;
	char a[3][16];

	look(s, &l);
	least = bound(&l, &name);
	printf("%-9s%6u%5s%6u%5llu%6llu %-6s%5s%5s%3u%4u%9llu%4llu\n", s->name,
	       s->nodes, amount(s->chunks * s->chunk_bytes, a[0]),
	       s->plan->parts, rounded(s->now, SECOND), rounded(least, SECOND),
	       name, amount(l.received, a[1]), amount(l.sent, a[2]),
	       l.in_streams, l.out_streams, (unsigned long long)messages(s, &l),
	       rounded(l.buffers * (uint64_t)REAL_SEGMENT + l.tables, 1000000));
	fflush(stdout);
}

static void play(struct sim s)
{
	make_order(&s);
	if (make_plan(&s)) {
		make_nodes(&s);
		run(&s);
		print(&s);
		release(&s);
	}
}

/* nodes, bytes in all, chunks, segments a chunk. */
static struct sim game(const char *name, uint32_t nodes, uint64_t all,
		       uint32_t chunks, uint32_t segments)
{
	struct sim s = { .name = name,
			 .nodes = nodes,
			 .chunks = chunks,
			 .chunk_bytes = all / chunks,
			 .segment = (uint32_t)(all / chunks / segments) };

	s.mode = !strcmp(name, "replicate") ? HPDSL_STAGE_REPLICATE :
		 !strcmp(name, "partition") ? HPDSL_STAGE_PARTITION :
		 !strcmp(name, "copies=2")  ? HPDSL_STAGE_COPIES :
					      HPDSL_STAGE_AUTO;
	s.copies = 2;
	return s;
}

static const struct {
	const char *name;
	uint32_t nodes, chunks;
	uint64_t bytes;
} games[] = {
	{ "replicate", 10, 1024, 64 * GIB },
	{ "replicate", 100, 1024, 64 * GIB },
	{ "replicate", 1000, 1024, 64 * GIB },
	{ "replicate", 10000, 256, 16 * GIB },
	{ "partition", 10, 8000, 10 * TB },
	{ "partition", 100, 8000, 100 * TB },
	{ "partition", 1000, 8000, 1000 * TB },
	{ "partition", 10000, 40000, 1000 * TB },
	{ "copies=2", 10, 8000, 10 * TB },
	{ "copies=2", 100, 8000, 100 * TB },
	{ "copies=2", 1000, 8000, 1000 * TB },
	{ "copies=2", 10000, 40000, 1000 * TB },
	{ "auto", 10, 20000, 1000 * TB },
	{ "auto", 100, 20000, 1000 * TB },
	{ "auto", 1000, 20000, 1000 * TB },
	{ "auto", 10000, 20000, 1000 * TB },
};

/* sim_stage [MOST-NODES], or MODE NODES BYTES CHUNKS SEGMENTS-A-CHUNK */
int main(int argc, char **argv)
{
	uint64_t most = argc == 2 ? strtoull(argv[1], NULL, 10) : UINT64_MAX;

	head();
	if (argc == 6) {
		play(game(argv[1], (uint32_t)atoll(argv[2]),
			  strtoull(argv[3], NULL, 10), (uint32_t)atoll(argv[4]),
			  (uint32_t)atoll(argv[5])));
		return 0;
	}
	for (size_t i = 0; i < sizeof games / sizeof *games; i++)
		if (games[i].nodes <= most)
			play(game(games[i].name, games[i].nodes, games[i].bytes,
				  games[i].chunks, 16));
	return 0;
}
