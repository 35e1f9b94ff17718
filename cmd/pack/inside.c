/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What hpdsl-pack says of files that might not be meant: litter, which it
 * leaves out; what is packed twice, and what a clone or a broken download left,
 * which it packs.
 */
#include "pack.h"

#include <string.h>

/* ---- Litter ----------------------------------------------------------- */

/* "13 files (52.1 KiB) and 2 folders with all below: ._* .DS_Store"; "" */
struct litter {
	char s[HPDSL_LITTER_TEXT + 160];
};

static struct litter litter_text(const struct hpdsl_litter *l)
{
	char kinds[HPDSL_LITTER_TEXT];
	struct litter t = { "" };

	if (l->files || l->folders)
		snprintf(t.s, sizeof(t.s), "%s (%s)%s%s%s: %s",
			 cmd_many(l->files, "file").s, cmd_bytes(l->bytes).s,
			 l->folders ? " and " : "",
			 l->folders ? cmd_many(l->folders, "folder").s : "",
			 l->folders ? " with all below" : "",
			 hpdsl_litter_text(l->kinds, kinds));
	return t;
}

void pack_tell_litter(const struct hpdsl_pack_report *r)
{
	struct litter t = litter_text(&r->litter);

	if (*t.s)
		cmd_message("left out as litter: %s; --keep-litter packs it",
			    t.s);
}

static void json_litter(struct cmd_json *j, const struct hpdsl_litter *l)
{
	char kinds[HPDSL_LITTER_TEXT];

	cmd_json_open(j, "litter", '{');
	cmd_json_u64(j, "files", l->files);
	cmd_json_u64(j, "bytes", l->bytes);
	cmd_json_u64(j, "folders", l->folders);
	cmd_json_u64(j, "included", l->included);
	cmd_json_string(j, "kinds", hpdsl_litter_text(l->kinds, kinds));
	cmd_json_close(j, '}');
}

/* ---- Twice ------------------------------------------------------------ */

/* A folder that keeps contents for links, on one of the paths; or NULL. */
static const char *store_of(const struct hpdsl_twice *t)
{
	static const char *const stores[] = { "blobs", ".git", ".dvc" };

	for (size_t i = 0; i < sizeof(stores) / sizeof(*stores); i++)
		for (int k = 0; k < 2; k++) {
			const char *at = strstr(t->example[k], stores[i]);
			size_t n = strlen(stores[i]);

			if (at && at[n] == '/' &&
			    (at == t->example[k] || at[-1] == '/'))
				return stores[i];
		}
	return NULL;
}

/* "5.7 GiB would be packed twice by 8 links: .."; "" */
struct twice {
	char s[2 * HPDSL_TWICE_NAME + 200];
};

static struct twice twice_text(const struct hpdsl_twice *t)
{
	const char *store = store_of(t);
	struct twice text = { "" };

	if (t->links)
		snprintf(text.s, sizeof(text.s),
			 "%s would be packed twice by %s: '%s' is '%s', too; "
			 "--exclude=%s%s leaves one out",
			 cmd_bytes(t->bytes).s, cmd_many(t->links, "link").s,
			 t->example[0], t->example[1], store ? store : "GLOB",
			 store ? "/" : "");
	return text;
}

/* ---- Doubtful --------------------------------------------------------- */

/* ".git/ 123 files (1.2 GiB), *.part 2 files (3.0 MiB)"; "" */
struct doubtful {
	char s[HPDSL_DOUBTFUL * 96];
};

static struct doubtful doubtful_text(const struct hpdsl_pack_report *r,
				     bool records)
{
	struct doubtful t = { "" };
	size_t n = 0;

	for (int i = 0; i < HPDSL_DOUBTFUL; i++) {
		const struct hpdsl_doubtful *d = &r->doubtful[i];

		if (!d->files || d->records != records)
			continue;
		n += (size_t)snprintf(t.s + n, sizeof(t.s) - n, "%s%s %s (%s)",
				      n ? ", " : "", d->pattern,
				      cmd_many(d->files, "file").s,
				      cmd_bytes(d->bytes).s);
	}
	return t;
}

static void json_doubtful(struct cmd_json *j, const struct hpdsl_pack_report *r)
{
	cmd_json_open(j, "doubtful", '[');
	for (int i = 0; i < HPDSL_DOUBTFUL; i++) {
		const struct hpdsl_doubtful *d = &r->doubtful[i];

		if (!d->files)
			continue;
		cmd_json_open(j, NULL, '{');
		cmd_json_string(j, "pattern", d->pattern);
		cmd_json_u64(j, "files", d->files);
		cmd_json_u64(j, "bytes", d->bytes);
		cmd_json_close(j, '}');
	}
	cmd_json_close(j, ']');
}

/* ---- All of it -------------------------------------------------------- */

void pack_tell_inside(const struct hpdsl_pack_report *r)
{
	struct doubtful d = doubtful_text(r, false);
	struct doubtful records = doubtful_text(r, true);
	struct twice t = twice_text(&r->twice);

	if (*t.s)
		cmd_message("%s", t.s);
	if (*records.s)
		cmd_message("files of many samples each, of another library, "
			    "which a loop gets whole: %s; hpdsl-python(7), "
			    "Samples made from Python, takes them apart",
			    records.s);
	if (*d.s)
		cmd_message("packed, though it may not be meant: %s; "
			    "--exclude=GLOB leaves it out",
			    d.s);
}

void pack_print_inside(const struct hpdsl_pack_report *r)
{
	struct litter l = litter_text(&r->litter);
	struct doubtful d = doubtful_text(r, false);
	struct doubtful records = doubtful_text(r, true);
	struct twice t = twice_text(&r->twice);

	if (*l.s)
		cmd_print("litter:   left out: %s (--keep-litter)\n", l.s);
	if (*t.s)
		cmd_print("links:    %s\n", t.s);
	if (*records.s)
		cmd_print("records:  %s\n", records.s);
	if (*d.s)
		cmd_print("doubtful: %s (--exclude=GLOB)\n", d.s);
}

void pack_json_inside(struct cmd_json *j, const struct hpdsl_pack_report *r)
{
	json_litter(j, &r->litter);
	cmd_json_open(j, "twice", '{');
	cmd_json_u64(j, "links", r->twice.links);
	cmd_json_u64(j, "bytes", r->twice.bytes);
	cmd_json_close(j, '}');
	json_doubtful(j, r);
}
