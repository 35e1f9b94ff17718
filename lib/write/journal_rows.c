/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The journal's rows, which grow while a pack is at work: of chunks that are
 * finished, and of how far compressed archives are in their places.
 */
#include "write/journal_file.h"

#include "base/mem.h"

#include <errno.h>
#include <string.h>

enum { RECORDS_AT_A_TIME = 1024 };

struct records {
	struct hp_journal_record *v;
	size_t n;
};

static int add_record(struct records *all, const struct hp_journal_record *rec)
{
	void *v = hp_more(all->v, all->n, sizeof *all->v);

	if (!v)
		return -ENOMEM;
	all->v = v;
	all->v[all->n++] = *rec;
	return 0;
}

static int note_position(struct hp_journal *j,
			 const struct hp_journal_position *pos)
{
	if (pos->root >= j->n_positions) {
		size_t n = (size_t)pos->root + 1;
		struct hp_journal_found *v =
			realloc(j->positions, n * sizeof *v);

		if (!v)
			return -ENOMEM;
		memset(v + j->n_positions, 0, (n - j->n_positions) * sizeof *v);
		j->positions = v;
		j->n_positions = n;
	}
	j->positions[pos->root].found = true;
	j->positions[pos->root].at = *pos;
	return 0;
}

/* 1: a row that is right; 0: the end of the journal. */
static int read_row(struct hp_journal *j, struct records *all,
		    const uint8_t *buf)
{
	struct hp_journal_record rec;
	struct hp_journal_position pos;
	int r;

	if (hp_journal_record_read(buf, &rec) == 0)
		r = add_record(all, &rec);
	else if (hp_journal_position_read(buf, &pos) == 0)
		r = note_position(j, &pos);
	else
		return 0;
	return r < 0 ? r : 1;
}

/* Reads from *off on, which becomes the end of the last good one. */
static int read_records(struct hp_journal *j, struct records *all,
			uint64_t *off)
{
	size_t size = RECORDS_AT_A_TIME * HP_JOURNAL_RECORD;
	hp_auto_free uint8_t *buf = malloc(size);

	if (!buf)
		return -ENOMEM;
	for (;;) {
		ssize_t n = hp_io_pread_full(j->io, j->fd, buf, size, *off);

		if (n < HP_JOURNAL_RECORD)
			return n < 0 ? (int)n : 0;
		for (ssize_t i = 0; n - i >= HP_JOURNAL_RECORD;
		     i += HP_JOURNAL_RECORD) {
			int r = read_row(j, all, buf + i);

			if (r <= 0)
				return r;
			*off += HP_JOURNAL_RECORD;
		}
	}
}

/* By chunk, those of one chunk in the order they were written. */
static int by_chunk(const void *a, const void *b)
{
	const struct hp_journal_record *const *x = a, *const *y = b;

	if ((*x)->chunk != (*y)->chunk)
		return (*x)->chunk < (*y)->chunk ? -1 : 1;
	return *x < *y ? -1 : *x > *y;
}

/* A fresh array of the last record of each chunk. */
static int keep_last(const struct records *all, struct hp_journal_record **ret,
		     size_t *ret_n)
{
	hp_auto_free const struct hp_journal_record **at =
		hp_array(all->n, sizeof *at);
	struct hp_journal_record *v = hp_array(all->n, sizeof *v);
	size_t n = 0;

	if (!at || !v) {
		free(v);
		return -ENOMEM;
	}
	for (size_t i = 0; i < all->n; i++)
		at[i] = &all->v[i];
	qsort(at, all->n, sizeof *at, by_chunk);
	for (size_t i = 0; i < all->n; i++) {
		if (i + 1 == all->n || at[i + 1]->chunk != at[i]->chunk)
			v[n++] = *at[i];
	}
	*ret = v;
	*ret_n = n;
	return 0;
}

int hp_journal_records(struct hp_journal *j, struct hp_journal_record **ret,
		       size_t *ret_n, struct hpdsl_error *err)
{
	uint64_t end =
		HP_JOURNAL_BODY + j->head.options_bytes + j->head.list_bytes;
	struct records all = { 0 };
	struct stat st;
	int r;

	r = read_records(j, &all, &end);
	if (r == 0)
		r = hp_io_fstat(j->io, j->fd, &st);
	if (r == 0 && (uint64_t)st.st_size > end)
		r = j->io->truncate(j->io, j->fd, end);
	if (r == 0)
		r = keep_last(&all, ret, ret_n);
	free(all.v);
	if (r < 0)
		return hp_journal_fail(r, err);
	j->end = end;
	return 0;
}

const struct hp_journal_position *hp_journal_position(
	const struct hp_journal *j, uint32_t root)
{
	if (root >= j->n_positions || !j->positions[root].found)
		return NULL;
	return &j->positions[root].at;
}

/* One row more; not synced. */
static int append(struct hp_journal *j, const uint8_t buf[HP_JOURNAL_RECORD],
		  struct hpdsl_error *err)
{
	int r = j->sync_failed;

	if (r == 0)
		r = hp_io_pwrite_full(j->io, j->fd, buf, HP_JOURNAL_RECORD,
				      j->end);
	if (r < 0)
		return hp_journal_fail(r, err);
	j->end += HP_JOURNAL_RECORD;
	return 0;
}

int hp_journal_add(struct hp_journal *j, const struct hp_journal_record *rec,
		   struct hpdsl_error *err)
{
	uint8_t buf[HP_JOURNAL_RECORD];
	int r;

	hp_journal_record_write(rec, buf);
	pthread_mutex_lock(&j->lock);
	r = append(j, buf, err);
	if (r == 0)
		r = hp_journal_sync(j, err);
	pthread_mutex_unlock(&j->lock);
	return r;
}

int hp_journal_add_made(struct hp_journal *j, uint32_t c,
			const struct hp_chunk_made *made,
			struct hpdsl_error *err)
{
	struct hp_journal_record rec = { .chunk = c,
					 .bytes = made->bytes,
					 .compressed = made->compressed };

	memcpy(rec.checksum, made->checksum, sizeof rec.checksum);
	return hp_journal_add(j, &rec, err);
}

int hp_journal_add_positions(struct hp_journal *j,
			     const struct hp_journal_position *pos, size_t n,
			     struct hpdsl_error *err)
{
	uint8_t buf[HP_JOURNAL_RECORD];
	int r = 0;

	pthread_mutex_lock(&j->lock);
	for (size_t i = 0; r == 0 && i < n; i++) {
		hp_journal_position_write(&pos[i], buf);
		r = append(j, buf, err);
	}
	if (r == 0)
		r = hp_journal_sync(j, err);
	pthread_mutex_unlock(&j->lock);
	return r;
}
