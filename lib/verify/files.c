/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The files of a dataset that are neither index nor chunk: those that the
 * manifest lists are what it says, the others are told.
 */
#include "verify/verify.h"

#include "base/error.h"
#include "base/mem.h"
#include "base/sha256.h"
#include "dataset/pass.h"
#include "format/emit.h"
#include "format/names.h"
#include "format/sha256sums.h"
#include "sys/dir.h"
#include "sys/pool.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* ---- Those that are listed -------------------------------------------- */

static int read_all(struct hp_pass *p, struct hpdsl_error *err)
{
	while (p->have || p->read < p->size) {
		int r = hp_pass_need(p, 1);

		if (r < 0)
			return hp_fail_errno(err, r, "cannot be read");
		if (!p->have)
			break;
		hp_pass_take(p, p->have);
	}
	return 0;
}

/* Does SHA256SUMS say of the others what the manifest says? */
static int check_sums(const struct hp_verify *v,
		      const struct hp_manifest_file *f, struct hpdsl_error *err)
{
	struct hp_text t = { 0 };
	uint8_t sha256[HP_SHA256];
	int r;

	hp_sha256sums_format(&v->manifest, &t);
	r = t.failed ? hp_fail_nomem(err) : hp_sha256(t.p, t.n, sha256, err);
	if (r == 0 && (t.n != f->bytes || memcmp(sha256, f->sha256, HP_SHA256)))
		r = hp_fail(err, HPDSL_ECORRUPT,
			    "does not say what the manifest says");
	hp_text_release(&t);
	return r;
}

static int check_sha256(const struct hp_verify *v, struct hp_sha256 *s,
			const struct hp_manifest_file *f,
			struct hpdsl_error *err)
{
	uint8_t sha256[HP_SHA256];
	int r;

	hp_sha256_end(s, sha256);
	r = hp_sha256_check(s, err);
	if (r == 0 && memcmp(sha256, f->sha256, sizeof sha256) != 0)
		r = hp_fail(err, HPDSL_ECORRUPT, "SHA-256 differs");
	if (r == 0 && v->manifest.has_sha256 &&
	    strcmp(f->name, HP_SHA256SUMS_NAME) == 0)
		r = check_sums(v, f, err);
	return r;
}

static int check_pass(const struct hp_verify *v, struct hp_pass *p,
		      const struct hp_manifest_file *f, struct hpdsl_error *err)
{
	hp_auto_sha256 struct hp_sha256 *sha256 = NULL;
	uint8_t digest[16];
	int r;

	if (p->size != f->bytes)
		return hp_fail(err, HPDSL_ECORRUPT,
			       "is %" PRIu64 " bytes, %" PRIu64 " expected",
			       p->size, f->bytes);
	if (v->opt->quick)
		return 0;
	if (f->has_sha256) {
		p->sha256 = sha256 = hp_sha256_new();
		if (!sha256)
			return hp_fail_nomem(err);
		hp_sha256_begin(sha256);
	}
	r = read_all(p, err);
	if (r < 0)
		return r;
	hp_pass_digest(p, digest);
	if (memcmp(digest, f->checksum, sizeof digest) != 0)
		return hp_fail(err, HPDSL_ECORRUPT, "checksum differs");
	return sha256 ? check_sha256(v, sha256, f, err) : 0;
}

static void tell(struct hp_verify *v, const char *file, const char *reason)
{
	pthread_mutex_lock(&v->meter.lock);
	v->report->damaged_files++;
	pthread_mutex_unlock(&v->meter.lock);
	hp_verify_tell(v, (struct hp_damage_place){ file, UINT64_MAX, NULL },
		       "%s", reason);
}

/* A job of hp_pool_run: arg is struct hp_verify, number a row. */
static int check_file(void *arg, uint64_t number, struct hpdsl_error *err)
{
	struct hp_verify *v = arg;
	const struct hp_manifest_file *f = &v->manifest.files[number];
	struct hpdsl_error why;
	struct hp_pass p;
	int r = hp_pass_begin(&p, v->io, v->dir, f->name, &why);

	if (r == 0)
		r = check_pass(v, &p, f, &why);
	hp_pass_end(&p);
	pthread_mutex_lock(&v->meter.lock);
	v->report->bytes += p.read;
	pthread_mutex_unlock(&v->meter.lock);
	if (r == 0)
		return 0;
	if (r == -ENOENT && v->stage && !hp_verify_stage_wants(v, f->name))
		return 0;
	if (!hp_verify_is_damage(r))
		return hp_fail(err, r, "%s: %s", v->path, why.msg);
	tell(v, f->name,
	     r == -ENOENT ? "is missing" : hp_verify_reason(&why, f->name));
	return 0;
}

int hp_verify_files(struct hp_verify *v, struct hpdsl_error *err)
{
	if (!v->has_manifest)
		return 0;
	return hp_pool_run(hp_threads(v->opt->threads), v->manifest.n_files,
			   check_file, v, v->opt->watch.stop, err);
}

/* ---- Those that are not ----------------------------------------------- */

struct unlisted {
	struct hp_verify *v;
	const char **names; /* of all that is known, sorted */
	uint64_t n;
	const char *folder; /* of side files that is looked into, or NULL */
	bool enter;	    /* it is there and listed */
};

static int by_name(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static bool is_known(const struct unlisted *u, const char *name)
{
	if (strcmp(name, HP_MANIFEST_NAME) == 0 ||
	    strcmp(name, HP_INDEX_NAME) == 0 ||
	    bsearch(&name, u->names, u->n, sizeof *u->names, by_name) ||
	    hp_verify_stage_knows(u->v, name))
		return true;
	/* Without a manifest nobody knows which there should be. */
	return !u->v->has_manifest && (hp_side_is_name(name, false) ||
				       strcmp(name, HP_SIDE_FOLDER) == 0);
}

static int look_up(void *arg, const char *name)
{
	struct unlisted *u = arg;
	char path[320], text[HP_PRINTABLE];

	snprintf(path, sizeof path, "%s%s%s", u->folder ? u->folder : "",
		 u->folder ? "/" : "", name);
	if (!u->folder && u->enter && strcmp(name, HP_SIDE_FOLDER) == 0)
		return 0;
	if (is_known(u, path) ||
	    (u->folder && hp_verify_stage_knows(u->v, name)))
		return 0;
	u->v->report->unlisted++;
	hp_meter_warn(&u->v->meter, "%s: not a file of this dataset",
		      hp_printable(path, strlen(path), text));
	return 0;
}

static int gather(struct unlisted *u, struct hpdsl_error *err)
{
	const struct hp_verify *v = u->v;
	size_t k = strlen(HP_SIDE_FOLDER);

	u->n = v->n_chunks;
	if (v->has_manifest)
		u->n += v->manifest.n_files;
	u->names = hp_array(u->n, sizeof *u->names);
	if (!u->names)
		return hp_fail_nomem(err);
	for (uint64_t i = 0; i < u->n; i++) {
		const char *name =
			i < v->n_chunks ?
				v->chunks[i].name :
				v->manifest.files[i - v->n_chunks].name;

		u->names[i] = name;
		u->enter |=
			strncmp(name, HP_SIDE_FOLDER, k) == 0 && name[k] == '/';
	}
	qsort(u->names, u->n, sizeof *u->names, by_name);
	return 0;
}

static int list_folder(struct unlisted *u)
{
	const struct hp_verify *v = u->v;
	hp_auto_fd f = { v->io,
			 v->io->open(v->io, v->dir, HP_SIDE_FOLDER,
				     O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0) };

	/* That its files are missing has been told. */
	if (f.fd < 0)
		return 0;
	u->folder = HP_SIDE_FOLDER;
	return hp_listdir(v->io, f.fd, look_up, u);
}

int hp_verify_unlisted(struct hp_verify *v, struct hpdsl_error *err)
{
	struct unlisted u = { .v = v };
	int r = gather(&u, err);

	if (r == 0) {
		r = hp_listdir(v->io, v->dir, look_up, &u);
		if (r == 0 && u.enter)
			r = list_folder(&u);
		if (r < 0)
			hp_fail_errno(err, r, "%s", v->path);
	}
	hp_meter_warn_end(&v->meter, "files that are not of this dataset");
	free(u.names);
	return r;
}
