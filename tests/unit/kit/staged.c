/* SPDX-License-Identifier: Apache-2.0 */
#include "staged.h"

#include "sys/boot.h"
#include "sys/clock.h"
#include "sys/io.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

struct hpdsl_dataset *staged_open(const char *path, const struct hp_io *io)
{
	struct hpdsl_error err = { 0 };
	struct hpdsl_dataset *ds = NULL;

	if (hpdsl_open(path, io, &ds, &err) < 0)
		fail_msg("%s", err.msg);
	return ds;
}

const char *staged_at(const struct staged *f, const char *name)
{
	static char ring[4][PACKED_PATH];
	static int next;
	char *buf = ring[next++ % 4];

	snprintf(buf, PACKED_PATH, "%s/%s", f->dir, name);
	return buf;
}

static void copy(const char *from, const char *to)
{
	size_t n;
	char *data = packed_get(from, &n);

	packed_put(to, data, n);
	free(data);
}

void staged_chunk(const struct staged *f, uint32_t c, struct hpdsl_chunk *ret)
{
	assert_int_equal(hpdsl_chunk_get(f->origin, c, ret, NULL), 0);
}

void staged_put(const struct staged *f, uint32_t c)
{
	char from[PACKED_PATH], part[PACKED_PATH];
	struct hpdsl_chunk row;

	staged_chunk(f, c, &row);
	snprintf(from, sizeof from, "%s/%s", f->p.out, row.name);
	snprintf(part, sizeof part, "%s/.%s.part", f->dir, row.name);
	copy(from, part);
	assert_int_equal(rename(part, staged_at(f, row.name)), 0);
}

void staged_drop(const struct staged *f, uint32_t c)
{
	struct hpdsl_chunk row;

	staged_chunk(f, c, &row);
	assert_int_equal(unlink(staged_at(f, row.name)), 0);
}

void staged_state(struct staged *f, enum hp_chunk_state s)
{
	uint64_t size = hp_state_size(f->n.chunks);
	uint8_t *p = calloc(1, size);
	FILE *file;

	assert_non_null(p);
	f->header.generation++;
	hp_state_format(&f->header, p);
	for (uint32_t c = 0; c < f->n.chunks; c++)
		hp_state_set(p, c, s);
	hp_state_beat(p, hp_monotonic());
	packed_put(staged_at(f, ".new"), p, size);
	free(p);
	if (f->state)
		munmap(f->state, size);
	file = fopen(staged_at(f, ".new"), "r+b");
	assert_non_null(file);
	f->state = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED,
			fileno(file), 0);
	assert_true(f->state != MAP_FAILED);
	fclose(file);
	assert_int_equal(
		rename(staged_at(f, ".new"), staged_at(f, HP_STATE_NAME)), 0);
}

static void make_folder(struct staged *f)
{
	snprintf(f->dir, sizeof f->dir, "%s/st", f->p.top);
	assert_int_equal(mkdir(f->dir, 0700), 0);
	copy(packed_at(&f->p, "out/index.hpdsl"), staged_at(f, "index.hpdsl"));
	copy(packed_at(&f->p, "out/dataset.yaml"),
	     staged_at(f, "dataset.yaml"));
}

void staged_pack(struct staged *f, struct hpdsl_pack_options opt)
{
	packed_pack(&f->p, opt);
	f->origin = staged_open(f->p.out, NULL);
	hpdsl_count(f->origin, &f->n);
	assert_int_equal(f->n.chunks, opt.chunks);
	make_folder(f);
	f->header = (struct hp_state_header){ .chunks = f->n.chunks,
					      .nodes = 1,
					      .parts = 1 };
	assert_int_equal(hp_boot_id(&hp_io_system, f->header.boot_id), 0);
	snprintf(f->header.origin, sizeof f->header.origin, "%s", f->p.out);
}

void staged_begin(struct staged *f, int zstd)
{
	struct hpdsl_pack_options opt = { .chunks = STAGED_CHUNKS,
					  .zstd = zstd };
	char name[32];

	memset(f, 0, sizeof *f);
	packed_begin(&f->p);
	for (unsigned i = 0; i < 60; i++) {
		snprintf(name, sizeof name, "s%u/m%u.bin", i % 4, i);
		packed_file(&f->p, name, 500 + i * 37, 0644, 1e9, 0);
	}
	packed_file(&f->p, "s0/m0.txt", 700, 0644, 1e9, 0);
	packed_file(&f->p, "large.bin", STAGED_LARGE, 0644, 1e9, 0);
	staged_pack(f, opt);
}

void staged_put_all(struct staged *f)
{
	for (uint32_t c = 0; c < STAGED_CHUNKS; c++)
		staged_put(f, c);
	staged_state(f, HP_CHUNK_READY);
}

void staged_end(struct staged *f)
{
	if (f->state)
		munmap(f->state, hp_state_size(f->n.chunks));
	hpdsl_close(f->origin);
	packed_end(&f->p);
}

void staged_hide_origin(const struct staged *f)
{
	assert_int_equal(rename(f->p.out, packed_at(&f->p, "gone")), 0);
}

void staged_show_origin(const struct staged *f)
{
	assert_int_equal(rename(packed_at(&f->p, "gone"), f->p.out), 0);
}

struct hpdsl_sources staged_sources(const struct hpdsl_dataset *ds)
{
	struct hpdsl_sources s;

	hpdsl_sources(ds, &s);
	return s;
}

void staged_expect(const struct hpdsl_dataset *ds, uint64_t absent,
		   uint64_t overtaken, uint64_t failed)
{
	struct hpdsl_sources s = staged_sources(ds);

	assert_true(s.staged);
	assert_int_equal(s.absent_chunks, absent);
	assert_int_equal(s.overtaken_chunks, overtaken);
	assert_int_equal(s.failed_chunks, failed);
}

uint64_t staged_first(const struct staged *f, uint32_t c)
{
	struct hpdsl_chunk row;

	staged_chunk(f, c, &row);
	return row.first_member;
}
