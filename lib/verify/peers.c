/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Chunks of a dataset that are not in this stage directory, as the job's other
 * nodes send them: each is verified as those are that are here, once, by the
 * bytes of whoever answers.  What nobody sends was not verified, and is no
 * damage.
 */
#include "verify/chunk.h"

#include "base/error.h"
#include "dataset/dataset.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

struct hp_verify_peers {
	struct hpdsl_dataset *ds; /* the same directory, for its sources */
	bool played;		  /* they are a test's */
	uint32_t unsent;	  /* the first of those; under the lock */
};

int hp_verify_peers_open(struct hp_verify *v, const struct hp_sources *sources,
			 struct hpdsl_error *err)
{
	unsigned flags = v->opt->foreign_owner ? HPDSL_OPEN_FOREIGN_OWNER : 0;
	struct hp_verify_peers *p;
	int r;

	if (!v->stage)
		return hp_fail(err, HPDSL_EUSAGE,
			       "%s: is no stage directory, and no other is of "
			       "a job's nodes",
			       v->path);
	if (!v->index) {
		hp_meter_warn(&v->meter, "other nodes are not asked: there is "
					 "no sound index");
		return 0;
	}
	v->peers = p = calloc(1, sizeof *p);
	if (!p)
		return hp_fail_nomem(err);
	p->unsent = UINT32_MAX;
	p->played = sources;
	r = hp_dataset_open(v->path, flags, v->io, &p->ds, err);
	if (r < 0)
		return r;
	if (sources)
		p->ds->sources = sources;
	if (p->ds->stage && hp_source_is_there(p->ds->sources, HP_AT_PEER))
		return 0;
	return hp_fail(err, -EHOSTUNREACH,
		       "%s: there are no other nodes to ask: no server has run "
		       "here since the machine was started, or the job has one "
		       "node",
		       v->path);
}

void hp_verify_peers_close(struct hp_verify *v)
{
	if (!v->peers)
		return;
	hpdsl_close(v->peers->ds);
	free(v->peers);
	v->peers = NULL;
}

static bool sender(const struct hp_verify *v, uint32_t sent,
		   char ret[HP_CHECKING_SENDER])
{
	const struct hp_verify_peers *p = v->peers;

	return !p->played && hp_peer_source_sender(&p->ds->stage->peers, sent,
						   ret, HP_CHECKING_SENDER);
}

/* As other nodes have it, in this form. */
static int check_form(struct hp_verify *v, struct hpdsl_chunk row,
		      enum hp_chunk_at at, struct hpdsl_error *err)
{
	const struct hpdsl_dataset *ds = v->peers->ds;
	struct hp_source s = hp_source_of(ds->sources, at, v->io, row.number);
	struct hp_sent sent = { 0 };
	struct hp_checking k = { .v = v,
				 .row = &row,
				 .source = &s,
				 .sender = sender,
				 .last = UINT64_MAX };
	int r;

	s.sent = &sent;
	if (s.ops->plain) {
		row.bytes = row.plain_bytes;
		memcpy(row.checksum, row.plain_checksum, sizeof row.checksum);
		row.compressed = false;
	}
	r = hp_checking_run(&k, err);
	/* One node sent it all: of several nobody knows which it was. */
	if (k.damaged && s.ops->bad && sent.all != HP_SENT_NOBODY &&
	    sent.all != HP_SENT_SEVERAL)
		s.ops->bad(&s, sent.all);
	/* It is not begun anew: what is wrong has been told. */
	if (k.damaged && r == HP_OTHER_FORM)
		r = -EHOSTUNREACH;
	if (r < 0)
		return r;
	hp_meter_add(&v->meter, row.bytes - k.reported);
	hp_verify_count(v, &row, k.pass.read);
	return 0;
}

static void count(struct hp_verify *v, uint32_t chunk, bool sent)
{
	pthread_mutex_lock(&v->meter.lock);
	v->report->peer_chunks += sent;
	v->report->absent_chunks += !sent;
	v->report->unsent_chunks += !sent;
	if (!sent && chunk < v->peers->unsent)
		v->peers->unsent = chunk;
	pthread_mutex_unlock(&v->meter.lock);
}

int hp_verify_peer_chunk(struct hp_verify *v, uint32_t chunk,
			 struct hpdsl_error *err)
{
	struct hpdsl_chunk row;
	int r = hpdsl_chunk_get(v->peers->ds, chunk, &row, err);

	if (r < 0)
		return r;
	r = check_form(v, row, HP_AT_PEER, err);
	if (r == HP_OTHER_FORM && row.compressed)
		r = check_form(v, row, HP_AT_PEER_PLAIN, err);
	if (r < 0 && r != HP_OTHER_FORM && r != -EHOSTUNREACH)
		return r;
	count(v, chunk, r == 0);
	return 0;
}

void hp_verify_peers_tell(struct hp_verify *v)
{
	const struct hpdsl_verify_report *r = v->report;

	if (r->unsent_chunks)
		hp_meter_warn(&v->meter,
			      "not verified, as no other node has sent it all: "
			      "%s, one of %" PRIu64,
			      v->chunks[v->peers->unsent].name,
			      r->unsent_chunks);
}
