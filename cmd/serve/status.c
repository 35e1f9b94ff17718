/* SPDX-License-Identifier: Apache-2.0 */
/* What a server says of itself: over its socket, and in the end in a file. */
#include "life.h"

#include <string.h>

static void put_book(struct cmd_json *j, const struct hpdsl_serve_book *b,
		     uint16_t port)
{
	if (!b->any) {
		static const char *const none[] = { "job", "book", "node",
						    "nodes", "port" };

		for (size_t i = 0; i < sizeof(none) / sizeof(*none); i++)
			cmd_json_null(j, none[i]);
		return;
	}
	cmd_json_name(j, "job", b->job, strnlen(b->job, sizeof(b->job)));
	cmd_json_hex(j, "book", b->id, sizeof(b->id));
	cmd_json_u64(j, "node", b->node);
	cmd_json_u64(j, "nodes", b->nodes);
	if (port)
		cmd_json_u64(j, "port", port);
	else
		cmd_json_null(j, "port");
}

static void put_stats(struct cmd_json *j, const struct hpdsl_serve_stats *s)
{
	const struct {
		const char *name;
		uint64_t n;
	} rows[] = { { "chunks", s->chunks },
		     { "here", s->here },
		     { "coming", s->coming },
		     { "requests", s->requests },
		     { "bytes", s->bytes },
		     { "unproven", s->unproven },
		     { "absent", s->absent },
		     { "busy", s->busy },
		     { "wrong", s->wrong },
		     { "cold", s->cold },
		     { "cold_bytes", s->cold_bytes },
		     { "local_requests", s->local_requests },
		     { "local_bytes", s->local_bytes },
		     { "fetched_bytes", s->fetched_bytes },
		     { "adopted", s->adopted },
		     { "adopted_bytes", s->adopted_bytes },
		     { "rehomed", s->rehomed },
		     { "adopted_peer_bytes", s->adopted_peer_bytes },
		     { "passed_bytes", s->passed_bytes },
		     { "memory_bytes", s->memory_bytes },
		     { "owed_bytes", s->owes },
		     { "rate", s->rate },
		     { "rate_waits", s->paced } };

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		cmd_json_u64(j, rows[i].name, rows[i].n);
	cmd_json_real(j, "rate_seconds", (double)s->paced_ns / 1e9);
}

static void put(struct cmd_json *j, struct serve_life *l)
{
	struct hpdsl_serve_stats s = { 0 };
	struct hpdsl_serve_book b = { 0 };
	uint16_t port;

	pthread_mutex_lock(&l->mutex);
	port = l->port;
	pthread_mutex_unlock(&l->mutex);
	if (l->s) {
		hpdsl_serve_stats(l->s, &s);
		hpdsl_serve_book(l->s, &b);
	}
	cmd_json_open(j, NULL, '{');
	cmd_json_string(j, "state",
			l->end	   ? "ended" :
			!l->s	   ? "waiting" :
			s.draining ? "leaving" :
				     "serving");
	if (l->end)
		cmd_json_string(j, "end", l->end);
	else
		cmd_json_null(j, "end");
	cmd_json_name(j, "directory", l->o->local, strlen(l->o->local));
	cmd_json_name(j, "socket", l->place.socket, strlen(l->place.socket));
	cmd_json_u64(j, "pid", (uint64_t)l->self.pid);
	cmd_json_name(j, "host", l->self.host, strlen(l->self.host));
	cmd_json_i64(j, "since", l->self.since);
	cmd_json_real(j, "seconds", serve_now() - l->begun);
	put_book(j, &b, port);
	put_stats(j, &s);
	serve_peers_json(j, l->s);
	cmd_json_line(j);
}

char *serve_status_json(void *arg)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return NULL;
	put(&(struct cmd_json){ .out = out }, arg);
	if (fclose(out) == 0)
		return text;
	free(text);
	return NULL;
}

int serve_report(struct serve_life *l)
{
	struct hpdsl_error err;
	struct cmd_file f;

	if (cmd_file_open(&f, l->o->report, &err) < 0)
		return cmd_tell(&err);
	put(&(struct cmd_json){ .out = f.out }, l);
	return cmd_file_close(&f, &err) < 0 ? cmd_tell(&err) : CMD_DONE;
}

char *serve_summary(const struct hpdsl_serve_stats *s)
{
	char *text;

	if (asprintf(&text, "%s, %s, of other nodes; %s, %s, of this one",
		     cmd_many(s->requests, "request").s, cmd_bytes(s->bytes).s,
		     cmd_many(s->local_requests, "request").s,
		     cmd_bytes(s->local_bytes).s) < 0)
		cmd_no_memory();
	return text;
}
