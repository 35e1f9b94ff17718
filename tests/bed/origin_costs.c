/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the origin's answers cost, and how often it was asked: bounds on
 * operations and bytes a second, faults, counters.
 */
#include "origin.h"

#include "budget.h"
#include "faults.h"

#include <math.h>

static const char *const count_names[COUNTS] = {
	"lookups", "getattrs", "opens",	    "opendirs",	     "readdirs",
	"reads",   "bytes",    "reads_now", "reads_at_once",
};

static struct costs costs;
static struct budget *budget;
static struct faults faults = { .lock = PTHREAD_MUTEX_INITIALIZER };
static _Atomic uint64_t counts[COUNTS];

bool costs_begin(const struct costs *c)
{
	costs = *c;
	faults.path = c->control;
	budget = budget_open(c->budget);
	return budget;
}

/* Of (0, 1), another one each time, the same ones in each run. */
static double draw(void)
{
	static _Atomic uint64_t state;
	const uint64_t step = 0x9E3779B97F4A7C15;
	uint64_t z = atomic_fetch_add(&state, step) + step;

	z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9;
	z = (z ^ z >> 27) * 0x94D049BB133111EB;
	return ((double)((z ^ z >> 31) >> 11) + 0.5) * 0x1p-53;
}

/* Log-normal: most are less than the mean, and few much more. */
static uint64_t op_takes(void)
{
	double variance = log1p(costs.op_cv * costs.op_cv), normal;

	if (costs.op_cv <= 0)
		return (uint64_t)costs.op_ns;
	/* Box and Muller's */
	normal = sqrt(-2 * log(draw())) * cos(2 * 3.14159265358979 * draw());
	return (uint64_t)(costs.op_ns *
			  exp(sqrt(variance) * normal - variance / 2));
}

void cost_pay(enum count what)
{
	uint64_t until = budget_take(&budget->ops, 1, costs.ops);

	counts[what]++;
	budget_wait(until + op_takes());
}

static void hang(const char *name)
{
	while (faults_hit(&faults, "hang", name, 0, 0, NULL) && !costs.ending())
		budget_wait(budget_now() + 20000000);
}

static void count_busy(void)
{
	uint64_t now = ++counts[BUSY], most = counts[BUSIEST];

	while (now > most &&
	       !atomic_compare_exchange_weak(&counts[BUSIEST], &most, now))
		;
}

static ssize_t read_with_faults(const char *name, int fd, char *buf,
				size_t size, uint64_t at)
{
	ssize_t got = pread(fd, buf, size, (off_t)at);
	uint64_t byte;

	if (faults_hit(&faults, "eio", name, at, size, NULL)) {
		errno = EIO;
		return -1;
	}
	if (got > 0 &&
	    faults_hit(&faults, "flip", name, at, (uint64_t)got, &byte))
		buf[byte - at] ^= 0x40;
	return got;
}

ssize_t cost_read(const char *name, int fd, char *buf, size_t size, uint64_t at)
{
	ssize_t got;
	int code;

	count_busy();
	hang(name);
	got = read_with_faults(name, fd, buf, size, at);
	code = errno;
	if (got > 0) {
		counts[BYTES] += (uint64_t)got;
		budget_wait(
			budget_take(&budget->bytes, (uint64_t)got, costs.rate));
	}
	counts[READS]++;
	counts[BUSY]--;
	errno = code;
	return got;
}

void costs_print(FILE *out)
{
	uint64_t operations = 0;

	for (int i = 0; i < OPERATIONS; i++)
		operations += counts[i];
	fprintf(out, "operations %" PRIu64 "\n", operations);
	for (int i = 0; i < COUNTS; i++)
		fprintf(out, "%s %" PRIu64 "\n", count_names[i], counts[i]);
}
