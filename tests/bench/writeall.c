/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes that many bytes to a new file and syncs it: what no packer can do
 * without.  writeall BYTES PATH buffered|direct THREADS.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PIECE (4 << 20)
#define THREADS_MAX 64

static int fd;
static uint64_t bytes;
static atomic_ullong next_at;
static atomic_int failed;

/* Incompressible, so that no storage below can cheat with zeros. */
static void fill(uint64_t *buf)
{
	uint64_t x = 88172645463325252;

	for (size_t i = 0; i < PIECE / sizeof *buf; i++) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		buf[i] = x;
	}
}

static void *run(void *arg)
{
	void *buf = NULL;
	uint64_t at;

	if (posix_memalign(&buf, 4096, PIECE))
		abort();
	fill(buf);
	while ((at = atomic_fetch_add(&next_at, PIECE)) < bytes)
		if (pwrite(fd, buf, PIECE, (off_t)at) != PIECE)
			atomic_store(&failed, 1);
	free(buf);
	return arg;
}

int main(int argc, char **argv)
{
	int n = argc == 5 ? atoi(argv[4]) : 0;
	pthread_t threads[THREADS_MAX];
	int flags = O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC;

	if (n < 1 || n > THREADS_MAX)
		return 2;
	if (!strcmp(argv[3], "direct"))
		flags |= O_DIRECT;
	bytes = strtoull(argv[1], NULL, 10);
	fd = open(argv[2], flags, 0666);
	if (fd < 0) {
		perror(argv[2]);
		return 3;
	}
	/* as the packer does; not where the file system cannot */
	(void)!posix_fallocate(fd, 0, (off_t)bytes);
	for (int i = 0; i < n; i++)
		if (pthread_create(&threads[i], NULL, run, NULL))
			return 3;
	for (int i = 0; i < n; i++)
		pthread_join(threads[i], NULL);
	if (ftruncate(fd, (off_t)bytes) || fsync(fd) || close(fd))
		return 3;
	return atomic_load(&failed);
}
