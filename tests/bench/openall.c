/* SPDX-License-Identifier: Apache-2.0 */
/*
 * openall WINDOWS DIR... < NAMES: opens, reads and closes all of the names,
 * each with a NUL behind it, in one directory after the other, that many times.
 * Prints the least microseconds a file for each directory.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { BUF = 1 << 20, NAMES = 1 << 28 };

static char buf[BUF];

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static void read_one(int dir, const char *name)
{
	int fd = openat(dir, name, O_RDONLY);
	ssize_t n = 1;

	while (fd >= 0 && n > 0)
		n = read(fd, buf, BUF);
	if (fd < 0 || n < 0 || close(fd) < 0) {
		fprintf(stderr, "openall: %s: %s\n", name, strerror(errno));
		exit(1);
	}
}

/* Microseconds a file. */
static double window(int dir, const char *names, size_t size)
{
	double begin = now();
	size_t n = 0;

	for (const char *p = names; p < names + size; p += strlen(p) + 1, n++)
		read_one(dir, p);
	return (now() - begin) / (double)(n ? n : 1);
}

int main(int argc, char **argv)
{
	char *names = calloc(1, NAMES);
	int windows = argc > 1 ? atoi(argv[1]) : 0, dir[8];
	double least[8] = { 0 };
	size_t size;

	if (windows < 1 || argc < 3 || argc > 10 || !names)
		return 2;
	size = fread(names, 1, NAMES - 1, stdin);
	for (int i = 2; i < argc; i++) {
		dir[i - 2] = open(argv[i], O_RDONLY | O_DIRECTORY);
		if (dir[i - 2] < 0) {
			perror(argv[i]);
			return 1;
		}
	}
	for (int w = 0; w < windows; w++) {
		for (int i = 0; i < argc - 2; i++) {
			double us = window(dir[i], names, size);

			if (!w || us < least[i])
				least[i] = us;
		}
	}
	for (int i = 0; i < argc - 2; i++)
		printf("%.3f %s\n", least[i], argv[i + 2]);
	free(names);
	return 0;
}
