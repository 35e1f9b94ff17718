/* SPDX-License-Identifier: Apache-2.0 */
/* A request and those who were asked for it. */
#include "peers/want.h"

/* Until who has no time, or does not have it yet, is asked again: doubled each
 * time. */
#define REST_BUSY (HP_SECOND / 4)
#define REST_COMING HP_SECOND
/* .. and until who is not up yet may be. */
#define REST_STARTING (HP_SECOND / 4)
/* How much longer than others who adopts it may take at least. */
#define ADOPTS_FACTOR 8

static void act(struct hp_want_acts *ret, enum hp_want_do what, unsigned ask)
{
	ret->of[ret->n].what = what;
	ret->of[ret->n++].ask = ask;
}

static uint64_t waited(const struct hp_want *w, uint64_t now)
{
	return now > w->began ? now - w->began : 0;
}

static bool out_of_patience(const struct hp_want *w, uint64_t now)
{
	return w->whom.patience && waited(w, now) >= w->whom.patience;
}

/* ---- Its end ---------------------------------------------------------- */

static void drop(struct hp_want *w, unsigned i, struct hp_want_acts *ret)
{
	struct hp_want_ask *a = &w->ask[i];
	/* What nobody answered in time is no reason to wait for him. */
	bool little = w->is == HP_WANT_DONE && a->sent &&
		      w->bytes - a->got < HP_WANT_LITTLE;
	/* But whether he is there again he may show. */
	bool probe = a->probe && a->sent && !a->got;

	a->open = false;
	act(ret, little || probe ? HP_WANT_LEAVE : HP_WANT_CLOSE, i);
}

static void end(struct hp_want *w, enum hp_want_is is, enum hp_whom_why why,
		struct hp_want_acts *ret)
{
	w->is = is;
	w->why = why;
	w->rest_until = 0;
	for (unsigned i = 0; i < w->n; i++)
		if (w->ask[i].open)
			drop(w, i, ret);
}

/* ---- How long it may be silent ---------------------------------------- */

/* Somebody had his second already. */
static bool is_in_a_hurry(const struct hp_want *w)
{
	for (unsigned i = 0; i < w->n; i++)
		if (w->ask[i].said == HP_SAID_LATE ||
		    (w->ask[i].late && !w->ask[i].slow))
			return true;
	return false;
}

static uint64_t late_after(const struct hp_want_ask *a)
{
	return a->hurried ? HP_HURRIED_AFTER : HP_LATE_AFTER;
}

/* Since when: who is hurried is so from when it is his turn; who sends to
 * others is not silent, and who adopts it may have to wait for it himself.
 * UINT64_MAX: he is not. */
static uint64_t silent_since(const struct hp_want *w,
			     const struct hp_want_ask *a)
{
	uint64_t heard;

	if (!a->open || (!a->sent && !a->hurried))
		return UINT64_MAX;
	if (a->sent && !a->adopt)
		return a->heard;
	heard = w->whom.look(w->whom.arg, a->node).heard;
	return heard > a->heard ? heard : a->heard;
}

static uint64_t silent(const struct hp_want *w, const struct hp_want_ask *a,
		       uint64_t now)
{
	const uint64_t since = silent_since(w, a);

	return now > since ? now - since : 0;
}

/* ---- The next one ----------------------------------------------------- */

static bool is_open(const struct hp_want *w, uint32_t node)
{
	for (unsigned i = 0; i < w->n; i++)
		if (w->ask[i].open && w->ask[i].node == node)
			return true;
	return false;
}

/* What a request of its own knows besides: who owes it, and who said no. */
static struct hp_peer_view look(void *arg, uint32_t node)
{
	const struct hp_want *w = arg;
	struct hp_peer_view v = w->whom.look(w->whom.arg, node);

	for (unsigned i = 0; i < w->n; i++) {
		if (w->ask[i].node != node)
			continue;
		if (w->ask[i].open)
			v.lives = false;
		else if (w->ask[i].said != HP_SAID_NOTHING)
			v.denies = true;
	}
	return v;
}

static struct hp_whom_is whom(struct hp_want *w, uint64_t now)
{
	struct hp_whom q = w->whom;

	q.look = look;
	q.arg = w;
	q.asked = w->n;
	q.waited = waited(w, now);
	q.now = now;
	if (w->n)
		q.before = w->ask[w->n - 1].node;
	return hp_whom(&q);
}

static void ask(struct hp_want *w, struct hp_want_ask a, uint64_t now,
		struct hp_want_acts *ret)
{
	for (unsigned i = 0; i < w->n; i++) {
		if (!w->ask[i].open)
			continue;
		a.hedge = true;
		/* A probe that is answered after all was not in vain. */
		w->ask[i].hedged |= w->ask[i].late && !w->ask[i].hurried;
	}
	a.probe = w->whom.look(w->whom.arg, a.node).doubted;
	a.hurried = a.probe || (!a.adopt && is_in_a_hurry(w));
	a.open = true;
	a.heard = now;
	w->ask[w->n] = a;
	hp_hedges_asked(w->hedges, now);
	act(ret, HP_WANT_ASK, w->n++);
}

/* Once is enough for who adopts. */
static bool may_adopt(const struct hp_want *w, uint32_t node)
{
	for (unsigned i = 0; i < w->n; i++)
		if (w->ask[i].node == node &&
		    (w->ask[i].open || w->ask[i].adopt))
			return false;
	return true;
}

static bool is_alive(const struct hp_want *w, uint32_t node)
{
	return !is_open(w, node) && w->whom.look(w->whom.arg, node).lives;
}

/* Who said "later"; HP_NO_NODE: nobody who lives. */
static uint32_t busy_one(const struct hp_want *w, bool *ret_adopt)
{
	for (unsigned i = w->n; i-- > 0;)
		if (w->ask[i].said == HP_SAID_BUSY &&
		    is_alive(w, w->ask[i].node)) {
			*ret_adopt = w->ask[i].adopt;
			return w->ask[i].node;
		}
	return HP_NO_NODE;
}

/* The first holder that lives and of whom it is so; HP_NO_NODE: none. */
static uint32_t holder_with(const struct hp_want *w,
			    bool (*is)(void *arg, uint32_t node))
{
	const struct hp_whom *q = &w->whom;

	for (uint32_t i = q->first; i <= q->last && q->first <= q->last; i++)
		if (i != q->self && is_alive(w, i) && is(q->arg, i))
			return i;
	return HP_NO_NODE;
}

/* A holder whose server is not up yet, as far as is known. */
static uint32_t starting_one(const struct hp_want *w)
{
	const struct hp_whom *q = &w->whom;

	if (!w->starting)
		return HP_NO_NODE;
	for (uint32_t i = q->first; i <= q->last && q->first <= q->last; i++)
		if (i != q->self && !is_open(w, i) && w->starting(q->arg, i))
			return i;
	return HP_NO_NODE;
}

static bool rest_until(struct hp_want *w, uint32_t node, bool adopt,
		       uint64_t until)
{
	if (node == HP_NO_NODE)
		return false;
	w->rest_node = node;
	w->rest_adopt = adopt;
	w->rest_until = until;
	return true;
}

/* Rather than that a chunk which somebody has is fetched once more. */
static bool rest(struct hp_want *w, uint64_t now)
{
	bool adopt = false;
	uint32_t node;

	if (w->rest_until)
		return true;
	if (w->n >= HP_WANT_ASKS || out_of_patience(w, now))
		return false;
	node = busy_one(w, &adopt);
	if (rest_until(w, node, adopt, now + (REST_BUSY << w->rests)) ||
	    (!w->held && rest_until(w, holder_with(w, w->coming), false,
				    now + (REST_COMING << w->rests)))) {
		w->rests++;
		return true;
	}
	return !w->held &&
	       rest_until(w, starting_one(w), false, now + REST_STARTING);
}

/* Is somebody at it from whom something may be hoped? */
static bool is_hopeful(const struct hp_want *w)
{
	for (unsigned i = 0; i < w->n; i++)
		if (w->ask[i].open && !w->ask[i].late)
			return true;
	return false;
}

/* Then nobody is to fetch it from the origin, in whatever form. */
static bool in_other_form(struct hp_want *w)
{
	w->is_other |= holder_with(w, w->other) != HP_NO_NODE;
	return w->is_other;
}

/* Who is at it need not be helped. */
static void go_on(struct hp_want *w, uint64_t now, struct hp_want_acts *ret)
{
	struct hp_whom_is is;

	if (is_hopeful(w))
		return;
	is = whom(w, now);
	if (is.as == HP_WHOM_HOLDER)
		ask(w, (struct hp_want_ask){ .node = is.node }, now, ret);
	else if (rest(w, now))
		return;
	else if (is.as == HP_WHOM_ADOPTER && !w->held && !in_other_form(w) &&
		 may_adopt(w, is.node))
		ask(w, (struct hp_want_ask){ .node = is.node, .adopt = true },
		    now, ret);
	else
		end(w, HP_WANT_ORIGIN,
		    is.as == HP_WHOM_ADOPTER ? HP_WHY_ALONE : is.why, ret);
}

/* ---- How fast --------------------------------------------------------- */

static void measure(const struct hp_want *w, const struct hp_want_ask *a,
		    uint64_t bytes, uint64_t now)
{
	if (!w->rates || a->adopt || !a->sent || now < a->began)
		return;
	hp_rates_came(w->rates, w->rate(w->whom.arg, a->node), bytes,
		      now - a->began, now);
}

/* Who adopts it has to fetch it first, from an origin of which nobody knows how
 * fast it is: that says nothing of him, and he has more time. */
static uint64_t may_take(const struct hp_want *w, const struct hp_want_ask *a)
{
	static const struct hp_rates nobody;
	static const struct hp_rate unknown;

	if (a->adopt)
		return HP_CLOSED_AFTER + hp_rates_due(&nobody, &unknown,
						      w->bytes * ADOPTS_FACTOR);
	if (!w->rates)
		return hp_rates_due(&nobody, &unknown, w->bytes);
	return hp_rates_due(w->rates, w->rate(w->whom.arg, a->node), w->bytes);
}

/* ---- What happens ----------------------------------------------------- */

void hp_want_begin(struct hp_want *w, uint64_t now, struct hp_want_acts *ret)
{
	ret->n = 0;
	w->began = now;
	go_on(w, now, ret);
}

void hp_want_said(struct hp_want *w, unsigned i, enum hp_said said,
		  uint64_t now, struct hp_want_acts *ret)
{
	ret->n = 0;
	if (w->is != HP_WANT_OPEN || i >= w->n || !w->ask[i].open)
		return;
	w->ask[i].open = false;
	w->ask[i].said = said;
	if (said == HP_SAID_ALL) {
		if (w->bytes >= HP_RATE_BYTES)
			measure(w, &w->ask[i], w->bytes, now);
		if (w->ask[i].hedged)
			hp_hedges_vain(w->hedges, now);
		w->won = i;
		end(w, HP_WANT_DONE, HP_WHY_HOLDS, ret);
	} else if (said == HP_SAID_SELF || out_of_patience(w, now)) {
		end(w, HP_WANT_ORIGIN, HP_WHY_ENOUGH, ret);
	} else {
		go_on(w, now, ret);
	}
}

/* Asked elsewhere as well, where that is not in vain too often. */
static void late(struct hp_want *w, unsigned i, uint64_t now,
		 struct hp_want_acts *ret)
{
	struct hp_want_ask *a = &w->ask[i];

	if (w->is != HP_WANT_OPEN || !a->open || a->late)
		return;
	a->late = true;
	/* Who has not been asked yet need not be waited for. */
	if (!a->sent) {
		a->open = false;
		a->said = HP_SAID_LATE;
		act(ret, HP_WANT_CLOSE, i);
		go_on(w, now, ret);
	} else if (a->hurried || hp_hedges_may(w->hedges, now)) {
		go_on(w, now, ret);
	}
}

void hp_want_late(struct hp_want *w, unsigned i, uint64_t now,
		  struct hp_want_acts *ret)
{
	ret->n = 0;
	if (i < w->n)
		late(w, i, now, ret);
}

void hp_want_slow(struct hp_want *w, unsigned i, uint64_t now,
		  struct hp_want_acts *ret)
{
	ret->n = 0;
	if (i < w->n && !w->ask[i].sent)
		late(w, i, now, ret);
}

static void give_up(struct hp_want *w, unsigned i, uint64_t now,
		    struct hp_want_acts *ret)
{
	w->ask[i].open = false;
	w->ask[i].said = HP_SAID_LATE;
	act(ret, HP_WANT_CLOSE, i);
	go_on(w, now, ret);
}

/* Who was asked together may be slow together: then that is no reason to begin
 * again elsewhere. */
static bool is_nearly_there(struct hp_want_ask *a, uint64_t bytes)
{
	if (a->spared || a->got < bytes / 2)
		return false;
	a->spared = true;
	return true;
}

/* It should be there by now: others are asked, and then it is closed. */
static void slow(struct hp_want *w, unsigned i, uint64_t now,
		 struct hp_want_acts *ret)
{
	struct hp_want_ask *a = &w->ask[i];
	const uint64_t took = now - a->began;

	/* Of who is silent it says nothing: he is late. */
	if (silent(w, a, now) < HP_LATE_AFTER)
		measure(w, a, a->got, now);
	if (a->slow) {
		a->due = now + took;
		if (!is_nearly_there(a, w->bytes))
			give_up(w, i, now, ret);
		return;
	}
	/* Others may have shown meanwhile that there is time. */
	a->due = a->began + may_take(w, a);
	if (a->due > now)
		return;
	a->slow = true;
	a->due = a->began +
		 (2 * took > HP_CLOSED_AFTER ? 2 * took : HP_CLOSED_AFTER);
	late(w, i, now, ret);
}

static void wake(struct hp_want *w, uint64_t now, struct hp_want_acts *ret)
{
	const struct hp_want_ask a = { .node = w->rest_node,
				       .adopt = w->rest_adopt,
				       .sure = true };

	/* Of those that are left the last one is for who adopts it. */
	const unsigned most = w->starting && w->starting(w->whom.arg, a.node) ?
				      HP_WANT_ASKS - 1 :
				      HP_WANT_ASKS;

	w->rest_until = 0;
	if (!is_hopeful(w) && w->n < most && is_alive(w, a.node))
		ask(w, a, now, ret);
	else
		go_on(w, now, ret);
}

void hp_want_time(struct hp_want *w, uint64_t now, struct hp_want_acts *ret)
{
	ret->n = 0;
	if (w->is != HP_WANT_OPEN)
		return;
	if (out_of_patience(w, now)) {
		end(w, HP_WANT_ORIGIN, HP_WHY_ENOUGH, ret);
		return;
	}
	for (unsigned i = 0; i < w->n && w->is == HP_WANT_OPEN; i++) {
		const uint64_t quiet = silent(w, &w->ask[i], now);

		if (quiet >= HP_CLOSED_AFTER)
			give_up(w, i, now, ret);
		else if (w->ask[i].open && w->ask[i].sent &&
			 now >= w->ask[i].due)
			slow(w, i, now, ret);
		else if (quiet >= late_after(&w->ask[i]))
			late(w, i, now, ret);
	}
	if (w->is == HP_WANT_OPEN && w->rest_until && now >= w->rest_until)
		wake(w, now, ret);
}

void hp_want_stop(struct hp_want *w, struct hp_want_acts *ret)
{
	ret->n = 0;
	if (w->is == HP_WANT_OPEN)
		end(w, HP_WANT_ORIGIN, HP_WHY_ENOUGH, ret);
}

void hp_want_sent(struct hp_want *w, unsigned i, uint64_t now)
{
	if (i >= w->n || !w->ask[i].open || w->ask[i].sent)
		return;
	w->ask[i].sent = true;
	w->ask[i].began = w->ask[i].heard = now;
	w->ask[i].due = now + may_take(w, &w->ask[i]);
}

void hp_want_byte(struct hp_want *w, unsigned i, uint64_t n, uint64_t now)
{
	struct hp_want_ask *a = &w->ask[i];

	if (i >= w->n || !a->open)
		return;
	a->got += n;
	if (now > a->heard)
		a->heard = now;
	a->hurried = false;
	if (a->slow)
		return;
	a->late = false;
	if (a->hedged)
		hp_hedges_vain(w->hedges, now);
	a->hedged = false;
}

void hp_want_away(struct hp_want *w, uint64_t gap)
{
	for (unsigned i = 0; i < w->n; i++) {
		w->ask[i].heard += gap;
		w->ask[i].began += gap;
		w->ask[i].due += gap;
	}
}

bool hp_want_rests(const struct hp_want *w)
{
	bool open = false;

	for (unsigned i = 0; i < w->n; i++)
		open |= w->ask[i].open;
	return w->is == HP_WANT_OPEN && w->rest_until && !open;
}

static uint64_t earlier(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

uint64_t hp_want_next(const struct hp_want *w)
{
	uint64_t t = UINT64_MAX;

	if (w->is != HP_WANT_OPEN)
		return t;
	if (w->whom.patience)
		t = w->began + w->whom.patience;
	for (unsigned i = 0; i < w->n; i++) {
		const struct hp_want_ask *a = &w->ask[i];
		const uint64_t since = silent_since(w, a);

		if (since == UINT64_MAX)
			continue;
		t = earlier(
			t, since + (a->late ? HP_CLOSED_AFTER : late_after(a)));
		if (a->sent)
			t = earlier(t, a->due);
	}
	return w->rest_until ? earlier(t, w->rest_until) : t;
}
