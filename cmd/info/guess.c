/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a tree looks like, by the names of its files: as people's tools lay them
 * down.  Of few files some are asked for their sizes, of a Hugging Face cache
 * the file that names its commit is read; else nothing but names is looked at.
 */
#include "info.h"

#include <string.h>
#include <sys/stat.h>

enum {
	FEW = 4096,	  /* files; of more no size is asked for */
	ASKED = 64,	  /* of these */
	LARGE = 32 << 20, /* bytes, on average: half of a chunk */
	COMMIT = 64,
};

static bool ends(const char *s, const char *with)
{
	size_t n = strlen(s), k = strlen(with);

	return n >= k && !strcmp(s + n - k, with);
}

/* The base name, or of a path its last part. */
static const char *base_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static bool is_zarr(const char *path)
{
	static const char *const names[] = { ".zarray", ".zgroup", ".zmetadata",
					     "zarr.json" };

	for (size_t k = 0; k < sizeof(names) / sizeof(*names); k++)
		if (!strcmp(base_of(path), names[k]))
			return true;
	return false;
}

static bool is_annotation(const char *path)
{
	return !strncmp(path, "annotations/", 12) && ends(path, ".json");
}

/* Does any file's name say so? */
static bool any(const struct cmd_strings *names, bool (*is)(const char *path))
{
	for (size_t k = 0; k < names->n; k++)
		if (is(names->v[k]))
			return true;
	return false;
}

/* Many samples in each: what MosaicML, Arrow and TensorFlow write, and LMDB. */
static bool is_record_file(const char *path)
{
	static const char *const suffixes[] = { ".mds",		".mds.zstd",
						".arrow",	".parquet",
						".tfrecord",	".array_record",
						".arrayrecord", ".lance",
						".mdb" };
	const char *base = base_of(path);

	for (size_t k = 0; k < sizeof(suffixes) / sizeof(*suffixes); k++)
		if (ends(base, suffixes[k]))
			return true;
	return strstr(base, ".tfrecord-");
}

/* As LitData's are called, whose index lies beside them. */
static bool is_chunk(const char *path)
{
	return !strncmp(base_of(path), "chunk-", 6) && ends(path, ".bin");
}

static bool is_index(const char *path)
{
	return !strcmp(base_of(path), "index.json");
}

/* Most of them, but for those that describe the others. */
static bool are_records(const struct cmd_strings *names)
{
	bool chunks = any(names, is_index);
	size_t n = 0, others = 0;

	for (size_t k = 0; k < names->n; k++)
		if (is_record_file(names->v[k]) ||
		    (chunks && is_chunk(names->v[k])))
			n++;
		else
			others += !ends(names->v[k], ".json");
	return n > others;
}

/* How much of a path is before "refs/NAME" of a cache; SIZE_MAX: it is none. */
static size_t before_refs(const char *path)
{
	const char *base = base_of(path);
	size_t n = (size_t)(base - path);

	if (n < 5 || memcmp(base - 5, "refs/", 5) || (n > 5 && base[-6] != '/'))
		return SIZE_MAX;
	return n - 5;
}

static bool has_blobs(const struct cmd_strings *names, const char *ref,
		      size_t before)
{
	for (size_t k = 0; k < names->n; k++)
		if (!strncmp(names->v[k], ref, before) &&
		    !strncmp(names->v[k] + before, "blobs/", 6))
			return true;
	return false;
}

/* The snapshot of the commit that a file says; NULL: there is none. */
static char *snapshot_of(const char *root, const char *ref, size_t before)
{
	cmd_auto_free char *file = NULL, *commit = NULL;
	struct hpdsl_error err;
	struct stat st;
	char *folder;
	size_t size;

	if (asprintf(&file, "%s/%s", root, ref) < 0)
		cmd_no_memory();
	if (stat(file, &st) < 0 || !S_ISREG(st.st_mode) ||
	    st.st_size > COMMIT + 1 ||
	    cmd_file_read(file, &commit, &size, &err) < 0)
		return NULL;
	size = strnlen(commit, size);
	size -= size && commit[size - 1] == '\n';
	if (!size || *commit == '.' || memchr(commit, '/', size))
		return NULL;
	if (asprintf(&folder, "%s/%.*ssnapshots/%.*s", root, (int)before, ref,
		     (int)size, commit) < 0)
		cmd_no_memory();
	if (stat(folder, &st) == 0 && S_ISDIR(st.st_mode))
		return folder;
	free(folder);
	return NULL;
}

static bool is_cache(const char *root, const struct cmd_strings *names,
		     struct info_guess *ret)
{
	const char *first = NULL;
	size_t len = 0;

	for (size_t k = 0; k < names->n; k++) {
		size_t before = before_refs(names->v[k]);

		if (before == SIZE_MAX ||
		    !has_blobs(names, names->v[k], before))
			continue;
		if (first && before == len && !strncmp(first, names->v[k], len))
			continue;
		free(ret->snapshot);
		ret->snapshot = NULL;
		/* None of several repositories is the one that is meant. */
		if (first)
			return true;
		first = names->v[k];
		len = before;
		ret->snapshot = snapshot_of(root, first, len);
	}
	return first;
}

static bool are_large(const char *root, const struct cmd_strings *names)
{
	size_t step = names->n / ASKED + 1;
	uint64_t sum = 0, n = 0;

	for (size_t k = 0; k < names->n; k += step) {
		cmd_auto_free char *path = NULL;
		struct stat st;

		if (asprintf(&path, "%s/%s", root, names->v[k]) < 0)
			cmd_no_memory();
		if (lstat(path, &st) < 0 || !S_ISREG(st.st_mode))
			return false;
		sum += (uint64_t)st.st_size;
		n++;
	}
	return n && sum / n >= LARGE;
}

static const struct looks {
	const char *word, *text;
} looks[] = {
	[INFO_CACHE] = { "hf-cache",
			 "a Hugging Face cache, whose snapshots are links" },
	[INFO_ZARR] = { "zarr",
			"a zarr store, of which each file is a sample" },
	[INFO_COCO] = { "coco",
			"COCO; files of annotations/ are samples, too, "
			"which hpdsl.Choice(ds, folder=..) leaves out" },
	[INFO_PARTED] = { "images-labels",
			  "pictures and labels in folders of their own" },
	[INFO_RECORDS] = { "records",
			   "records of another library, many samples in a "
			   "file: write these to a tar with its own reader "
			   "(hpdsl-python(7))" },
	[INFO_LARGE] = { "large-files",
			 "large files: packing them brings little, but for "
			 "staging" },
	[INFO_SHARDS] = { "shards", "archives, as shards of WebDataset" },
	[INFO_SPLITS] = { "imagefolder-splits", "ImageFolder, with splits" },
	[INFO_CLASSES] = { "imagefolder", "ImageFolder" },
};

void info_guess(const char *root, const struct cmd_strings *names, bool all,
		const struct hpdsl_group_look *look, struct info_guess *ret)
{
	enum info_looks is = INFO_NOTHING;

	if (is_cache(root, names, ret))
		is = INFO_CACHE;
	else if (any(names, is_zarr))
		is = INFO_ZARR;
	else if (any(names, is_annotation))
		is = INFO_COCO;
	else if (20 * look->parted > look->images)
		is = INFO_PARTED;
	else if (are_records(names))
		is = INFO_RECORDS;
	else if (all && names->n <= FEW && are_large(root, names))
		is = INFO_LARGE;
	ret->is = is;
}

void info_guess_tell(struct info *i, const struct info_guess *g)
{
	const struct looks *l = &looks[g->is];

	if (!l->word)
		return;
	info_row(i, "looks like", "%s", l->text);
	if (info_json(i))
		cmd_json_string(info_json(i), "looks_like", l->word);
}
