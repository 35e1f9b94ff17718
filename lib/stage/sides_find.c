/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which side files are here.  They have no bytes in the state file: one that
 * has its name was verified before, unless the node went down meanwhile.
 */
#include "stage/private.h"

#include "base/error.h"
#include "base/mem.h"
#include "sys/dir.h"
#include "sys/pool.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

struct find {
	struct hpdsl_stage *s;
	struct hp_meter *meter;
	bool trust, folder; /* the folder is there */
	int dir;	    /* it, open */
	uint8_t *bad;	    /* of each row, an enum hp_stage_bad */
};

static int find_one(void *arg, uint64_t number, struct hpdsl_error *err)
{
	struct find *f = arg;
	struct hp_side_row *row = &f->s->sides.row[number];
	char name[HP_SIDE_NAME];
	struct hp_stage_file file = { .name = name,
				      .bytes = row->bytes,
				      .any = true };
	int r;

	hp_side_row_name(row, name);
	if (!f->folder && strchr(name, '/'))
		return 0;
	if (!f->trust)
		file.checksum = row->checksum;
	r = hp_stage_check_file(f->s, &file, f->meter, err);
	if (r < 0)
		return r == -ENOENT ? 0 : r;
	row->here = r == HP_STAGE_SOUND;
	f->bad[number] = (uint8_t)r;
	return 0;
}

static int remove_one(struct find *f, uint32_t i, struct hpdsl_error *err)
{
	struct hpdsl_stage *s = f->s;
	const char *what = hp_stage_bad_word(f->bad[i]);
	char name[HP_SIDE_NAME];
	const char *slash;
	int r;

	hp_side_row_name(&s->sides.row[i], name);
	slash = strchr(name, '/');
	r = hp_stage_remove_side(s, slash ? f->dir : s->dir,
				 slash ? slash + 1 : name, NULL);
	if (r == -ENOTEMPTY)
		return hp_fail(err, r,
			       "%s/%s: is a folder that is not empty, where a "
			       "side file has to be",
			       s->path, name);
	if (r < 0)
		return hp_fail_errno(err, r, "%s/%s: %s, and cannot be removed",
				     s->path, name, what);
	hp_meter_warn(f->meter, "%s: %s; removed", name, what);
	return 0;
}

/* In order, whatever thread has found it. */
static int remove_bad(struct find *f, struct hpdsl_error *err)
{
	int r = 0;

	for (uint32_t i = 0; i < f->s->sides.n && r == 0; i++)
		if (f->bad[i] != HP_STAGE_SOUND)
			r = remove_one(f, i, err);
	hp_meter_warn_end(f->meter, "side files that are removed");
	return r;
}

/* ---- The folder ------------------------------------------------------- */

/* Opens it, if there is one, and removes what a stager has left there. */
static int look_into(struct find *f, struct hpdsl_error *err)
{
	struct hpdsl_stage *s = f->s;
	struct hpdsl_error why;
	int r;

	if (!hp_sides_in_folder(&s->sides))
		return 0;
	r = hp_stage_mend_side_folder(s, err);
	if (r < 0)
		return r;
	if (r > 0)
		hp_meter_warn(f->meter, "%s: no folder; removed",
			      HP_SIDE_FOLDER);
	r = hp_stage_side_folder(s, false, &why);
	if (r == -ENOENT)
		return 0;
	if (r < 0)
		return hp_fail(err, r, "%s", why.msg);
	f->dir = r;
	f->folder = true;
	r = hp_stage_sweep_side_folder(s, f->dir);
	return r < 0 ? hp_fail_errno(err, r, "%s/%s: cannot be listed", s->path,
				     HP_SIDE_FOLDER) :
		       0;
}

int hp_stage_find_sides(struct hpdsl_stage *s,
			const struct hpdsl_stage_begin *opt, struct hp_meter *m,
			struct hpdsl_error *err)
{
	hp_auto_free uint8_t *bad = calloc(s->sides.n ? s->sides.n : 1, 1);
	struct find f = { .s = s,
			  .meter = m,
			  .trust = s->old_good && !opt->recheck,
			  .dir = -1,
			  .bad = bad };
	int r;

	if (!bad)
		return hp_fail_nomem(err);
	r = look_into(&f, err);
	if (r == 0)
		r = hp_pool_run(opt->threads, s->sides.n, find_one, &f,
				opt->watch.stop, err);
	if (r == 0)
		r = remove_bad(&f, err);
	if (f.dir >= 0)
		s->io->close(s->io, f.dir);
	return r;
}
