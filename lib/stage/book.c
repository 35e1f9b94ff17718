/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The book of a job's nodes, as staging makes it: drawn by one node for all, or
 * kept; and written into the stage directory of each.
 */
#include "stage/private.h"

#include "base/error.h"
#include "base/mem.h"
#include "hpdsl/peers.h"
#include "peers/book_file.h"
#include "peers/hosts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

/* Before that nobody knows of which pack it is. */
#define AFTER_BEGIN                                            \
	(HP_STEP(HP_STEP_BEGUN) | HP_STEP(HP_STEP_PUBLISHED) | \
	 HP_STEP(HP_STEP_AT_WORK))

/* ---- As the book has it ----------------------------------------------- */

static void fill_head(const struct hpdsl_stage *s,
		      const struct hpdsl_peer_book *b, struct hp_book_head *h)
{
	*h = (struct hp_book_head){
		.made = b->made,
		.rate = b->rate,
		.nodes = s->nodes,
		.node = s->node,
		.parts = b->parts,
		.port = (uint16_t)b->port,
	};
	memcpy(h->id, b->id, sizeof h->id);
	memcpy(h->pack, s->pack, sizeof h->pack);
	memcpy(h->secret, b->secret, sizeof h->secret);
	memcpy(h->job, b->job, strnlen(b->job, sizeof h->job - 1));
	/* Text for people, in one line. */
	for (char *p = h->job; *p; p++)
		if ((unsigned char)*p < 0x20 || *p == 0x7f)
			*p = ' ';
}

/* ---- Drawn or kept ---------------------------------------------------- */

static bool is_as_before(const struct hpdsl_stage *s, const struct hp_book *was,
			 const struct hpdsl_peer_node *nodes, uint32_t n)
{
	const struct hp_book_head h = { .nodes = n, .parts = 1, .port = 1 };
	hp_auto_free struct hp_book_node *all = hp_book_nodes(nodes, n);
	uint64_t size = all ? hp_book_size(&h, all) : 0;
	hp_auto_free void *p = size ? malloc(size) : NULL;
	struct hp_book now;

	if (!p || memcmp(was->head.pack, s->pack, sizeof s->pack) != 0)
		return false;
	hp_book_format(&h, all, p);
	return hp_book_parse(p, size, HP_BOOK_NAME, &now, NULL) == 0 &&
	       hp_book_same_nodes(was, &now);
}

/* Those of the book that is here; one that cannot be read counts as none. */
static bool keep(const struct hpdsl_stage *s,
		 const struct hpdsl_peer_node *nodes, uint32_t n,
		 struct hpdsl_peer_book *ret)
{
	struct hp_book_file *f;
	struct hpdsl_error why;
	bool same;

	if (hp_book_load(s->io, s->dir, s->path, &f, &why) < 0)
		return false;
	same = is_as_before(s, &f->book, nodes, n);
	if (same) {
		ret->made = f->book.head.made;
		memcpy(ret->id, f->book.head.id, sizeof ret->id);
		memcpy(ret->secret, f->book.head.secret, sizeof ret->secret);
	}
	hp_book_unload(f);
	return same;
}

static int draw(void *p, size_t n)
{
	for (size_t at = 0; at < n;) {
		ssize_t got = getrandom((uint8_t *)p + at, n - at, 0);

		if (got < 0 && errno != EINTR)
			return -errno;
		at += got > 0 ? (size_t)got : 0;
	}
	return 0;
}

int hpdsl_stage_draw_book(struct hpdsl_stage *s,
			  const struct hpdsl_peer_node *nodes, uint32_t n,
			  uint32_t port, struct hpdsl_peer_book *ret,
			  struct hpdsl_error *err)
{
	int r = hp_stage_in_order(s, __func__, AFTER_BEGIN, err);

	if (r < 0)
		return r;
	if (!keep(s, nodes, n, ret)) {
		ret->made = (int64_t)time(NULL);
		r = draw(ret->id, sizeof ret->id);
		if (r == 0)
			r = draw(ret->secret, sizeof ret->secret);
	}
	if (r < 0)
		return hp_fail_errno(err, r, "%s: a secret for the nodes",
				     s->path);
	ret->port = port ? port : hp_book_port(ret->secret);
	return 0;
}

/* ---- Written ---------------------------------------------------------- */

int hpdsl_stage_put_book(struct hpdsl_stage *s,
			 const struct hpdsl_peer_book *book,
			 const struct hpdsl_peer_node *nodes,
			 struct hpdsl_error *err)
{
	hp_auto_free struct hp_book_node *all = NULL;
	struct hp_book_head h;
	int r = hp_stage_in_order(s, __func__, AFTER_BEGIN, err);

	if (r < 0)
		return r;
	all = hp_book_nodes(nodes, s->nodes);
	if (all) {
		fill_head(s, book, &h);
		r = hp_book_save(s->io, s->dir, s->path, &h, all, err);
		explicit_bzero(h.secret, sizeof h.secret);
	} else {
		r = hp_fail_nomem(err);
	}
	if (r < 0)
		s->io->unlink(s->io, s->dir, HP_BOOK_NAME, 0);
	return r;
}
