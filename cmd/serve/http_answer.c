/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A request goes to the library as it came, and its answer back.  What is read
 * of a request here are its line and the two fields that count.
 */
#include "http.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

enum { BLOCK = 1 << 20 }; /* of what is not here */

struct request {
	char *uri; /* as it stood in the request line */
	struct hpdsl_serve_answer answer;
	struct serve_door *door;
	struct serve_connection *from; /* it is busy with this */
	struct serve_sleeper sleeper;
	struct serve_chore chore;
	struct MHD_Connection *connection; /* for it */
	uint64_t given;			   /* bytes of what is not here */
	bool begun, waited, asked, slept, warmed, answered;
	bool words; /* the body is a text, and no chunk's */
	bool own;   /* answered without the library, which counts */
};

/* ---- What came -------------------------------------------------------- */

void *answer_begin(void *arg, const char *uri, struct MHD_Connection *c)
{
	struct request *q = calloc(1, sizeof *q);

	(void)c;
	if (!q)
		return NULL;
	q->door = arg;
	q->uri = strdup(uri);
	return q;
}

struct field {
	const char *name, *value;
	unsigned n;
};

static serve_result note_field(void *arg, enum MHD_ValueKind kind,
			       const char *name, const char *value)
{
	struct field *f = arg;

	(void)kind;
	for (; f->name; f++)
		if (strcasecmp(name, f->name) == 0) {
			f->value = value;
			f->n++;
		}
	return MHD_YES;
}

/* One that is there twice is as good as none. */
static const char *once(const struct field *f)
{
	return f->n == 1 ? f->value : NULL;
}

static void read_request(struct MHD_Connection *c, const struct request *q,
			 const char *method, struct hpdsl_serve_request *ret)
{
	struct field field[] = { { .name = "Range" },
				 { .name = "HPDSL" },
				 { .name = NULL } };

	MHD_get_connection_values(c, MHD_HEADER_KIND, note_field, field);
	*ret = (struct hpdsl_serve_request){
		.method = method,
		.path = q->uri,
		.range = once(&field[0]),
		.proof = once(&field[1]),
	};
}

/* ---- What is not here ------------------------------------------------- */

static ssize_t fetch(void *arg, uint64_t at, char *buf, size_t n)
{
	struct request *q = arg;
	const struct hpdsl_serve_answer *a = &q->answer;
	struct hpdsl_error err;
	int64_t got;

	if (n > a->length - at)
		n = (size_t)(a->length - at);
	got = hpdsl_serve_read(q->door->s, a, a->offset + at, buf, n, &err);
	if (got <= 0) {
		/* The client sees that it is cut short. */
		cmd_message("%s", got ? err.msg : "a chunk ends early");
		return MHD_CONTENT_READER_END_WITH_ERROR;
	}
	q->given += (uint64_t)got;
	return (ssize_t)got;
}

/* Its header is on its way; its body could not be read. */
static ssize_t cut_short(void *arg, uint64_t at, char *buf, size_t n)
{
	(void)arg, (void)at, (void)buf, (void)n;
	return MHD_CONTENT_READER_END_WITH_ERROR;
}

/* ---- What goes back --------------------------------------------------- */

static struct MHD_Response *with_body(struct request *q)
{
	struct hpdsl_serve_answer *a = &q->answer;

	if (a->fd >= 0)
		return MHD_create_response_from_fd_at_offset64(a->length, a->fd,
							       a->offset);
	if (q->warmed && !a->memory)
		return MHD_create_response_from_callback(a->length, BLOCK,
							 cut_short, NULL, NULL);
	if (a->memory)
		return MHD_create_response_from_buffer(a->length, a->body,
						       MHD_RESPMEM_PERSISTENT);
	if (a->body)
		return MHD_create_response_from_buffer(a->length, a->body,
						       MHD_RESPMEM_MUST_FREE);
	if (a->chunk != UINT32_MAX && a->length)
		return MHD_create_response_from_callback(a->length, BLOCK,
							 fetch, q, NULL);
	return MHD_create_response_from_buffer(0, (void *)"",
					       MHD_RESPMEM_PERSISTENT);
}

static void add(struct MHD_Response *r, const char *name, const char *value)
{
	if (value[0])
		MHD_add_response_header(r, name, value);
}

static void add_fields(struct MHD_Response *r, const struct request *q)
{
	const struct hpdsl_serve_answer *a = &q->answer;
	char seconds[16] = "";

	if (a->retry)
		snprintf(seconds, sizeof seconds, "%u", a->retry);
	add(r, "HPDSL", a->proof);
	add(r, "ETag", a->tag);
	add(r, "Content-Range", a->range);
	add(r, "Retry-After", seconds);
	if (a->chunk != UINT32_MAX)
		add(r, "Content-Type", "application/octet-stream");
	if (a->chunk != UINT32_MAX && q->door->local)
		add(r, "Accept-Ranges", "bytes");
	if (a->status == 403)
		add(r, "Connection", "close");
}

static void drop_body(struct hpdsl_serve_answer *a)
{
	if (a->fd >= 0)
		close(a->fd);
	if (!a->memory)
		free(a->body);
}

static serve_result give(struct MHD_Connection *c, struct request *q)
{
	struct MHD_Response *r = with_body(q);
	serve_result ok;

	if (!r) {
		drop_body(&q->answer);
		return MHD_NO;
	}
	add_fields(r, q);
	/* What is owed to one who does not take it is not given to others. */
	if (!q->door->local)
		MHD_set_connection_option(c, MHD_CONNECTION_OPTION_TIMEOUT,
					  (unsigned)(q->answer.owes ?
							     SERVE_STALLED :
							     SERVE_UNUSED));
	ok = MHD_queue_response(c, q->answer.status, r);
	MHD_destroy_response(r);
	return ok;
}

/* To a person, or to who reads his log. */
static void tell_absent(struct request *q)
{
	static const char text[] = "no chunk of this name\n";
	struct hpdsl_serve_answer *a = &q->answer;

	if (a->status != 404 || a->body)
		return;
	a->body = strdup(text);
	a->length = a->body ? sizeof text - 1 : 0;
	q->words = true;
}

/* What the server says of itself. */
static void tell_status(struct request *q)
{
	const struct serve_listen *l = q->door->listen;
	char *text = l->status ? l->status(l->arg) : NULL;

	q->own = true;
	q->answer = (struct hpdsl_serve_answer){
		.status = text ? 200 : 404,
		.fd = -1,
		.chunk = UINT32_MAX,
		.body = text,
		.length = text ? strlen(text) : 0,
	};
}

static void wake(void *arg)
{
	MHD_resume_connection(arg);
}

static void ask(struct request *q, const struct hpdsl_serve_request *what)
{
	struct serve_connection *from = q->from;
	struct serve_door *d = q->door;

	if (!d->local) {
		hpdsl_serve_ask(d->s, what, &q->answer);
		if (q->answer.proven)
			guard_proven(&d->guard, from);
		return;
	}
	guard_proven(&d->guard, from);
	if (!from || from->refused)
		q->answer = (struct hpdsl_serve_answer){ .status = 403,
							 .fd = -1,
							 .chunk = UINT32_MAX };
	else if (what->path && strcmp(what->path, "/v1/status") == 0)
		tell_status(q);
	else
		hpdsl_serve_ask_local(d->s, what, &q->answer);
	tell_absent(q);
}

/* Is it about what may have to be fetched?  That is flag 1, the fifth word. */
static bool may_wait(const struct request *q,
		     const struct hpdsl_serve_request *what)
{
	const char *p = what->proof;

	for (int i = 0; p && i < 4; i++) {
		p = strchr(p, ' ');
		p = p ? p + 1 : NULL;
	}
	return !q->door->local && p && *p == '1';
}

/*
 * It may be woken before this returns, so it sleeps before it asks.  No answer
 * can be given in its sleep: that is for the next call, which asks again, or
 * has it.
 */
static void wait_for(struct request *q, struct hpdsl_serve_request *what,
		     struct MHD_Connection *c)
{
	what->wake = wake;
	what->arg = c;
	what->waited = q->waited;
	q->waited = true;
	MHD_suspend_connection(c);
	ask(q, what);
	if (!q->answer.status)
		return;
	q->asked = true;
	MHD_resume_connection(c);
}

/* Its answer is there, and its turn is not. */
static void sleep_for(struct request *q, struct MHD_Connection *c)
{
	q->slept = true;
	q->sleeper = (struct serve_sleeper){ .until = q->answer.after,
					     .wake = wake,
					     .arg = c };
	MHD_suspend_connection(c);
	pacer_sleep(&q->door->pacer, &q->sleeper);
}

static void read_cold(void *arg)
{
	struct request *q = arg;
	struct hpdsl_error err;

	if (hpdsl_serve_read_cold(q->door->s, &q->answer, &err) < 0)
		cmd_message("%s", err.msg);
}

static void wake_read(void *arg)
{
	struct request *q = arg;

	MHD_resume_connection(q->connection);
}

/* Its answer is there, and its body is not yet. */
static void warm(struct request *q, struct MHD_Connection *c)
{
	q->warmed = true;
	q->connection = c;
	q->chore = (struct serve_chore){ .work = read_cold,
					 .wake = wake_read,
					 .arg = q };
	MHD_suspend_connection(c);
	readers_put(&q->door->readers, &q->chore);
}

static struct serve_connection *connection_of(struct MHD_Connection *c)
{
	const union MHD_ConnectionInfo *from =
		MHD_get_connection_info(c, MHD_CONNECTION_INFO_SOCKET_CONTEXT);

	return from ? from->socket_context : NULL;
}

serve_result answer_request(void *arg, struct MHD_Connection *c,
			    const char *url, const char *method,
			    const char *version, const char *data, size_t *size,
			    void **request)
{
	struct request *q = *request;
	struct hpdsl_serve_request what;

	(void)arg, (void)url, (void)version, (void)data;
	/* What a GET brings along is nobody's: the connection ends with it. */
	if (!q || !q->uri || q->answered || *size)
		return MHD_NO;
	/* Answered when its header was read, it would be the last one. */
	if (!q->begun) {
		q->begun = true;
		q->from = connection_of(c);
		guard_busy(&q->door->guard, q->from);
		return MHD_YES;
	}
	read_request(c, q, method, &what);
	if (!q->asked && may_wait(q, &what)) {
		wait_for(q, &what, c);
		return MHD_YES;
	}
	if (!q->asked) {
		ask(q, &what);
		q->asked = true;
	}
	if (q->answer.after && !q->slept) {
		sleep_for(q, c);
		return MHD_YES;
	}
	if (!q->door->local && !q->warmed &&
	    hpdsl_serve_is_cold(q->door->s, &q->answer)) {
		warm(q, c);
		return MHD_YES;
	}
	q->answered = true;
	return give(c, q);
}

void answer_end(void *arg, struct MHD_Connection *c, void **request,
		enum MHD_RequestTerminationCode why)
{
	struct request *q = *request;

	(void)arg;
	*request = NULL;
	if (!q)
		return;
	if (c && !q->door->local)
		MHD_set_connection_option(c, MHD_CONNECTION_OPTION_TIMEOUT,
					  (unsigned)SERVE_UNUSED);
	if (q->asked && !q->answered)
		drop_body(&q->answer);
	if (!q->own && (q->answered || q->asked)) {
		const struct hpdsl_serve_answer *a = &q->answer;
		bool all = why == MHD_REQUEST_TERMINATED_COMPLETED_OK;

		hpdsl_serve_done(q->door->s, a,
				 q->given		      ? q->given :
				 all && !a->head && !q->words ? a->length :
								0);
	}
	if (q->begun)
		guard_idle(&q->door->guard, q->from);
	free(q->answer.memory);
	free(q->uri);
	free(q);
}
