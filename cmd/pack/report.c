/* SPDX-License-Identifier: Apache-2.0 */
/* What hpdsl-pack says when it is done: for people, and as JSON. */
#include "pack.h"

#define LLU unsigned long long
#define MUCH (UINT64_C(1) << 20) /* bytes of which it is worth a word */

/* The manifest is about this long: a head, and a line for each chunk. */
static uint64_t manifest_bytes(uint64_t chunks)
{
	return 4096 + chunks * 110;
}

/* With zstd at most: and a chunk that saves too little is there twice. */
static uint64_t space(const struct pack *p, const struct hpdsl_pack_report *r)
{
	return r->tar_bytes + r->index_bytes + manifest_bytes(r->chunks) +
	       (p->opt.zstd ? r->chunk_max : 0);
}

/* Chunks, index, manifest and the folder; until the end, the journal. */
static uint64_t inodes(const struct pack *p, const struct hpdsl_pack_report *r)
{
	return r->chunks + 4 + (p->opt.zstd ? 1 : 0);
}

/* Nobody has looked at what is in the folders. */
static void tell_excluded(const struct hpdsl_pack_report *r)
{
	struct cmd_text files = cmd_many(r->excluded, "file");
	struct cmd_text folders = cmd_many(r->excluded_dirs, "folder");
	const char *told = "left out by --include and --exclude";

	if (r->excluded && r->excluded_dirs)
		cmd_message("%s: %s, and %s with all below", told, files.s,
			    folders.s);
	else if (r->excluded)
		cmd_message("%s: %s", told, files.s);
	else if (r->excluded_dirs)
		cmd_message("%s: %s with all below", told, folders.s);
}

static uint64_t known(uint64_t n)
{
	return n == UINT64_MAX ? 0 : n;
}

/* What the input had and a dataset does not keep. */
static void tell_lost(const struct hpdsl_pack_report *r)
{
	const struct {
		uint64_t n;
		const char *one, *many, *rest;
	} lost[] = {
		{ r->empty_dirs, "empty folder", "empty folders", "" },
		{ r->symlinks_to_dirs, "link to a folder", "links to folders",
		  ", not followed" },
		{ r->symlinks_followed, "link to a file", "links to files",
		  ", stored as data" },
		{ known(r->hard_links), "hard link", "hard links",
		  ", stored as data" },
		{ known(r->sparse), "sparse file", "sparse files",
		  ", stored without holes" },
		{ known(r->xattrs), "file", "files",
		  " with attributes or ACLs" },
	};
	char text[400] = "";
	int n = 0;

	for (size_t i = 0; i < sizeof(lost) / sizeof(*lost); i++)
		if (lost[i].n)
			n += snprintf(
				text + n, sizeof(text) - (size_t)n,
				"%s%llu %s%s", n ? "; " : "", (LLU)lost[i].n,
				lost[i].n == 1 ? lost[i].one : lost[i].many,
				lost[i].rest);
	if (n)
		cmd_message("not kept: %s", text);
	tell_excluded(r);
}

/* Were classes asked for, or did a packed input have some? */
static bool has_classes(const struct pack *p, const struct hpdsl_pack_report *r)
{
	return r->classes || (p->opt.labels != HPDSL_LABELS_KEEP &&
			      p->opt.labels != HPDSL_LABELS_NONE);
}

static void tell_compressed(const struct hpdsl_pack_report *r)
{
	cmd_message("compressed: %llu of %s, %s of tar to %s (%.1f %%)",
		    (LLU)r->compressed_chunks, cmd_many(r->chunks, "chunk").s,
		    cmd_bytes(r->tar_bytes).s, cmd_bytes(r->stored_bytes).s,
		    100 * (double)r->stored_bytes / (double)r->tar_bytes);
}

/* "2 samples; 'a': jpg json": with none, each file is one. */
static const char *example(const struct hpdsl_pack_report *r)
{
	return *r->look.example ? r->look.example : "each file is one";
}

void pack_tell_sample(const struct hpdsl_pack_report *r)
{
	cmd_progress_end();
	cmd_message("%s; %s", cmd_many(r->samples, "sample").s, example(r));
}

static void tell_summary(const struct pack *p,
			 const struct hpdsl_pack_report *r)
{
	/* else there is no honest speed */
	bool all = !r->resumed_chunks && !r->resumed_members;
	char id[65];

	cmd_hex(id, r->dataset_id, sizeof(r->dataset_id));
	cmd_message("%s, %s, %s in %s (%s of tar), %s%s%s",
		    cmd_many(r->samples, "sample").s,
		    cmd_many(r->members, "member").s, cmd_bytes(r->bytes).s,
		    cmd_many(r->chunks, "chunk").s, cmd_bytes(r->tar_bytes).s,
		    cmd_seconds(r->seconds).s, all ? ", " : "",
		    all ? cmd_speed(r->members, r->bytes, r->seconds).s : "");
	pack_tell_sample(r);
	if (p->opt.zstd)
		tell_compressed(r);
	if (r->resumed_chunks)
		cmd_message("%s there already, checked",
			    cmd_many(r->resumed_chunks, "chunk").s);
	if (r->resumed_members)
		cmd_message("%s in place already, compared",
			    cmd_many(r->resumed_members, "member").s);
	if (has_classes(p, r))
		cmd_message("classes: %llu; without a class: %s",
			    (LLU)r->classes,
			    cmd_many(r->unlabelled, "sample").s);
	tell_lost(r);
	pack_tell_litter(r);
	cmd_message("dataset id %s", id);
	if (r->has_sha256) {
		cmd_hex(id, r->dataset_id_sha256, sizeof(r->dataset_id_sha256));
		cmd_message("dataset id (SHA-256) %s", id);
	}
	pack_snapshot_tell(p);
}

/*
 * A tar has a header of 512 bytes and up to 511 of padding for each file, of
 * which zstd leaves some 30.  But a chunk that would save less than a 20th
 * stays a tar: where files do not compress, these have to be more than that.
 */
static bool gives_back(const struct pack *p, const struct hpdsl_pack_report *r)
{
	uint64_t over = r->tar_bytes > r->bytes ? r->tar_bytes - r->bytes : 0;

	return !p->opt.zstd && !(p->readers & PACK_OF_TAR) && over >= MUCH &&
	       over >= r->tar_bytes / 16;
}

/* What is odd about samples, where something is. */
static void print_sets(const struct hpdsl_pack_report *r)
{
	cmd_auto_free char *sets = cmd_look_sets(&r->look);
	cmd_auto_free char *parted = cmd_look_parted(&r->look);

	if (sets)
		cmd_print("suffixes: %s\n", sets);
	if (parted)
		cmd_print("apart:    %s\n", parted);
}

/* The plan is what a dry run was asked for: it goes to standard output. */
static void print_plan(const struct pack *p, const struct hpdsl_pack_report *r)
{
	uint64_t over = r->tar_bytes > r->bytes ? r->tar_bytes - r->bytes : 0;

	cmd_print("input:    %s, ", cmd_many(r->samples, "sample").s);
	cmd_print("%s, %s\n", cmd_many(r->members, "member").s,
		  cmd_bytes(r->bytes).s);
	cmd_print("sample:   %s\n", example(r));
	print_sets(r);
	cmd_print("chunks:   %llu; smallest %s, ", (LLU)r->chunks,
		  cmd_bytes(r->chunk_min).s);
	cmd_print("median %s, ", cmd_bytes(r->chunk_median).s);
	cmd_print("largest %s\n", cmd_bytes(r->chunk_max).s);
	cmd_print("tar:      %s, ", cmd_bytes(r->tar_bytes).s);
	cmd_print(
		"%s (%.1f %%) of it headers and padding%s\n", cmd_bytes(over).s,
		r->tar_bytes ? 100 * (double)over / (double)r->tar_bytes : 0.0,
		gives_back(p, r) ? ", nearly all of which --zstd saves" : "");
	cmd_print("needs:    %s%s and %llu inodes\n",
		  p->opt.zstd ? "at most " : "", cmd_bytes(space(p, r)).s,
		  (LLU)inodes(p, r));
	if (has_classes(p, r))
		cmd_print("classes:  %llu; without a class: %s\n",
			  (LLU)r->classes, cmd_many(r->unlabelled, "sample").s);
	pack_print_inside(r);
	pack_print_names(p, r);
	cmd_print("scan:     %s\n", cmd_seconds(r->scan_seconds).s);
	if (r->estimate_seconds > 0)
		cmd_print("expected: %s\n", cmd_seconds(r->estimate_seconds).s);
}

static void json_known(struct cmd_json *j, const char *name, uint64_t n)
{
	if (n == UINT64_MAX)
		cmd_json_null(j, name);
	else
		cmd_json_u64(j, name, n);
}

static void json_kept(struct cmd_json *j, const struct hpdsl_pack_report *r)
{
	cmd_json_u64(j, "folders", r->dirs);
	cmd_json_u64(j, "empty_folders", r->empty_dirs);
	cmd_json_u64(j, "symlinks_followed", r->symlinks_followed);
	cmd_json_u64(j, "symlinks_to_folders", r->symlinks_to_dirs);
	json_known(j, "hard_links", r->hard_links);
	json_known(j, "sparse", r->sparse);
	json_known(j, "xattrs", r->xattrs);
	cmd_json_u64(j, "excluded", r->excluded);
	cmd_json_u64(j, "excluded_folders", r->excluded_dirs);
	pack_json_inside(j, r);
	cmd_json_u64(j, "unlabelled", r->unlabelled);
	cmd_json_u64(j, "repeated_suffixes", r->repeated_suffixes);
}

static void json_plan(struct cmd_json *j, const struct pack *p,
		      const struct hpdsl_pack_report *r)
{
	cmd_json_u64(j, "space_bytes", space(p, r));
	cmd_json_bool(j, "zstd_saves_headers", gives_back(p, r));
	cmd_json_u64(j, "inodes", inodes(p, r));
	if (r->estimate_seconds > 0)
		cmd_json_real(j, "estimate_seconds", r->estimate_seconds);
	else
		cmd_json_null(j, "estimate_seconds");
}

static void print_json(const struct pack *p, const struct hpdsl_pack_report *r)
{
	struct cmd_json j = { .out = stdout };

	cmd_json_open(&j, NULL, '{');
	cmd_json_bool(&j, "dry_run", p->opt.dry_run);
	cmd_json_u64(&j, "samples", r->samples);
	cmd_json_u64(&j, "members", r->members);
	cmd_json_u64(&j, "bytes", r->bytes);
	cmd_json_u64(&j, "chunks", r->chunks);
	cmd_json_u64(&j, "tar_bytes", r->tar_bytes);
	cmd_json_u64(&j, "index_bytes", r->index_bytes);
	cmd_json_u64(&j, "chunk_min", r->chunk_min);
	cmd_json_u64(&j, "chunk_median", r->chunk_median);
	cmd_json_u64(&j, "chunk_max", r->chunk_max);
	cmd_json_u64(&j, "classes", r->classes);
	cmd_json_real(&j, "seconds", r->seconds);
	cmd_json_real(&j, "scan_seconds", r->scan_seconds);
	if (p->opt.dry_run) {
		json_plan(&j, p, r);
	} else {
		if (r->resumed_chunks || r->resumed_members)
			cmd_json_null(&j, "files_per_second");
		else
			cmd_json_real(&j, "files_per_second",
				      cmd_rate(r->members, r->seconds));
		cmd_json_u64(&j, "resumed_chunks", r->resumed_chunks);
		cmd_json_u64(&j, "resumed_members", r->resumed_members);
		cmd_json_u64(&j, "stored_bytes", r->stored_bytes);
		cmd_json_u64(&j, "compressed_chunks", r->compressed_chunks);
		cmd_json_hex(&j, "dataset_id", r->dataset_id,
			     sizeof(r->dataset_id));
		if (r->has_sha256)
			cmd_json_hex(&j, "dataset_id_sha256",
				     r->dataset_id_sha256,
				     sizeof(r->dataset_id_sha256));
	}
	json_kept(&j, r);
	cmd_json_look(&j, &r->look);
	pack_snapshot_json(&j, p);
	pack_json_names(&j, r);
	cmd_json_line(&j);
}

void pack_report(const struct pack *p, const struct hpdsl_pack_report *r)
{
	if (p->opt.dry_run)
		pack_hint_members(p, r);
	if (p->common.json) {
		print_json(p, r);
		return;
	}
	if (p->opt.dry_run)
		print_plan(p, r);
	else if (!p->common.quiet)
		tell_summary(p, r);
	if (p->opt.dry_run && !p->common.quiet)
		tell_lost(r);
}
