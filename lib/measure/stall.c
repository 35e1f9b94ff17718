/* SPDX-License-Identifier: Apache-2.0 */
/* Who measures a job: its folder, its beat, the schedule, the end. */
#include "base/error.h"
#include "base/mem.h"
#include "measure/alive.h"
#include "measure/clean.h"
#include "measure/stall.h"
#include "sys/clock.h"
#include "sys/dir.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	RANKS_WITHIN = 60, /* seconds, of the first one */
	MARGIN = 3, /* seconds until all have looked; ranks look each second */
	LATE_MOST = 7,	      /* times that this is doubled */
	TRIES = 100,	      /* of a name for the folder */
	FILES_A_SECOND = 500, /* of ranks that are looked into, about */
};

static int fail(const struct hpdsl_stall *s, int r, const char *name,
		struct hpdsl_error *err)
{
	return hp_fail_errno(err, r, "%s/%s", s->folder, name);
}

/* ---- The beat --------------------------------------------------------- */

static size_t add(char *text, const struct hp_stall_record *line)
{
	return hp_stall_record_format(line, text);
}

static int tell(struct hpdsl_stall *s, struct hpdsl_error *err)
{
	char text[3 * HP_STALL_LINE];
	struct hp_stall_record line;
	size_t n;
	int r;

	hp_stall_put("beat", (uint64_t)++s->beat, 0, 1, &line);
	n = add(text, &line);
	if (s->decided) {
		hp_stall_put_schedule(s->crowd.serial, &s->schedule, &line);
		n += add(text + n, &line);
	}
	if (s->over) {
		hp_stall_put("over", 1, 0, 1, &line);
		n += add(text + n, &line);
	}
	s->beat_at = hp_now();
	r = hp_measure_replace(s->io, s->dir, HP_MEASURE_BEAT, text, n);
	return r < 0 ? fail(s, r, HP_MEASURE_BEAT, err) : 0;
}

static int beat(struct hpdsl_stall *s, struct hpdsl_error *err)
{
	return hp_now() - s->beat_at < HP_MEASURE_BEAT_EVERY ? 0 : tell(s, err);
}

/* ---- New and free ----------------------------------------------------- */

/* The folder's name alone is no secret, and nobody else may enter it. */
static int make_folder(struct hpdsl_stall *s, const char *parent,
		       struct hpdsl_error *err)
{
	int r = 0;

	for (unsigned i = 0; i < TRIES; i++) {
		int n = snprintf(s->folder, sizeof s->folder,
				 "%s/" HP_MEASURE_RUN "%ld.%u", parent,
				 (long)getpid(), i);

		if (n < 0 || (size_t)n >= sizeof s->folder)
			return hp_fail(err, -ENAMETOOLONG,
				       "%.200s..: the path is too long",
				       parent);
		r = s->io->mkdir(s->io, AT_FDCWD, s->folder, 0700);
		if (r != -EEXIST)
			break;
	}
	if (r < 0) {
		r = hp_fail_errno(err, r, "%s", s->folder);
		*s->folder = '\0';
		return r;
	}
	s->dir =
		s->io->open(s->io, AT_FDCWD, s->folder,
			    O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW, 0);
	return s->dir < 0 ? hp_fail_errno(err, s->dir, "%s", s->folder) : 0;
}

/* Ranks may have other working directories. */
static int find_parent(const struct hpdsl_stall *s, char **ret,
		       struct hpdsl_error *err)
{
	const char *name = s->opt.parent ? s->opt.parent : ".";
	hp_auto_fd f = { s->io,
			 s->io->open(s->io, AT_FDCWD, name,
				     O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0) };
	int r = f.fd < 0 ? f.fd : hp_io_real_path(s->io, f.fd, ret);

	return r < 0 ? hp_fail_errno(err, r, "%s", name) : 0;
}

int hpdsl_stall_new(const struct hpdsl_stall_options *opt,
		    struct hpdsl_stall **ret, struct hpdsl_error *err)
{
	struct hpdsl_stall *s = calloc(1, sizeof *s);
	hp_auto_free char *parent = NULL;
	int r;

	if (!s)
		return hp_fail_nomem(err);
	s->opt = *opt;
	s->io = hp_io_or_system(opt->io);
	s->dir = -1;
	r = find_parent(s, &parent, err);
	if (r == 0)
		r = make_folder(s, parent, err);
	if (r == 0)
		r = tell(s, err);
	if (r == 0)
		hp_measure_remove_dead(s->io, parent, s->dir);
	if (r < 0)
		hpdsl_stall_free(s);
	else
		*ret = s;
	return r;
}

const char *hpdsl_stall_beat(const struct hpdsl_stall *s)
{
	return s->folder;
}

static void remove_folder(struct hpdsl_stall *s)
{
	if (s->dir >= 0)
		hp_measure_remove(s->io, s->dir, AT_FDCWD, s->folder);
	else if (*s->folder)
		s->io->unlink(s->io, AT_FDCWD, s->folder, AT_REMOVEDIR);
	s->dir = -1;
	*s->folder = '\0';
}

void hpdsl_stall_free(struct hpdsl_stall *s)
{
	if (!s)
		return;
	remove_folder(s);
	hp_measure_crowd_release(&s->crowd);
	hp_measure_crowd_release(&s->heard);
	free(s);
}

/* In another folder: who is left of the run before finds nobody. */
int hpdsl_stall_again(struct hpdsl_stall *s, struct hpdsl_error *err)
{
	hp_auto_free char *parent = NULL;
	int r;

	if (!s->over || s->gave_up || !s->opt.separate ||
	    s->run + 1 >= HP_STALL_RUNS)
		return 0;
	r = find_parent(s, &parent, err);
	if (r < 0)
		return r;
	remove_folder(s);
	hp_measure_crowd_release(&s->crowd);
	s->run++;
	s->over = s->decided = false;
	s->late = 0;
	s->step = 0;
	r = make_folder(s, parent, err);
	if (r == 0)
		r = tell(s, err);
	return r < 0 ? r : 1;
}

/* ---- What ranks say --------------------------------------------------- */

struct looking {
	struct hpdsl_stall *s;
	struct hpdsl_error *err;
};

static int unguarded(const char *name, struct hpdsl_error *err)
{
	return hp_fail(
		err, HPDSL_EUSAGE,
		"%s: a process of the job has no guard in front of its "
		"libraries, which keeps what was there before from being "
		"changed (a container without HPDSL's folder, a static "
		"program, LD_PRELOAD cleared, the folder where they meet "
		"on a file system that maps no memory)",
		name + strlen(HP_MEASURE_BARE HP_MEASURE_RANK));
}

static int look_at(void *arg, const char *name)
{
	struct looking *l = arg;
	struct hpdsl_stall *s = l->s;
	struct hp_measure_one *o;
	size_t n = 0;
	char *text;
	int r;

	if (strncmp(name, HP_MEASURE_MARK, strlen(HP_MEASURE_MARK)) == 0)
		s->crowd.loaders++;
	if (strncmp(name, HP_MEASURE_BARE HP_MEASURE_RANK,
		    strlen(HP_MEASURE_BARE HP_MEASURE_RANK)) == 0)
		return unguarded(name, l->err);
	if (strncmp(name, HP_MEASURE_RANK, strlen(HP_MEASURE_RANK)) != 0)
		return 0;
	r = hp_measure_meet(&s->crowd, name, &o, l->err);
	if (r < 0)
		return r;
	r = hp_measure_read(s->io, s->dir, name, o->read, &text, &n);
	if (r == -ENOENT)
		return 0; /* its loader ended just now */
	if (r < 0)
		return fail(s, r, name, l->err);
	r = hp_measure_hear(&s->crowd, o, text, n, hp_now(), l->err);
	free(text);
	/* All files of a large job take a while. */
	return r < 0 ? r : beat(s, l->err);
}

static int look(struct hpdsl_stall *s, struct hpdsl_error *err)
{
	struct looking l = { s, err };
	struct hpdsl_error none;
	int r;

	s->crowd.loaders = 0;
	for (size_t i = 0; i < s->crowd.n; i++)
		s->crowd.of[i].seen = false;
	l.err = &none;
	none.code = 0;
	r = hp_measure_list(s->io, s->dir, look_at, &l);
	if (r < 0 && none.code == r) {
		if (err)
			*err = none;
		return r;
	}
	if (r < 0)
		return fail(s, r, "", err);
	if (!s->decided)
		hp_measure_forget_unseen(&s->crowd);
	hp_measure_sort(&s->crowd);
	return 0;
}

/* ---- Decisions -------------------------------------------------------- */

static const struct hp_measure_one *first_gone(const struct hpdsl_stall *s)
{
	for (size_t i = 0; i < s->crowd.n; i++)
		if (s->crowd.of[i].gone || !s->crowd.of[i].seen)
			return &s->crowd.of[i];
	return NULL;
}

static int check_gone(const struct hpdsl_stall *s, struct hpdsl_error *err)
{
	const struct hp_measure_one *o = s->decided ? first_gone(s) : NULL;

	if (!o)
		return 0;
	return hp_fail(err, HPDSL_EUSAGE,
		       "the loader of rank %u (process %" PRId64 " on %s) "
		       "ended at step %" PRIu64 ", and measuring takes until "
		       "step %" PRIu64
		       ": more epochs, or shorter blocks, make it do",
		       o->start.rank, o->pid, o->node, o->gone_at,
		       s->schedule.from + hp_stall_steps(&s->schedule));
}

/* How many ranks there are, as they say. */
static uint32_t ranks_of(const struct hpdsl_stall *s)
{
	uint32_t n = 0;

	for (size_t i = 0; i < s->crowd.n; i++)
		if (s->crowd.of[i].started && s->crowd.of[i].start.ranks > n)
			n = s->crowd.of[i].start.ranks;
	return n;
}

static bool has_rank(const struct hpdsl_stall *s, uint32_t rank)
{
	for (size_t i = 0; i < s->crowd.n; i++)
		if (s->crowd.of[i].started && s->crowd.of[i].start.rank == rank)
			return true;
	return false;
}

static uint32_t count_started(const struct hpdsl_stall *s, double *ret_first)
{
	uint32_t n = 0;

	for (size_t i = 0; i < s->crowd.n; i++) {
		const struct hp_measure_one *o = &s->crowd.of[i];

		if (!o->started)
			continue;
		if (!n++ || o->started_at < *ret_first)
			*ret_first = o->started_at;
	}
	return n;
}

static int missing(const struct hpdsl_stall *s, uint32_t ranks,
		   struct hpdsl_error *err)
{
	uint32_t rank = 0;

	while (rank < ranks && has_rank(s, rank))
		rank++;
	return hp_fail(err, HPDSL_EUSAGE,
		       "rank %u of %u has not had %d steps within %d s of the "
		       "first rank that had them",
		       rank, ranks, HP_STALL_FIRST, RANKS_WITHIN);
}

static uint32_t on_node(const struct hpdsl_stall *s, const char *node)
{
	uint32_t n = 0;

	for (size_t i = 0; i < s->crowd.n; i++)
		n += strcmp(s->crowd.of[i].node, node) == 0;
	return n;
}

static int decide(struct hpdsl_stall *s, struct hpdsl_error *err)
{
	const struct hp_stall_wish wish = {
		.rounds = s->opt.rounds,
		.blocks = s->opt.blocks,
		.steps = s->opt.steps,
		.load = !s->opt.no_load,
		.phases = s->opt.separate ? hp_stall_run[s->run] : 0,
		.margin = (double)(MARGIN << (s->late < LATE_MOST ? s->late :
								    LATE_MOST)),
	};
	size_t n = s->crowd.n;
	hp_auto_free struct hp_stall_ready *of = hp_array(n, sizeof *of);
	double now = hp_now();
	int r;

	if (!of)
		return hp_fail_nomem(err);
	for (size_t i = 0; i < n; i++) {
		const struct hp_measure_one *o = &s->crowd.of[i];

		of[i] = (struct hp_stall_ready){
			.s = o->start,
			.on_node = on_node(s, o->node),
			.since = now - o->started_at,
		};
		if (o->start.pace > s->step)
			s->step = o->start.pace;
	}
	r = hp_stall_decide(of, n, &wish, &s->schedule, err);
	if (r < 0)
		return r;
	hp_measure_anew(&s->crowd, s->crowd.serial + 1);
	s->decided = true;
	return tell(s, err);
}

/* Somebody got what holds too late. */
static bool is_late(const struct hpdsl_stall *s)
{
	for (size_t i = 0; i < s->crowd.n; i++)
		if (s->decided && s->crowd.of[i].late == s->crowd.serial)
			return true;
	return false;
}

static bool all_done(const struct hpdsl_stall *s)
{
	for (size_t i = 0; i < s->crowd.n; i++)
		if (!s->crowd.of[i].done)
			return false;
	return s->crowd.n && s->decided;
}

static int end_run(struct hpdsl_stall *s, struct hpdsl_error *err)
{
	int r = hp_measure_add_run(&s->heard, &s->crowd, err);

	if (r < 0)
		return r;
	s->over = true;
	return tell(s, err);
}

static int next(struct hpdsl_stall *s, struct hpdsl_error *err)
{
	double first = 0;
	uint32_t ranks = ranks_of(s), n = count_started(s, &first);

	if (is_late(s)) {
		s->late++;
		return decide(s, err);
	}
	if (s->decided && all_done(s))
		return end_run(s, err);
	if (s->decided || s->opt.dry)
		return 0;
	if (n && n >= ranks && n == s->crowd.n)
		return decide(s, err);
	return n && hp_now() - first > RANKS_WITHIN ? missing(s, ranks, err) :
						      0;
}

static void fill(const struct hpdsl_stall *s, struct hpdsl_stall_progress *p)
{
	double first;
	uint64_t kinds = 0;

	*p = (struct hpdsl_stall_progress){
		.state = s->over    ? HPDSL_STALL_MEASURED :
			 s->decided ? HPDSL_STALL_PLAYING :
				      HPDSL_STALL_WAITING,
		.loaders = s->crowd.loaders,
		.started = count_started(s, &first),
		.ranks = ranks_of(s),
		.late = s->late,
		.run = s->run,
		.runs = s->opt.separate ? HP_STALL_RUNS : 1,
	};
	for (size_t i = 0; i < s->crowd.n; i++) {
		p->blocks += s->crowd.of[i].n;
		p->unsteady |= s->crowd.of[i].start.unsteady;
	}
	for (size_t i = 0; i < s->heard.n; i++)
		p->unsteady |= s->heard.of[i].start.unsteady;
	if (!s->decided)
		return;
	for (unsigned i = 0; i < HPDSL_STALL_PHASES; i++)
		kinds += s->schedule.steps[i] > 0;
	p->of = kinds * s->schedule.rounds * s->schedule.blocks * s->crowd.n;
	p->steps = hp_stall_steps(&s->schedule);
	p->seconds = (double)p->steps * s->step;
}

/* A file for each rank, on whatever serves a whole cluster. */
static bool looks_now(struct hpdsl_stall *s)
{
	double now = hp_now();

	if (s->over || s->gave_up ||
	    now - s->looked_at < (double)s->crowd.n / FILES_A_SECOND)
		return false;
	s->looked_at = now;
	return true;
}

int hpdsl_stall_tend(struct hpdsl_stall *s, struct hpdsl_stall_progress *ret,
		     struct hpdsl_error *err)
{
	bool looks = looks_now(s);
	int r = looks ? look(s, err) : 0;

	if (r == 0 && looks)
		r = check_gone(s, err);
	if (r == 0 && looks)
		r = next(s, err);
	if (r == 0)
		r = beat(s, err);
	if (r == 0)
		fill(s, ret);
	return r;
}

int hpdsl_stall_give_up(struct hpdsl_stall *s, struct hpdsl_error *err)
{
	s->gave_up = true;
	s->over = s->decided;
	return tell(s, err);
}
