/* SPDX-License-Identifier: Apache-2.0 */
/* A rank of a measured job: what it says and what it is told. */
#include "measure/rank.h"

#include "base/error.h"
#include "measure/ear.h"
#include "measure/folder.h"
#include "metrics/labels.h"
#include "stall/start.h"
#include "sys/clock.h"
#include "sys/memory.h"

#include <dlfcn.h>
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Seconds between two looks; the last ones wait for nothing else. */
#define LOOK 1.0
#define LOOK_LAST 0.1

enum state {
	UNKNOWN, /* its steps are not alike yet */
	OFF,	 /* another one of this process is measured */
	STARTED, /* it said so */
	TOLD,	 /* it has a schedule */
	DONE,	 /* all of it was played */
};

struct hpdsl_measured {
	const struct hp_io *io;
	int dir;
	char folder[HPDSL_PATH_MAX], name[HP_MEASURE_NAME];
	pid_t pid;
	uint32_t rank, ranks, lead;
	uint64_t epoch;
	enum state state;
	struct hp_measure_ear ear;
	double looked;
	/* What holds. */
	uint32_t serial;
	struct hp_stall_schedule schedule;
	/* The step that is going on, or is asked for. */
	uint64_t step;
	bool entered, left;
	double at, got; /* it was entered, and had its batch */
	double first;	/* seconds until the first one had */
	bool was_ready;
	struct hpdsl_stall_place place;
	struct hp_stall_steady steady;
	double usual;
	bool blocking;
	struct hp_stall_blocking g;
};

static int fail(const struct hpdsl_measured *m, int r, const char *name,
		struct hpdsl_error *err)
{
	return hp_fail_errno(err, r, "%s/%s", m->folder, name);
}

static int say(struct hpdsl_measured *m, const struct hp_stall_record *line,
	       struct hpdsl_error *err)
{
	int r = hp_measure_append(m->io, m->dir, m->name, line);

	return r < 0 ? fail(m, r, m->name, err) : 0;
}

static int say_plain(struct hpdsl_measured *m, const char *word, uint64_t a,
		     uint64_t b, unsigned n, struct hpdsl_error *err)
{
	struct hp_stall_record line;

	hp_stall_put(word, a, b, n, &line);
	return say(m, &line, err);
}

/* ---- What hpdsl-stall says -------------------------------------------- */

static int take_schedule(struct hpdsl_measured *m, struct hpdsl_error *err)
{
	if (m->ear.serial <= m->serial || m->state < STARTED)
		return 0;
	m->serial = m->ear.serial;
	if (m->ear.schedule.from <= m->step)
		return say_plain(m, "late", m->serial, m->step, 2, err);
	m->schedule = m->ear.schedule;
	m->state = TOLD;
	m->blocking = false;
	return 0;
}

/* Not by an error, at which scripts save.  The first process of a name space
 * cannot kill itself, and ends without a handler. */
static void die(void)
{
	kill(getpid(), SIGKILL);
	syscall(SYS_exit_group, 128 + SIGKILL);
}

/* Who may have been handed batches again must not see one. */
static int dead(const struct hpdsl_measured *m, struct hpdsl_error *err)
{
	if (m->state >= TOLD)
		die();
	return hp_fail(err, HPDSL_EUSAGE,
		       "HPDSL_STALL is set to %s, and no hpdsl-stall is alive "
		       "there: what it measures trains nothing, so nothing is "
		       "read",
		       m->folder);
}

static int look(struct hpdsl_measured *m, struct hpdsl_error *err)
{
	int r = hp_measure_listen(&m->ear);

	m->looked = hp_now();
	/* Without a run's name it is a dry one, which trains as ever. */
	if (r > 0 && (m->state >= TOLD || secure_getenv("HPDSL_STALL_RUN")))
		return dead(m, err);
	/* What cannot be read now may be in a second: no error for that. */
	if (r < 0 && m->state < TOLD)
		return fail(m, r, HP_MEASURE_BEAT, err);
	return r ? 0 : take_schedule(m, err);
}

/* ---- New and free ----------------------------------------------------- */

/* How long ago was the beat written?  By the clock of the file system, which
 * makes a file now: a mark that here is a loader. */
static int check_beat(struct hpdsl_measured *m, struct hpdsl_error *err)
{
	static const struct timespec now[2] = { { .tv_nsec = UTIME_NOW },
						{ .tv_nsec = UTIME_NOW } };
	char mark[HP_MEASURE_NAME + 16];
	struct stat beat, is;
	int fd, r = hp_io_stat(m->io, m->dir, HP_MEASURE_BEAT, &beat,
			       AT_SYMLINK_NOFOLLOW);

	if (r < 0)
		return dead(m, err);
	snprintf(mark, sizeof mark, HP_MEASURE_MARK "%s", m->name);
	fd = m->io->open(m->io, m->dir, mark,
			 O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return fail(m, fd, mark, err);
	m->io->set_times(m->io, fd, now);
	r = hp_io_fstat(m->io, fd, &is);
	m->io->close(m->io, fd);
	if (r < 0)
		return fail(m, r, mark, err);
	return is.st_mtime - beat.st_mtime > HP_MEASURE_STALE ? dead(m, err) :
								0;
}

static int open_folder(struct hpdsl_measured *m, struct hpdsl_error *err)
{
	struct stat st;
	int r;

	m->dir =
		m->io->open(m->io, AT_FDCWD, m->folder,
			    O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW, 0);
	if (m->dir < 0)
		return dead(m, err);
	r = hp_io_fstat(m->io, m->dir, &st);
	if (r < 0)
		return fail(m, r, "", err);
	if (st.st_uid != geteuid() || st.st_mode & 077)
		return hp_fail(err, HPDSL_EUSAGE,
			       "HPDSL_STALL is set to %s, which is another "
			       "user's, or others have rights to it",
			       m->folder);
	return check_beat(m, err);
}

/* What keeps a job that trains nothing from changing what was there before is
 * in this process, if hpdsl-stall's environment came through to it. */
static bool is_guarded(void)
{
	const char *saves = secure_getenv("HPDSL_STALL_SAVES");
	unsigned (*guard)(void) =
		(unsigned (*)(void))dlsym(RTLD_DEFAULT, "hpdsl_stall_guard");

	return (saves && *saves) || (guard && guard() == HP_MEASURE_GUARD);
}

static int end_unguarded(struct hpdsl_measured *m, struct hpdsl_error *err)
{
	char bare[HP_MEASURE_NAME + 16];
	int fd;

	snprintf(bare, sizeof bare, HP_MEASURE_BARE "%s", m->name);
	fd = m->io->open(m->io, m->dir, bare,
			 O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return fail(m, fd, bare, err);
	m->io->close(m->io, fd);
	die();
	return 0;
}

int hpdsl_measured_new(const struct hpdsl_measured_options *opt,
		       struct hpdsl_measured **ret, struct hpdsl_error *err)
{
	const char *folder = secure_getenv("HPDSL_STALL");
	struct hp_metrics_self self;
	struct hpdsl_measured *m;
	int r;

	*ret = NULL;
	if (!folder || !*folder)
		return 0;
	m = calloc(1, sizeof *m);
	if (!m)
		return hp_fail_nomem(err);
	m->io = hp_io_or_system(opt->io);
	m->dir = -1;
	m->pid = getpid();
	m->rank = opt->rank;
	m->ranks = opt->ranks;
	snprintf(m->folder, sizeof m->folder, "%s", folder);
	hp_metrics_self(&self);
	snprintf(m->name, sizeof m->name, HP_MEASURE_RANK "%s.%s", self.node,
		 self.pid);
	r = open_folder(m, err);
	if (r == 0 && !is_guarded())
		r = end_unguarded(m, err);
	if (r < 0) {
		hpdsl_measured_free(m);
		return r;
	}
	hp_measure_ear_begin(&m->ear, m->io, m->dir);
	m->looked = m->ear.alive.looked;
	*ret = m;
	return 0;
}

void hpdsl_measured_free(struct hpdsl_measured *m)
{
	if (!m)
		return;
	/* The next loader of this process may be measured in its place. */
	if (m->pid == getpid() && m->state == STARTED)
		m->io->unlink(m->io, m->dir, m->name, 0);
	if (m->pid == getpid() && m->state == TOLD)
		say_plain(m, "gone", m->step, 0, 1, NULL);
	if (m->dir >= 0)
		m->io->close(m->io, m->dir);
	free(m);
}

void hpdsl_measured_lead(struct hpdsl_measured *m, uint32_t lead,
			 uint64_t epoch)
{
	m->lead = lead;
	m->epoch = epoch;
}

uint64_t hpdsl_measured_steps(const struct hpdsl_measured *m,
			      enum hpdsl_stall_phase phase)
{
	return hp_stall_phase_steps(&m->schedule, phase);
}

/* ---- Steps ------------------------------------------------------------ */

/* Its file is made by the first of a process. */
static int start(struct hpdsl_measured *m,
		 const struct hpdsl_stall_counters *at, bool unsteady,
		 struct hpdsl_error *err)
{
	struct hp_stall_start s = {
		.rank = m->rank,
		.ranks = m->ranks,
		.step = m->step,
		.step_seconds = hp_stall_steady_step(&m->steady),
		.pace = hp_stall_steady_pace(&m->steady),
		.lead = m->lead,
		.epoch = m->epoch,
		.first_seconds = m->first,
		.batch_bytes = at->out / m->step,
		.room = hp_memory_left(m->io),
		.unsteady = unsteady,
	};
	struct hp_stall_record line;
	int fd = m->io->open(m->io, m->dir, m->name,
			     O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	if (fd == -EEXIST) {
		m->state = OFF;
		return 0;
	}
	if (fd < 0)
		return fail(m, fd, m->name, err);
	m->io->close(m->io, fd);
	m->state = STARTED;
	m->usual = hp_stall_steady_computed(&m->steady);
	hp_stall_put_start(&s, &line);
	return say(m, &line, err);
}

/* The step before is over. */
static void count_step(struct hpdsl_measured *m, double now)
{
	double waited = m->got - m->at, computed = now - m->got;

	if (m->step == 0)
		m->first = waited;
	if (m->blocking)
		hp_stall_step(&m->g, waited, m->was_ready, computed, m->usual);
	else if (m->state == UNKNOWN)
		hp_stall_steady_add(&m->steady, now - m->at, waited);
}

static int end_block(struct hpdsl_measured *m,
		     const struct hpdsl_stall_counters *at,
		     struct hpdsl_error *err)
{
	struct hpdsl_stall_block b;
	struct hp_stall_record line;

	m->blocking = false;
	hp_stall_end(&m->g, at, &b);
	hp_stall_put_block(m->serial, &b, &line);
	return say(m, &line, err);
}

/* All was said: once that is known, nothing of this process may stay. */
static int end(struct hpdsl_measured *m, struct hpdsl_error *err)
{
	int r = 0;

	if (m->state != DONE) {
		m->state = DONE;
		return say_plain(m, "done", m->serial, 0, 1, err);
	}
	if (hp_now() - m->looked >= LOOK_LAST)
		r = look(m, err);
	if (m->ear.over)
		die();
	return r;
}

static int between_steps(struct hpdsl_measured *m,
			 const struct hpdsl_stall_counters *at,
			 struct hpdsl_error *err)
{
	bool unsteady;
	int r = 0;

	if (m->left) {
		count_step(m, at->now);
		m->left = false;
		m->step++;
		if (m->blocking && m->place.last)
			r = end_block(m, at, err);
	}
	if (r == 0 && m->state == UNKNOWN &&
	    hp_stall_steady_is(&m->steady, 2 * (uint64_t)m->lead, &unsteady))
		r = start(m, at, unsteady, err);
	if (r == 0 && m->state != OFF && at->now - m->looked >= LOOK)
		r = look(m, err);
	/* It was given up: what was trained is as worthless. */
	if (r == 0 && m->ear.over && m->state == TOLD)
		die();
	return r;
}

int hpdsl_measured_enter(struct hpdsl_measured *m,
			 const struct hpdsl_stall_counters *at,
			 struct hpdsl_stall_place *ret, struct hpdsl_error *err)
{
	bool again = m->entered;
	int r;

	if (!again) {
		r = between_steps(m, at, err);
		if (r < 0)
			return r;
		m->entered = true;
		if (m->ear.step)
			m->ear.step();
		m->at = at->now;
		m->place = (struct hpdsl_stall_place){
			.time = HPDSL_STALL_BEFORE
		};
		if (m->state == TOLD)
			m->place = hp_stall_at(&m->schedule, m->step);
		if (m->place.first) {
			hp_stall_begin(&m->g, m->place, at);
			m->blocking = true;
		}
	}
	*ret = m->place;
	/* Not at once: its loader has something to say yet. */
	return again && m->place.time == HPDSL_STALL_BEHIND ? end(m, err) : 0;
}

/* A schedule that comes meanwhile begins behind the step that sees it. */
bool hpdsl_measured_idle(const struct hpdsl_measured *m)
{
	return m->state == STARTED || m->state == OFF;
}

void hpdsl_measured_leave(struct hpdsl_measured *m, double now, bool was_ready)
{
	m->got = now;
	m->was_ready = was_ready;
	m->entered = false;
	m->left = true;
}

int hpdsl_measured_asks(struct hpdsl_measured *m, enum hpdsl_stall_phase phase,
			const struct hpdsl_stall_asks *a,
			struct hpdsl_error *err)
{
	struct hp_stall_record line;

	hp_stall_put_asks(m->serial, phase, a, &line);
	return say(m, &line, err);
}

int hpdsl_measured_cache(struct hpdsl_measured *m, enum hpdsl_stall_phase phase,
			 const struct hpdsl_stall_cache *c,
			 struct hpdsl_error *err)
{
	struct hp_stall_record line;

	hp_stall_put_cache(m->serial, phase, c, &line);
	return say(m, &line, err);
}
