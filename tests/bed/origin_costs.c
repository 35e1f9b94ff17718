/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the origin's answers cost, and how often it was asked: bounds on
 * operations and bytes a second, faults, counters.
 */
#include "origin.h"

#include "budget.h"
#include "faults.h"

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

void cost_pay(enum count what)
{
	uint64_t until = budget_take(&budget->ops, 1, costs.ops);

	counts[what]++;
	budget_wait(until + (uint64_t)costs.op_ns);
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
	for (int i = 0; i < COUNTS; i++)
		fprintf(out, "%s %" PRIu64 "\n", count_names[i], counts[i]);
}
