/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plays jobs whose nodes read from each other and prints what came of them:
 * what part of the links' rates is used while all read, and what losses cost.
 * Of the largest job a slice is played: so many chunks of all that a node
 * reads in an epoch, and the middle half of them counts.
 */
#include "sim_peers_play.h"

#define MIB (UINT64_C(1) << 20)
#define LARGE_CHUNKS 14901161 /* of 64 MiB are 1 PB */

/* sim_peers [SCALE]: so many times fewer nodes or chunks, to try it. */
static uint32_t scale = 1;

/* ---- All to all ------------------------------------------------------- */

static double part(uint32_t nodes, uint32_t copies, uint32_t k,
		   enum loads loads, bool plain)
{
	struct sim s = { .nodes = nodes,
			 .copies = copies,
			 .k = k,
			 .at_once = k,
			 .a_node = 128,
			 .chunks = nodes * 128,
			 .pieces = 1,
			 .chunk_bytes = 64 * MIB,
			 .link = 12.5e9,
			 .origin = 200e9,
			 .loads = loads,
			 .plain = plain,
			 .seed = 19 };
	double ret;

	play(&s);
	ret = part_of_links(&s);
	release(&s);
	return ret;
}

static void all_to_all(void)
{
	static const struct {
		const char *name;
		uint32_t copies;
		enum loads loads;
	} rows[] = {
		{ "the one holder", 1, BLIND },
		{ "any of two", 2, BLIND },
		{ "less loaded", 2, TRUE },
		{ "less, as told", 2, TOLD },
	};

	printf("whole chunks; on the left what a flow cannot use of its part "
	       "of a"
	       "\nlink is lost, on the right others get it (max-min fair)\n");
	printf("%5s %-15s%6s%5s%5s%5s%7s%5s%5s%5s\n", "nodes", "asked", "k=1",
	       "2", "4", "8", "k=1", "2", "4", "8");
	for (uint32_t n = 16; n <= 64; n *= 4)
		for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
			printf("%5u %-15s", n, rows[i].name);
			for (uint32_t k = 0; k < 8; k++)
				printf(k % 4 ? " %.2f" : "  %.2f",
				       part(n, rows[i].copies, 1U << k % 4,
					    rows[i].loads, k < 4));
			printf("\n");
		}
}

/* ---- As the client does it -------------------------------------------- */

/* nodes, chunks that a node reads, parts under way, wide, HAVE, loads */
static const struct large {
	uint32_t nodes, a_node, k, wide;
	double have;
	enum loads loads;
} large[] = {
	{ 1000, 64, 8, 0, 0, BLIND },
	{ 1000, 64, 8, 0, 0, TOLD },
	{ 1000, 64, 8, 0, 0, TRUE },
	{ 1000, 64, 8, 1, 0, TOLD },
	{ 1000, 64, 8, 8, 0, TOLD },
	{ 1000, 64, 16, 16, 0, TOLD },
	{ 1000, 64, 16, 0, 0, TOLD },
	{ 1000, 64, 8, 0, LARGE_CHUNKS / 4, TOLD },
	{ 10000, 24, 8, 0, 0, TOLD },
};

static void play_large(const struct large *g)
{
	static const char *loads[] = { "no", "told", "true" };
	struct sim s = { .nodes = g->nodes / scale,
			 .copies = 2,
			 .k = g->k,
			 .a_node = g->a_node,
			 .chunks = LARGE_CHUNKS,
			 .pieces = 16,
			 .wide = g->wide,
			 .chunk_bytes = 64 * MIB,
			 .link = 12.5e9,
			 .origin = 200e9,
			 .latency = LATENCY,
			 .have = g->have,
			 .loads = g->loads,
			 .seed = 19 };
	char order[16];

	snprintf(order, sizeof order, g->wide ? "turns of %u" : "one a slot",
		 g->wide);
	play(&s);
	printf("%5u %3u %-12s%-5s%5.1f%7.2f%9.0f%6u%8.0f\n", s.nodes, s.k,
	       order, loads[g->loads], g->have / 1e6, part_of_links(&s),
	       s.hottest / 1e6, s.most_connections, s.longest[0] * 1e3);
	fflush(stdout);
	release(&s);
}

static void at_large(void)
{
	printf("\n1 PB, copies=2, requests of 4 MiB, links of 12.5 GB/s\n");
	printf("%5s %3s %-12s%-5s%5s%7s%9s%6s%8s\n", "nodes", "k", "chunks",
	       "load", "HAVE", "links", "queue MB", "conn.", "wait ms");
	for (size_t i = 0; i < sizeof large / sizeof *large; i++)
		play_large(&large[i]);
}

/* ---- Losses ----------------------------------------------------------- */

static const struct scene {
	const char *name;
	uint32_t copies, first, last;
	enum lost how;
	double slow;
} scenes[] = {
	{ "nothing", 1, 0, 0, IS_WELL, 0 },
	{ "one dies", 1, 50, 50, IS_DEAD, 0 },
	{ "one falls silent", 1, 50, 50, IS_SILENT, 0 },
	{ "ten die", 1, 50, 59, IS_DEAD, 0 },
	{ "ten fall silent", 1, 50, 59, IS_SILENT, 0 },
	{ "one is cut off", 1, 50, 50, IS_CUT, 0 },
	{ "one is slow", 1, 50, 50, IS_WELL, 0.01 },
	{ "nothing", 2, 0, 0, IS_WELL, 0 },
	{ "one dies", 2, 50, 50, IS_DEAD, 0 },
	{ "one falls silent", 2, 50, 50, IS_SILENT, 0 },
	{ "a rack of 16 does", 2, 48, 63, IS_SILENT, 0 },
	{ "one is cut off", 2, 50, 50, IS_CUT, 0 },
	{ "one is slow", 2, 50, 50, IS_WELL, 0.01 },
};

static const char *share_of(const struct sim *s, char buf[16])
{
	const double share = lost_bytes(s);

	snprintf(buf, 16, share > 0 ? "%.2f" : "-", s->adopted_bytes / share);
	return buf;
}

static void play_scene(const struct scene *c)
{
	struct sim s = { .nodes = 128,
			 .copies = c->copies,
			 .k = 8,
			 .a_node = 256 / scale,
			 .chunks = 128 * 128 / scale,
			 .pieces = 16,
			 .chunk_bytes = 64 * MIB,
			 .link = 1.25e9,
			 .origin = 20e9,
			 .latency = LATENCY,
			 .loads = TOLD,
			 .seed = 19,
			 .when = c->how != IS_WELL || c->slow > 0 ? 0.3 : 0,
			 .how = c->how,
			 .slow = c->slow,
			 .first = c->first,
			 .last = c->last };
	char share[16];

	play(&s);
	printf("%6u %-18s%6.1f%5.1f%7.0f%6.1f%6llu%6s%5llu%7llu%7llu%6llu\n",
	       s.copies, c->name, s.end[0], s.longest[0], s.end[1],
	       s.longest[1], (unsigned long long)s.adoptions,
	       share_of(&s, share), (unsigned long long)s.cut_adoptions,
	       (unsigned long long)origin_reads(&s),
	       (unsigned long long)s.hedged, (unsigned long long)s.twice);
	fflush(stdout);
	release(&s);
}

static void losses(void)
{
	printf("\n128 nodes, links of 1.25 GB/s; each chunk is read twice, "
	       "losses at 30 %%\n");
	printf("%25s%11s%13s%17s%19s\n", "", "others: s", "its own: s",
	       "adopted", "requests");
	printf("%6s %-18s%6s%5s%7s%6s%6s%6s%5s%7s%7s%6s\n", "copies", "lost",
	       "end", "wait", "end", "wait", "n", "S/N", "cut", "origin",
	       "hedged", "again");
	for (size_t i = 0; i < sizeof scenes / sizeof *scenes; i++)
		play_scene(&scenes[i]);
}

int main(int argc, char **argv)
{
	if (argc == 2 && atoi(argv[1]) > 0)
		scale = (uint32_t)atoi(argv[1]);
	all_to_all();
	at_large();
	losses();
	return 0;
}
