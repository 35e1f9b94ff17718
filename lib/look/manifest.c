/* SPDX-License-Identifier: Apache-2.0 */
/* The manifest of a dataset, for whoever wants to know what stands in it. */
#include "base/error.h"
#include "base/mem.h"
#include "look/pairs.h"
#include "sys/io.h"

#include <errno.h>
#include <string.h>

struct hpdsl_manifest {
	struct hp_manifest m;
	struct hpdsl_pair *options, *meta;
};

struct hpdsl_pair *hp_look_pairs(const struct hp_pairs *p)
{
	struct hpdsl_pair *v = hp_array(p->n, sizeof *v);

	for (size_t i = 0; v && i < p->n; i++)
		v[i] = (struct hpdsl_pair){ p->v[i].key, p->v[i].value };
	return v;
}

static int read_text(const char *path, const struct hp_io *io, char **ret,
		     size_t *ret_len, struct hpdsl_error *err)
{
	hp_auto_fd dir = { io, io->open(io, AT_FDCWD, path,
					O_RDONLY | O_DIRECTORY, 0) };
	int r;

	if (dir.fd < 0)
		return hp_fail_errno(err, dir.fd, "%s", path);
	r = hp_io_slurp(io, dir.fd, HP_MANIFEST_NAME, HP_MANIFEST_MAX, ret,
			ret_len);
	if (r == -ENOENT)
		return hp_manifest_missing(io, dir.fd, path, err);
	return r < 0 ? hp_io_slurp_fail(err, r, "%s/%s", path,
					HP_MANIFEST_NAME) :
		       0;
}

int hpdsl_manifest_open(const char *path, const struct hp_io *io,
			struct hpdsl_manifest **ret, struct hpdsl_error *err)
{
	struct hpdsl_manifest *m = calloc(1, sizeof *m);
	hp_auto_free char *text = NULL;
	struct hpdsl_error why = { 0 };
	size_t len = 0;
	int r;

	if (!m)
		return hp_fail_nomem(err);
	r = read_text(path, hp_io_or_system(io), &text, &len, err);
	if (r == 0) {
		r = hp_manifest_parse(text, len, HP_MANIFEST_NAME, &m->m, &why);
		if (r < 0)
			hp_fail(err, r, "%s/%s", path, why.msg);
	}
	if (r == 0) {
		m->options = hp_look_pairs(&m->m.options);
		m->meta = hp_look_pairs(&m->m.meta);
		if (!m->options || !m->meta)
			r = hp_fail_nomem(err);
	}
	if (r < 0) {
		hpdsl_manifest_close(m);
		return r;
	}
	*ret = m;
	return 0;
}

void hpdsl_manifest_close(struct hpdsl_manifest *m)
{
	if (!m)
		return;
	hp_manifest_release(&m->m);
	free(m->options);
	free(m->meta);
	free(m);
}

void hpdsl_manifest_info(const struct hpdsl_manifest *manifest,
			 struct hpdsl_manifest_info *ret)
{
	const struct hp_manifest *m = &manifest->m;

	*ret = (struct hpdsl_manifest_info){
		.has_sha256 = m->has_sha256,
		.samples = m->samples,
		.members = m->members,
		.bytes = m->bytes,
		.classes = m->n_classes,
		.chunks = m->n_chunks,
		.index_bytes = m->index.bytes,
		.side_files = m->n_files,
		.has_seed = m->has_seed,
		.seed = m->seed,
		.adopted = m->adopted,
		.rebuilt = m->rebuilt,
		.lost = m->lost,
		.options = { manifest->options, m->options.n },
		.meta = { manifest->meta, m->meta.n },
	};
	memcpy(ret->dataset_id, m->dataset_id, sizeof ret->dataset_id);
	memcpy(ret->pack, m->index.checksum, sizeof ret->pack);
	memcpy(ret->dataset_id_sha256, m->dataset_id_sha256,
	       sizeof ret->dataset_id_sha256);
}
