/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench_lookup [MEMBERS]: makes an index of so many members in memory
 * (1,000,000 unless given) and prints how many it finds a second, by number and
 * by path, in random order, on one core.
 */
#include "base/mem.h"
#include "format/names.h"
#include "index/index.h"
#include "index/write.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum { CHUNK_MEMBERS = 1000, PATH_ROOM = 48, CLASSES = 1000 };

struct corpus {
	uint64_t members, at;
	char path[PATH_ROOM];
};

static int make_path(uint64_t i, char out[PATH_ROOM])
{
	/* Packed order is shuffled, and so is this: i times an odd number. */
	uint64_t k = i * UINT64_C(2654435761) & 0xffffffff;

	return snprintf(out, PATH_ROOM, "class%05" PRIu64 "/%08" PRIu64 ".JPEG",
			k % CLASSES, i);
}

static void begin(void *arg)
{
	struct corpus *c = arg;

	c->at = 0;
}

static int next(void *arg, struct hp_index_member *ret, struct hpdsl_error *err)
{
	struct corpus *c = arg;
	uint64_t i = c->at++;

	(void)err;
	if (i == c->members)
		return 0;
	*ret = (struct hp_index_member){
		.path = c->path,
		.path_len = (size_t)make_path(i, c->path),
		.offset = i % CHUNK_MEMBERS * 1536 + 512,
		.size = 1000,
		.checksum = i,
		.mode = 0644,
		.sample = i,
		.label = HPDSL_NO_LABEL,
	};
	return 1;
}

struct memory {
	char *p;
	size_t n, room;
};

static int add(void *arg, const void *buf, size_t n, struct hpdsl_error *err)
{
	struct memory *m = arg;

	(void)err;
	if (m->n + n > m->room) {
		m->room = (m->n + n) * 2;
		m->p = realloc(m->p, m->room);
		if (!m->p)
			abort();
	}
	memcpy(m->p + m->n, buf, n);
	m->n += n;
	return 0;
}

static struct hp_chunk_made *make_chunks(uint64_t members, uint32_t *ret_n)
{
	uint64_t n = (members + CHUNK_MEMBERS - 1) / CHUNK_MEMBERS;
	struct hp_chunk_made *v = hp_array(n, sizeof *v);

	for (uint64_t i = 0; v && i < n; i++)
		v[i] = (struct hp_chunk_made){
			.name = "chunk-000000.tar",
			.first_sample = i * CHUNK_MEMBERS,
			.first_member = i * CHUNK_MEMBERS,
			.bytes = CHUNK_MEMBERS * 1536 + 1024,
		};
	*ret_n = (uint32_t)n;
	return v;
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* xorshift64*: which member to look for next. */
static uint64_t random_below(uint64_t *state, uint64_t n)
{
	*state ^= *state >> 12;
	*state ^= *state << 25;
	*state ^= *state >> 27;
	return (uint64_t)((unsigned __int128)(*state *
					      UINT64_C(0x2545F4914F6CDD1D)) *
				  n >>
			  64);
}

static double by_number(const struct hp_index *ix, uint64_t n, uint64_t times)
{
	uint64_t state = 88172645463325252u, sum = 0;
	double start = now();
	struct hpdsl_member m;

	for (uint64_t i = 0; i < times; i++) {
		if (hp_index_member(ix, random_below(&state, n), &m, NULL))
			abort();
		sum += m.checksum + m.path_len;
	}
	if (!sum)
		abort();
	return (double)times / (now() - start);
}

static double by_path(const struct hp_index *ix, uint64_t n, uint64_t times)
{
	char(*paths)[PATH_ROOM] = hp_array(times, sizeof *paths);
	uint64_t state = 88172645463325252u, sum = 0, number;
	struct hpdsl_member m;
	double start;

	if (!paths)
		abort();
	for (uint64_t i = 0; i < times; i++)
		make_path(random_below(&state, n), paths[i]);
	start = now();
	for (uint64_t i = 0; i < times; i++) {
		/* What hpdsl_member_find does. */
		if (hp_index_find(ix, paths[i], strlen(paths[i]), &number,
				  NULL) ||
		    hp_index_member(ix, number, &m, NULL))
			abort();
		sum += m.checksum + m.path_len;
	}
	start = now() - start;
	free(paths);
	if (!sum)
		abort();
	return (double)times / start;
}

int main(int argc, char **argv)
{
	uint64_t n = argc > 1 ? strtoull(argv[1], NULL, 10) : 1000000;
	struct corpus c = { .members = n };
	struct memory m = { 0 };
	struct hp_sink sink = { add, &m };
	struct hp_index_source src = { .samples = n,
				       .members = n,
				       .bytes = n * 1000,
				       .arg = &c,
				       .begin = begin,
				       .next = next };
	struct hpdsl_error err;
	struct hp_index *ix;
	double start = now();

	if (n == 0)
		return 2;
	src.chunks = make_chunks(n, &src.n_chunks);
	if (!src.chunks || hp_index_write(&src, &sink, &err) < 0 ||
	    hp_index_open(m.p, m.n, HP_INDEX_NAME, &ix, &err) < 0)
		abort();
	fprintf(stderr, "written in %.3f s, %.1f bytes a member\n",
		now() - start, (double)m.n / (double)n);
	start = now();
	if (hp_index_check(ix, NULL, NULL, &err) < 0)
		fprintf(stderr, "%s\n", err.msg);
	fprintf(stderr, "checked in %.3f s\n", now() - start);
	printf("%.0f lookups a second by number\n", by_number(ix, n, 4000000));
	printf("%.0f lookups a second by path\n", by_path(ix, n, 4000000));
	hp_index_free(ix);
	free((void *)src.chunks);
	free(m.p);
	return 0;
}
