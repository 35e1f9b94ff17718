/* SPDX-License-Identifier: Apache-2.0 */
/* What --plan prints. */
#include "plan.h"
#include "stage.h"

#include <string.h>

enum { TABLE_NODES = 32, HOST_WIDTH = 24 };

/* What a node's share is made of. */
static const struct column {
	const char *name, *json;
	size_t offset;
} columns[] = {
#define COLUMN(name, json, field)                                     \
	{                                                             \
		name, json, offsetof(struct hpdsl_stage_share, field) \
	}
	COLUMN("holds", "held_bytes", bytes),
	COLUMN("origin", "origin_bytes", origin_bytes),
	COLUMN("receives", "received_bytes", received_bytes),
	COLUMN("sends", "sent_bytes", sent_bytes),
	COLUMN("left", "left_bytes", left_bytes),
#undef COLUMN
};

enum { COLUMNS = sizeof(columns) / sizeof(*columns) };

static uint64_t value(const struct hpdsl_stage_share *s, size_t column)
{
	uint64_t v;

	memcpy(&v, (const char *)s + columns[column].offset, sizeof(v));
	return v;
}

void plan_sums(struct plan_view *v)
{
	struct hpdsl_stage_sums sums;

	v->share = cmd_alloc(v->nodes, sizeof(*v->share));
	v->origin_bytes = 0;
	for (uint32_t n = 0; n < v->nodes; n++) {
		struct hpdsl_stage_share *s = &v->share[n];

		hpdsl_stage_plan_share(v->plan, n, s);
		v->origin_bytes += s->origin_bytes;
	}
	hpdsl_stage_plan_sums(v->plan, &sums);
	v->bytes = sums.bytes + sums.left_bytes;
	v->left_bytes = sums.left_bytes;
	hpdsl_stage_plan_estimate(v->plan, &v->rates, &v->estimate);
}

static int ascending(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static struct cmd_text bytes_or_none(uint64_t bytes)
{
	struct cmd_text none = { "-" };

	return bytes ? cmd_bytes(bytes) : none;
}

/* "holds 4.0 GiB 4.0 GiB 4.1 GiB" and so on, of all nodes. */
static void print_spread(const struct plan_view *v)
{
	cmd_auto_free uint64_t *all = cmd_alloc(v->nodes, sizeof(*all));

	cmd_print("%-10s%12s%12s%12s\n", "a node", "least", "median", "most");
	for (size_t k = 0; k < COLUMNS; k++) {
		for (uint32_t n = 0; n < v->nodes; n++)
			all[n] = value(&v->share[n], k);
		qsort(all, v->nodes, sizeof(*all), ascending);
		cmd_print("%-10s%12s%12s%12s\n", columns[k].name,
			  bytes_or_none(all[0]).s,
			  bytes_or_none(all[v->nodes / 2]).s,
			  bytes_or_none(all[v->nodes - 1]).s);
	}
}

static int host_width(const struct plan_view *v)
{
	size_t most = strlen("host");

	for (uint32_t n = 0; v->hosts && n < v->nodes; n++)
		if (strlen(v->hosts[n]) > most)
			most = strlen(v->hosts[n]);
	return most < HOST_WIDTH ? (int)most : HOST_WIDTH;
}

static struct cmd_text parts_at(const struct plan_view *v, uint32_t node)
{
	struct hpdsl_stage_span s = hpdsl_stage_parts_of(
		v->nodes, hpdsl_stage_plan_parts(v->plan), node);

	return stage_parts(s.first, s.last, "", "");
}

static int parts_width(const struct plan_view *v)
{
	size_t most = strlen("parts");

	for (uint32_t n = 0; n < v->nodes; n++)
		if (strlen(parts_at(v, n).s) > most)
			most = strlen(parts_at(v, n).s);
	return (int)most;
}

static void print_table(const struct plan_view *v)
{
	int width = host_width(v), wide = parts_width(v);

	cmd_print("node ");
	if (v->hosts)
		cmd_print("%-*s ", width, "host");
	cmd_print("%*s", wide, "parts");
	for (size_t k = 0; k < COLUMNS; k++)
		cmd_print("%11s", columns[k].name);
	cmd_print("\n");
	for (uint32_t n = 0; n < v->nodes; n++) {
		cmd_print("%4u ", n);
		if (v->hosts)
			cmd_print("%-*.*s ", width, width, v->hosts[n]);
		cmd_print("%*s", wide, parts_at(v, n).s);
		for (size_t k = 0; k < COLUMNS; k++)
			cmd_print("%11s",
				  bytes_or_none(value(&v->share[n], k)).s);
		cmd_print("\n");
	}
}

static struct cmd_text seconds_at(double seconds, double rate)
{
	struct cmd_text unknown = { "unknown" };

	return rate > 0 ? cmd_seconds(seconds) : unknown;
}

static void print_time(const struct plan_view *v)
{
	const struct hpdsl_stage_estimate *e = &v->estimate;

	if (e->seconds <= 0) {
		cmd_print("time: unknown without --rates or --rates-from\n");
		return;
	}
	cmd_print("time: origin %s, network %s, SSD %s; all in all %s, bound "
		  "by the %s\n",
		  seconds_at(e->origin_seconds, v->rates.origin).s,
		  seconds_at(e->link_seconds, v->rates.link).s,
		  seconds_at(e->write_seconds, v->rates.write).s,
		  cmd_seconds(e->seconds).s, e->bound);
	if (e->epochs > 0)
		cmd_print("paid: after %.1f epochs, against reading the origin "
			  "in each\n",
			  e->epochs);
	else if (v->rates.origin > 0)
		cmd_print("paid: never, against reading the origin in each "
			  "epoch\n");
}

/* On how many nodes each chunk is, some on one more if not all are alike. */
static uint32_t copies(const struct plan_view *v, bool *ret_alike)
{
	uint32_t parts = hpdsl_stage_plan_parts(v->plan);

	*ret_alike = parts < v->nodes ? v->nodes % parts == 0 :
					parts % v->nodes == 0;
	return parts < v->nodes ? v->nodes / parts : 1;
}

static void print_place(const struct plan_view *v)
{
	if (!v->directory)
		return;
	cmd_print("place: %s: %s\n", v->directory, v->reason);
	if (*v->others)
		cmd_print("not before: %s\n", v->others);
}

void plan_print(const struct plan_view *v)
{
	uint32_t parts = hpdsl_stage_plan_parts(v->plan), each;
	bool alike;

	each = copies(v, &alike);

	cmd_print("plan: %s, %s on %s, each chunk on %s%s\n", v->mode,
		  cmd_many(parts, "part").s, cmd_many(v->nodes, "node").s,
		  v->left_bytes ? "at most " :
		  alike		? "" :
				  "at least ",
		  cmd_many(each + (v->left_bytes && !alike), "node").s);
	print_place(v);
	cmd_print("dataset: %s, %s; %s from the origin",
		  cmd_many(v->chunks, "chunk").s, cmd_bytes(v->bytes).s,
		  cmd_bytes(v->origin_bytes).s);
	if (v->left_bytes)
		cmd_print(", %s have no room and are left there",
			  cmd_bytes(v->left_bytes).s);
	cmd_print("\n");
	print_time(v);
	plan_print_peers(v);
	cmd_print("\n");
	print_spread(v);
	if (v->nodes > TABLE_NODES)
		return;
	cmd_print("\n");
	print_table(v);
}

/* null unless rate is known. */
static void json_known(struct cmd_json *j, const char *name, double value,
		       double rate)
{
	if (rate > 0)
		cmd_json_real(j, name, value);
	else
		cmd_json_null(j, name);
}

static void json_estimate(const struct plan_view *v, struct cmd_json *j)
{
	const struct hpdsl_stage_estimate *e = &v->estimate;
	const struct hpdsl_stage_rates *r = &v->rates;

	cmd_json_open(j, "rates", '{');
	json_known(j, "origin", r->origin, r->origin);
	json_known(j, "link", r->link, r->link);
	json_known(j, "write", r->write, r->write);
	json_known(j, "read", r->read, r->read);
	cmd_json_close(j, '}');
	json_known(j, "origin_seconds", e->origin_seconds, r->origin);
	json_known(j, "link_seconds", e->link_seconds, r->link);
	json_known(j, "write_seconds", e->write_seconds, r->write);
	json_known(j, "seconds", e->seconds, e->seconds);
	if (e->seconds > 0)
		cmd_json_string(j, "bound", e->bound);
	else
		cmd_json_null(j, "bound");
	json_known(j, "epochs", e->epochs, e->epochs);
}

static void json_place(const struct plan_view *v, struct cmd_json *j)
{
	if (v->directory) {
		cmd_json_name(j, "directory", v->directory,
			      strlen(v->directory));
		cmd_json_name(j, "reason", v->reason, strlen(v->reason));
	} else {
		cmd_json_null(j, "directory");
		cmd_json_null(j, "reason");
	}
}

static void json_nodes(const struct plan_view *v, struct cmd_json *j)
{
	uint32_t parts = hpdsl_stage_plan_parts(v->plan);

	cmd_json_open(j, "nodes", '[');
	for (uint32_t n = 0; n < v->nodes; n++) {
		const char *host = v->hosts ? v->hosts[n] : NULL;

		cmd_json_open(j, NULL, '{');
		cmd_json_u64(j, "node", n);
		if (host)
			cmd_json_name(j, "host", host, strlen(host));
		else
			cmd_json_null(j, "host");
		stage_json_parts(j, v->nodes, parts, n);
		cmd_json_u64(j, "chunks", v->share[n].chunks);
		for (size_t k = 0; k < COLUMNS; k++)
			cmd_json_u64(j, columns[k].json,
				     value(&v->share[n], k));
		cmd_json_close(j, '}');
	}
	cmd_json_close(j, ']');
}

void plan_json(const struct plan_view *v)
{
	uint32_t parts = hpdsl_stage_plan_parts(v->plan);
	struct cmd_json j = { .out = stdout };
	bool alike;

	cmd_json_open(&j, NULL, '{');
	cmd_json_string(&j, "mode", v->mode);
	cmd_json_u64(&j, "parts", parts);
	cmd_json_u64(&j, "copies", copies(v, &alike));
	cmd_json_u64(&j, "chunks", v->chunks);
	cmd_json_u64(&j, "bytes", v->bytes);
	cmd_json_u64(&j, "origin_bytes", v->origin_bytes);
	cmd_json_u64(&j, "left_bytes", v->left_bytes);
	json_estimate(v, &j);
	plan_json_peers(v, &j);
	json_place(v, &j);
	json_nodes(v, &j);
	cmd_json_line(&j);
}
