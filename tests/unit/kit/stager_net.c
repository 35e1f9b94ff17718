/* SPDX-License-Identifier: Apache-2.0 */
/* Stagers in one process, and the network between them. */
#include "stager_net.h"

#include "until.h"

#include "base/hash.h"
#include "sys/clock.h"
#include "wrap.h"

#include <dirent.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

/* ---- Files ------------------------------------------------------------ */

static struct net_io *self(const struct hp_io *io)
{
	return (struct net_io *)io; /* its first member */
}

static long count(long *what)
{
	return __atomic_add_fetch(what, 1, __ATOMIC_RELAXED);
}

/* The path of a descriptor, if it is of the origin; or NULL. */
static const char *origin_path(const struct net_io *f, int fd, char path[512])
{
	char link[64];
	ssize_t n;

	snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
	n = readlink(link, path, 511);
	path[n < 0 ? 0 : n] = '\0';
	return strncmp(path, f->origin, strlen(f->origin)) == 0 ? path : NULL;
}

static bool is_in_origin(const struct net_io *f, int fd)
{
	char path[512];

	return origin_path(f, fd, path) != NULL;
}

static bool is_chunk_of_origin(const struct net_io *f, int fd)
{
	char path[512];

	return origin_path(f, fd, path) && strstr(path, ".tar");
}

static int n_open(const struct hp_io *io, int dir, const char *name, int flags,
		  mode_t mode)
{
	struct net_io *f = self(io);
	int fd = hp_io_system.open(&hp_io_system, dir, name, flags, mode);

	if (fd >= 0 && f->broken && is_in_origin(f, fd)) {
		close(fd);
		return f->broken;
	}
	if (fd >= 0 && fd < NET_FDS)
		__atomic_store_n(&f->is_origin[fd], is_chunk_of_origin(f, fd),
				 __ATOMIC_RELAXED);
	return fd;
}

static void wait_here(const struct net_io *f)
{
	for (struct until u = { 0 };
	     !__atomic_load_n(&f->let_go, __ATOMIC_RELAXED);)
		until_next(&u);
}

static ssize_t n_pread(const struct hp_io *io, int fd, void *buf, size_t n,
		       uint64_t off)
{
	struct net_io *f = self(io);
	ssize_t r;
	long k;

	if (!__atomic_load_n(&f->is_origin[fd], __ATOMIC_RELAXED))
		return hp_io_system.pread(&hp_io_system, fd, buf, n, off);
	if (f->broken)
		return f->broken;
	k = count(&f->reads);
	if (f->slow_read && k == f->slow_read)
		wait_here(f);
	if (f->bad_read && k >= f->bad_read && k < f->bad_read + f->bad_reads)
		return f->read_code;
	r = hp_io_system.pread(&hp_io_system, fd, buf, n, off);
	if (r > 0)
		__atomic_add_fetch(&f->origin_bytes, (uint64_t)r,
				   __ATOMIC_RELAXED);
	if (r > 0 && f->flip_read && k >= f->flip_read &&
	    k < f->flip_read + f->flips)
		((uint8_t *)buf)[r / 2] ^= 4;
	return r;
}

static ssize_t n_pwrite(const struct hp_io *io, int fd, const void *buf,
			size_t n, uint64_t off)
{
	struct net_io *f = self(io);

	if (f->bad_write && count(&f->writes) >= f->bad_write)
		return f->write_code;
	return hp_io_system.pwrite(&hp_io_system, fd, buf, n, off);
}

static int n_allocate(const struct hp_io *io, int fd, uint64_t size)
{
	return self(io)->full ? -ENOSPC :
				hp_io_system.allocate(&hp_io_system, fd, size);
}

static int n_statvfs(const struct hp_io *io, int fd, struct statvfs *ret)
{
	int r = hp_io_system.statvfs(&hp_io_system, fd, ret);

	if (r == 0 && self(io)->free) {
		ret->f_frsize = 1;
		ret->f_bavail = self(io)->free;
	}
	return r;
}

static void init_io(struct net_io *f, const char *origin)
{
	f->io = hp_io_system;
	f->io.open = n_open;
	f->io.pread = n_pread;
	f->io.pwrite = n_pwrite;
	f->io.allocate = n_allocate;
	f->io.statvfs = n_statvfs;
	f->origin = origin;
}

/* ---- Beginning -------------------------------------------------------- */

static void must(int r, const struct hpdsl_error *err)
{
	if (r < 0)
		fail_msg("%d: %s", r, err->msg);
}

static void put_index(struct hpdsl_stage *s, const char *out,
		      const struct hpdsl_stage_pack *pack)
{
	struct hpdsl_error err;
	char name[200], *bytes;
	size_t n;
	int r = hpdsl_stage_has_index(s, pack, &err);

	must(r, &err);
	if (r > 0)
		return;
	snprintf(name, sizeof name, "%s/index.hpdsl", out);
	bytes = packed_get(name, &n);
	must(hpdsl_stage_put_index(s, pack, bytes, n, &err), &err);
	must(hpdsl_stage_put_index(s, pack, NULL, 0, &err), &err);
	free(bytes);
}

static void open_node(struct net *n, uint32_t i, const struct net_options *o)
{
	struct net_node *d = &n->node[i];
	struct hpdsl_stage_source *source;
	struct hpdsl_stage_pack pack;
	struct hpdsl_error err;
	struct hpdsl_stage_at at = { .node = i,
				     .nodes = n->nodes,
				     .io = &d->io.io };
	struct hpdsl_stage_begin begin = {
		.pack = &pack,
		.keep_compressed = o->keep_compressed,
		.threads = 1,
		.watch = { .io = &d->io.io },
	};

	snprintf(d->path, sizeof d->path, "%s/node%u", n->packed->top, i);
	init_io(&d->io, n->packed->out);
	must(hpdsl_stage_source_open(n->packed->out, NULL, &source, &err),
	     &err);
	hpdsl_stage_source_pack(source, &pack);
	must(hpdsl_stage_open(d->path, &at, &d->stage, &err), &err);
	put_index(d->stage, n->packed->out, &pack);
	must(hpdsl_stage_begin(d->stage, &begin, &err), &err);
	n->chunks = pack.chunks;
	hpdsl_stage_source_close(source);
}

static void make_plan(struct net *n, const struct net_options *o)
{
	uint64_t capacity[NET_NODES];
	struct hpdsl_error err;
	struct hpdsl_stage_wish wish = { .mode = o->mode,
					 .copies = o->copies,
					 .nodes = n->nodes,
					 .capacity = capacity,
					 .chunks = n->chunks };

	n->order = calloc(n->chunks, sizeof *n->order);
	n->holder = calloc(n->chunks, sizeof *n->holder);
	n->weight = calloc(n->chunks, sizeof *n->weight);
	wish.order = n->order;
	wish.weight = n->weight;
	hpdsl_stage_weights(n->node[0].stage, n->weight);
	for (uint64_t c = 0; c < n->chunks; c++) {
		n->order[c] = (uint32_t)((c * 7 + 3) % n->chunks);
		n->holder[c] = UINT32_MAX;
		for (uint32_t i = n->nodes; i-- > 0;)
			if (hpdsl_stage_holds(n->node[i].stage, c))
				n->holder[c] = i;
	}
	/* A permutation, whatever the number of chunks. */
	if (n->chunks % 7 == 0)
		for (uint64_t c = 0; c < n->chunks; c++)
			n->order[c] = (uint32_t)(n->chunks - 1 - c);
	for (uint32_t i = 0; i < n->nodes; i++)
		capacity[i] = o->capacity ? o->capacity[i] : UINT64_MAX / 2;
	must(hpdsl_stage_plan_new(&wish, &n->plan, &err), &err);
}

void net_begin(struct net *n, struct packed *p, const struct net_options *o)
{
	struct hpdsl_error err;

	memset(n, 0, sizeof *n);
	n->packed = p;
	snprintf(n->origin, sizeof n->origin, "%s", p->out);
	n->nodes = o->nodes;
	n->delay = o->delay;
	n->seed = o->seed * 2 + 1;
	for (uint32_t i = 0; i < n->nodes; i++) {
		pthread_mutex_init(&n->node[i].warn_lock, NULL);
		open_node(n, i, o);
	}
	make_plan(n, o);
	for (uint32_t i = 0; i < n->nodes; i++)
		must(hpdsl_stage_publish(n->node[i].stage, n->plan, &err),
		     &err);
}

static bool lacks(void *arg, uint32_t node, uint64_t chunk)
{
	const struct net *n = arg;

	return !hpdsl_stage_holds(n->node[node].stage, chunk);
}

/* From any thread. */
static void warned(void *arg, const char *text)
{
	struct net_node *d = arg;
	size_t used;

	pthread_mutex_lock(&d->warn_lock);
	used = strlen(d->warned);
	snprintf(d->warned + used, sizeof d->warned - used, "%s\n", text);
	d->warnings++;
	pthread_mutex_unlock(&d->warn_lock);
}

static int start_node(struct net *n, uint32_t i, const struct net_options *o,
		      struct hpdsl_error *err)
{
	struct net_node *d = &n->node[i];
	struct hpdsl_stager_options so = {
		.origin = n->origin,
		.node = i,
		.plan = n->plan,
		.holder = n->holder,
		.lacks = lacks,
		.arg = n,
		.memory = o->memory ? o->memory : 4 << 20,
		.rate = o->rate,
		.direct = o->direct,
		.sync = o->sync,
		.keep_compressed = o->keep_compressed,
		.threads = o->threads ? o->threads : 1,
		.watch = { .io = d->other ? d->other : &d->io.io,
			   .warn = warned,
			   .arg = d },
	};

	d->io.origin = n->origin;
	return hpdsl_stager_new(d->stage, &so, &d->stager, err);
}

void net_start(struct net *n, const struct net_options *o)
{
	struct hpdsl_error err;

	for (uint32_t i = 0; i < n->nodes; i++)
		must(start_node(n, i, o, &err), &err);
}

bool net_try(struct net *n, const struct net_options *o)
{
	struct hpdsl_error err;
	int r = 0;

	wrap_fail_at(n->no_memory_at, false);
	for (uint32_t i = 0; i < n->nodes && r == 0; i++)
		r = start_node(n, i, o, &err);
	if (r < 0)
		assert_int_equal(r, err.code);
	return r == 0;
}

/* ---- Carrying --------------------------------------------------------- */

static uint64_t chance(struct net *n, uint64_t below)
{
	n->seed = n->seed * 6364136223846793005u + 1442695040888963407u;
	return below ? (n->seed >> 33) % below : 0;
}

static void carry(struct net *n, uint32_t from,
		  const struct hpdsl_stager_message *m)
{
	bool data = m->n > HP_MESSAGE_HEADER;
	struct net_channel *c =
		data ? &n->data[from][m->to] : &n->words[from][m->to];
	struct net_message *w = malloc(sizeof *w + m->n);

	if (!w) /* that one was meant for somebody else */
		w = malloc(sizeof *w + m->n);
	assert_non_null(w);
	assert_true(m->n <= hpdsl_stager_message_max(n->node[from].stager));
	w->next = NULL;
	w->due = n->tick + chance(n, n->delay);
	w->n = m->n;
	memcpy(w->bytes, m->p, m->n);
	if (data && ++n->carried == n->flip)
		w->bytes[HP_MESSAGE_HEADER + m->n / 2 - 32] ^= 8;
	if (!c->first)
		c->last = &c->first;
	*c->last = w;
	c->last = &w->next;
}

static bool send_one(struct net *n, uint32_t i)
{
	struct net_node *d = &n->node[i];
	struct hpdsl_stager_message m;
	struct hpdsl_error err;
	int r;

	if (d->n_sending == 256)
		return false;
	r = hpdsl_stager_next(d->stager, &m, &err);
	if (r < 0) {
		assert_true(!d->failed || d->failed == HPDSL_ECORRUPT ||
			    n->no_memory_at);
		d->failed = r;
		d->err = err;
		assert_int_equal(r, err.code);
		assert_null(strchr(err.msg, '\n'));
	}
	if (r <= 0)
		return false;
	carry(n, i, &m);
	d->sent_at[d->n_sending] = n->tick + chance(n, n->delay);
	d->sending[d->n_sending++] = m;
	return true;
}

static void tell_sent(struct net *n, struct net_node *d)
{
	for (size_t i = 0; i < d->n_sending;) {
		if (d->sent_at[i] > n->tick) {
			i++;
			continue;
		}
		hpdsl_stager_sent(d->stager, &d->sending[i]);
		d->n_sending--;
		d->sending[i] = d->sending[d->n_sending];
		d->sent_at[i] = d->sent_at[d->n_sending];
	}
}

static bool deliver(struct net *n, uint32_t from, uint32_t to,
		    struct net_channel *c)
{
	struct hpdsl_stager *s = n->node[to].stager;
	struct net_message *m = c->first;
	struct hpdsl_error err;
	void *room;

	if (!m || m->due > n->tick)
		return false;
	c->first = m->next;
	room = hpdsl_stager_room(s, m->n);
	assert_non_null(room);
	memcpy(room, m->bytes, m->n);
	must(hpdsl_stager_received(s, from, room, m->n, &err), &err);
	free(m);
	return true;
}

bool net_step(struct net *n)
{
	bool any = false;

	n->tick++;
	for (uint32_t i = 0; i < n->nodes; i++) {
		while (send_one(n, i))
			any = true;
		tell_sent(n, &n->node[i]);
		for (uint32_t j = 0; j < n->nodes; j++) {
			any |= deliver(n, j, i, &n->words[j][i]);
			any |= deliver(n, j, i, &n->data[j][i]);
		}
	}
	return any;
}

static bool all_idle(struct net *n)
{
	bool idle = true;

	for (uint32_t i = 0; i < n->nodes; i++) {
		struct net_node *d = &n->node[i];

		hpdsl_stager_report(d->stager, &d->report);
		idle &= d->report.idle;
	}
	return idle;
}

/* A chunk that is damaged ends nothing. */
static bool any_failed(const struct net *n)
{
	for (uint32_t i = 0; i < n->nodes; i++)
		if (n->node[i].failed && n->node[i].failed != HPDSL_ECORRUPT)
			return true;
	return false;
}

static void stop_all(struct net *n, bool at_once)
{
	for (uint32_t i = 0; i < n->nodes; i++)
		hpdsl_stager_stop(n->node[i].stager, at_once);
}

void net_run(struct net *n, uint64_t stop_at, bool at_once)
{
	struct until u = { 0 };
	bool stopped = false;

	for (;;) {
		if (!net_step(n))
			until_next(&u);
		if (all_idle(n))
			break;
		if (any_failed(n) && !stopped)
			stop_all(n, stopped = true);
		if (stop_at && n->tick >= stop_at) {
			stop_at = 0;
			stop_all(n, at_once);
		}
	}
	/* A failure is told by one call, whatever else there is. */
	for (uint32_t i = 0; i < n->nodes; i++)
		send_one(n, i);
}

/* ---- Ending ----------------------------------------------------------- */

static void drain(struct net_channel *c)
{
	while (c->first) {
		struct net_message *m = c->first;

		c->first = m->next;
		free(m);
	}
}

static void end_node(struct net *n, struct net_node *d, bool complete)
{
	struct hpdsl_error err;
	int how = d->failed ? d->failed : complete ? 0 : HPDSL_ESTOPPED;

	for (size_t i = 0; i < d->n_sending; i++)
		hpdsl_stager_sent(d->stager, &d->sending[i]);
	(void)n;
	if (d->stager)
		assert_true(d->stager->own.buffers.most_used <=
			    d->stager->own.buffers.max);
	hpdsl_stager_free(d->stager);
	must(hpdsl_stage_end(d->stage, how, &err), &err);
	hpdsl_stage_close(d->stage);
}

void net_end(struct net *n)
{
	bool complete = true;

	for (uint32_t i = 0; i < n->nodes; i++)
		complete &= n->node[i].stager != NULL;
	complete = complete && all_idle(n);
	for (uint32_t i = 0; i < n->nodes; i++)
		end_node(n, &n->node[i], complete);
	for (uint32_t i = 0; i < n->nodes; i++)
		for (uint32_t j = 0; j < n->nodes; j++) {
			drain(&n->words[i][j]);
			drain(&n->data[i][j]);
		}
	hpdsl_stage_plan_free(n->plan);
	free(n->order);
	free(n->holder);
	free(n->weight);
}

/* ---- Looking ---------------------------------------------------------- */

static bool is_right(struct hpdsl_dataset *ds, const char *path,
		     const char *name)
{
	struct hpdsl_counts counts;
	struct hpdsl_error err;
	char file[400], is[HP_STAGE_NAME];
	uint8_t digest[16];
	bool found = false;
	char *data;
	size_t size;

	snprintf(file, sizeof file, "%s/%s", path, name);
	data = packed_get(file, &size);
	hp_hash128(data, size, digest);
	free(data);
	hpdsl_count(ds, &counts);
	for (uint32_t c = 0; c < counts.chunks && !found; c++) {
		struct hpdsl_chunk row;

		must(hpdsl_chunk_get(ds, c, &row, &err), &err);
		if (strcmp(hp_stage_chunk_name(&row, false, is), name) == 0)
			found = !memcmp(digest, row.checksum, 16);
		else if (strcmp(hp_stage_chunk_name(&row, true, is), name) == 0)
			found = !memcmp(digest, row.plain_checksum, 16);
	}
	return found;
}

static uint64_t check_node(const struct net *n, uint32_t i,
			   struct hpdsl_dataset *ds)
{
	char path[100];
	struct dirent *e;
	uint64_t found = 0;
	DIR *d;

	snprintf(path, sizeof path, "%s/node%u", n->packed->top, i);
	d = opendir(path);
	assert_non_null(d);
	while ((e = readdir(d))) {
		if (strstr(e->d_name, ".part") && n->leftovers)
			continue;
		if (strstr(e->d_name, ".part"))
			fail_msg("%s/%s is left", path, e->d_name);
		if (!strstr(e->d_name, ".tar"))
			continue;
		if (!is_right(ds, path, e->d_name))
			fail_msg("%s/%s is damaged", path, e->d_name);
		found++;
	}
	closedir(d);
	return found;
}

uint64_t net_check(const struct net *n)
{
	struct hpdsl_dataset *ds;
	struct hpdsl_error err;
	uint64_t found = 0;

	must(hpdsl_open(n->packed->out, NULL, &ds, &err), &err);
	for (uint32_t i = 0; i < n->nodes; i++)
		found += check_node(n, i, ds);
	hpdsl_close(ds);
	return found;
}

uint64_t net_origin_bytes(const struct net *n)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < n->nodes; i++)
		sum += n->node[i].io.origin_bytes;
	return sum;
}
