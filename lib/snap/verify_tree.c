/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Passes of hpdsl_snapshot_verify over folders.  The ranges of their entries
 * follow each other and leave none out; in a folder's range each sub-folder has
 * the number where the one before it ends, and the folder ends where the last
 * one does: so numbers are those of the pre-order, and each folder has one
 * entry.
 */
#include "snap/verify.h"

#include "base/error.h"
#include "base/hash.h"
#include "tree/tree.h"

#include <inttypes.h>

/* ---- Numbers ---------------------------------------------------------- */

struct folder {
	uint64_t number, entry;
	uint64_t first, next; /* its entries */
	uint64_t end;	      /* number behind all that was below it so far */
	struct hpdsl_entry last;
};

void hp_snap_wrong(struct hp_snap_check *c, uint64_t number, const char *why)
{
	hp_findings_add(&c->f, "entry %" PRIu64 ": %s", number, why);
}

static void wrong_folder(struct hp_snap_check *c, uint64_t number,
			 const char *why)
{
	hp_findings_add(&c->f, "folder %" PRIu64 ": %s", number, why);
}

static void row_of(struct hp_snap_check *c, uint64_t number,
		   struct hp_folder_row *ret)
{
	struct hpdsl_error err;

	if (hp_snap_folder_row(c->s, number, ret, &err) < 0)
		hp_findings_tell(&c->f, err.msg);
}

/* The number of a folder's entry is the next one. */
static void check_number(struct hp_snap_check *c, struct folder *d,
			 uint64_t entry)
{
	struct hp_folder_row below = { 0, 0 };
	struct hp_snap_row row;

	if (!hp_snap_row(c->s, entry, &row, NULL) || !S_ISDIR(row.mode) ||
	    row.link != d->end) {
		hp_snap_wrong(c, entry, "has the number of another folder");
		return;
	}
	c->folders[d->end] = entry;
	row_of(c, d->end, &below);
	d->end = below.end;
}

static void check_child(struct hp_snap_check *c, struct folder *d,
			uint64_t number)
{
	struct hpdsl_error err;
	struct hpdsl_entry e;

	if (hpdsl_snapshot_stat(c->s, number, &e, &err) < 0) {
		hp_findings_tell(&c->f, err.msg);
		return;
	}
	if (e.parent != d->entry)
		hp_snap_wrong(c, number, "lies among those of another folder");
	if (number > d->first && hp_name_compare(d->last.name, d->last.name_len,
						 e.name, e.name_len) >= 0)
		hp_snap_wrong(c, number, "its name is out of order");
	d->last = e;
	if (S_ISDIR(e.mode))
		check_number(c, d, number);
}

/* *at is where its entries have to begin, and becomes where they end. */
static void check_folder(struct hp_snap_check *c, uint64_t number, uint64_t *at)
{
	struct folder d = { .number = number,
			    .entry = c->folders[number],
			    .end = number + 1 };
	struct hp_folder_row row = { 0, 0 }, next = { 0, 0 };

	row_of(c, number, &row);
	row_of(c, number + 1, &next);
	d.first = row.first;
	d.next = next.first;
	if (d.first != *at || d.next < *at || d.next > c->s->info.entries) {
		wrong_folder(c, number, "gap or overlap of entries");
		return;
	}
	for (uint64_t i = d.first; i < d.next && !c->f.n; i++)
		check_child(c, &d, i);
	if (c->f.n)
		return;
	if (row.end != d.end)
		wrong_folder(c, number, "ends where it does not");
	if (number && d.first == d.next && c->s->info.from_dataset)
		hp_snap_wrong(c, d.entry, "is an empty folder of a dataset");
	*at = d.next;
}

void hp_snap_check_folders(struct hp_snap_check *c)
{
	const struct hpdsl_snapshot_info *n = &c->s->info;
	struct hp_folder_row end = { 0, 0 }, first = { 0, 0 };
	struct hp_snap_row top;
	uint64_t at = 1;

	if (!hp_snap_row(c->s, 0, &top, NULL) || top.link)
		hp_snap_wrong(c, 0, "is not the first folder");
	row_of(c, n->folders, &end);
	if (end.first != n->entries || end.end != n->folders)
		wrong_folder(c, n->folders, "is not the end of all");
	row_of(c, 0, &first);
	if (first.end != n->folders)
		wrong_folder(c, 0, "does not hold all the others");
	c->folders[0] = 0;
	/* Where a folder ends another one begins, or its own folder ends: as
	 * the top is the last to end, each has its entry when its turn comes.
	 * What is found leaves those of others unknown. */
	for (uint64_t i = 0; i < n->folders && !c->f.n; i++)
		check_folder(c, i, &at);
}

/* ---- Paths ------------------------------------------------------------ */

struct digests {
	XXH3_state_t all, files;
	char path[2 * HPDSL_PATH_MAX + 2];
	size_t prefix; /* bytes of it that are the folder's, with the slash */
};

/* path: NUL-terminated, of len bytes. */
static void add(struct digests *d, size_t len, const struct hpdsl_entry *e)
{
	uint8_t b[22];

	hp_put16(b, (uint16_t)e->mode);
	hp_put64(b + 2, e->size);
	hp_put64(b + 10, (uint64_t)e->mtime);
	hp_put32(b + 18, e->mtime_nsec);
	XXH3_128bits_update(&d->all, d->path, len + 1);
	XXH3_128bits_update(&d->all, b, S_ISDIR(e->mode) ? 2 : sizeof b);
	if (!S_ISREG(e->mode))
		return;
	hp_put16(b, e->mode & 0170777);
	XXH3_128bits_update(&d->files, d->path, len + 1);
	XXH3_128bits_update(&d->files, b, sizeof b);
}

static void add_child(struct hp_snap_check *c, struct digests *d,
		      uint64_t number)
{
	struct hpdsl_error err;
	struct hpdsl_entry e;
	size_t len;

	if (hpdsl_snapshot_stat(c->s, number, &e, &err) < 0) {
		hp_findings_tell(&c->f, err.msg);
		return;
	}
	len = d->prefix + e.name_len;
	if (len > HPDSL_PATH_MAX) {
		hp_snap_wrong(c, number, "its path is too long");
		return;
	}
	hp_copy_once(d->path + d->prefix, e.name, e.name_len);
	d->path[len] = '\0';
	c->hashes[number] = hp_hash64(d->path, len);
	add(d, len, &e);
}

static void add_folder(struct hp_snap_check *c, struct digests *d,
		       uint64_t number)
{
	struct hp_folder_row row = { 0, 0 }, next = { 0, 0 };
	struct hpdsl_error err;

	row_of(c, number, &row);
	row_of(c, number + 1, &next);
	if (hpdsl_snapshot_path(c->s, c->folders[number], d->path, &d->prefix,
				&err) < 0) {
		hp_findings_tell(&c->f, err.msg);
		return;
	}
	if (d->prefix)
		d->path[d->prefix++] = '/';
	for (uint64_t i = row.first; i < next.first && !c->f.n; i++)
		add_child(c, d, i);
}

static void compare(struct hp_snap_check *c, const char *what,
		    const XXH3_state_t *state, const uint8_t want[16])
{
	uint8_t have[16];

	hp_hash_canonical(XXH3_128bits_digest(state), have);
	if (memcmp(have, want, sizeof have))
		hp_findings_add(&c->f, "header: %s is another one", what);
}

void hp_snap_check_paths(struct hp_snap_check *c)
{
	struct digests d = { .prefix = 0 };
	struct hpdsl_entry top;

	XXH3_128bits_reset(&d.all);
	XXH3_128bits_reset(&d.files);
	if (hpdsl_snapshot_stat(c->s, 0, &top, NULL) == 0)
		add(&d, 0, &top);
	for (uint64_t i = 0; i < c->s->info.folders && !c->f.n; i++)
		add_folder(c, &d, i);
	if (c->f.n)
		return;
	compare(c, "the digest", &d.all, c->s->info.digest);
	compare(c, "the files digest", &d.files, c->s->info.files_digest);
}
