/* SPDX-License-Identifier: Apache-2.0 */
/* The nodes of the book in a stage directory, asked whether they answer. */
#include "peers/probe.h"

#include "base/error.h"
#include "base/mem.h"
#include "dataset/dataset.h"
#include "peers/book_file.h"

#include <stdio.h>

#define SECONDS 120.0

const char *hpdsl_peer_probe_text(enum hpdsl_probe_is is)
{
	static const char *const texts[] = {
		[HPDSL_PROBE_WELL] = "answers",
		[HPDSL_PROBE_REFUSED] =
			"refused: there is no server, or a firewall",
		[HPDSL_PROBE_SILENT] =
			"no connection: a firewall, or it is off",
		[HPDSL_PROBE_MUTE] = "takes connections, and says nothing",
		[HPDSL_PROBE_CLOSED] =
			"hangs up: it does not know this node's address",
		[HPDSL_PROBE_DENIED] =
			"a server with another book, or of another job",
		[HPDSL_PROBE_OTHER] = "another program has the port",
		[HPDSL_PROBE_LOST] = "answers stop on their way",
		[HPDSL_PROBE_NOT_ASKED] =
			"was not asked: no time, or no memory",
	};

	return is <= HPDSL_PROBE_NOT_ASKED ? texts[is] : "";
}

/* ---- The dataset ------------------------------------------------------ */

static bool form(void *arg, uint32_t chunk, enum hp_ask_kind kind,
		 struct hp_client_form *ret)
{
	const struct hpdsl_dataset *ds = arg;
	const bool plain = kind == HP_ASK_PLAIN;
	struct hpdsl_chunk c;

	if (hpdsl_chunk_get(ds, chunk, &c, NULL) < 0 ||
	    (!plain && !c.compressed))
		return false;
	ret->size = plain ? c.plain_bytes : c.bytes;
	memcpy(ret->digest, plain ? c.plain_checksum : c.checksum,
	       sizeof ret->digest);
	return true;
}

/* ---- What is told ----------------------------------------------------- */

static void tell(const struct hp_book *b, uint32_t node,
		 const struct hp_probing *is, struct hpdsl_peer_probe *ret)
{
	*ret = (struct hpdsl_peer_probe){
		.node = node,
		.is = hp_probing_is(is),
		.port = is->port,
		.chunks = is->pick.chunks,
		.round_trip = is->pings ? is->ping : 0,
		.bytes = is->reads ? hp_probing_bytes(is) : 0,
		.rate = hp_probing_rate(is),
	};
	snprintf(ret->host, sizeof ret->host, "%.*s", HPDSL_PEER_HOST - 1,
		 hp_book_host(b, node));
	if (is->addresses)
		memcpy(ret->ip, hp_book_address(b, node, is->address).ip, 16);
}

static int ask(const struct hp_book *b, struct hpdsl_dataset *ds,
	       double seconds, struct hpdsl_peer_probe **ret, uint32_t *ret_n,
	       struct hpdsl_error *err)
{
	hp_auto_free struct hp_probing *is = calloc(b->head.nodes, sizeof *is);
	hp_auto_free struct hpdsl_peer_probe *told =
		hp_array(b->head.nodes, sizeof *told);
	struct hp_client_facts facts = { .form = form, .arg = ds };
	struct hpdsl_counts n;
	uint32_t k = 0;
	int r;

	if (!is || !told)
		return hp_fail_nomem(err);
	hpdsl_count(ds, &n);
	facts.chunks = (uint32_t)n.chunks;
	if (b->head.nodes < 2)
		r = 0;
	else
		r = hp_probe(b, &facts, seconds > 0 ? seconds : SECONDS, is,
			     err);
	if (r < 0)
		return r;
	for (uint32_t i = 0; i < b->head.nodes; i++)
		if (i != b->head.node)
			tell(b, i, &is[i], &told[k++]);
	*ret = hp_take(told);
	*ret_n = k;
	return 0;
}

int hpdsl_peer_probe(const char *dir, double seconds, const struct hp_io *io,
		     struct hpdsl_peer_probe **ret, uint32_t *ret_n,
		     struct hpdsl_error *err)
{
	struct hpdsl_dataset *ds;
	struct hp_book_file *f;
	uint8_t pack[16];
	int r;

	io = hp_io_or_system(io);
	r = hp_dataset_open(dir, 0, io, &ds, err);
	if (r < 0)
		return r;
	r = hp_book_load(io, ds->dir, ds->path, &f, err);
	if (r == 0) {
		hpdsl_pack_id(ds, pack);
		if (memcmp(f->book.head.pack, pack, sizeof pack) != 0)
			r = hp_fail(err, HPDSL_EDIFFERS,
				    "%s/" HP_BOOK_NAME
				    ": is of another dataset",
				    ds->path);
		else
			r = ask(&f->book, ds, seconds, ret, ret_n, err);
		hp_book_unload(f);
	}
	hpdsl_close(ds);
	return r;
}
