/* SPDX-License-Identifier: Apache-2.0 */
/* Files of a dataset by themselves, told of with the folder they are in. */
#include "info.h"

#include <string.h>
#include <sys/stat.h>

/* What the folder is; a file that is no part of it is told of alone. */
static enum hpdsl_kind kind_of_folder(const char *folder)
{
	enum hpdsl_kind kind;

	if (!folder || hpdsl_kind_of(folder, NULL, &kind, NULL) < 0)
		return HPDSL_KIND_NOTHING;
	return kind;
}

/* ---- Index, manifest, journal, state ---------------------------------- */

static const char *front_of(enum hpdsl_kind kind)
{
	switch (kind) {
	case HPDSL_KIND_INDEX:
		return "the index of ";
	case HPDSL_KIND_MANIFEST:
		return "the manifest of ";
	case HPDSL_KIND_JOURNAL:
		return "the journal of ";
	case HPDSL_KIND_SIDE:
		return "a side file of ";
	case HPDSL_KIND_BOOK:
		return "the book of the nodes of ";
	default:
		return "the state of ";
	}
}

/* NULL: the file is no part of what the folder is. */
static void (*teller_of(enum hpdsl_kind kind))(struct info *i)
{
	switch (kind) {
	case HPDSL_KIND_DATASET:
		return info_dataset;
	case HPDSL_KIND_STAGE:
		return info_stage;
	case HPDSL_KIND_UNFINISHED:
		return info_unfinished;
	default:
		return NULL;
	}
}

/* By itself it may be cut off, too. */
static void tell_alone(struct info *i)
{
	struct hpdsl_error err;

	info_says(i, "%sa dataset that is not here", front_of(i->kind));
	if (hpdsl_file_check(i->path, NULL, i->kind, &err) < 0)
		info_failed(i, &err);
}

/* Is it really called as that file of a dataset is? */
static bool has_its_name(const struct info *i)
{
	static const char *const names[HPDSL_KINDS] = {
		[HPDSL_KIND_INDEX] = "/index.hpdsl",
		[HPDSL_KIND_MANIFEST] = "/dataset.yaml",
		[HPDSL_KIND_JOURNAL] = "/journal.hpdsl",
		[HPDSL_KIND_STATE] = "/stage.hpdsl",
		[HPDSL_KIND_BOOK] = "/peers.hpdsl",
	};
	cmd_auto_free char *real = realpath(i->path, NULL);
	const char *base = real ? strrchr(real, '/') : NULL;

	return base && names[i->kind] && !strcmp(base, names[i->kind]);
}

void info_part(struct info *i)
{
	cmd_auto_free char *folder = info_folder(i->path);
	void (*tell)(struct info * i) = teller_of(kind_of_folder(folder));

	if (!tell || !has_its_name(i)) {
		tell_alone(i);
		return;
	}
	i->front = front_of(i->kind);
	i->path = folder;
	tell(i);
	i->path = i->paths.v[0];
}

/* The dataset that path lies in, or the folder above that; or NULL. */
static char *dataset_of(const char *path)
{
	char *folder = info_folder(path), *up;

	if (!folder || teller_of(kind_of_folder(folder)))
		return folder;
	up = info_folder(folder);
	free(folder);
	if (up && teller_of(kind_of_folder(up)))
		return up;
	free(up);
	return NULL;
}

/* A side file, or the folder of some. */
void info_side(struct info *i)
{
	cmd_auto_free char *path = strdup(i->path), *folder = NULL,
			   *real = realpath(i->path, NULL);
	void (*tell)(struct info * i);
	struct stat st;

	if (!path)
		cmd_no_memory();
	for (size_t n = strlen(path); n > 1 && path[n - 1] == '/'; n--)
		path[n - 1] = '\0';
	i->front = stat(path, &st) == 0 && S_ISDIR(st.st_mode) ?
			   "the folder of side files of " :
			   front_of(i->kind);
	folder = dataset_of(path);
	if (!folder && real)
		folder = dataset_of(real);
	if (!folder) { /* by now */
		info_says(i, "a dataset that is not here");
		return;
	}
	i->path = folder;
	tell = teller_of(kind_of_folder(folder));
	if (tell)
		tell(i);
	i->path = i->paths.v[0];
}

/* ---- A chunk ---------------------------------------------------------- */

/* Its name as the dataset stores it, or as a stage directory has it. */
static bool is_name(const struct hpdsl_chunk *c, const char *base, bool *plain)
{
	size_t n = strlen(c->name);

	*plain = !c->compressed;
	if (!strcmp(c->name, base))
		return true;
	*plain = true;
	return c->compressed && n > 4 && strlen(base) == n - 4 &&
	       !strncmp(c->name, base, n - 4);
}

static bool find(const struct info_pack *p, const char *base,
		 struct hpdsl_chunk *ret, bool *plain)
{
	for (uint32_t c = 0; p->ds && c < p->counts.chunks; c++)
		if (hpdsl_chunk_get(p->ds, c, ret, NULL) == 0 &&
		    is_name(ret, base, plain))
			return true;
	return false;
}

/* Its size, and what it should be. */
static uint64_t look_at_size(struct info *i, const char *path,
			     const struct hpdsl_chunk *c, bool plain,
			     uint64_t *ret_want)
{
	struct stat st;

	*ret_want = plain ? c->plain_bytes : c->bytes;
	if (stat(path, &st) < 0)
		return 0;
	if ((uint64_t)st.st_size != *ret_want)
		info_wrong(i, "%s is %llu bytes, %llu expected", c->name,
			   (unsigned long long)st.st_size,
			   (unsigned long long)*ret_want);
	return (uint64_t)st.st_size;
}

static void tell_size(struct info *i, const struct hpdsl_chunk *c, bool plain)
{
	uint64_t want, is = look_at_size(i, i->path, c, plain, &want);

	info_row(i, "size", "%s", cmd_bytes(is).s);
	if (info_json(i)) {
		cmd_json_u64(info_json(i), "file_bytes", is);
		cmd_json_u64(info_json(i), "expected_bytes", want);
	}
}

static void tell_chunk(struct info *i, const struct hpdsl_chunk *c, bool plain)
{
	struct cmd_json *j = info_json(i);

	if (j) {
		cmd_json_u64(j, "chunk", c->number);
		cmd_json_u64(j, "first_sample", c->first_sample);
		cmd_json_u64(j, "chunk_samples", c->samples);
	} else if (c->samples) {
		info_row(i, "chunk", "%u: samples %llu to %llu, %s", c->number,
			 (unsigned long long)c->first_sample,
			 (unsigned long long)(c->first_sample + c->samples - 1),
			 cmd_many(c->members, "member").s);
	}
	tell_size(i, c, plain);
}

/* The chunk that path really is, of the folder's dataset. */
static bool find_path(const struct info_pack *p, const char *path,
		      struct hpdsl_chunk *ret, bool *plain)
{
	cmd_auto_free char *real = realpath(path, NULL);
	const char *base = real ? strrchr(real, '/') : NULL;

	return base && find(p, base + 1, ret, plain);
}

static void tell_several(struct info *i, const struct info_pack *p)
{
	struct hpdsl_chunk c;
	uint64_t bytes = 0, samples = 0, want;
	bool plain;

	for (size_t k = 0; k < i->paths.n; k++) {
		if (!find_path(p, i->paths.v[k], &c, &plain))
			continue;
		bytes += look_at_size(i, i->paths.v[k], &c, plain, &want);
		samples += c.samples;
	}
	info_row(i, "given", "%s, %s", cmd_many(i->paths.n, "chunk").s,
		 cmd_many(samples, "sample").s);
	info_row(i, "size", "%s", cmd_bytes(bytes).s);
	if (!info_json(i))
		return;
	cmd_json_u64(info_json(i), "given", i->paths.n);
	cmd_json_u64(info_json(i), "given_samples", samples);
	cmd_json_u64(info_json(i), "file_bytes", bytes);
}

/* Of all that were given?  Then *ret is the last. */
static bool finds_all(const struct info *i, const struct info_pack *p,
		      struct hpdsl_chunk *ret, bool *plain)
{
	for (size_t k = 0; k < i->paths.n; k++)
		if (!find_path(p, i->paths.v[k], ret, plain))
			return false;
	return true;
}

/* False: the folder's dataset does not have it, or them. */
static bool tell_of(struct info *i, const char *folder)
{
	struct hpdsl_chunk c;
	struct info_pack p;
	bool plain, found;

	info_pack_open(i, folder, &p);
	found = finds_all(i, &p, &c, &plain);
	if (found) {
		info_says(i, "%s of %s",
			  i->paths.n > 1 ? cmd_many(i->paths.n, "chunk").s :
					   "a chunk",
			  p.m.adopted ? "a dataset, by another program" :
					"a packed dataset");
		info_name(i, "dataset", "directory", folder);
		if (i->paths.n > 1)
			tell_several(i, &p);
		else
			tell_chunk(i, &c, plain);
		info_pack_tell(i, &p);
		info_next(i, info_pack_judge(i, &p) ? "hpdsl-index" :
						      "hpdsl-verify");
		info_next_path(i, folder);
	}
	info_pack_close(&p);
	return found;
}

/* Do all that were given lie in that folder? */
static bool is_folder_of_all(const struct info *i, const char *folder)
{
	struct stat one, other;

	if (!folder || stat(folder, &one) < 0)
		return false;
	for (size_t k = 1; k < i->paths.n; k++) {
		cmd_auto_free char *next = info_folder(i->paths.v[k]);

		if (!next || stat(next, &other) < 0 ||
		    one.st_dev != other.st_dev || one.st_ino != other.st_ino)
			return false;
	}
	return true;
}

void info_chunk(struct info *i)
{
	cmd_auto_free char *folder = info_folder(i->path);
	enum hpdsl_kind kind = kind_of_folder(folder);

	if (!is_folder_of_all(i, folder))
		kind = HPDSL_KIND_NOTHING;
	if (kind == HPDSL_KIND_UNFINISHED) {
		info_says(i, "%s of a pack that is unfinished",
			  i->paths.n > 1 ? cmd_many(i->paths.n, "chunk").s :
					   "a chunk");
		info_name(i, "dataset", "directory", folder);
		info_next(i, "hpdsl-info");
		info_next_path(i, folder);
		return;
	}
	if ((kind == HPDSL_KIND_DATASET || kind == HPDSL_KIND_STAGE) &&
	    tell_of(i, folder))
		return;
	if (i->paths.n > 1) {
		i->kind = HPDSL_KIND_TARS;
		i->word = "tars";
	}
	info_tars(i);
}
