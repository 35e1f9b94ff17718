/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the programs that look paths up have in common, so that all of them do
 * the same: paths out of a file, each with a NUL behind it; a time; what is
 * stored for a path where the program may choose.
 */
#ifndef BENCH_KEYS_H
#define BENCH_KEYS_H

#include "hpdsl.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define die(...)                              \
	do {                                  \
		fprintf(stderr, __VA_ARGS__); \
		fputc('\n', stderr);          \
		exit(3);                      \
	} while (0)

struct keys {
	char *text; /* the paths one behind the other, in the file's order */
	struct hpdsl_path *v;
	size_t n;
	size_t longest;
};

/* A file as memory of its own. */
static inline char *read_whole(const char *name, size_t *ret)
{
	FILE *f = fopen(name, "rb");
	struct stat st;
	char *p;

	if (!f || fstat(fileno(f), &st))
		die("%s: cannot be read", name);
	p = malloc((size_t)st.st_size + 1);
	if (!p || fread(p, 1, (size_t)st.st_size, f) != (size_t)st.st_size)
		die("%s: cannot be read", name);
	fclose(f);
	p[st.st_size] = 0;
	*ret = (size_t)st.st_size;
	return p;
}

static inline void read_keys(struct keys *k, const char *name)
{
	size_t size, room = 0;

	*k = (struct keys){ .text = read_whole(name, &size) };
	for (size_t i = 0; i < size; i++)
		room += !k->text[i];
	k->v = malloc((room + 1) * sizeof *k->v);
	if (!k->v || !room)
		die("%s: no paths", name);
	for (char *p = k->text; k->n < room; p += k->v[k->n++].len + 1) {
		k->v[k->n] = (struct hpdsl_path){ p, strlen(p) };
		if (k->v[k->n].len > k->longest)
			k->longest = k->v[k->n].len;
	}
}

static inline void free_keys(struct keys *k)
{
	free(k->v);
	free(k->text);
}

/*
 * Seconds of processor time of this thread: what others do on the machine
 * counts little.
 */
static inline double thread_time(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static inline double wall_time(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* What stands for the attributes of path number i. */
struct value {
	uint64_t size, mtime;
};

static inline struct value make_value(size_t i)
{
	return (struct value){ i, ~(uint64_t)i };
}

/*
 * The whole of a program "build FILE LIST" and "find FILE WARM KEYS": find
 * gives the sum of value.size of all keys, or dies.
 */
struct finder {
	const char *name;
	void (*build)(const char *file, const struct keys *list);
	void *(*open)(const char *file);
	uint64_t (*find)(void *handle, const struct keys *keys);
};

static inline int finder_main(const struct finder *f, int argc, char **argv)
{
	struct keys keys, warm;
	uint64_t sum;
	void *handle;
	double t;

	if (argc == 4 && !strcmp(argv[1], "build")) {
		read_keys(&keys, argv[3]);
		t = wall_time();
		f->build(argv[2], &keys);
		printf("%.3f seconds to build\n", wall_time() - t);
	} else if (argc == 5 && !strcmp(argv[1], "find")) {
		handle = f->open(argv[2]);
		read_keys(&warm, argv[3]);
		sum = f->find(handle, &warm);
		free_keys(&warm);
		read_keys(&keys, argv[4]);
		t = thread_time();
		sum += f->find(handle, &keys);
		t = thread_time() - t;
		fprintf(stderr, "%s: %zu paths, sum %llu\n", f->name, keys.n,
			(unsigned long long)sum);
		printf("%.0f found a second\n", (double)keys.n / t);
	} else {
		fprintf(stderr, "usage: %s build FILE LIST\n", f->name);
		fprintf(stderr, "       %s find FILE WARM KEYS\n", f->name);
		return 2;
	}
	free_keys(&keys);
	return 0;
}

/* A file of size bytes to fill, and one to look into. */
static inline void *map_new(const char *file, size_t size)
{
	FILE *f = fopen(file, "w+b");
	void *p;

	if (!f || ftruncate(fileno(f), (off_t)size))
		die("%s: cannot be made", file);
	p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fileno(f), 0);
	if (p == MAP_FAILED)
		die("%s: cannot be mapped", file);
	fclose(f);
	return p;
}

static inline void *map_old(const char *file, size_t *ret)
{
	FILE *f = fopen(file, "rb");
	struct stat st;
	void *p;

	if (!f || fstat(fileno(f), &st))
		die("%s: cannot be read", file);
	p = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_SHARED | MAP_POPULATE,
		 fileno(f), 0);
	if (p == MAP_FAILED)
		die("%s: cannot be mapped", file);
	fclose(f);
	*ret = (size_t)st.st_size;
	return p;
}

#endif
