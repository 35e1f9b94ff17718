/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lists every folder of a tree and asks for the attributes of every name, with
 * that many threads, and keeps nothing: what no snapshot of it can do without.
 * walkall THREADS DIR prints the number of names.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define BUFFER 65536
#define THREADS_MAX 256

struct folder {
	struct folder *next;
	char path[];
};

static struct {
	pthread_mutex_t lock;
	pthread_cond_t more;
	struct folder *waiting;
	unsigned open; /* folders that are waiting or being listed */
	uint64_t names;
} work = { PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, NULL, 0, 0 };

static void die(const char *what)
{
	fprintf(stderr, "walkall: %s: %s\n", what, strerror(errno));
	exit(3);
}

static struct folder *new_folder(const char *above, const char *name)
{
	size_t a = strlen(above), n = strlen(name);
	struct folder *f = malloc(sizeof *f + a + n + 2);

	if (!f)
		die(name);
	memcpy(f->path, above, a);
	if (a)
		f->path[a++] = '/';
	memcpy(f->path + a, name, n + 1);
	return f;
}

static void push(struct folder *f)
{
	pthread_mutex_lock(&work.lock);
	f->next = work.waiting;
	work.waiting = f;
	work.open++;
	pthread_cond_signal(&work.more);
	pthread_mutex_unlock(&work.lock);
}

/* The next folder, once one is done with the last; NULL: all is done. */
static struct folder *pull(unsigned done)
{
	struct folder *f;

	pthread_mutex_lock(&work.lock);
	work.open -= done;
	if (!work.open)
		pthread_cond_broadcast(&work.more);
	while (!work.waiting && work.open)
		pthread_cond_wait(&work.more, &work.lock);
	f = work.waiting;
	if (f)
		work.waiting = f->next;
	pthread_mutex_unlock(&work.lock);
	return f;
}

static int is_dots(const char *name)
{
	return name[0] == '.' && (!name[1] || (name[1] == '.' && !name[2]));
}

static uint64_t ask(int fd, const char *path, const char *buf, size_t n)
{
	uint64_t names = 0;

	for (size_t at = 0; at < n;) {
		const struct dirent64 *d = (const void *)(buf + at);
		struct stat st;

		at += d->d_reclen;
		if (is_dots(d->d_name))
			continue;
		if (fstatat(fd, d->d_name, &st, AT_SYMLINK_NOFOLLOW))
			die(d->d_name);
		if (S_ISDIR(st.st_mode))
			push(new_folder(path, d->d_name));
		names++;
	}
	return names;
}

static uint64_t list(const struct folder *f, char *buf)
{
	int fd = open(f->path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	uint64_t names = 0;
	long n = -1;

	while (fd >= 0 && (n = syscall(SYS_getdents64, fd, buf, BUFFER)) > 0)
		names += ask(fd, f->path, buf, (size_t)n);
	if (n < 0)
		die(f->path);
	close(fd);
	return names;
}

static void *run(void *arg)
{
	char *buf = aligned_alloc(4096, BUFFER);
	uint64_t names = 0;
	unsigned done = 0;
	struct folder *f;

	while (buf && (f = pull(done))) {
		names += list(f, buf);
		free(f);
		done = 1;
	}
	free(buf);
	pthread_mutex_lock(&work.lock);
	work.names += names;
	pthread_mutex_unlock(&work.lock);
	return arg;
}

int main(int argc, char **argv)
{
	int n = argc == 3 ? atoi(argv[1]) : 0;
	pthread_t threads[THREADS_MAX];

	if (n < 1 || n > THREADS_MAX || chdir(argv[2]))
		return 2;
	push(new_folder("", "."));
	for (int i = 0; i < n; i++)
		if (pthread_create(&threads[i], NULL, run, NULL))
			return 3;
	for (int i = 0; i < n; i++)
		pthread_join(threads[i], NULL);
	printf("%llu\n", (unsigned long long)work.names);
	return 0;
}
