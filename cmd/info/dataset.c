/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A packed dataset: what its manifest and its index say, and whether its files
 * are there in the sizes that these expect.
 */
#include "info.h"

#include <errno.h>
#include <string.h>

enum {
	LOOKED_TARS = 256,
	LOOKED_MEMBERS = 131072, /* of all of these */
	CHECKED = 20000,	 /* chunks; a server answers for each */
};

/* ---- What is known ---------------------------------------------------- */

void info_pack_open(struct info *i, const char *path, struct info_pack *p)
{
	struct hpdsl_error err;

	*p = (struct info_pack){ 0 };
	if (hpdsl_manifest_open(path, NULL, &p->manifest, &err) == 0)
		hpdsl_manifest_info(p->manifest, &p->m);
	else
		p->no_manifest = err;
	if (cmd_open(path, i->common.foreign_owner, &p->ds, &err) == 0)
		hpdsl_count(p->ds, &p->counts);
	else if (err.code == -EPERM && !i->common.foreign_owner)
		p->foreign = true;
	else
		p->no_ds = err;
}

/* -ENOENT and the like: who knows what was there? */
static bool mends(const struct hpdsl_error *err)
{
	return err->code == HPDSL_ECORRUPT || err->code == HPDSL_ENOTOURS;
}

bool info_pack_judge(struct info *i, const struct info_pack *p)
{
	if (p->no_manifest.code)
		info_failed(i, &p->no_manifest);
	if (p->no_ds.code)
		info_failed(i, &p->no_ds);
	return mends(&p->no_manifest) || mends(&p->no_ds);
}

void info_pack_close(struct info_pack *p)
{
	hpdsl_close(p->ds);
	hpdsl_manifest_close(p->manifest);
}

/* ---- Told ------------------------------------------------------------- */

static void tell_ids(struct info *i, const struct info_pack *p)
{
	const uint8_t *id =
		p->manifest ? p->m.dataset_id : p->counts.dataset_id;

	if (p->manifest || p->ds)
		info_hex(i, "dataset id", "dataset_id", id, 16);
	if (!p->manifest)
		return;
	if (p->m.has_sha256)
		info_hex(i, "by SHA-256", "dataset_id_sha256",
			 p->m.dataset_id_sha256, 32);
	info_hex(i, "pack id", "pack", p->m.pack, sizeof(p->m.pack));
}

static void tell_counts(struct info *i, const struct info_pack *p)
{
	struct hpdsl_counts n = p->counts;
	struct cmd_json *j = info_json(i);

	if (!p->ds) {
		if (!p->manifest)
			return;
		n.samples = p->m.samples;
		n.members = p->m.members;
		n.bytes = p->m.bytes;
	}
	info_row(i, "holds", "%s, %s, %s", cmd_many(n.samples, "sample").s,
		 cmd_many(n.members, "member").s, cmd_bytes(n.bytes).s);
	if (!j)
		return;
	cmd_json_u64(j, "samples", n.samples);
	cmd_json_u64(j, "members", n.members);
	cmd_json_u64(j, "bytes", n.bytes);
}

static void tell_chunks(struct info *i, const struct info_pack *p)
{
	struct info_sizes sizes = { 0 };
	struct hpdsl_error err;
	uint64_t compressed = 0;

	for (uint32_t c = 0; p->ds && c < p->counts.chunks; c++) {
		struct hpdsl_chunk chunk;

		if (hpdsl_chunk_get(p->ds, c, &chunk, &err) < 0) {
			info_failed(i, &err);
			break;
		}
		compressed += chunk.compressed;
		info_sizes_add(&sizes, chunk.bytes);
	}
	if (p->ds)
		info_sizes_tell(i, "chunks", "chunk", &sizes);
	if (compressed)
		info_row(i, "compressed", "%s",
			 cmd_many(compressed, "chunk").s);
	if (p->ds && info_json(i))
		cmd_json_u64(info_json(i), "compressed_chunks", compressed);
	info_sizes_free(&sizes);
}

static void tell_shuffled(struct info *i, const struct info_pack *p)
{
	struct cmd_json *j = info_json(i);
	bool seed = p->manifest && p->m.has_seed;

	if (!p->ds)
		return;
	if (j) {
		cmd_json_bool(j, "shuffled", p->counts.shuffled);
		if (seed)
			cmd_json_u64(j, "seed", p->m.seed);
	} else if (p->counts.shuffled && seed) {
		info_row(i, "shuffled", "yes, seed %llu",
			 (unsigned long long)p->m.seed);
	} else {
		info_row(i, "shuffled", p->counts.shuffled ? "yes" : "no");
	}
}

/* What stands in the manifest alone. */
static void tell_manifest(struct info *i, const struct hpdsl_manifest_info *m)
{
	struct cmd_json *j = info_json(i);

	info_pairs(i, "options", "options", &m->options);
	info_pairs(i, "notes", "meta", &m->meta);
	info_row(i, "digests", m->has_sha256 ? "XXH3 and SHA-256" : "XXH3");
	if (m->side_files)
		info_row(i, "side files", "%llu",
			 (unsigned long long)m->side_files);
	if (m->rebuilt)
		info_row(i, "rebuilt", "%s%s", m->lost ? "lost: " : "",
			 m->lost ? m->lost : "from the chunks");
	if (!j)
		return;
	cmd_json_string(j, "digest", m->has_sha256 ? "sha256" : "xxh3");
	cmd_json_u64(j, "side_files", m->side_files);
	cmd_json_bool(j, "adopted", m->adopted);
	cmd_json_bool(j, "rebuilt", m->rebuilt);
	if (m->lost)
		cmd_json_name(j, "lost", m->lost, strlen(m->lost));
}

void info_pack_tell(struct info *i, const struct info_pack *p)
{
	struct hpdsl_group_look look;
	uint64_t cls;

	tell_ids(i, p);
	tell_counts(i, p);
	tell_chunks(i, p);
	tell_shuffled(i, p);
	info_look_dataset(i, p, &look);
	if (p->ds) {
		info_contents(i, p->ds, &look, &cls);
		info_classes(i, p, cls);
	}
	if (p->manifest)
		tell_manifest(i, &p->m);
}

/* ---- Is it all there? ------------------------------------------------- */

struct first {
	struct info *i;
	uint64_t n;
	char *text;
};

/* The first by its name, whichever thread comes first. */
static void note(void *arg, const struct hpdsl_damage *d)
{
	struct first *f = arg;
	char *text;

	f->n++;
	if (asprintf(&text, "%s%s%s", d->file ? d->file : "",
		     d->file ? ": " : "", d->reason) < 0)
		cmd_no_memory();
	if (!f->text || strcmp(text, f->text) < 0) {
		free(f->text);
		f->text = text;
	} else {
		free(text);
	}
}

void info_pack_check(struct info *i, const struct info_pack *p)
{
	struct first f = { .i = i };
	struct hpdsl_verify_options opt = { .quick = true,
					    .threads = i->common.threads,
					    .foreign_owner =
						    i->common.foreign_owner,
					    .damage = note,
					    .arg = &f };
	struct hpdsl_verify_report report = { 0 };
	struct hpdsl_error err;

	if (p->foreign || (!p->ds && !p->manifest))
		return;
	if (p->counts.chunks > CHECKED) {
		info_row(i, "not checked", "sizes of more than %d chunks",
			 CHECKED);
		return;
	}
	if (hpdsl_verify(i->path, &opt, &report, &err) < 0 && !f.n)
		info_failed(i, &err);
	else if (f.n > 1)
		info_wrong(i, "%s; and %llu more", f.text,
			   (unsigned long long)f.n - 1);
	else if (f.n)
		info_wrong(i, "%s", f.text);
	if (info_json(i))
		cmd_json_u64(info_json(i), "damaged_files",
			     report.damaged_files);
	free(f.text);
}

static void tell_readers(struct info *i, const struct info_pack *p)
{
	uint64_t tars =
		p->counts.chunks < LOOKED_TARS ? p->counts.chunks : LOOKED_TARS;
	struct info_readers r = { .paths = &i->path,
				  .n = 1,
				  .ours = !i->wrong,
				  .tars = LOOKED_TARS,
				  .members = LOOKED_MEMBERS / (tars ? tars : 1),
				  .all = p->counts.members };
	struct hpdsl_compat_report report;

	info_readers(i, &r, &report);
}

static const char *what(const struct info_pack *p)
{
	if (!p->manifest && !p->ds)
		return "what is left of a packed dataset";
	return p->manifest && p->m.adopted ?
		       "a dataset of tar files that others wrote" :
		       "a packed dataset";
}

void info_dataset(struct info *i)
{
	struct info_pack p;
	bool mend;

	info_pack_open(i, i->path, &p);
	mend = info_pack_judge(i, &p);
	info_says(i, "%s", what(&p));
	info_pack_tell(i, &p);
	info_pack_check(i, &p);
	/* what is not there cannot be looked at */
	if (p.ds && p.manifest)
		tell_readers(i, &p);
	if (mend) {
		info_next_chunks(i, i->path, p.m.adopted);
	} else if (p.ds) {
		info_next(i, "hpdsl-verify");
		info_next_path(i, i->path);
	}
	info_pack_close(&p);
}
