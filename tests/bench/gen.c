/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes a tree of incompressible files in class folders, the same on every
 * run: gen DIR COUNT CLASSES EXT MEAN [SIGMA], with log-normal sizes of that
 * mean between 2000 and 2000000 bytes, or gen DIR COUNT CLASSES EXT MIN-MAX
 * with uniform ones.
 */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LARGEST 2000000
#define SMALLEST 2000

static uint64_t state;

static uint64_t next(void)
{
	uint64_t z = state += 0x9E3779B97F4A7C15;

	z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9;
	z = (z ^ z >> 27) * 0x94D049BB133111EB;
	return z ^ z >> 31;
}

/* Uniform in (0, 1). */
static double uniform(void)
{
	return ((double)(next() >> 11) + 0.5) * 0x1p-53;
}

static double normal(void)
{
	return sqrt(-2 * log(uniform())) *
	       cos(2 * 3.14159265358979 * uniform());
}

struct sizes {
	double mean, sigma; /* log-normal, if mean > 0 */
	uint64_t min, max;
};

static size_t draw(const struct sizes *s)
{
	double size;

	if (s->mean <= 0)
		return (size_t)(s->min + next() % (s->max - s->min + 1));
	size = exp(log(s->mean) - s->sigma * s->sigma / 2 +
		   s->sigma * normal());
	if (size < SMALLEST)
		return SMALLEST;
	return size > LARGEST ? LARGEST : (size_t)size;
}

static void die(const char *what)
{
	fprintf(stderr, "gen: %s: %s\n", what, strerror(errno));
	exit(3);
}

static void make_dir(const char *path)
{
	if (mkdir(path, 0777) && errno != EEXIST)
		die(path);
}

static void write_file(const char *path, const void *buf, size_t n)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);

	if (fd < 0 || write(fd, buf, n) != (ssize_t)n || close(fd))
		die(path);
}

static int parse_sizes(struct sizes *s, const char *text, const char *sigma)
{
	unsigned long long min, max;

	if (sscanf(text, "%llu-%llu", &min, &max) == 2 && min <= max &&
	    max <= LARGEST) {
		*s = (struct sizes){ .min = min, .max = max };
		return 0;
	}
	*s = (struct sizes){ .mean = atof(text),
			     .sigma = sigma ? atof(sigma) : 0.6 };
	return s->mean > 0 ? 0 : -1;
}

int main(int argc, char **argv)
{
	uint64_t *buf = malloc(LARGEST + 8), total = 0;
	unsigned long count, classes;
	struct sizes sizes;
	char path[4096];

	if (!buf || argc < 6 || parse_sizes(&sizes, argv[5], argv[6]))
		return 2;
	count = strtoul(argv[2], NULL, 10);
	classes = strtoul(argv[3], NULL, 10);
	if (!count || !classes)
		return 2;
	make_dir(argv[1]);
	for (unsigned long c = 0; c < classes; c++) {
		snprintf(path, sizeof path, "%s/class%04lu", argv[1], c);
		make_dir(path);
	}
	for (unsigned long i = 0; i < count; i++) {
		size_t n;

		state = i * 0xD1342543DE82EF95 + 1;
		n = draw(&sizes);
		for (size_t w = 0; w <= n / 8; w++)
			buf[w] = next();
		snprintf(path, sizeof path, "%s/class%04lu/%07lu.%s", argv[1],
			 i % classes, i, argv[4]);
		write_file(path, buf, n);
		total += n;
	}
	free(buf);
	printf("%lu files, %llu bytes\n", count, (unsigned long long)total);
	return 0;
}
