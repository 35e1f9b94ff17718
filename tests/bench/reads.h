/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random reads, so many bytes each, so many under way, for so long; and what is
 * told of them: how many, in which time, at which price in this process.
 */
#ifndef BENCH_READS_H
#define BENCH_READS_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

#define READS_MOST (1 << 20)
#define READS_WAYS 64

struct reads {
	uint64_t size, files, bytes; /* of a read; of each file */
	unsigned under_way;
	double seconds;
	uint64_t random, begin, n;
	uint32_t *took; /* in ns, of the first READS_MOST */
};

static inline uint64_t reads_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static inline void *reads_memory(uint64_t n)
{
	void *p = calloc(n ? n : 1, 1);

	if (p)
		return p;
	fprintf(stderr, "bench: out of memory\n");
	exit(3);
}

/* argv: SIZE UNDER_WAY SECONDS */
static inline void reads_begin(struct reads *r, char **argv)
{
	r->size = strtoull(argv[0], NULL, 10);
	r->under_way = (unsigned)strtoul(argv[1], NULL, 10);
	r->seconds = strtod(argv[2], NULL);
	r->random = UINT64_C(88172645463325252);
	r->n = 0;
	r->took = reads_memory(READS_MOST * sizeof *r->took);
	if (!r->size || !r->under_way || r->under_way > READS_WAYS) {
		fprintf(stderr, "bench: bad numbers\n");
		exit(2);
	}
	r->begin = reads_now();
}

static inline uint64_t reads_draw(struct reads *r, uint64_t below)
{
	r->random ^= r->random << 13;
	r->random ^= r->random >> 7;
	r->random ^= r->random << 17;
	return r->random % (below ? below : 1);
}

static inline uint64_t reads_offset(struct reads *r, uint64_t bytes)
{
	return bytes > r->size ? reads_draw(r, bytes - r->size) : 0;
}

static inline int reads_go_on(const struct reads *r)
{
	return (double)(reads_now() - r->begin) < r->seconds * 1e9;
}

static inline void reads_one(struct reads *r, uint64_t began)
{
	if (r->n < READS_MOST)
		r->took[r->n] = (uint32_t)(reads_now() - began);
	r->n++;
}

static inline int reads_order(const void *a, const void *b)
{
	const uint32_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static inline double reads_seconds(struct timeval t)
{
	return (double)t.tv_sec + (double)t.tv_usec / 1e6;
}

static inline void reads_end(struct reads *r)
{
	double s = (double)(reads_now() - r->begin) / 1e9;
	uint64_t n = r->n < READS_MOST ? r->n : READS_MOST;
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	qsort(r->took, n, sizeof *r->took, reads_order);
	printf("{\"reads\": %llu, \"bytes\": %llu, \"seconds\": %.6f, "
	       "\"cpu\": %.6f, \"p50_us\": %.2f, \"p99_us\": %.2f}\n",
	       (unsigned long long)r->n, (unsigned long long)(r->n * r->size),
	       s, reads_seconds(u.ru_utime) + reads_seconds(u.ru_stime),
	       n ? r->took[n / 2] / 1e3 : 0,
	       n ? r->took[n * 99 / 100] / 1e3 : 0);
	free(r->took);
}

#endif
