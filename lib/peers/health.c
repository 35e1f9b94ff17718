/* SPDX-License-Identifier: Apache-2.0 */
/* States and times of one node, and how often one may ask twice. */
#include "peers/health.h"

/* Times of several threads may come in another order. */
static uint64_t step(struct hp_health *h, uint64_t now)
{
	if (now > h->now)
		h->now = now;
	return h->now;
}

static uint64_t silent(const struct hp_health *h, uint64_t now)
{
	return h->owed && now > h->heard ? now - h->heard : 0;
}

static uint64_t late_after(const struct hp_health *h)
{
	return h->sought ? HP_SOUGHT_AFTER : HP_LATE_AFTER;
}

/* Requests that fail at once are one failure: only a probe's counts again. */
static void suspect(struct hp_health *h, uint64_t now)
{
	if (h->is == HP_HEALTH_BANNED)
		return;
	if (h->is != HP_HEALTH_SUSPECT) {
		h->suspect = now;
		h->wait = HP_SECOND;
	} else if (!h->probed) {
		return;
	} else {
		h->wait = h->wait < HP_PROBE_MOST / 2 ? 2 * h->wait :
							HP_PROBE_MOST;
	}
	h->is = HP_HEALTH_SUSPECT;
	h->probed = false;
	h->probe_at = now + h->wait;
}

/* ---- What happens ----------------------------------------------------- */

bool hp_health_may(const struct hp_health *h, uint64_t now)
{
	switch (h->is) {
	case HP_HEALTH_WELL:
		return silent(h, now) < late_after(h);
	case HP_HEALTH_SUSPECT:
		return !h->owed && now >= h->probe_at;
	default:
		return false;
	}
}

void hp_health_asked(struct hp_health *h, uint64_t now)
{
	now = step(h, now);
	if (!h->owed++)
		h->heard = now;
	if (h->is == HP_HEALTH_SUSPECT) {
		h->probed = true;
		h->probe_at = now + h->wait;
	}
}

void hp_health_sought(struct hp_health *h, bool is)
{
	h->sought = is;
}

void hp_health_heard(struct hp_health *h, uint64_t now)
{
	h->heard = step(h, now);
	h->mute = 0;
	h->sought = h->silent = false;
	if (h->is != HP_HEALTH_BANNED)
		h->is = HP_HEALTH_WELL;
}

bool hp_health_is_doubted(const struct hp_health *h)
{
	return h->is == HP_HEALTH_SUSPECT || h->mute;
}

bool hp_health_is_mute(const struct hp_health *h)
{
	return h->silent || h->mute;
}

/* Not a word of it: once it may have had much to do. */
static void given_up(struct hp_health *h, uint64_t quiet, uint64_t now)
{
	if (quiet < HP_HURRIED_AFTER)
		return;
	if (!h->mute)
		h->mute = now;
	else if (h->heard >= h->mute) /* it was asked again since */
		suspect(h, now);
}

void hp_health_ended(struct hp_health *h, uint64_t now, enum hp_health_end how)
{
	uint64_t quiet;

	now = step(h, now);
	quiet = silent(h, now);
	if (h->owed)
		h->owed--;
	switch (how) {
	case HP_END_DONE:
		hp_health_heard(h, now);
		break;
	case HP_END_GIVEN_UP:
		given_up(h, quiet, now);
		break;
	case HP_END_FAILED:
		h->silent = quiet >= late_after(h);
		suspect(h, now);
		break;
	}
}

void hp_health_bad(struct hp_health *h, uint64_t now)
{
	step(h, now);
	if (h->bad < HP_BAD_MOST && ++h->bad == HP_BAD_MOST)
		h->is = HP_HEALTH_BANNED;
}

/* ---- What time does --------------------------------------------------- */

enum hp_health_do hp_health_look(struct hp_health *h, uint64_t now)
{
	uint64_t quiet;

	now = step(h, now);
	quiet = silent(h, now);
	if (quiet >= late_after(h))
		h->silent = true;
	if (quiet >= HP_CLOSED_AFTER) {
		suspect(h, now);
		return HP_DO_CLOSE;
	}
	if (quiet < late_after(h))
		return HP_DO_NOTHING;
	if (h->is == HP_HEALTH_WELL)
		h->is = HP_HEALTH_LATE;
	else if (h->is == HP_HEALTH_SUSPECT)
		suspect(h, now); /* the probe has failed, whoever ends it */
	return HP_DO_ELSEWHERE;
}

uint64_t hp_health_next(const struct hp_health *h)
{
	if (!h->owed)
		return UINT64_MAX;
	return h->heard + (silent(h, h->now) < late_after(h) ? late_after(h) :
							       HP_CLOSED_AFTER);
}

void hp_health_away(struct hp_health *h, uint64_t gap)
{
	uint64_t heard = h->heard + gap;

	/* not later than now, to which the gap leads */
	h->heard = heard < h->now + gap ? heard : h->now + gap;
}

bool hp_health_lost(const struct hp_health *h, uint64_t now)
{
	return h->is == HP_HEALTH_SUSPECT && now > h->suspect &&
	       now - h->suspect >= HP_LOST_AFTER;
}

/* ---- Asking twice ----------------------------------------------------- */

static uint32_t place_of(struct hp_hedges *g, uint64_t now)
{
	const uint64_t second = now / HP_SECOND;
	const uint32_t i = (uint32_t)(second % HP_HEDGE_SECONDS);

	if (g->second[i] != second) {
		g->second[i] = second;
		g->asked[i] = g->vain[i] = 0;
	}
	return i;
}

void hp_hedges_asked(struct hp_hedges *g, uint64_t now)
{
	g->asked[place_of(g, now)]++;
}

void hp_hedges_vain(struct hp_hedges *g, uint64_t now)
{
	g->vain[place_of(g, now)]++;
}

bool hp_hedges_may(const struct hp_hedges *g, uint64_t now)
{
	const uint64_t second = now / HP_SECOND;
	uint64_t asked = 0, vain = 0;

	for (uint32_t i = 0; i < HP_HEDGE_SECONDS; i++) {
		if (g->second[i] + HP_HEDGE_SECONDS <= second ||
		    g->second[i] > second)
			continue;
		asked += g->asked[i];
		vain += g->vain[i];
	}
	return !vain || (vain + 1) * 100 <= asked * HP_HEDGE_PERCENT;
}
