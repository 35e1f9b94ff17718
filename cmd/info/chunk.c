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

void info_part(struct info *i)
{
	cmd_auto_free char *folder = info_folder(i->path);
	void (*tell)(struct info * i) = teller_of(kind_of_folder(folder));

	if (!tell) {
		info_says(i, "%sa dataset that is not here", front_of(i->kind));
		return;
	}
	i->front = front_of(i->kind);
	i->path = folder;
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

static void tell_size(struct info *i, const struct hpdsl_chunk *c, bool plain)
{
	uint64_t want = plain ? c->plain_bytes : c->bytes, is;
	struct stat st;

	if (stat(i->path, &st) < 0)
		return;
	is = (uint64_t)st.st_size;
	info_row(i, "size", "%s", cmd_bytes(is).s);
	if (info_json(i)) {
		cmd_json_u64(info_json(i), "file_bytes", is);
		cmd_json_u64(info_json(i), "expected_bytes", want);
	}
	if (is != want)
		info_wrong(i, "%s is %llu bytes, %llu expected", c->name,
			   (unsigned long long)is, (unsigned long long)want);
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

/* False: the folder's dataset does not have it. */
static bool tell_of(struct info *i, const char *folder)
{
	cmd_auto_free char *real = realpath(i->path, NULL);
	const char *base = real ? strrchr(real, '/') : NULL;
	struct hpdsl_chunk c;
	struct info_pack p;
	bool plain, found;

	info_pack_open(i, folder, &p);
	found = base && find(&p, base + 1, &c, &plain);
	if (found) {
		info_says(i, "a chunk of %s",
			  p.m.adopted ? "a dataset, by another program" :
					"a packed dataset");
		info_name(i, "dataset", "directory", folder);
		tell_chunk(i, &c, plain);
		info_pack_tell(i, &p);
		info_next(i, info_pack_judge(i, &p) ? "hpdsl-index" :
						      "hpdsl-verify");
		info_next_path(i, folder);
	}
	info_pack_close(&p);
	return found;
}

void info_chunk(struct info *i)
{
	cmd_auto_free char *folder = info_folder(i->path);
	enum hpdsl_kind kind = kind_of_folder(folder);

	if (kind == HPDSL_KIND_UNFINISHED) {
		info_says(i, "a chunk of a pack that is unfinished");
		info_name(i, "dataset", "directory", folder);
		info_next(i, "hpdsl-info");
		info_next_path(i, folder);
		return;
	}
	if ((kind == HPDSL_KIND_DATASET || kind == HPDSL_KIND_STAGE) &&
	    tell_of(i, folder))
		return;
	info_tars(i);
}
