/* SPDX-License-Identifier: Apache-2.0 */
/* SHA256SUMS: its text, and the file. */
#include "format/sha256sums.h"

#include "base/error.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/sha256.h"
#include "sys/outfile.h"

#include <string.h>

/*
 * As sha256sum writes it: a backslash before a line says that in its name
 * backslash and newline are escaped, just as hpdsl_name_escape does it.
 */
static void put_line(struct hp_text *t, const struct hp_manifest_file *f)
{
	size_t n = strlen(f->name);
	hp_auto_free char *name = NULL;
	char hex[2 * HP_SHA256 + 1];

	if (!f->has_sha256)
		return;
	name = malloc(2 * n + 1);
	if (!name) {
		t->failed = true;
		return;
	}
	if (hpdsl_name_escape(f->name, n, name) != n)
		hp_text_puts(t, "\\");
	hp_hex(f->sha256, HP_SHA256, hex);
	hp_text_puts(t, hex);
	hp_text_puts(t, "  ");
	hp_text_puts(t, name);
	hp_text_puts(t, "\n");
}

void hp_sha256sums_format(const struct hp_manifest *m, struct hp_text *t)
{
	put_line(t, &m->index);
	for (size_t i = 0; i < m->n_chunks; i++)
		put_line(t, &m->chunks[i]);
	for (size_t i = 0; i < m->n_files; i++)
		if (strcmp(m->files[i].name, HP_SHA256SUMS_NAME) != 0)
			put_line(t, &m->files[i]);
}

/* The manifest's files without an old one, and room for one more. */
static struct hp_manifest_file *copy_files(const struct hp_manifest *m,
					   size_t *ret_n)
{
	struct hp_manifest_file *v = hp_array(m->n_files + 1, sizeof *v);
	size_t n = 0;

	for (size_t i = 0; v && i < m->n_files; i++)
		if (strcmp(m->files[i].name, HP_SHA256SUMS_NAME) != 0)
			v[n++] = m->files[i];
	*ret_n = n;
	return v;
}

int hp_sha256sums_write(const struct hp_io *io, int dir, struct hp_manifest *m,
			struct hp_manifest_file **ret_files,
			struct hpdsl_error *err)
{
	struct hp_manifest_file row = { .name = HP_SHA256SUMS_NAME,
					.has_sha256 = true };
	struct hp_manifest_file *files = NULL;
	struct hp_text t = { 0 };
	size_t n = 0;
	int r = 0;

	hp_sha256sums_format(m, &t);
	files = copy_files(m, &n);
	if (t.failed || !files)
		r = hp_fail_nomem(err);
	if (r == 0)
		r = hp_sha256(t.p, t.n, row.sha256, err);
	if (r == 0)
		r = hp_outfile_put(io, dir, HP_SHA256SUMS_NAME, t.p, t.n, err);
	if (r == 0) {
		row.bytes = t.n;
		hp_hash128(t.p, t.n, row.checksum);
		files[n] = row;
		m->files = files;
		m->n_files = n + 1;
		*ret_files = hp_take(files);
	}
	hp_text_release(&t);
	free(files);
	return r;
}
