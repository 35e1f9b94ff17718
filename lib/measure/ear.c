/* SPDX-License-Identifier: Apache-2.0 */
/* The beat, read. */
#include "measure/ear.h"

#include "measure/folder.h"
#include "sys/clock.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>

/* Between two looks while it is not known, ns. */
#define AGAIN 200000000

void hp_measure_ear_begin(struct hp_measure_ear *e, const struct hp_io *io,
			  int dir)
{
	const double now = hp_now();

	*e = (struct hp_measure_ear){ .io = io,
				      .dir = dir,
				      .beat = -1,
				      .alive = { .seen = now, .looked = now } };
	/* cmd/stall/preload/guard: bond.c and beat.c */
	e->bond = (unsigned (*)(void))dlsym(RTLD_DEFAULT, "hpdsl_stall_bond");
	e->step = (void (*)(void))dlsym(RTLD_DEFAULT, "hpdsl_stall_step");
	e->tell = (void (*)(double, int64_t))dlsym(RTLD_DEFAULT,
						   "hpdsl_stall_heard");
}

/* Is there a beat that is new? */
static bool take(struct hp_measure_ear *e, const char *text, size_t n)
{
	struct hp_stall_schedule s;
	struct hp_stall_record line;
	uint32_t serial;
	bool is_new = false;

	for (size_t one; (one = hp_stall_record_parse(text, n, &line));
	     text += one, n -= one) {
		if (hp_stall_record_is(&line, "beat", 1) &&
		    line.v[0] != e->beat) {
			e->beat = line.v[0];
			is_new = true;
		} else if (hp_stall_record_is(&line, "over", 1)) {
			e->over = true;
		} else if (hp_stall_get_schedule(&line, &serial, &s) &&
			   serial > e->serial) {
			e->serial = serial;
			e->schedule = s;
		}
	}
	return is_new;
}

static int look(struct hp_measure_ear *e, enum hp_measure_is *ret,
		bool *ret_gone)
{
	const double begun = hp_now();
	size_t n = 0;
	char *text = NULL;
	int r = hp_measure_read(e->io, e->dir, HP_MEASURE_BEAT, 0, &text, &n);
	bool is_new = r == 0 && take(e, text, n);

	free(text);
	/* An NFS client may take what it replaces away for a moment. */
	*ret_gone = r == -ENOENT || r == -ESTALE;
	if (r < 0 && !*ret_gone)
		return r;
	*ret = hp_measure_looked(&e->alive, begun, hp_now(), is_new);
	if (e->tell && e->beat > 0)
		e->tell(begun, e->beat);
	return 0;
}

int hp_measure_listen(struct hp_measure_ear *e)
{
	for (;;) {
		enum hp_measure_is is;
		bool is_gone;
		int r = look(e, &is, &is_gone);

		if (r < 0)
			return r;
		if (is == HP_MEASURE_ALIVE ||
		    (!is_gone && e->bond && e->bond()))
			return 0;
		if (is == HP_MEASURE_ENDED)
			return 1;
		hp_sleep(AGAIN);
	}
}
