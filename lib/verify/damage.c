/* SPDX-License-Identifier: Apache-2.0 */
/* Reading the chunk that is checked, and what is told of it. */
#include "verify/chunk.h"

#include "base/error.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

static void count_damage(struct hp_checking *k, uint64_t samples)
{
	struct hp_verify *v = k->v;

	pthread_mutex_lock(&v->meter.lock);
	v->report->damaged_samples += samples;
	v->bad[k->row->number] = true;
	if (!k->damaged) {
		v->report->damaged_chunks++;
		v->report->damaged_files++;
	}
	pthread_mutex_unlock(&v->meter.lock);
	k->damaged = true;
}

static void tell(const struct hp_checking *k, uint64_t sample, const char *path,
		 const char *reason)
{
	struct hp_damage_place spot = { k->row->name, sample, path };
	char who[HP_CHECKING_SENDER];

	if (k->sender && k->sender(k->v, k->source->sent->last, who))
		hp_verify_tell(k->v, spot, "%s (%s sent it last)", reason, who);
	else
		hp_verify_tell(k->v, spot, "%s", reason);
}

void hp_checking_member(struct hp_checking *k, const struct hpdsl_member *m,
			const char *reason)
{
	if (k->last == m->sample)
		return;
	count_damage(k, 1);
	k->last = m->sample;
	tell(k, m->sample, m->path, reason);
}

void hp_checking_damage(struct hp_checking *k, const char *reason)
{
	count_damage(k, 0);
	tell(k, UINT64_MAX, NULL, reason);
}

/* " (samples 3-7)", or nothing. */
static void range_text(uint64_t first, uint64_t end, char out[64])
{
	out[0] = '\0';
	if (end == first + 1)
		snprintf(out, 64, " (sample %" PRIu64 ")", first);
	else if (end > first)
		snprintf(out, 64, " (samples %" PRIu64 "-%" PRIu64 ")", first,
			 end - 1);
}

int hp_checking_lost(struct hp_checking *k, uint64_t first, const char *reason)
{
	uint64_t end = k->row->first_sample + k->row->samples;
	char range[64], text[sizeof((struct hpdsl_error *)NULL)->msg + 64];

	range_text(first, end, range);
	/* One that was told before is counted already. */
	count_damage(k, end - first - (k->last == first));
	k->last = end - 1;
	snprintf(text, sizeof text, "%s%s", reason, range);
	tell(k, UINT64_MAX, NULL, text);
	return HP_HOPELESS;
}

int hp_checking_cut_off(struct hp_checking *k, uint64_t got, uint64_t sample)
{
	char reason[96];

	snprintf(reason, sizeof reason,
		 "is %" PRIu64 " bytes, %" PRIu64 " expected", got,
		 k->row->bytes);
	return hp_checking_lost(k, sample, reason);
}

/* What cannot be decoded; sample is the first that lacks something. */
static int not_decoded(struct hp_checking *k, uint64_t sample)
{
	if (k->pass.read == k->pass.size && k->pass.size < k->row->bytes)
		return hp_checking_cut_off(k, k->pass.size, sample);
	if (hp_pass_damaged_frame(&k->pass, &k->frame))
		return HP_FRAME_LOST;
	if (!k->v->index)
		return hp_checking_lost(k, sample, hp_pass_why(&k->pass));
	hp_checking_damage(k, hp_pass_why(&k->pass));
	return HP_HOPELESS;
}

int hp_checking_fill(struct hp_checking *k, size_t n, struct hpdsl_error *err)
{
	struct hpdsl_error why;
	int r;

	if (hp_stopped(&k->v->opt->watch))
		return hp_fail(err, HPDSL_ESTOPPED, "stopped");
	if (k->pass.read - k->reported >= HP_METER_STEP &&
	    k->pass.read <= k->row->bytes) {
		hp_meter_add(&k->v->meter, k->pass.read - k->reported);
		k->reported = k->pass.read;
	}
	r = hp_pass_need(&k->pass, n);
	if (r == HPDSL_ECORRUPT)
		return not_decoded(k, k->sample);
	if (r < 0 && !hp_verify_is_damage(r))
		return hp_fail_errno(err, r, "%s: %s", k->v->path,
				     k->row->name);
	if (r < 0) {
		hp_fail_errno(&why, r, "cannot be read");
		return hp_checking_lost(k, k->sample, why.msg);
	}
	return 0;
}

static int fill(void *arg, size_t n, struct hpdsl_error *err)
{
	return hp_checking_fill(arg, n, err);
}

static int ended(void *arg, struct hpdsl_error *err)
{
	struct hp_checking *k = arg;

	(void)err;
	return hp_checking_cut_off(k, k->pass.read, k->sample);
}

const struct hp_chunk_walk_ops hp_checking_walk = { fill, ended, NULL };

int hp_checking_read_to(struct hp_checking *k, uint64_t end, uint64_t sample,
			struct hpdsl_error *err)
{
	uint64_t at = k->pass.offset;

	k->sample = sample;
	return at < end ? hp_chunk_walk_over(&k->walk, end - at, err) : 0;
}

int hp_checking_bad_row(struct hp_checking *k,
			const struct hpdsl_error *row_err,
			struct hpdsl_error *err)
{
	if (row_err->code != HPDSL_ECORRUPT)
		return hp_fail(err, row_err->code, "%s: %s", k->v->path,
			       row_err->msg);
	hp_checking_damage(k, row_err->msg);
	return HP_HOPELESS;
}

bool hp_checking_is_foreign(const struct hp_checking *k)
{
	return k->v->index && hp_index_flags(k->v->index) & HP_INDEX_FOREIGN;
}

/* With an index it is known that all that was meant to be there is. */
void hp_checking_too_long(struct hp_checking *k)
{
	if (k->v->index)
		hp_checking_damage(k, "is longer than it should be");
	else
		hp_checking_lost(k, k->row->first_sample,
				 "is longer than it should be");
}

int hp_checking_skip_frame(struct hp_checking *k, struct hpdsl_error *err)
{
	int r = hp_pass_skip_frame(&k->pass);

	return r < 0 ? hp_fail_errno(err, r, "%s: %s", k->v->path,
				     k->row->name) :
		       0;
}
