/* SPDX-License-Identifier: Apache-2.0 */
/* Loaders of forged datasets. */
#include "cell.h"

#include <setjmp.h>
#include <stdarg.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

/* ---- Sizes ------------------------------------------------------------ */

uint64_t size_even(uint64_t i)
{
	(void)i;
	return 40000;
}

uint64_t size_small(uint64_t i)
{
	return 300 + i * 7919 % 500;
}

/* A hundredth is of 10 MiB, the others have 100 KB. */
uint64_t size_ragged(uint64_t i)
{
	return i * 7919 % 100 == 3 ? 10 * MIB : 100000 + i * 31 % 999;
}

uint64_t size_lumpy(uint64_t i)
{
	return i * 7919 % 10 == 3 ? 5 * MIB : 50000;
}

/* Median 20 KB, mean 150 KB. */
uint64_t size_lognormal(uint64_t i)
{
	double a = (double)(i * 7919 % 997 + 1) / 998;
	double b = (double)(i * 6007 % 991 + 1) / 992;
	double normal = sqrt(-2 * log(a)) * cos(6.283185307 * b);

	return (uint64_t)(20000 * exp(2 * normal));
}

/* ---- One reader ------------------------------------------------------- */

static void told(void *arg, const char *text)
{
	struct cell *c = arg;

	if (!strncmp(text, "reads of ", 9)) {
		c->small++;
		snprintf(c->text, sizeof c->text, "%s", text);
	} else {
		assert_non_null(strstr(text, "do not fit into the memory"));
		c->over++;
	}
}

struct hpdsl_loader *cell_begin(const struct hpdsl_dataset *ds, struct cell *c)
{
	struct hpdsl_error err = { 0 };
	struct hpdsl_loader *l = NULL;

	c->opt.epochs = 1;
	c->opt.unchecked = true;
	c->opt.watch.warn = told;
	c->opt.watch.arg = c;
	c->small = c->over = 0;
	if (hpdsl_loader_new(ds, &c->opt, &l, &err) < 0)
		fail_msg("%s", err.msg);
	return l;
}

/* All of an epoch, with so many batches kept. */
void cell_read(const struct hpdsl_dataset *ds, struct cell *c)
{
	struct hpdsl_loader *l = cell_begin(ds, c);
	const struct hpdsl_batch *held[8];
	struct hpdsl_error err = { 0 };
	uint32_t n = 0;
	int r;

	while ((r = hpdsl_loader_next(l, &held[n], &err)) == 1) {
		forged_check_batch(ds, held[n]);
		if (n++ < c->hold)
			continue;
		hpdsl_batch_release(held[0]);
		memmove(held, held + 1, --n * sizeof(*held));
	}
	if (r < 0)
		fail_msg("%s", err.msg);
	while (n)
		hpdsl_batch_release(held[--n]);
	hpdsl_loader_stats(l, &c->stats);
	hpdsl_loader_free(l);
	assert_int_equal(c->stats.failed_steps, 0);
	/* What is beyond the memory is told. */
	assert_true(c->stats.memory_peak <= c->stats.memory || c->over);
	assert_true(c->over <= 1 && c->small <= 1);
}
