/* SPDX-License-Identifier: Apache-2.0 */
/* A stage directory: who staged it, what is here, what is coming or missing. */
#include "info.h"

#include <pwd.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Beats come every second; after a kill nothing tells but their age. */
#define LATE 3.0

/* ---- Whose it is ------------------------------------------------------ */

/* A name, or a number where there is none. */
static void tell_owner(struct info *i)
{
	const struct passwd *who;
	struct cmd_text text;
	struct stat st;

	if (stat(i->path, &st) < 0)
		return;
	who = getpwuid(st.st_uid);
	if (who)
		snprintf(text.s, sizeof(text.s), "%s", who->pw_name);
	else
		snprintf(text.s, sizeof(text.s), "%u", (unsigned)st.st_uid);
	if (st.st_uid != geteuid())
		info_row(i, "owner", "%s", text.s);
	if (info_json(i))
		cmd_json_name(info_json(i), "owner", text.s, strlen(text.s));
}

/* ---- What its state says ---------------------------------------------- */

static const char *what(const struct hpdsl_stage_status *s)
{
	if (s->at_work)
		return s->beat_age > LATE ?
			       "a stage directory whose stager does not "
			       "answer" :
			       "a stage directory that is being staged now";
	if (s->stale)
		return "a stage directory of before this machine was started: "
		       "nothing in it counts until it was staged again";
	if (!s->complete)
		return "a stage directory that is not complete";
	if (s->ready == s->chunks)
		return "a stage directory with all of a dataset";
	return s->parts > 1 ? "a stage directory with its part of a dataset" :
			      "a stage directory with what it had room for of "
			      "a dataset";
}

static void put_text(struct info *i, const struct hpdsl_stage_status *s)
{
	info_row(i, "here", "%llu of %s, %s", (unsigned long long)s->ready,
		 cmd_many(s->chunks, "chunk").s, cmd_bytes(s->ready_bytes).s);
	if (s->at_work && s->coming)
		info_row(i, "coming", "%s", cmd_many(s->coming, "chunk").s);
	if (cmd_stage_missing(s))
		info_row(i, "missing", "%s",
			 cmd_many(cmd_stage_missing(s), "chunk").s);
	if (s->at_work && s->beat_age > LATE)
		info_row(i, "last heard", "%s ago", cmd_seconds(s->beat_age).s);
	info_row(i, "staged by", "node %u of %u (%s), since %s UTC%s%s",
		 s->node, s->nodes, s->host, cmd_time(s->started).s,
		 *s->job ? ", " : "", s->job);
	if (s->parts <= 1)
		return;
	if (s->part == s->last_part)
		info_row(i, "part", "%u of %u", s->part, s->parts);
	else
		info_row(i, "parts", "%u to %u of %u", s->part, s->last_part,
			 s->parts);
}

/* ---- What comes next -------------------------------------------------- */

/*
 * Of a job of several nodes srun is right without a word of PMIx: where a step
 * has none, task 0 runs mpirun (hpdsl-stage(1), "Plain srun").
 */
static const char *launched(const struct hpdsl_stage_status *s)
{
	bool slurm = getenv("SLURM_JOB_ID") || !strncmp(s->job, "Slurm", 5);

	if (s->nodes <= 1)
		return "hpdsl-stage";
	return slurm ? "srun --ntasks-per-node=1 hpdsl-stage" :
		       "mpirun -N 1 hpdsl-stage";
}

/* Is it a folder that LOCALDIR auto looks into? */
static bool is_candidate(const char *folder)
{
	static const char *const names[] = { "SLURM_TMPDIR", "LOCAL_SCRATCH",
					     "JOBFS", "TMPDIR", NULL };

	for (size_t k = 0; k < sizeof(names) / sizeof(*names); k++) {
		const char *place = names[k] ? getenv(names[k]) : "/tmp";
		cmd_auto_free char *real =
			place && *place ? realpath(place, NULL) : NULL;

		if (real && !strcmp(real, folder))
			return true;
	}
	return false;
}

/* "auto", "auto:NAME" if that is how it was found; NULL: it was given. */
static char *auto_word(const struct info *i, const struct info_pack *p)
{
	cmd_auto_free char *real = realpath(i->path, NULL), *mine = NULL;
	char *base = real ? strrchr(real, '/') : NULL, *word, id[33];

	if (!base || !p || !p->manifest)
		return NULL;
	*base++ = '\0';
	cmd_hex(id, p->m.dataset_id, sizeof(p->m.dataset_id));
	if (asprintf(&mine, "hpdsl-%u-", (unsigned)geteuid()) < 0)
		cmd_no_memory();
	if (strncmp(base, mine, strlen(mine)) != 0 ||
	    !is_candidate(*real ? real : "/"))
		return NULL;
	base += strlen(mine);
	if (asprintf(&word, "auto%s%s", strcmp(base, id) ? ":" : "",
		     strcmp(base, id) ? base : "") < 0)
		cmd_no_memory();
	return word;
}

/* As it was staged before, or as nobody knows. */
static void next_stage(struct info *i, const struct hpdsl_stage_status *s,
		       const struct info_pack *p)
{
	cmd_auto_free char *found = auto_word(i, p);

	info_next(i, launched(s));
	if (p && i->wrong)
		info_next_more(i, " --recheck");
	if (*s->origin)
		info_next_path(i, s->origin);
	else
		info_next_more(i, " DATASET");
	if (found)
		info_next_word(i, found);
	else
		info_next_path(i, i->path);
}

static void set_next(struct info *i, const struct hpdsl_stage_status *s,
		     const struct info_pack *p)
{
	if (p->foreign)
		info_next(i, "hpdsl-info --foreign-owner");
	else if (s->at_work)
		info_next(i, "hpdsl-stage --status");
	else if (i->wrong || !s->complete || s->stale)
		return next_stage(i, s, p);
	else
		info_next(i, "hpdsl-bench");
	info_next_path(i, i->path);
}

/* ---- All of it -------------------------------------------------------- */

static void tell_readers(struct info *i, const struct hpdsl_stage_status *s,
			 bool socket)
{
	struct info_readers r = { .paths = &i->path,
				  .n = 1,
				  .ours = !i->wrong,
				  .tars = 256,
				  .members = 512 };
	struct hpdsl_compat_report report;

	if (!s->ready || s->stale)
		return;
	info_readers(i, &r, &report);
	if (s->ready < s->chunks)
		info_row(i, "",
			 "others than hpdsl find no more than what is here%s",
			 socket ? ", but by its Unix socket, "
				  "where they get all of it" :
				  "");
}

static void tell(struct info *i, const struct hpdsl_stage_status *s)
{
	struct info_pack p;
	bool socket = false;

	info_says(i, "%s", what(s));
	if (info_json(i))
		cmd_json_stage(info_json(i), s);
	else
		put_text(i, s);
	info_row(i, "origin", "%s", s->origin);
	tell_owner(i);
	info_pack_open(i, i->path, &p);
	if (!p.foreign)
		socket = info_served(i);
	info_pack_judge(i, &p);
	info_pack_tell(i, &p);
	if (!p.manifest)
		info_hex(i, "pack id", "pack", s->pack, sizeof(s->pack));
	info_pack_check(i, &p);
	if (p.ds)
		tell_readers(i, s, socket);
	set_next(i, s, &p);
	info_pack_close(&p);
}

void info_stage(struct info *i)
{
	struct hpdsl_stage_status s = { 0 };
	struct hpdsl_error err;

	if (hpdsl_stage_status(i->path, NULL, &s, &err) == 0) {
		tell(i, &s);
		return;
	}
	s = (struct hpdsl_stage_status){ 0 };
	if (err.code == HPDSL_ENOTOURS) {
		info_says(i, "a stage directory in which nothing is staged "
			     "yet");
	} else {
		info_says(i, "a stage directory whose state cannot be read");
		info_failed(i, &err);
	}
	tell_owner(i);
	next_stage(i, &s, NULL);
}
