/* SPDX-License-Identifier: Apache-2.0 */
/* The steps of an order that a share has, one after the other. */
#include "order.h"

/* Of a step, in memory: half a gigabyte. */
enum { PLACES_MOST = 1 << 24 };

/* Places of a step that are the share's. */
static int make_room(struct order *w, struct hpdsl_place **ret, size_t *ret_n)
{
	const struct hpdsl_share *s = &w->o.share;
	int64_t n;

	n = hpdsl_epoch_step(w->e, w->o.end, 0, s, NULL, 0, &w->err);
	if (n > PLACES_MOST) {
		cmd_message("a step of %llu samples is too large: a share of "
			    "it may have %d",
			    (unsigned long long)w->info.order.batch,
			    PLACES_MOST);
		return CMD_USAGE;
	}
	if (n < 0)
		return cmd_tell(&w->err);
	/* Of uneven ranks another one may have one more of a short step. */
	if (w->o.end == HPDSL_END_SHORT)
		n++;
	*ret = cmd_alloc((size_t)n, sizeof(**ret));
	*ret_n = (size_t)n;
	return CMD_DONE;
}

/* Moves the real ones to the front; how many. */
static size_t real_places(struct hpdsl_place *place, size_t n)
{
	size_t real = 0;

	for (size_t i = 0; i < n; i++)
		if (place[i].real)
			place[real++] = place[i];
	return real;
}

int order_walk(struct order *w,
	       int (*see)(struct order *w, uint64_t step,
			  const struct hpdsl_place *place, size_t n, void *arg),
	       void *arg)
{
	const struct hpdsl_share *s = &w->o.share;
	uint64_t workers = s->workers ? s->workers : 1;
	cmd_auto_free struct hpdsl_place *place = NULL;
	uint64_t step = w->o.order.step;
	int64_t r;
	size_t room = 0;

	if (step >= w->end || s->worker >= w->end - step)
		return CMD_DONE;
	r = make_room(w, &place, &room);
	if (r != CMD_DONE)
		return (int)r;
	for (step += s->worker; step < w->end; step += workers) {
		/* none of its positions would be printed */
		if (step + 1 < w->steps &&
		    (step + 1) * w->info.order.batch <= w->from)
			continue;
		r = hpdsl_epoch_step(w->e, w->o.end, step, s, place, room,
				     &w->err);
		if (r >= 0)
			r = see(w, step, place, real_places(place, (size_t)r),
				arg);
		if (r)
			break;
	}
	return r < 0 ? cmd_tell(&w->err) : CMD_DONE;
}
