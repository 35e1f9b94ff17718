/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads every file whose NUL-terminated path comes on stdin, with that many
 * threads: what no packer can do without.  readall THREADS.  Prints bytes.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PIECE (256 << 10)
#define THREADS_MAX 256

static char *list;
static char **paths;
static size_t n_paths;
static atomic_size_t next_path;
static atomic_ullong bytes;
static atomic_int failed;

static void read_one(const char *path, char *buf)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = -1;

	while (fd >= 0 && (n = read(fd, buf, PIECE)) > 0)
		atomic_fetch_add(&bytes, (unsigned long long)n);
	if (n < 0) {
		fprintf(stderr, "readall: %s: %s\n", path, strerror(errno));
		atomic_store(&failed, 1);
	}
	if (fd >= 0)
		close(fd);
}

static void *run(void *arg)
{
	char *buf = malloc(PIECE);
	size_t i;

	while (buf && (i = atomic_fetch_add(&next_path, 1)) < n_paths)
		read_one(paths[i], buf);
	free(buf);
	return arg;
}

static void read_list(void)
{
	size_t cap = 1 << 20, len = 0, n;

	list = malloc(cap);
	while (list && (n = fread(list + len, 1, cap - len, stdin)) > 0) {
		len += n;
		if (len == cap)
			list = realloc(list, cap *= 2);
	}
	paths = malloc((len + 1) * sizeof *paths);
	if (!list || !paths)
		exit(3);
	for (size_t at = 0; at < len; at += strlen(list + at) + 1)
		paths[n_paths++] = list + at;
}

int main(int argc, char **argv)
{
	int n = argc == 2 ? atoi(argv[1]) : 0;
	pthread_t threads[THREADS_MAX];

	if (n < 1 || n > THREADS_MAX)
		return 2;
	read_list();
	for (int i = 0; i < n; i++)
		if (pthread_create(&threads[i], NULL, run, NULL))
			return 3;
	for (int i = 0; i < n; i++)
		pthread_join(threads[i], NULL);
	printf("%llu\n", atomic_load(&bytes));
	free(list);
	free(paths);
	return atomic_load(&failed);
}
