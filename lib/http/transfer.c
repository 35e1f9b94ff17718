/* SPDX-License-Identifier: Apache-2.0 */
/* One GET through libcurl, and the socket that it gets. */
#include "http/private.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>

enum {
	CONNECT_MS = 1000,
	AGE_SECONDS = 30, /* of a connection that nobody uses */
	ANSWER_MS = 3000, /* of what was sent, by the other system */
	/* What is read at once: larger falls out of the cache. */
	READ_SMALL = 64 << 10,
	READ_LARGE = 512 << 10,
	SMALL = 256 << 10,
};

/* ---- What libcurl calls ----------------------------------------------- */

static size_t on_line(char *p, size_t one, size_t n, void *arg)
{
	struct hp_transfer *t = arg;

	t->began = true;
	if (!t->got.whole && hp_head_line(&t->got, p, one * n) &&
	    !t->head(t, &t->got))
		return 0;
	return one * n;
}

static size_t on_bytes(char *p, size_t one, size_t n, void *arg)
{
	struct hp_transfer *t = arg;

	t->began = true;
	/* Bytes without a head are of another protocol. */
	return t->got.whole && t->body(t, p, one * n) ? one * n : 0;
}

static int on_socket(void *arg, int purpose, struct hp_curl_sockaddr *a)
{
	struct hp_transfer *t = arg;
	int fd = socket(a->family, a->socktype | SOCK_CLOEXEC, a->protocol);

	(void)purpose;
	if (fd >= 0)
		return fd;
	t->no_socket = errno != EAFNOSUPPORT;
	return HP_CURL_SOCKET_BAD;
}

static void set(int fd, int level, int what, int value)
{
	setsockopt(fd, level, what, &value, sizeof value);
}

/* A cut link is noticed in three seconds, when nobody's clock did before. */
static int on_options(void *arg, int fd, int purpose)
{
	const struct hp_http *e = arg;

	(void)purpose;
	set(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
	set(fd, IPPROTO_TCP, TCP_KEEPIDLE, 1);
	set(fd, IPPROTO_TCP, TCP_KEEPINTVL, 1);
	set(fd, IPPROTO_TCP, TCP_KEEPCNT, 3);
	set(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, ANSWER_MS);
	if (e->congestion[0])
		setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, e->congestion,
			   (socklen_t)strlen(e->congestion));
	return 0;
}

/* ---- A handle --------------------------------------------------------- */

void *hp_easy_make(struct hp_http *e)
{
	const struct hp_curl *c = e->curl;
	void *h = c->easy_init();

	if (!h)
		return NULL;
	/* What a site sets for the way out is not for the nodes of a job. */
	c->easy_setopt(h, HP_CURLOPT_PROXY, "");
	c->easy_setopt(h, HP_CURLOPT_NOPROXY, "*");
	c->easy_setopt(h, HP_CURLOPT_NOSIGNAL, 1L);
	c->easy_setopt(h, HP_CURLOPT_FOLLOWLOCATION, 0L);
	c->easy_setopt(h, HP_CURLOPT_PROTOCOLS, (long)HP_CURLPROTO_HTTP);
	c->easy_setopt(h, HP_CURLOPT_HTTP_VERSION, (long)HP_CURL_HTTP_1_1);
	c->easy_setopt(h, HP_CURLOPT_NETRC, 0L);
	c->easy_setopt(h, HP_CURLOPT_TCP_NODELAY, 1L);
	c->easy_setopt(h, HP_CURLOPT_CONNECTTIMEOUT_MS, (long)CONNECT_MS);
	/* Not known to the oldest: users ask for fresh ones then. */
	c->easy_setopt(h, HP_CURLOPT_MAXAGE_CONN, (long)AGE_SECONDS);
	c->easy_setopt(h, HP_CURLOPT_HEADERFUNCTION, on_line);
	c->easy_setopt(h, HP_CURLOPT_WRITEFUNCTION, on_bytes);
	c->easy_setopt(h, HP_CURLOPT_OPENSOCKETFUNCTION, on_socket);
	c->easy_setopt(h, HP_CURLOPT_SOCKOPTFUNCTION, on_options);
	c->easy_setopt(h, HP_CURLOPT_SOCKOPTDATA, e);
	return h;
}

static void *take(struct hp_http *e)
{
	return e->n_idle ? e->idle[--e->n_idle] : hp_easy_make(e);
}

static void give(struct hp_http *e, void *h)
{
	if (e->n_idle < HP_EASY_KEPT)
		e->idle[e->n_idle++] = h;
	else
		e->curl->easy_cleanup(h);
}

/* The two structures are the same to libcurl, which changes neither. */
static void line(struct hp_transfer *t, unsigned i, const char *text)
{
	t->lines[i].data = (char *)(uintptr_t)text;
	t->lines[i].next = NULL;
	if (i)
		t->lines[i - 1].next = &t->lines[i];
}

int hp_transfer_start(struct hp_http *e, struct hp_transfer *t)
{
	const struct hp_curl *c = e->curl;
	void *h = take(e);

	if (!h)
		return -ENOMEM;
	memset(&t->got, 0, sizeof t->got);
	t->began = t->no_socket = false;
	line(t, 0, "Accept:");
	for (unsigned i = 0; i < 2 && t->fields[i]; i++)
		line(t, i + 1, t->fields[i]);
	c->easy_setopt(h, HP_CURLOPT_HTTPHEADER, &t->lines[0]);
	c->easy_setopt(h, HP_CURLOPT_FRESH_CONNECT, (long)t->fresh);
	c->easy_setopt(h, HP_CURLOPT_BUFFERSIZE,
		       (long)(t->most < SMALL ? READ_SMALL : READ_LARGE));
	c->easy_setopt(h, HP_CURLOPT_PRIVATE, t);
	c->easy_setopt(h, HP_CURLOPT_HEADERDATA, t);
	c->easy_setopt(h, HP_CURLOPT_WRITEDATA, t);
	c->easy_setopt(h, HP_CURLOPT_OPENSOCKETDATA, t);
	if (c->easy_setopt(h, HP_CURLOPT_URL, t->url) != 0 ||
	    c->multi_add_handle(e->multi, h) != 0) {
		give(e, h);
		return -ENOMEM;
	}
	t->easy = h;
	return 0;
}

bool hp_transfer_is_sent(const struct hp_http *e, const struct hp_transfer *t)
{
	double after = 0;

	return t->easy &&
	       e->curl->easy_getinfo(t->easy, HP_CURLINFO_PRETRANSFER_TIME,
				     &after) == 0 &&
	       after > 0;
}

/* Its socket may outlive it, in the cache, but asks it nothing any more. */
void hp_transfer_stop(struct hp_http *e, struct hp_transfer *t)
{
	if (!t->easy)
		return;
	e->curl->multi_remove_handle(e->multi, t->easy);
	give(e, t->easy);
	t->easy = NULL;
}

/* ---- Its end ---------------------------------------------------------- */

static bool was_open_already(const struct hp_curl *c, void *h)
{
	long made = 0;

	return c->easy_getinfo(h, HP_CURLINFO_NUM_CONNECTS, &made) == 0 &&
	       made == 0;
}

static enum hp_transfer_end end_of(const struct hp_curl *c,
				   const struct hp_transfer *t, int code)
{
	if (t->no_socket)
		return HP_TRANSFER_SELF;
	switch (code) {
	case HP_CURLE_OK:
		return HP_TRANSFER_ANSWERED;
	case HP_CURLE_WRITE_ERROR:
		return HP_TRANSFER_STOPPED;
	case HP_CURLE_OUT_OF_MEMORY:
		return HP_TRANSFER_SELF;
	case HP_CURLE_COULDNT_CONNECT:
		return HP_TRANSFER_REFUSED;
	case HP_CURLE_OPERATION_TIMEDOUT:
		return HP_TRANSFER_SILENT;
	case HP_CURLE_GOT_NOTHING:
	case HP_CURLE_SEND_ERROR:
	case HP_CURLE_RECV_ERROR:
		if (!t->began && was_open_already(c, t->easy))
			return HP_TRANSFER_STALE;
	}
	return HP_TRANSFER_BROKEN;
}

unsigned hp_transfers_done(struct hp_http *e)
{
	struct hp_curl_msg *m;
	unsigned n = 0;
	int left;

	while ((m = e->curl->multi_info_read(e->multi, &left))) {
		struct hp_transfer *t = NULL;
		enum hp_transfer_end how;

		if (m->msg != HP_CURLMSG_DONE)
			continue;
		e->curl->easy_getinfo(m->easy, HP_CURLINFO_PRIVATE, &t);
		how = end_of(e->curl, t, m->data.result);
		hp_transfer_stop(e, t);
		t->ended(t, how);
		n++;
	}
	return n;
}
