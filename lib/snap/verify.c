/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Proving a whole snapshot: first that its bytes are those that were written,
 * then, in passes that each trust the ones before, that all rows fit together.
 * The first pass that finds something is the last.
 */
#include "snap/verify.h"

#include "base/error.h"
#include "base/mem.h"

#include <inttypes.h>

/* ---- Bytes ------------------------------------------------------------ */

static void check_bytes(struct hp_snap_check *c)
{
	hp_sections_check(&c->s->file, &c->f);
}

static bool is_zero(const uint8_t *p, size_t n)
{
	while (n && !*p)
		p++, n--;
	return !n;
}

static void check_header(struct hp_snap_check *c)
{
	const struct hpdsl_snapshot_info *n = &c->s->info;

	if (!n->from_dataset &&
	    !(is_zero(n->dataset_id, 16) && is_zero(n->pack, 16)))
		hp_findings_add(&c->f, "header: names a dataset, of which the "
				       "snapshot was not made");
}

/* ---- Entries ---------------------------------------------------------- */

/* Strings follow each other without gaps. */
static void check_string(struct hp_snap_check *c, uint64_t number,
			 enum hp_snap_section kind, const char *p, uint64_t len,
			 uint64_t *at)
{
	if ((const uint8_t *)p != hp_snap_section(c->s, kind)->data + *at)
		hp_snap_wrong(c, number, "gap or overlap of names or targets");
	*at += len + 1;
}

static void check_file(struct hp_snap_check *c, const struct hpdsl_entry *e)
{
	uint64_t word, bit;

	c->files++;
	c->bytes += e->size;
	if (e->member == HPDSL_NO_MEMBER) {
		if (c->s->info.from_dataset)
			hp_snap_wrong(c, e->number, "has no member number");
		return;
	}
	word = e->member / 64;
	bit = UINT64_C(1) << e->member % 64;
	if (c->used[word] & bit)
		hp_snap_wrong(c, e->number,
			      "has the member number of another one");
	c->used[word] |= bit;
	if (e->member >= c->members)
		c->members = e->member + 1;
}

static void check_link(struct hp_snap_check *c, const struct hpdsl_entry *e)
{
	struct hpdsl_error err;
	const char *target;

	c->symlinks++;
	if (hpdsl_snapshot_target(c->s, e, &target, &err) < 0)
		hp_findings_tell(&c->f, err.msg);
	else
		check_string(c, e->number, HP_SNAP_TARGETS, target, e->size,
			     &c->targets);
}

/* Of a dataset, only files are known. */
static void check_of_dataset(struct hp_snap_check *c,
			     const struct hpdsl_entry *e)
{
	if (S_ISDIR(e->mode)) {
		if (e->mode != (S_IFDIR | 0755) || e->size || e->mtime ||
		    e->mtime_nsec)
			hp_snap_wrong(
				c, e->number,
				"has attributes that a dataset does not know");
	} else if (!S_ISREG(e->mode) || e->mode & 07000) {
		hp_snap_wrong(c, e->number,
			      "has a mode that a dataset does not know");
	}
}

static void check_entry(struct hp_snap_check *c, const struct hpdsl_entry *e)
{
	struct hp_snap_row row;

	check_string(c, e->number, HP_SNAP_NAMES, e->name, e->name_len,
		     &c->names);
	if (S_ISREG(e->mode))
		check_file(c, e);
	else if (S_ISLNK(e->mode))
		check_link(c, e);
	else if (!S_ISDIR(e->mode) &&
		 (!hp_snap_any_row(c->s, e->number, &row, NULL) || row.link))
		hp_snap_wrong(c, e->number,
			      "a field that should be zero is not");
	if (c->s->info.from_dataset)
		check_of_dataset(c, e);
}

static void check_total(struct hp_snap_check *c, const char *what,
			uint64_t have, uint64_t want)
{
	if (have != want)
		hp_findings_add(&c->f,
				"%s: %" PRIu64 ", there should be %" PRIu64,
				what, have, want);
}

static void check_entries(struct hp_snap_check *c)
{
	const struct hpdsl_snapshot_info *n = &c->s->info;
	struct hpdsl_error err;
	struct hpdsl_entry e;

	for (uint64_t i = 0; i < n->entries && !hp_findings_enough(&c->f); i++)
		if (hpdsl_snapshot_stat(c->s, i, &e, &err) < 0)
			hp_findings_tell(&c->f, err.msg);
		else
			check_entry(c, &e);
	if (c->f.n)
		return;
	check_total(c, "files", c->files, n->files);
	check_total(c, "symbolic links", c->symlinks, n->symlinks);
	check_total(c, "bytes of files", c->bytes, n->bytes);
	check_total(c, "members", c->members, c->s->members);
	check_total(c, "bytes of names", c->names,
		    hp_snap_section(c->s, HP_SNAP_NAMES)->length);
	check_total(c, "bytes of targets", c->targets,
		    hp_snap_section(c->s, HP_SNAP_TARGETS)->length);
}

static void check_checksums(struct hp_snap_check *c)
{
	const uint8_t *p = hp_snap_section(c->s, HP_SNAP_CHECKSUMS)->data;

	for (uint64_t i = 0; i < c->s->members && !hp_findings_enough(&c->f);
	     i++)
		if (!(c->used[i / 64] >> i % 64 & 1) && hp_get64(p + i * 8))
			hp_findings_add(&c->f,
					"member %" PRIu64
					": has a checksum, but no entry",
					i);
}

/* ---- Lookup ----------------------------------------------------------- */

/* Of entries with equal hashes the search has to tell the paths apart. */
static bool is_found(void *arg, uint64_t number, uint64_t before,
		     uint64_t *same)
{
	const struct hp_snap_check *c = arg;
	char path[HPDSL_PATH_MAX + 1];
	struct hpdsl_entry e;
	size_t len;

	(void)before;
	return ++*same <= HP_SAME_HASH &&
	       hpdsl_snapshot_path(c->s, number, path, &len, NULL) == 0 &&
	       hpdsl_snapshot_lookup(c->s, path, len, &e, NULL) == 0 &&
	       e.number == number;
}

static void check_lookup(struct hp_snap_check *c)
{
	struct hp_lookup_check l = {
		.what = "entry",
		.whats = "entries",
		.slots = hp_snap_section(c->s, HP_SNAP_LOOKUP)->data,
		.n_slots = c->s->slots,
		.homes = c->s->homes,
		.first = 1,
		.end = c->s->info.entries,
		.hashes = c->hashes,
		.is_found = is_found,
		.arg = c,
	};

	hp_lookup_check(&l, &c->f);
}

int hpdsl_snapshot_verify(const struct hpdsl_snapshot *s,
			  void (*told)(void *arg, const char *reason),
			  void *arg, struct hpdsl_error *err)
{
	static void (*const passes[])(struct hp_snap_check * c) = {
		check_bytes,	 check_header,		check_entries,
		check_checksums, hp_snap_check_folders, hp_snap_check_paths,
		check_lookup,
	};
	struct hp_snap_check c = { .s = s,
				   .f = { .name = s->file.name,
					  .told = told,
					  .arg = arg,
					  .err = err } };
	hp_auto_free uint64_t *hashes = calloc(s->info.entries, 8);
	hp_auto_free uint64_t *folders = calloc(s->info.folders, 8);
	hp_auto_free uint64_t *used = calloc(s->members / 64 + 1, 8);

	if (!hashes || !folders || !used)
		return hp_fail_nomem(err);
	c.hashes = hashes;
	c.folders = folders;
	c.used = used;
	for (size_t i = 0; i < sizeof passes / sizeof passes[0]; i++) {
		passes[i](&c);
		if (c.f.n)
			return HPDSL_ECORRUPT;
	}
	return 0;
}
