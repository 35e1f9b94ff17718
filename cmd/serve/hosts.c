/* SPDX-License-Identifier: Apache-2.0 */
#include "hosts.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- The secret ------------------------------------------------------- */

static int digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

bool serve_secret_parse(const char *text, size_t size, uint8_t ret[32])
{
	uint8_t all[32];

	while (size && is_blank(text[size - 1]))
		size--;
	while (size && is_blank(*text)) {
		text++;
		size--;
	}
	if (size != 64)
		return false;
	for (size_t i = 0; i < 32; i++) {
		int high = digit(text[2 * i]), low = digit(text[2 * i + 1]);

		if (high < 0 || low < 0)
			return false;
		all[i] = (uint8_t)(high << 4 | low);
	}
	memcpy(ret, all, 32);
	return true;
}

/* What others can read is none, and what others can write is not ours. */
static const char *check_rights(int fd)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return strerror(errno);
	if (!S_ISREG(st.st_mode))
		return "is no regular file";
	if (st.st_uid != geteuid())
		return "is another user's";
	return st.st_mode & 077 ?
		       "others have rights to it (its mode is to be 0600)" :
		       NULL;
}

static int read_secret(const char *file, uint8_t ret[32])
{
	int fd = open(file, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	const char *why = fd < 0 ? strerror(errno) : check_rights(fd);
	char text[256];
	ssize_t n = why ? 0 : read(fd, text, sizeof(text));

	if (n < 0)
		why = strerror(errno);
	if (fd >= 0)
		close(fd);
	if (!why && !serve_secret_parse(text, (size_t)n, ret))
		why = "is no secret: 64 hexadecimal digits, as 'openssl rand "
		      "-hex 32' prints them";
	explicit_bzero(text, sizeof(text));
	if (!why)
		return CMD_DONE;
	cmd_message("%s: %s", file, why);
	return CMD_TROUBLE;
}

/* ---- The hosts -------------------------------------------------------- */

static int tell(const struct hpdsl_error *err)
{
	cmd_message("%s", err->msg);
	return err->code == HPDSL_EUSAGE ? CMD_USAGE : CMD_TROUBLE;
}

static int read_list(const char *file, struct serve_hosts *ret)
{
	cmd_auto_free char *text = NULL;
	struct hpdsl_error err;
	size_t size;

	if (cmd_file_read(file, &text, &size, &err) < 0 ||
	    hpdsl_peer_hosts(text, size, file, &ret->nodes, &ret->n, &err) < 0)
		return tell(&err);
	return CMD_DONE;
}

/* Of a node whose interfaces cannot be listed its name is left. */
static int find_own(const struct serve_hosts_options *o,
		    struct serve_hosts *ret)
{
	struct hpdsl_peer_node own = { .offers = 0 };
	struct hpdsl_error err;

	if (o->node != UINT32_MAX) {
		ret->node = o->node;
		if (ret->node < ret->n)
			return CMD_DONE;
		cmd_message("--node=%u: %s names %s", (unsigned)o->node,
			    o->hosts, cmd_many(ret->n, "host").s);
		return CMD_USAGE;
	}
	if (gethostname(own.host, sizeof(own.host) - 1) < 0)
		own.host[0] = '\0';
	if (hpdsl_peer_interfaces(NULL, NULL, &own, &err) < 0)
		own.offers = 0;
	ret->node = hpdsl_peer_hosts_own(ret->nodes, ret->n, &own);
	if (ret->node != UINT32_MAX)
		return CMD_DONE;
	cmd_message("%s: which of them is this host, %s, is not to be seen: "
		    "see --node",
		    o->hosts, own.host);
	return CMD_USAGE;
}

/* Text for people. */
static void put_job(const struct serve_hosts *h, char *ret, size_t cap)
{
	if (!cmd_job_name(ret, cap))
		snprintf(ret, cap, "%s, the first %.64s",
			 cmd_many(h->n, "host").s, h->nodes[0].host);
}

int serve_hosts_read(const struct serve_hosts_options *o,
		     struct serve_hosts *ret)
{
	struct hpdsl_error err;
	int status;

	*ret = (struct serve_hosts){ .nodes = NULL, .book.port = o->port };
	if (!o->hosts)
		return CMD_DONE;
	status = read_secret(o->secret, ret->book.secret);
	if (status == CMD_DONE)
		status = read_list(o->hosts, ret);
	if (status == CMD_DONE &&
	    hpdsl_peer_resolve(ret->nodes, ret->n, o->subnet, &err) < 0)
		status = tell(&err);
	if (status == CMD_DONE)
		status = find_own(o, ret);
	if (status == CMD_DONE)
		put_job(ret, ret->book.job, sizeof(ret->book.job));
	else
		serve_hosts_free(ret);
	return status;
}

void serve_hosts_free(struct serve_hosts *h)
{
	explicit_bzero(h->book.secret, sizeof(h->book.secret));
	free(h->nodes);
	h->nodes = NULL;
}
