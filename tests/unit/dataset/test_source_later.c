/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A source in the table that answers later, by another thread and in another
 * order, as one over a network does: who reads the dataset gets the same.
 */
#include "dataset/dataset.h"
#include "fetching.h"
#include "staged.h"

#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static const struct hp_io *io(void)
{
	return hp_io_or_system(NULL);
}

struct asked {
	struct asked *next;
	struct hp_source_stretch *s;
	uint32_t chunk;
	hp_source_done *done;
	void *arg;
};

/* The origin over a wire: it has no descriptor that anybody may use. */
struct wire {
	struct staged *f;
	struct hp_source_ops ops;
	struct hp_sources table;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t wake;
	/* Under the lock. */
	struct asked *last; /* what came last goes first */
	bool ending;
	uint32_t bad; /* a chunk that cannot be had */
	uint64_t bytes;
};

static ssize_t answer(const struct wire *w, const struct asked *a)
{
	char name[PACKED_PATH];
	struct hpdsl_chunk row;
	ssize_t got;
	int fd;

	if (a->chunk == w->bad)
		return -ECONNRESET;
	staged_chunk(w->f, a->chunk, &row);
	snprintf(name, sizeof name, "%s/%s", w->f->p.out, row.name);
	fd = open(name, O_RDONLY);
	assert_true(fd >= 0);
	got = hp_io_pread_full(io(), fd, a->s->buf, a->s->n, a->s->offset);
	close(fd);
	return got;
}

static void *serve(void *arg)
{
	struct wire *w = arg;

	pthread_mutex_lock(&w->lock);
	while (w->last || !w->ending) {
		struct asked *a = w->last;

		if (!a) {
			pthread_cond_wait(&w->wake, &w->lock);
			continue;
		}
		w->last = a->next;
		pthread_mutex_unlock(&w->lock);
		a->s->got = answer(w, a);
		pthread_mutex_lock(&w->lock);
		w->bytes += a->s->got > 0 ? (uint64_t)a->s->got : 0;
		a->done(a->arg, a->s);
		free(a);
	}
	pthread_mutex_unlock(&w->lock);
	return NULL;
}

static void wire_submit(const struct hp_source *s, struct hp_source_stretch *v,
			size_t n, uint64_t deadline, hp_source_done *done,
			void *arg)
{
	struct wire *w = s->arg;

	assert_int_equal(s->fd.fd, -1);
	(void)deadline;
	pthread_mutex_lock(&w->lock);
	for (size_t i = 0; i < n; i++) {
		struct asked *a = malloc(sizeof *a);

		assert_non_null(a);
		*a = (struct asked){ w->last, &v[i], s->chunk, done, arg };
		w->last = a;
	}
	pthread_cond_signal(&w->wake);
	pthread_mutex_unlock(&w->lock);
}

static int64_t wire_cached(const struct hp_source *s, uint64_t offset,
			   uint64_t n)
{
	(void)s, (void)offset, (void)n;
	return -EOPNOTSUPP;
}

static void wire_text(const char *path, const char *name, char *buf,
		      size_t room)
{
	const char *base = strrchr(name, '/');

	(void)path;
	snprintf(buf, room, "wire:%.600s", base ? base + 1 : name);
}

static void wire_begin(struct wire *w, struct staged *f)
{
	*w = (struct wire){ .f = f, .table = hp_sources_files, .bad = 999 };
	w->ops = (struct hp_source_ops){
		.submit = wire_submit,
		.cached = wire_cached,
		.blame = hp_sources_files.of[HP_AT_ORIGIN]->blame,
		.text = wire_text,
	};
	w->table.of[HP_AT_ORIGIN] = &w->ops;
	w->table.arg[HP_AT_ORIGIN] = w;
	pthread_mutex_init(&w->lock, NULL);
	pthread_cond_init(&w->wake, NULL);
	assert_int_equal(pthread_create(&w->thread, NULL, serve, w), 0);
}

static void wire_end(struct wire *w)
{
	pthread_mutex_lock(&w->lock);
	w->ending = true;
	pthread_cond_signal(&w->wake);
	pthread_mutex_unlock(&w->lock);
	pthread_join(w->thread, NULL);
	pthread_cond_destroy(&w->wake);
	pthread_mutex_destroy(&w->lock);
}

/* Chunks that have odd numbers are not here. */
static void stage_half(struct staged *f)
{
	staged_put_all(f);
	for (uint32_t c = 1; c < STAGED_CHUNKS; c += 2) {
		staged_drop(f, c);
		hp_state_set(f->state, c, HP_CHUNK_ABSENT);
	}
}

static struct hpdsl_dataset *open_wired(const struct staged *f,
					const struct wire *w)
{
	struct hpdsl_dataset *ds = staged_open(f->dir, NULL);

	ds->sources = &w->table;
	return ds;
}

/* All members, one by one, as much as there is of them. */
static void read_alone(const struct staged *f, const struct hpdsl_dataset *ds)
{
	for (uint64_t i = 0; i < f->n.members; i++) {
		struct hpdsl_error err = { 0 };
		struct hpdsl_member m;
		char *a, *b;

		assert_int_equal(hpdsl_member_get(ds, i, &m, NULL), 0);
		a = malloc(m.size + 1);
		b = malloc(m.size + 1);
		assert_true(a && b);
		if (hpdsl_member_read(ds, &m, 0, a, m.size, &err) < 0)
			fail_msg("%s", err.msg);
		assert_int_equal(
			hpdsl_member_read(f->origin, &m, 0, b, m.size, NULL),
			0);
		assert_memory_equal(a, b, m.size);
		free(a);
		free(b);
	}
}

static void test_wire(void **state)
{
	static const enum hpdsl_cache cache[] = { HPDSL_CACHE_AUTO,
						  HPDSL_CACHE_KEEP };

	(void)state;
	for (int i = 0; i < 4; i++) {
		struct hpdsl_dataset *ds;
		struct hpdsl_sources s;
		struct fetching t;
		struct staged f;
		struct wire w;

		staged_begin(&f, i / 2 ? 3 : 0);
		stage_half(&f);
		wire_begin(&w, &f);
		ds = open_wired(&f, &w);
		t = (struct fetching){ .ds = ds,
				       .good = f.origin,
				       .slot = 64 << 10,
				       .threads = 3 };
		t.opt.cache = cache[i % 2];
		assert_int_equal(fetching_run(&t), 0);
		if (t.bad)
			fail_msg("%s", t.why.msg);
		fetching_end(&t);
		read_alone(&f, ds);
		s = staged_sources(ds);
		assert_int_equal(s.absent_chunks, STAGED_CHUNKS / 2);
		assert_true(s.local_bytes > 0 && s.origin_bytes > 0);
		hpdsl_close(ds);
		wire_end(&w);
		assert_int_equal(s.origin_bytes, w.bytes);
		staged_end(&f);
	}
}

static void test_wire_fails(void **state)
{
	struct hpdsl_dataset *ds;
	struct hpdsl_error err;
	struct hpdsl_member m;
	struct hpdsl_chunk row;
	char want[200];
	struct fetching t;
	struct staged f;
	struct wire w;
	uint64_t bad;

	(void)state;
	staged_begin(&f, 0);
	stage_half(&f);
	wire_begin(&w, &f);
	w.bad = 1;
	ds = open_wired(&f, &w);
	staged_chunk(&f, 1, &row);
	t = (struct fetching){ .ds = ds, .good = f.origin, .threads = 2 };
	assert_int_equal(fetching_run(&t), 0);
	assert_int_equal(t.bad, row.members);
	snprintf(want, sizeof want, "wire:%s: ", row.name);
	assert_non_null(strstr(t.why.msg, want));
	assert_non_null(strstr(t.why.msg, strerror(ECONNRESET)));
	fetching_end(&t);
	/* Here it is, but for one member that is bad. */
	bad = staged_first(&f, 1);
	hpdsl_member_get(ds, bad, &m, NULL);
	staged_put(&f, 1);
	packed_flip(staged_at(&f, row.name), m.offset, 0);
	hp_state_set(f.state, 1, HP_CHUNK_READY);
	t = (struct fetching){ .ds = ds, .good = f.origin, .threads = 2 };
	assert_int_equal(fetching_run(&t), 0);
	assert_int_equal(t.bad, 1);
	assert_true(t.is_bad[bad]);
	fetching_end(&t);
	assert_true(hpdsl_member_read(ds, &m, 0, want, 1, &err) < 0);
	assert_non_null(strstr(err.msg, "wire:"));
	hpdsl_close(ds);
	wire_end(&w);
	staged_end(&f);
}

/* Several under way at a time. */
struct gathered {
	pthread_mutex_t lock;
	pthread_cond_t more;
	unsigned n;
};

static void gather(void *arg, struct hp_source_stretch *s)
{
	struct gathered *g = arg;

	assert_int_equal(s->got, (ssize_t)s->n);
	pthread_mutex_lock(&g->lock);
	g->n++;
	pthread_cond_signal(&g->more);
	pthread_mutex_unlock(&g->lock);
}

static void test_submit_later(void **state)
{
	struct gathered g = { PTHREAD_MUTEX_INITIALIZER,
			      PTHREAD_COND_INITIALIZER, 0 };
	struct hp_source_stretch v[8];
	uint8_t got[8][512], *all;
	struct hp_source s;
	struct hpdsl_chunk row;
	char name[PACKED_PATH];
	struct staged f;
	struct wire w;
	size_t n;

	(void)state;
	staged_begin(&f, 0);
	wire_begin(&w, &f);
	staged_chunk(&f, 2, &row);
	snprintf(name, sizeof name, "%s/%s", f.p.out, row.name);
	all = (uint8_t *)packed_get(name, &n);
	assert_true(n >= 8 * 512);
	s = hp_source_of(&w.table, HP_AT_ORIGIN, io(), 2);
	for (unsigned i = 0; i < 8; i++)
		v[i] = (struct hp_source_stretch){ i * 512, got[i], 512, -1,
						   0 };
	hp_source_submit(&s, v, 8, 0, gather, &g);
	pthread_mutex_lock(&g.lock);
	while (g.n < 8)
		pthread_cond_wait(&g.more, &g.lock);
	pthread_mutex_unlock(&g.lock);
	assert_memory_equal(got, all, sizeof got);
	free(all);
	wire_end(&w);
	staged_end(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_wire),
		cmocka_unit_test(test_wire_fails),
		cmocka_unit_test(test_submit_later),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
