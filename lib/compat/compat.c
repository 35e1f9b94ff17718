/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hpdsl_compat: a lint of each tar, and what that means for the readers asked
 * for.  The names in a packed dataset's chunks come from its index, so
 * compressed chunks have them too.
 */
#include "compat/private.h"

#include "base/error.h"
#include "base/mem.h"
#include "chunk/tar.h"
#include "format/names.h"
#include "sys/clock.h"
#include "sys/pool.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { DALI_TARS = 1000 /* the usual limit of open files is 1024 */ };

/* ---- One tar ---------------------------------------------------------- */

/* Readers take it for one with the sample before it, if that has its key. */
static bool is_apart(const struct hpdsl_dataset *ds,
		     const struct hpdsl_member *m)
{
	struct hp_sample_row row;

	return hp_index_flags(ds->index) &
		       (HP_INDEX_LAST | HP_INDEX_GROUP_NONE) &&
	       hp_index_sample_row(ds->index, m->sample, &row, NULL) == 0 &&
	       row.first == m->number;
}

/* A member of ours: its header is what our writer makes of it. */
static int lint_row(struct hp_lint *l, const struct hpdsl_dataset *ds,
		    uint64_t number, struct hpdsl_error *err)
{
	struct hp_lint_member lint = { .kind = HP_FOREIGN_FILE, .type = '0' };
	struct hp_tar_member t = { 0 };
	struct hpdsl_member m;
	int r = hpdsl_member_get(ds, number, &m, err);

	if (r == 0)
		r = hpdsl_member_stored(ds, &m, &lint.name, &lint.len, err);
	if (r < 0)
		return r;
	t.path = lint.name;
	t.path_len = lint.len;
	if (hp_tar_header_size(&t) > HP_TAR_BLOCK)
		lint.form |= HP_FORM_PAX_NAME;
	t.size = m.size;
	if (m.size > HP_TAR_NUMBER_MAX)
		lint.form |= HP_FORM_PAX_SIZE;
	lint.apart = is_apart(ds, &m);
	return hp_lint_add(l, &lint, err);
}

static int lint_chunk(struct hp_compat *c, struct hp_lint *l,
		      const struct hp_compat_tar *t, struct hpdsl_error *err)
{
	struct hpdsl_chunk row;
	int r = hpdsl_chunk_get(t->in->ds, t->chunk, &row, err);

	for (uint64_t i = 0; r == 0 && i < row.members; i++) {
		if (l->most && i == l->most) {
			hp_lint_cut(l);
			break;
		}
		if (hp_stopped(&c->opt->watch))
			return hp_fail(err, HPDSL_ESTOPPED, "stopped");
		r = lint_row(l, t->in->ds, row.first_member + i, err);
	}
	/* By its name: a stage directory may have the plain tar. */
	if (r == 0 && hp_chunk_name_is_zst(t->name))
		r = hp_lint_count(l, HP_TRIP_ZSTD, NULL, err);
	return r < 0 ? r : hp_lint_end(l, err);
}

static int lint_file(struct hp_compat *c, struct hp_lint *l,
		     const struct hp_compat_tar *t, struct hpdsl_error *err)
{
	struct hpdsl_error why = { 0 };
	uint32_t flags =
		t->in && t->in->ds ? hp_index_flags(t->in->ds->index) : 0;
	int r;

	l->each = flags & HP_INDEX_GROUP_NONE;
	if (flags & HP_INDEX_LAST)
		l->rule = hp_index_key_rule(t->in->ds->index);
	r = hp_lint_read(l, c->io, t->in ? t->in->dir : AT_FDCWD, t->name, &why,
			 err);

	if (r == 0 && why.code)
		hp_meter_warn(&c->meter, "%s: %s", t->name, why.msg);
	return r;
}

/* Is the file of a dataset's tar there, as long as its index says?  Else told,
 * and *ret_there false if there is none. */
static int lint_size(struct hp_compat *c, struct hp_lint *l,
		     const struct hp_compat_tar *t, bool *ret_there,
		     struct hpdsl_error *err)
{
	struct hpdsl_chunk row;
	struct stat st;
	uint64_t want;
	int r = hpdsl_chunk_get(t->in->ds, t->chunk, &row, err);

	if (r < 0)
		return r;
	want = row.compressed && !hp_chunk_name_is_zst(t->name) ?
		       row.plain_bytes :
		       row.bytes;
	r = c->io->stat(c->io, t->in->dir, t->name, &st, 0);
	*ret_there = r == 0 && S_ISREG(st.st_mode);
	if (r < 0 && r != -ENOENT && r != -ENOTDIR)
		return hp_fail_errno(err, r, "%s", t->name);
	if (!*ret_there) {
		hp_meter_warn(&c->meter, "%s: %s", t->name,
			      r < 0 ? "is missing" : "not a regular file");
		return hp_lint_count(l, HP_TRIP_MISSING, NULL, err);
	}
	if ((uint64_t)st.st_size == want)
		return 0;
	hp_meter_warn(&c->meter,
		      "%s: is %" PRIu64 " bytes, %" PRIu64 " expected", t->name,
		      (uint64_t)st.st_size, want);
	return hp_lint_count(l, HP_TRIP_BROKEN, NULL, err);
}

static int lint_members(struct hp_compat *c, struct hp_lint *l,
			const struct hp_compat_tar *t, struct hpdsl_error *err)
{
	l->most = c->opt->members;
	return t->in && t->in->ds && !t->in->foreign ?
		       lint_chunk(c, l, t, err) :
		       lint_file(c, l, t, err);
}

static bool exists(const struct hp_io *io, int dir, const char *name)
{
	struct stat st;

	return io->stat(io, dir, name, &st, 0) == 0;
}

/* Is a file of this tar's name, cut at its first dot or not, and end there? */
static bool beside(const struct hp_compat *c, const struct hp_compat_tar *t,
		   bool cut, const char *end)
{
	const char *slash = strrchr(t->name, '/');
	const char *base = slash ? slash + 1 : t->name;
	size_t len = strlen(t->name);
	const char *dot = strchr(base, '.');
	hp_auto_free char *name = NULL;

	if (hp_chunk_name_is_zst(t->name))
		len -= 4;
	if (cut && dot)
		len = (size_t)(dot - t->name);
	if (asprintf(&name, "%.*s%s", (int)len, t->name, end) < 0) {
		name = NULL;
		return true;
	}
	return exists(c->io, t->in ? t->in->dir : AT_FDCWD, name);
}

static int count_bits(struct hp_lint *l, uint32_t bits, struct hpdsl_error *err)
{
	int r = 0;

	for (; bits && r == 0; bits &= bits - 1)
		r = hp_lint_count(l, (enum hp_trip)__builtin_ctz(bits), NULL,
				  err);
	return r;
}

static int lint_beside(struct hp_compat *c, struct hp_lint *l,
		       const struct hp_compat_tar *t, struct hpdsl_error *err)
{
	uint32_t bits = hp_lint_of_tar(t->name);

	/* Compressed ones have been told. */
	if (l->tally[HP_RISKS + HP_TRIP_ZSTD].n ||
	    l->tally[HP_RISKS + HP_TRIP_PACKED].n)
		bits = 0;
	if (!beside(c, t, true, ".idx"))
		bits |= UINT32_C(1) << HP_TRIP_NO_IDX;
	if (!(t->in && t->in->energon) || !beside(c, t, false, ".idx"))
		bits |= UINT32_C(1) << HP_TRIP_NO_META;
	return count_bits(l, bits, err);
}

/* One of those that are looked at, spread evenly? */
static bool is_chosen(const struct hp_compat *c, uint64_t number)
{
	uint64_t most = c->opt->tars;

	return !most || most >= c->n ||
	       number * most / c->n != (number + 1) * most / c->n;
}

/* A job of hp_pool_run. */
static int lint_tar(void *arg, uint64_t number, struct hpdsl_error *err)
{
	struct hp_compat *c = arg;
	struct hp_lint *l = &c->lints[number];
	const struct hp_compat_tar *t = &c->tars[number];
	bool there = true;
	int r = 0;

	if (!is_chosen(c, number))
		return 0;
	if (t->in && t->in->ds)
		r = lint_size(c, l, t, &there, err);
	/* The names of ours are in the index. */
	if (r == 0 && (there || !t->in->foreign))
		r = lint_members(c, l, t, err);
	/* By its headers, too. */
	if (l->tally[HP_RISKS + HP_TRIP_BROKEN].n > 1)
		l->tally[HP_RISKS + HP_TRIP_BROKEN].n = 1;
	if (r == 0)
		r = lint_beside(c, l, t, err);
	hp_meter_add(&c->meter, 1);
	return r;
}

/* Finds the key of a hash that the tar has; see hp_lint_join. */
static int find_key(void *arg, size_t tar, uint64_t hash, char **ret,
		    struct hpdsl_error *err)
{
	struct hp_compat *c = arg;
	struct hp_lint l = { .want = hash };
	int r = lint_members(c, &l, &c->tars[tar], err);

	if (r == 0)
		*ret = hp_take(l.found);
	hp_lint_release(&l);
	return r;
}

/* ---- All of it -------------------------------------------------------- */

/* One kind for one reader, over all tars. */
static void tell(const struct hp_compat *c, unsigned reader, unsigned lint)
{
	struct hpdsl_compat_problem p = {
		.reader = reader,
		.effect = hp_lint_effect(lint, reader),
		.note = !hp_lint_trips(lint, reader),
		.unit = hp_lint_unit(lint),
		.reason = hp_lint_text(lint),
	};

	if (!p.effect)
		return;
	for (size_t i = 0; i <= c->n; i++) {
		const struct hp_tally *t = &c->lints[i].tally[lint];

		if (t->n && !p.tar) {
			p.first = t->first;
			p.tar = i < c->n ? c->tars[i].name : t->first;
		}
		p.count += t->n;
	}
	if (p.count)
		c->opt->problem(c->opt->arg, &p);
}

static unsigned trips(const struct hp_compat *c)
{
	unsigned found = 0;

	for (size_t i = 0; i <= c->n; i++)
		for (unsigned lint = 0; lint < HP_LINTS; lint++)
			for (unsigned r = 1;
			     c->lints[i].tally[lint].n && r < HPDSL_READERS_ALL;
			     r *= 2)
				if (hp_lint_trips(lint, r))
					found |= r;
	return found & c->opt->readers;
}

static void report(const struct hp_compat *c, struct hpdsl_compat_report *ret)
{
	*ret = (struct hpdsl_compat_report){ 0 };
	for (size_t i = 0; i < c->n; i++) {
		ret->tars += is_chosen(c, i);
		ret->members += c->lints[i].members;
		ret->samples += c->lints[i].samples;
		if (c->lints[i].tally[HP_RISKS + HP_TRIP_MIXED].n)
			ret->splits |= c->lints[i].splits;
	}
	ret->trips = trips(c);
	for (unsigned reader = 1; c->opt->problem && reader < HPDSL_READERS_ALL;
	     reader *= 2)
		for (unsigned lint = 0;
		     c->opt->readers & reader && lint < HP_LINTS; lint++)
			tell(c, reader, lint);
}

/* Only the first tar's first samples count. */
static void forget_fields(struct hp_compat *c)
{
	for (size_t i = 1; i < c->n; i++) {
		struct hp_tally *t =
			&c->lints[i].tally[HP_RISKS + HP_TRIP_FIELDS];

		free(t->first);
		*t = (struct hp_tally){ 0 };
	}
}

static int lint_all(struct hp_compat *c, struct hpdsl_error *err)
{
	int r;

	c->lints = calloc(c->n + 1, sizeof *c->lints);
	if (!c->lints)
		return hp_fail_nomem(err);
	hp_meter_phase(&c->meter, "looking at tars", c->n, false);
	r = hp_pool_run(hp_threads(c->opt->threads), c->n, lint_tar, c,
			c->opt->watch.stop, err);
	hp_meter_warn_end(&c->meter, "tars that are damaged");
	if (r == 0)
		r = hp_lint_join(c->lints, c->n, find_key, c, err);
	if (r == 0)
		r = hp_compat_strangers(c, &c->lints[c->n], err);
	if (r == 0 && c->n >= DALI_TARS)
		c->lints[c->n].tally[HP_RISKS + HP_TRIP_MANY].n = c->n;
	forget_fields(c);
	return r;
}

static void release(struct hp_compat *c)
{
	for (size_t i = 0; c->lints && i <= c->n; i++)
		hp_lint_release(&c->lints[i]);
	free(c->lints);
	for (size_t i = 0; i < c->n; i++)
		free(c->tars[i].name);
	free(c->tars);
	for (size_t i = 0; i < c->n_folders; i++) {
		hpdsl_close(c->folders[i].ds);
		c->io->close(c->io, c->folders[i].dir);
	}
	free(c->folders);
	hp_meter_release(&c->meter);
}

int hpdsl_compat(const char *const *paths, size_t n,
		 const struct hpdsl_compat_options *opt,
		 struct hpdsl_compat_report *ret, struct hpdsl_error *err)
{
	struct hp_compat c = { .opt = opt,
			       .io = hp_io_or_system(opt->watch.io) };
	double start = hp_now();
	int r = 0;

	hp_meter_init(&c.meter, &opt->watch);
	c.folders = calloc(n ? n : 1, sizeof *c.folders);
	if (!c.folders)
		r = hp_fail_nomem(err);
	for (size_t i = 0; i < n && r == 0; i++)
		r = hp_compat_add(&c, paths[i], err);
	if (r == 0)
		r = lint_all(&c, err);
	if (r == 0) {
		report(&c, ret);
		ret->seconds = hp_now() - start;
	}
	release(&c);
	return r;
}
