/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random samples through the library: bench_sample DATASET COUNT prints the
 * microseconds and the bytes read from chunks that one takes on the average.
 */
#include "hpdsl.h"
#include "sys/io.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static uint64_t reads, bytes_read;

static ssize_t counted(const struct hp_io *io, int fd, void *buf, size_t n,
		       uint64_t off)
{
	ssize_t r = hp_io_system.pread(io, fd, buf, n, off);

	reads++;
	if (r > 0)
		bytes_read += (uint64_t)r;
	return r;
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static uint64_t next(uint64_t *state)
{
	uint64_t z = *state += 0x9E3779B97F4A7C15;

	z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9;
	z = (z ^ z >> 27) * 0x94D049BB133111EB;
	return z ^ z >> 31;
}

static int fail(const struct hpdsl_error *err)
{
	fprintf(stderr, "bench_sample: %s\n", err->msg);
	return 1;
}

int main(int argc, char **argv)
{
	struct hp_io io = hp_io_system;
	struct hpdsl_dataset *ds;
	struct hpdsl_counts count;
	struct hpdsl_error err;
	uint64_t n, state = 1, got = 0;
	size_t cap = 1 << 20, size = 0;
	char *buf = malloc(cap);
	double t;

	if (argc != 3 || !buf || !(n = strtoull(argv[2], NULL, 10))) {
		fprintf(stderr, "usage: bench_sample DATASET COUNT\n");
		return 2;
	}
	io.pread = counted;
	if (hpdsl_open(argv[1], &io, &ds, &err) < 0)
		return fail(&err);
	hpdsl_count(ds, &count);
	t = now();
	for (uint64_t i = 0; i < n; i++) {
		struct hpdsl_sample s;
		int r = hpdsl_sample_get(ds, next(&state) % count.samples, &s,
					 &err);

		if (r == 0)
			r = hpdsl_sample_read(ds, &s, buf, cap, &size, &err);
		if (r == -ENOSPC) {
			cap = size;
			free(buf);
			buf = malloc(cap);
			if (!buf)
				return 1;
			r = hpdsl_sample_read(ds, &s, buf, cap, &size, &err);
		}
		if (r < 0)
			return fail(&err);
		got += size;
	}
	t = now() - t;
	printf("%.2f microseconds a sample\n", t * 1e6 / (double)n);
	printf("%.1f reads a sample\n", (double)reads / (double)n);
	printf("%.0f bytes read a sample\n", (double)bytes_read / (double)n);
	printf("%.0f bytes of content a sample\n", (double)got / (double)n);
	hpdsl_close(ds);
	free(buf);
	return 0;
}
