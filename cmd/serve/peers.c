/* SPDX-License-Identifier: Apache-2.0 */
/* What readers of this node saw of the others: as JSON, and of that in lines.
 */
#include "life.h"

#include <string.h>

enum { LINES = 20 };

/* ---- As JSON ---------------------------------------------------------- */

static void put_origin(struct cmd_json *j, const struct hpdsl_serve_seen *s)
{
	char name[64];

	cmd_json_u64(j, "to_origin", s->to_origin);
	for (unsigned i = 1; hpdsl_serve_why(i); i++) {
		snprintf(name, sizeof(name), "origin_%s", hpdsl_serve_why(i));
		cmd_json_u64(j, name, s->origin[i]);
	}
}

static void put_times(struct cmd_json *j, const struct hpdsl_serve_seen *s)
{
	unsigned n = HPDSL_SERVE_TIMES;

	while (n && !s->latency[n - 1])
		n--;
	cmd_json_open(j, "latency_us", '[');
	for (unsigned i = 0; i < n; i++)
		cmd_json_u64(j, NULL, s->latency[i]);
	cmd_json_close(j, ']');
}

static void put_peer(struct cmd_json *j, const struct hpdsl_serve_seen *s)
{
	cmd_json_open(j, NULL, '{');
	cmd_json_u64(j, "peer", s->node);
	cmd_json_name(j, "name", s->host, strnlen(s->host, sizeof(s->host)));
	cmd_json_string(j, "health",
			s->banned  ? "banned" :
			s->suspect ? "suspect" :
				     "well");
	cmd_json_u64(j, "reads", s->reads);
	cmd_json_u64(j, "read_bytes", s->bytes);
	cmd_json_u64(j, "adopted_reads", s->adopted);
	cmd_json_u64(j, "load_bytes", s->owes);
	cmd_json_u64(j, "suspected", s->suspected);
	cmd_json_u64(j, "bad", s->bad);
	cmd_json_u64(j, "hedged", s->hedged);
	cmd_json_u64(j, "hedges_won", s->won);
	put_origin(j, s);
	put_times(j, s);
	cmd_json_close(j, '}');
}

void serve_peers_json(struct cmd_json *j, struct hpdsl_serve *s)
{
	struct hpdsl_serve_seen *all = NULL;
	uint32_t n = 0;

	/* Without memory: as if nobody had seen anything. */
	if (s)
		hpdsl_serve_seen(s, &all, &n);
	if (all) {
		cmd_json_open(j, "no_peer", '{');
		put_origin(j, &all[n]);
		cmd_json_close(j, '}');
	} else {
		cmd_json_null(j, "no_peer");
	}
	cmd_json_open(j, "peers", '[');
	for (uint32_t i = 0; i < n; i++)
		put_peer(j, &all[i]);
	cmd_json_close(j, ']');
	free(all);
}

/* ---- In lines --------------------------------------------------------- */

/* Behind the object that s is the begin of; NULL: it has no end. */
static const char *behind(const char *s)
{
	bool text = false;

	for (; *s; s++) {
		if (text && *s == '\\' && s[1])
			s++;
		else if (*s == '"')
			text = !text;
		else if (!text && *s == '}')
			return s + 1;
	}
	return NULL;
}

/* How bad it is; 0: it is well. */
struct line {
	const char *json;
	int state; /* 2 banned, 1 suspect */
	uint64_t bad, to_origin, suspected;
};

static struct line read_line(const char *json)
{
	char state[16] = "";

	serve_field(json, "health", state, sizeof(state));
	return (struct line){
		.json = json,
		.state = strcmp(state, "banned") == 0  ? 2 :
			 strcmp(state, "suspect") == 0 ? 1 :
							 0,
		.bad = serve_number(json, "bad"),
		.to_origin = serve_number(json, "to_origin"),
		.suspected = serve_number(json, "suspected"),
	};
}

static bool is_well(const struct line *l)
{
	return !l->state && !l->bad && !l->to_origin && !l->suspected;
}

static int three_ways(uint64_t a, uint64_t b)
{
	return a < b ? 1 : a > b ? -1 : 0;
}

/* The worst first, then in their order. */
static int compare(const void *x, const void *y)
{
	const struct line *a = x, *b = y;
	int r = b->state - a->state;

	r = r ? r : three_ways(a->bad, b->bad);
	r = r ? r : three_ways(a->to_origin, b->to_origin);
	r = r ? r : three_ways(a->suspected, b->suspected);
	return r ? r : (a->json > b->json) - (a->json < b->json);
}

/* "3 to the origin (2 late, 1 bad)". */
static void print_origin(const char *json)
{
	const char *before = " (";
	char name[64];

	cmd_print("%llu to the origin",
		  (unsigned long long)serve_number(json, "to_origin"));
	for (unsigned i = 1; hpdsl_serve_why(i); i++) {
		uint64_t n;

		snprintf(name, sizeof(name), "origin_%s", hpdsl_serve_why(i));
		n = serve_number(json, name);
		if (!n)
			continue;
		snprintf(name, sizeof(name), "%s", hpdsl_serve_why(i));
		for (char *c = name; (c = strchr(c, '_'));)
			*c = ' ';
		cmd_print("%s%llu %s", before, (unsigned long long)n, name);
		before = ", ";
	}
	cmd_print("%s", *before == ',' ? ")" : "");
}

static void print_line(const struct line *l)
{
	static const char *const states[] = { "", "suspect now, ",
					      "asked no more, " };
	char host[HPDSL_PEER_HOST] = "";
	cmd_auto_free char *shown = NULL;

	serve_field(l->json, "name", host, sizeof(host));
	shown = cmd_escape(host, strlen(host));
	cmd_print("  saw node %llu (%s): %s%s, %s",
		  (unsigned long long)serve_number(l->json, "peer"), shown,
		  states[l->state],
		  cmd_many(serve_number(l->json, "reads"), "read").s,
		  cmd_bytes(serve_number(l->json, "read_bytes")).s);
	if (l->bad)
		cmd_print(", wrong bytes %s", cmd_many(l->bad, "time").s);
	if (l->suspected)
		cmd_print(", suspect %s", cmd_many(l->suspected, "time").s);
	if (l->to_origin) {
		cmd_print(", ");
		print_origin(l->json);
	}
	cmd_print("\n");
}

static void print_lines(struct line *l, size_t n, size_t well)
{
	qsort(l, n, sizeof(*l), compare);
	for (size_t i = 0; i < n && i < LINES; i++)
		print_line(&l[i]);
	if (n > LINES)
		cmd_print("  and %s that are not well\n",
			  cmd_many(n - LINES, "more node").s);
	if (well)
		cmd_print("  saw %s well\n",
			  cmd_many(well, n ? "other node" : "node").s);
}

void serve_peers_print(const char *json)
{
	static const char begin[] = "\"peers\": [", none[] = "\"no_peer\": {";
	const char *s = strstr(json, none), *end;
	cmd_auto_free struct line *l = NULL;
	size_t n = 0, well = 0;

	if (s && serve_number(s + strlen(none) - 1, "to_origin")) {
		cmd_print("  because of no node ");
		print_origin(s + strlen(none) - 1);
		cmd_print("\n");
	}
	s = strstr(json, begin);
	if (!s)
		return;
	s += strlen(begin);
	l = cmd_alloc(strlen(s) / 64 + 1, sizeof(*l));
	for (; *s == '{' && (end = behind(s)); s = end + strspn(end, ", ")) {
		l[n] = read_line(s);
		if (is_well(&l[n]))
			well += serve_number(s, "reads") != 0;
		else
			n++;
	}
	print_lines(l, n, well);
}
