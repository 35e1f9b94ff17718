/* SPDX-License-Identifier: Apache-2.0 */
/* What was measured, for people: the first line says what to do. */
#include "stall.h"

#include <string.h>

const char *const stall_phases[HPDSL_STALL_PHASES] = { "replay", "load", "warm",
						       "cold", "real" };
const char *const stall_parts[HPDSL_STALL_PARTS] = { "compute", "interference",
						     "hand-over",
						     "preparation stall",
						     "fetch stall" };

struct hpdsl_stall_cache stall_cache(const struct hpdsl_stall *s,
				     enum hpdsl_stall_phase phase)
{
	struct hpdsl_stall_cache sum = { 0 };
	struct hpdsl_stall_rank rank;

	for (size_t i = 0; hpdsl_stall_rank(s, i, &rank); i++) {
		sum.asked += rank.cache[phase].asked;
		sum.there += rank.cache[phase].there;
		sum.unknown += rank.cache[phase].unknown;
	}
	return sum;
}

static double share(const struct hpdsl_stall_split *s, double seconds)
{
	double cold = s->step[HPDSL_STALL_COLD].is;

	return cold > 0 ? 100 * seconds / cold : 0;
}

/* ---- Was a phase what it is called? ----------------------------------- */

static double percent(uint64_t part, uint64_t of)
{
	return of ? 100.0 * (double)part / (double)of : 0;
}

/* More, or less, than this says no. */
#define COLD_MOST 2
#define WARM_LEAST 90

static const char *is_cold(const struct hpdsl_stall_cache *c)
{
	if (!c->asked || c->unknown > c->asked / 50)
		return "unknown";
	return percent(c->there, c->asked) > COLD_MOST ? "no" : "yes";
}

static const char *is_warm(const struct hpdsl_stall_cache *c)
{
	if (!c->asked || c->unknown > c->asked / 50)
		return "unknown";
	return percent(c->there, c->asked) < WARM_LEAST ? "no" : "yes";
}

/* Of all ranks, in cold steps. */
static struct hpdsl_stall_asks cold_asks(const struct hpdsl_stall *s)
{
	struct hpdsl_stall_asks sum = { 0 };
	struct hpdsl_stall_rank r;

	for (size_t i = 0; hpdsl_stall_rank(s, i, &r); i++) {
		const struct hpdsl_stall_asks *a = &r.asks[HPDSL_STALL_COLD];

		sum.batches += a->batches;
		sum.opens += a->opens;
		sum.stats += a->stats;
		sum.entries += a->entries;
		sum.reads += a->reads;
		sum.bytes += a->bytes;
		sum.all_bytes += a->all_bytes;
	}
	return sum;
}

/* ---- The first line --------------------------------------------------- */

#define LITTLE 3 /* percent */
#define NONSENSE 10

static double part_of(const struct hpdsl_stall_split *s,
		      enum hpdsl_stall_part i)
{
	return share(s, s->part[i].is);
}

/* Steps from memory that may not have been from memory tell nothing of what is
 * left when storage is fast. */
static void put_unknown(FILE *out, const struct hpdsl_stall_split *s)
{
	double data = part_of(s, HPDSL_STALL_FETCH) +
		      part_of(s, HPDSL_STALL_PREPARATION);

	fprintf(out,
		"%.0f %% of a step waits for data: for storage, or for the "
		"loader's work, as steps from memory may have been none\n",
		data);
}

/* Is a step from memory so much longer than one from storage, or another part
 * so much less than nothing, that nothing is to be made of the others? */
static bool is_nonsense(const struct hpdsl_stall_split *s)
{
	for (unsigned i = 0; i < HPDSL_STALL_PARTS; i++)
		if (part_of(s, i) < -NONSENSE)
			return true;
	return false;
}

static void put_verdict(FILE *out, const struct stall_report *r)
{
	const struct hpdsl_stall_split *s = &r->split;
	struct hpdsl_stall_cache warm = stall_cache(r->stall, HPDSL_STALL_WARM);
	struct hpdsl_stall_cache cold = stall_cache(r->stall, HPDSL_STALL_COLD);
	double fetch = part_of(s, HPDSL_STALL_FETCH);
	double prepare = part_of(s, HPDSL_STALL_PREPARATION);
	enum hpdsl_stall_part bound = s->bound;

	if (is_nonsense(s)) {
		fprintf(out, "what a step waits for is not known: something "
			     "else changed between the phases, so measure "
			     "again, on a machine that does nothing else\n");
		return;
	}
	/* What may be gained is not worth it. */
	if (part_of(s, bound) < LITTLE)
		bound = HPDSL_STALL_COMPUTE;
	if (bound != HPDSL_STALL_COMPUTE &&
	    strcmp(is_warm(&warm), "yes") != 0) {
		put_unknown(out, s);
		return;
	}
	switch (bound) {
	case HPDSL_STALL_FETCH:
		fprintf(out, "%.0f %% of a step waits for storage", fetch);
		if (prepare >= LITTLE)
			fprintf(out, ", and %.0f %% for the loader's work",
				prepare);
		fprintf(out, ": %shpdsl-stage(1) brings the data near%s\n",
			cold_asks(r->stall).batches ?
				"hpdsl-pack(1) makes few large reads of it, " :
				"",
			prepare >= LITTLE ? "; then it needs more cores" : "");
		break;
	case HPDSL_STALL_PREPARATION:
		fprintf(out,
			"%.0f %% of a step waits for the loader's work: it "
			"needs more cores%s\n",
			prepare,
			strcmp(is_cold(&cold), "yes") ? "" :
							", not faster storage");
		break;
	default:
		fprintf(out, "a step does not wait for data: nothing is to be "
			     "gained from storage or cores\n");
	}
}

/* ---- Parts ------------------------------------------------------------ */

/* What is less than it may be wrong by is only known not to be more. */
static void put_part(FILE *out, const struct hpdsl_stall_split *s,
		     enum hpdsl_stall_part i)
{
	const struct hpdsl_stall_figure *f = &s->part[i];

	fprintf(out, "  %-18s", stall_parts[i]);
	if (s->enough && f->low <= 0 && f->high >= 0)
		fprintf(out, " < %8.1f ms  < %3.0f %%\n", 1e3 * f->high,
			share(s, f->high));
	else if (s->enough)
		fprintf(out, " %10.1f ms  %5.0f %%   %.1f to %.1f ms\n",
			1e3 * f->is, share(s, f->is), 1e3 * f->low,
			1e3 * f->high);
	else
		fprintf(out, " %10.1f ms  %5.0f %%\n", 1e3 * f->is,
			share(s, f->is));
}

static void put_parts(FILE *out, const struct stall_report *r)
{
	const struct hpdsl_stall_split *s = &r->split;

	fprintf(out, "a step of a first epoch %9.1f ms, of %s:\n",
		1e3 * s->step[HPDSL_STALL_COLD].is,
		cmd_many(s->ranks, "rank").s);
	for (unsigned i = 0; i < HPDSL_STALL_PARTS; i++)
		if (i != HPDSL_STALL_INTERFERENCE || s->has[HPDSL_STALL_LOAD])
			put_part(out, s, i);
}

/* ---- The rest --------------------------------------------------------- */

/* Beside a step, what it would be by what the loader makes a second. */
static void put_rate(FILE *out, double rate, double seconds)
{
	if (rate > 0)
		fprintf(out, " (by rates %.1f)", 1e3 * seconds);
}

static void put_others(FILE *out, const struct hpdsl_stall_split *s)
{
	fprintf(out, "from memory it takes %.1f ms",
		1e3 * s->step[HPDSL_STALL_WARM].is);
	put_rate(out, s->warm_rate, s->warm_model);
	fprintf(out, ", from storage %.1f ms",
		1e3 * s->step[HPDSL_STALL_COLD].is);
	put_rate(out, s->cold_rate, s->cold_model);
	if (s->has[HPDSL_STALL_REAL])
		fprintf(out, ", as the job reads %.1f ms",
			1e3 * s->step[HPDSL_STALL_REAL].is);
	fputc('\n', out);
}

/* Of the rank that waits longest for its first batch. */
static void put_epoch(FILE *out, const struct stall_report *r)
{
	const struct hpdsl_stall_split *s = &r->split;
	struct hpdsl_stall_rank one, rank = { 0 };
	double n, cold = s->step[HPDSL_STALL_COLD].is;
	double busy = cold - s->part[HPDSL_STALL_PREPARATION].is -
		      s->part[HPDSL_STALL_FETCH].is;

	for (size_t i = 0; hpdsl_stall_rank(r->stall, i, &one); i++)
		if (i == 0 || one.first_seconds > rank.first_seconds)
			rank = one;
	if (!rank.epoch)
		return;
	n = (double)rank.epoch;
	fprintf(out, "an epoch of %s: %s, of which %s wait for data",
		cmd_many(rank.epoch, "step").s, cmd_seconds(n * cold).s,
		cmd_seconds(cold > busy ? n * (cold - busy) : 0).s);
	if (rank.lead > rank.epoch && s->cold_rate > 0)
		fprintf(out,
			"; the loader's memory holds all of it, and reads it "
			"in %s beside %s of compute",
			cmd_seconds(n / s->cold_rate).s,
			cmd_seconds(n * busy).s);
	fprintf(out, "; the first batch came after %s\n",
		cmd_seconds(rank.first_seconds).s);
}

static void put_cache(FILE *out, const struct stall_report *r)
{
	struct hpdsl_stall_cache cold = stall_cache(r->stall, HPDSL_STALL_COLD);
	struct hpdsl_stall_cache warm = stall_cache(r->stall, HPDSL_STALL_WARM);

	fprintf(out,
		"cold was cold: %s (%.1f %% of %s was in the page cache); warm "
		"was warm: %s (%.0f %% of %s)\n",
		is_cold(&cold), percent(cold.there, cold.asked),
		cmd_bytes(cold.asked).s, is_warm(&warm),
		percent(warm.there, warm.asked), cmd_bytes(warm.asked).s);
}

/* What one batch asks storage for; what reading has beyond the calls that were
 * seen is of the C library's own streams, or of programs linked statically. */
static void put_asks(FILE *out, const struct stall_report *r)
{
	struct hpdsl_stall_asks a = cold_asks(r->stall);
	double n = (double)a.batches;
	uint64_t beyond = a.all_bytes > a.bytes ? a.all_bytes - a.bytes : 0;

	if (!a.batches)
		return;
	if (a.opens)
		fprintf(out,
			"a batch opens %.1f files, asks for %.1f statuses and "
			"%.1f names, and reads %s in %.1f reads",
			(double)a.opens / n, (double)a.stats / n,
			(double)a.entries / n,
			cmd_bytes((uint64_t)((double)a.bytes / n)).s,
			(double)a.reads / n);
	else
		fprintf(out, "which files a batch opens was not seen");
	if (r->split.names > 0)
		fprintf(out, "; %.1f ms of a step are for names",
			1e3 * r->split.names);
	if (beyond > a.all_bytes / 100)
		fprintf(out, ", and %s by calls that were not seen",
			cmd_bytes((uint64_t)((double)beyond / n)).s);
	fputc('\n', out);
}

static void put_slowest(FILE *out, const struct stall_report *r)
{
	struct hpdsl_stall_rank rank;

	if (r->split.ranks < 2 ||
	    !hpdsl_stall_rank(r->stall, r->split.slowest, &rank))
		return;
	fprintf(out,
		"the slowest loader is that of rank %u on %s: half of the "
		"others read %.1f times as fast or faster\n",
		rank.rank, rank.node, r->split.slowness);
}

static void put_doubts(FILE *out, const struct stall_report *r)
{
	struct hpdsl_stall_cache cold = stall_cache(r->stall, HPDSL_STALL_COLD);

	if (strcmp(is_cold(&cold), "no") == 0)
		fprintf(out, "cold steps were not cold: a first epoch may "
			     "wait longer than this\n");
	if (!cold.asked)
		fprintf(out, "what cold steps read was not seen, and may have "
			     "been in memory: a first epoch may wait longer "
			     "than this\n");
	if (!r->split.enough)
		fprintf(out, "too few blocks for intervals\n");
	if (r->split.disagrees)
		fprintf(out, "phases disagree: a part is less than nothing, so "
			     "something else changed between them\n");
	if (r->progress.unsteady)
		fprintf(out, "steps were never alike before measuring began\n");
}

void stall_report_text(FILE *out, const struct stall_report *r)
{
	put_verdict(out, r);
	put_parts(out, r);
	put_others(out, &r->split);
	put_epoch(out, r);
	put_cache(out, r);
	put_asks(out, r);
	put_slowest(out, r);
	put_doubts(out, r);
}
