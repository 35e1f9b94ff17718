/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Another manifest comes, of the same chunks: side files that are here go
 * before it, unless it has them as they are.  Afterwards nobody would know them
 * for ours, and none of other bytes may keep its name.  Killed on the way, the
 * manifest that lists them is still here.
 */
#include "stage/private.h"

#include "base/error.h"
#include "sys/outfile.h"

#include <errno.h>
#include <string.h>

struct drop {
	struct hpdsl_stage *s;
	struct hp_sides old, next;
	bool listed;	     /* old is what a manifest has */
	int folder;	     /* of some of them, open; or -1 */
	bool any, any_there; /* something is gone, in the folder */
};

/* Without a manifest names have to do, as for who cleans. */
static int read_old(struct drop *d, const char *text, size_t n,
		    const struct hpdsl_stage_pack *next,
		    struct hpdsl_error *err)
{
	struct hp_manifest m = { .memory = NULL };
	struct hpdsl_error why;
	int r = text ? hp_manifest_parse(text, n, HP_MANIFEST_NAME, &m, &why) :
		       HPDSL_ECORRUPT;

	if (r == -ENOMEM)
		return hp_fail_nomem(err);
	d->listed = r == 0;
	if (!d->listed)
		return hp_sides_all((uint32_t)next->chunks, &d->old, err);
	r = hp_sides_new(&m, true, NULL, NULL, &d->old, err);
	hp_manifest_release(&m);
	return r;
}

static int read_next(struct drop *d, const struct hpdsl_stage_pack *next,
		     struct hpdsl_error *err)
{
	struct hp_manifest m = { .memory = NULL };
	int r = hp_manifest_parse(next->manifest, next->manifest_bytes,
				  HP_MANIFEST_NAME, &m, err);

	if (r < 0)
		return r;
	r = hp_sides_new(&m, true, NULL, NULL, &d->next, err);
	hp_manifest_release(&m);
	return r;
}

static bool stays(const struct drop *d, const struct hp_side_row *row,
		  const char *name, uint64_t chunks)
{
	const struct hp_side_row *next = hp_sides_find(&d->next, name, chunks);

	return next && d->listed && next->bytes == row->bytes &&
	       memcmp(next->checksum, row->checksum, 16) == 0;
}

static int open_folder(struct drop *d, struct hpdsl_error *err)
{
	int r = hp_stage_mend_side_folder(d->s, err);

	if (r >= 0)
		r = hp_stage_side_folder(d->s, false, err);
	d->folder = r;
	return r == -ENOENT || r >= 0 ? 0 : r;
}

/* A folder of others that has such a name is theirs. */
static int drop_one(struct drop *d, const char *name, struct hpdsl_error *err)
{
	const struct hpdsl_stage *s = d->s;
	const char *slash = strchr(name, '/');
	int r;

	if (slash && d->folder < 0)
		return 0;
	r = hp_stage_remove_side(s, slash ? d->folder : s->dir,
				 slash ? slash + 1 : name, NULL);
	if (r < 0 && r != -ENOTEMPTY)
		return hp_fail_errno(err, r, "%s/%s: cannot be removed",
				     s->path, name);
	d->any = d->any || r > 0;
	d->any_there = d->any_there || (slash && r > 0);
	return 0;
}

/* What others have put there stays, with it. */
static int drop_folder(struct drop *d, struct hpdsl_error *err)
{
	const struct hpdsl_stage *s = d->s;
	int r = d->folder < 0 || hp_sides_in_folder(&d->next) ?
			1 :
			hp_stage_sweep_side_folder(s, d->folder);

	if (r == 0)
		r = s->io->unlink(s->io, s->dir, HP_SIDE_FOLDER, AT_REMOVEDIR);
	d->any = d->any || r == 0;
	return r >= 0 || r == -ENOTEMPTY || r == -EEXIST || r == -ENOENT ?
		       0 :
		       hp_fail_errno(err, r, "%s/%s: cannot be removed",
				     s->path, HP_SIDE_FOLDER);
}

/* Also after a power failure the manifest is the last to go. */
static int sync_dropped(const struct drop *d, struct hpdsl_error *err)
{
	const struct hpdsl_stage *s = d->s;
	struct hpdsl_error why;
	int r = d->any_there ? hp_sync_dir(s->io, d->folder, &why) : 0;

	if (r == 0 && d->any)
		r = hp_sync_dir(s->io, s->dir, &why);
	return r < 0 ? hp_fail(err, r, "%s: %s", s->path, why.msg) : 0;
}

static int drop(struct drop *d, uint64_t chunks, struct hpdsl_error *err)
{
	int r = hp_sides_in_folder(&d->old) ? open_folder(d, err) : 0;

	for (uint32_t i = 0; i < d->old.n && r == 0; i++) {
		char name[HP_SIDE_NAME];

		hp_side_row_name(&d->old.row[i], name);
		if (!stays(d, &d->old.row[i], name, chunks))
			r = drop_one(d, name, err);
	}
	if (r == 0)
		r = drop_folder(d, err);
	return r < 0 ? r : sync_dropped(d, err);
}

int hp_stage_drop_sides(struct hpdsl_stage *s, const char *text, size_t n,
			const struct hpdsl_stage_pack *next,
			struct hpdsl_error *err)
{
	struct drop d = { .s = s, .folder = -1 };
	int r = read_next(&d, next, err);

	if (r == 0)
		r = read_old(&d, text, n, next, err);
	if (r == 0)
		r = drop(&d, next->chunks, err);
	if (d.folder >= 0)
		s->io->close(s->io, d.folder);
	hp_sides_release(&d.old);
	hp_sides_release(&d.next);
	return r;
}
