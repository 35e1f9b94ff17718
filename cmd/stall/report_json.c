/* SPDX-License-Identifier: Apache-2.0 */
/* What was measured, with every block, for programs. */
#include "stall.h"

#include <sched.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

/* Milliseconds, since reals have three digits behind the point. */
static void put_figure(struct cmd_json *j, const char *name,
		       const struct hpdsl_stall_figure *f, bool enough)
{
	cmd_json_open(j, name, '{');
	cmd_json_real(j, "ms", 1e3 * f->is);
	if (enough) {
		cmd_json_real(j, "low_ms", 1e3 * f->low);
		cmd_json_real(j, "high_ms", 1e3 * f->high);
	}
	cmd_json_close(j, '}');
}

static void put_split(struct cmd_json *j, const struct hpdsl_stall_split *s)
{
	static const char *const names[HPDSL_STALL_PARTS] = {
		"compute", "interference", "hand_over", "preparation", "fetch"
	};

	cmd_json_string(j, "bound", names[s->bound]);
	cmd_json_open(j, "steps", '{');
	for (unsigned i = 0; i < HPDSL_STALL_PHASES; i++)
		if (s->has[i])
			put_figure(j, stall_phases[i], &s->step[i], s->enough);
	cmd_json_close(j, '}');
	cmd_json_open(j, "parts", '{');
	for (unsigned i = 0; i < HPDSL_STALL_PARTS; i++)
		put_figure(j, names[i], &s->part[i], s->enough);
	cmd_json_close(j, '}');
	if (s->knows_hand_over)
		cmd_json_real(j, "hand_over_ms", 1e3 * s->hand_over);
	cmd_json_real(j, "names_ms", 1e3 * s->names);
	cmd_json_real(j, "warm_model_ms", 1e3 * s->warm_model);
	cmd_json_real(j, "cold_model_ms", 1e3 * s->cold_model);
	cmd_json_real(j, "warm_steps_a_second", s->warm_rate);
	cmd_json_real(j, "cold_steps_a_second", s->cold_rate);
	cmd_json_bool(j, "enough_blocks", s->enough);
	cmd_json_bool(j, "disagrees", s->disagrees);
	cmd_json_u64(j, "slowest", s->slowest);
	cmd_json_real(j, "slowness", s->slowness);
}

static void put_block(struct cmd_json *j, const struct hpdsl_stall_block *b)
{
	cmd_json_open(j, NULL, '{');
	cmd_json_string(j, "phase", stall_phases[b->phase]);
	cmd_json_u64(j, "round", b->round);
	cmd_json_u64(j, "block", b->block);
	cmd_json_u64(j, "steps", b->steps);
	cmd_json_real(j, "ms", 1e3 * b->seconds);
	cmd_json_real(j, "interrupted_ms", 1e3 * b->interrupted);
	cmd_json_real(j, "waited_ms", 1e3 * b->waited);
	cmd_json_u64(j, "made", b->made);
	cmd_json_u64(j, "out", b->out);
	cmd_json_real(j, "making_ms", 1e3 * b->making);
	if (b->hand_over >= 0)
		cmd_json_real(j, "hand_over_ms", 1e3 * b->hand_over);
	cmd_json_close(j, '}');
}

static void put_cache(struct cmd_json *j, const struct hpdsl_stall_cache *all)
{
	cmd_json_open(j, "page_cache", '{');
	for (unsigned i = 0; i < HPDSL_STALL_PHASES; i++) {
		if (!all[i].asked)
			continue;
		cmd_json_open(j, stall_phases[i], '{');
		cmd_json_u64(j, "bytes", all[i].asked);
		cmd_json_u64(j, "there", all[i].there);
		cmd_json_u64(j, "unknown", all[i].unknown);
		cmd_json_close(j, '}');
	}
	cmd_json_close(j, '}');
}

static void put_asks(struct cmd_json *j, const struct hpdsl_stall_asks *all)
{
	cmd_json_open(j, "asks", '{');
	for (unsigned i = 0; i < HPDSL_STALL_PHASES; i++) {
		if (!all[i].batches)
			continue;
		cmd_json_open(j, stall_phases[i], '{');
		cmd_json_u64(j, "batches", all[i].batches);
		cmd_json_u64(j, "opens", all[i].opens);
		cmd_json_u64(j, "stats", all[i].stats);
		cmd_json_u64(j, "entries", all[i].entries);
		cmd_json_u64(j, "reads", all[i].reads);
		cmd_json_u64(j, "bytes", all[i].bytes);
		cmd_json_u64(j, "all_reads", all[i].all_reads);
		cmd_json_u64(j, "all_bytes", all[i].all_bytes);
		cmd_json_u64(j, "from_storage", all[i].from_storage);
		cmd_json_real(j, "names_ms", 1e3 * all[i].names);
		cmd_json_close(j, '}');
	}
	cmd_json_close(j, '}');
}

static void put_ranks(struct cmd_json *j, const struct hpdsl_stall *s)
{
	struct hpdsl_stall_rank r;

	cmd_json_open(j, "ranks", '[');
	for (size_t i = 0; hpdsl_stall_rank(s, i, &r); i++) {
		cmd_json_open(j, NULL, '{');
		cmd_json_u64(j, "rank", r.rank);
		cmd_json_name(j, "node", r.node, strlen(r.node));
		cmd_json_i64(j, "pid", r.pid);
		if (r.epoch)
			cmd_json_u64(j, "epoch_steps", r.epoch);
		cmd_json_u64(j, "lead_steps", r.lead);
		cmd_json_real(j, "first_batch_ms", 1e3 * r.first_seconds);
		put_cache(j, r.cache);
		put_asks(j, r.asks);
		cmd_json_open(j, "blocks", '[');
		for (size_t k = 0; k < r.blocks; k++)
			put_block(j, &r.block[k]);
		cmd_json_close(j, ']');
		cmd_json_close(j, '}');
	}
	cmd_json_close(j, ']');
}

/* Of the node that this command runs on. */
static void put_machine(struct cmd_json *j)
{
	struct utsname u;
	cpu_set_t set;
	char job[128];
	const char *name = cmd_job_name(job, sizeof(job));

	cmd_json_string(j, "version", hpdsl_version());
	if (name)
		cmd_json_name(j, "job", name, strlen(name));
	if (uname(&u) == 0) {
		cmd_json_name(j, "node", u.nodename, strlen(u.nodename));
		cmd_json_string(j, "kernel", u.release);
	}
	cmd_json_u64(j, "cpus", (uint64_t)sysconf(_SC_NPROCESSORS_ONLN));
	if (sched_getaffinity(0, sizeof(set), &set) == 0)
		cmd_json_u64(j, "cpus_allowed", (uint64_t)CPU_COUNT(&set));
	if (hpdsl_cpu_limit() != UINT64_MAX)
		cmd_json_real(j, "cpu_limit", (double)hpdsl_cpu_limit() / 1e3);
	cmd_json_u64(j, "memory_left", hpdsl_memory_left());
}

void stall_report_json(FILE *out, const struct stall_report *r)
{
	struct cmd_json j = { .out = out };

	cmd_json_open(&j, NULL, '{');
	cmd_json_bool(&j, "dry_run", r->dry);
	if (r->dry) {
		cmd_json_u64(&j, "loaders", r->progress.loaders);
		cmd_json_u64(&j, "status", (uint64_t)r->status);
	} else {
		put_split(&j, &r->split);
		cmd_json_bool(&j, "separate", r->progress.runs > 1);
		cmd_json_u64(&j, "late", r->progress.late);
		cmd_json_bool(&j, "unsteady", r->progress.unsteady);
	}
	stall_told_json(&j, r->told);
	put_machine(&j);
	cmd_json_open(&j, "command", '[');
	for (char **c = r->command; *c; c++)
		cmd_json_name(&j, NULL, *c, strlen(*c));
	cmd_json_close(&j, ']');
	put_ranks(&j, r->stall);
	cmd_json_line(&j);
}
