/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An index, a snapshot or a state file that is changed between any two calls
 * after it was opened: what is given out lies in it, and makes sense.  An input
 * is u8 which of them, u8 how many changes, 4 bytes for each (before which
 * call, what, u16 where), the file.
 */
#include "base/path.h"
#include "forge_snap.h"
#include "format/stage_state.h"
#include "make_index.h"

enum { HEAD = 2, CALLS = 256 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The file, in memory of its exact size. */
struct file {
	uint8_t *p;
	size_t n;
	const uint8_t *changes;
	unsigned n_changes, call;
};

static void change(struct file *f)
{
	for (unsigned i = 0; i < f->n_changes; i++) {
		const uint8_t *c = f->changes + (size_t)i * 4;

		if (c[0] == f->call && hp_get16(c + 2) < f->n)
			f->p[hp_get16(c + 2)] = c[1];
	}
	f->call++;
}

/* Are n bytes and one more at p in the file, or an own copy? */
static void is_string(const char *p, size_t n)
{
	uint64_t sum = 0;

	for (size_t i = 0; i <= n; i++)
		sum += (uint8_t)p[i];
	if (sum == UINT64_MAX)
		abort();
}

/* ---- An index --------------------------------------------------------- */

static void ask_member(const struct hp_index *ix, uint64_t i)
{
	struct hpdsl_member m;
	struct hpdsl_sample s;
	const char *name;
	uint64_t number;
	size_t n;

	if (hp_index_member(ix, i, &m, NULL) == 0) {
		if (m.path_len > HPDSL_PATH_MAX || m.mtime_nsec > 999999999)
			abort();
		is_string(m.path, m.path_len);
		hp_index_find(ix, m.path, m.path_len, &number, NULL);
	}
	if (hp_index_stored(ix, i, &name, &n, NULL) == 0 && name)
		is_string(name, n);
	if (hp_index_sample(ix, i, &s, NULL) == 0) {
		if (!s.members || s.key_len > HPDSL_PATH_MAX)
			abort();
		is_string(s.key, s.key_len);
	}
}

static void ask_chunk(const struct hp_index *ix, uint64_t i)
{
	struct hpdsl_chunk c;
	const char *name;
	struct hp_frame f;
	uint32_t found;

	if (hp_index_chunk(ix, (uint32_t)i, &c, NULL) == 0) {
		is_string(c.name, 0);
		for (uint32_t k = 0; k < c.frames && k < 4; k++)
			if (hp_index_frame(ix, &c, k, &f, NULL) == 0)
				hp_index_frame_find(ix, &c, f.plain, &found,
						    NULL);
	}
	if (hp_index_class(ix, (uint32_t)i, &name, NULL) == 0)
		is_string(name, 0);
}

static void try_index(struct file *f)
{
	struct hp_index *ix;

	image_repair(f->p, f->n);
	if (hp_index_open(f->p, f->n, "index.hpdsl", &ix, NULL) < 0)
		return;
	hp_index_check(ix, NULL, NULL, NULL);
	while (f->call < CALLS) {
		uint64_t i = f->call / 4;

		change(f);
		ask_member(ix, i);
		change(f);
		ask_chunk(ix, i);
		change(f);
		if (i % 16 == 0)
			hp_index_check(ix, NULL, NULL, NULL);
	}
	hp_index_free(ix);
}

/* ---- A snapshot ------------------------------------------------------- */

static int sink(void *arg, const void *buf, size_t n, struct hpdsl_error *err)
{
	(void)arg;
	(void)err;
	if (n)
		is_string(buf, n - 1);
	return 0;
}

static void ask_entry(struct file *f, const struct hpdsl_snapshot *s,
		      uint64_t i)
{
	char path[HPDSL_PATH_MAX + 1];
	uint64_t cursor = 0, first, n, end;
	struct hpdsl_entry e, in[4];
	const char *target;
	size_t len;

	if (hpdsl_snapshot_path(s, i, path, &len, NULL) == 0) {
		if (i && !hp_path_valid(path, len))
			abort();
		hpdsl_snapshot_lookup(s, path, len, &e, NULL);
	}
	if (hpdsl_snapshot_stat(s, i, &e, NULL) == 0) {
		is_string(e.name, e.name_len);
		change(f);
		if (hpdsl_snapshot_target(s, &e, &target, NULL) == 0)
			is_string(target, e.size);
	}
	if (hpdsl_snapshot_folder(s, i, &first, &n, &end, NULL) == 0 &&
	    first <= i)
		abort();
	change(f);
	hpdsl_snapshot_readdir(s, i, &cursor, in, 4, NULL);
}

static void try_snapshot(struct file *f)
{
	struct hpdsl_diff_options opt = { .difference = NULL };
	struct hpdsl_diff_report report;
	struct hpdsl_snapshot *s;

	snap_repair(f->p, f->n);
	if (hp_snap_open(f->p, f->n, "it", &s, NULL) < 0)
		return;
	hpdsl_snapshot_verify(s, NULL, NULL, NULL);
	for (uint64_t i = 0; f->call < CALLS; i++) {
		change(f);
		ask_entry(f, s, i % 64);
		if (i % 16)
			continue;
		change(f);
		hpdsl_snapshot_verify(s, NULL, NULL, NULL);
		hpdsl_snapshot_dump(s, sink, NULL, NULL);
		hpdsl_snapshot_diff(s, s, &opt, &report, NULL);
	}
	hpdsl_snapshot_close(s);
}

/* ---- A state file ----------------------------------------------------- */

static void try_state(struct file *f)
{
	struct hp_state_header h;

	if (f->n >= HP_STATE_CHUNKS)
		hp_put64(f->p + 4608, hp_hash64(f->p, 4608));
	while (f->call < CALLS) {
		change(f);
		if (hp_state_parse(f->p, f->n, "it", &h, NULL) < 0)
			continue;
		is_string(h.host, strlen(h.host));
		is_string(h.origin, strlen(h.origin));
		change(f);
		for (uint64_t i = 0; i < h.chunks; i++)
			if (hp_state_get(f->p, i) > HP_CHUNK_EXPANDED)
				abort();
		hp_state_alive(f->p, &h, h.boot_id, f->call);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct file f = { .p = NULL };
	size_t at;

	if (size < HEAD || size < HEAD + (size_t)data[1] * 4)
		return 0;
	f.changes = data + HEAD;
	f.n_changes = data[1];
	at = HEAD + (size_t)f.n_changes * 4;
	f.n = size - at;
	f.p = calloc(1, f.n + !f.n);
	if (!f.p)
		return 0;
	memcpy(f.p, data + at, f.n);
	if (data[0] % 3 == 0)
		try_index(&f);
	else if (data[0] % 3 == 1)
		try_snapshot(&f);
	else
		try_state(&f);
	free(f.p);
	return 0;
}
