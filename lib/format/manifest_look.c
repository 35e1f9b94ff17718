/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A look at the manifest by those who read a dataset through its index: without
 * one it is no dataset, and one of a later version may have an index whose
 * meaning is another one.  What is damaged is left to those who read it.
 */
#include "format/manifest.h"

#include "base/archive_name.h"
#include "base/error.h"
#include "base/mem.h"
#include "format/names.h"
#include "sys/dir.h"
#include "sys/io.h"

#include <errno.h>
#include <string.h>

/* How the manifests of this version begin: what need not be read. */
static const char head[] = "format: hpdsl-dataset\nversion: 1\n";

enum { NAMES = 1000 }; /* of a folder that are looked at */

static bool exists(const struct hp_io *io, int dir, const char *name)
{
	struct stat st;

	return io->stat(io, dir, name, &st, 0) == 0;
}

struct names {
	unsigned n, archives;
};

static int count_name(void *arg, const char *name)
{
	struct names *c = arg;

	c->archives +=
		name[0] != '.' && hp_archive_suffix(name, strlen(name)) > 0;
	return ++c->n == NAMES;
}

/* What lies there instead, as far as a short look tells. */
static const char *instead(const struct hp_io *io, int dir)
{
	struct names c = { 0 };

	if (hp_listdir(io, dir, count_name, &c) < 0)
		return "";
	if (!c.n)
		return ": it is empty";
	return 4 * c.archives >= c.n ? ": archives are in it" :
				       ": other files are in it";
}

int hp_manifest_missing(const struct hp_io *io, int dir, const char *path,
			struct hpdsl_error *err)
{
	const char *what = NULL;

	if (exists(io, dir, HP_JOURNAL_NAME))
		what = "an unfinished pack";
	else if (exists(io, dir, HP_INDEX_NAME) ||
		 exists(io, dir, HP_CHUNK_FIRST) ||
		 exists(io, dir, HP_CHUNK_ZST_FIRST))
		what = "not a dataset: " HP_MANIFEST_NAME " is missing";
	if (what)
		return hp_fail(err, HPDSL_ENOTOURS, "%s: %s", path, what);
	return hp_fail(err, HPDSL_ENOTOURS,
		       "%s: not a dataset (no " HP_MANIFEST_NAME ")%s", path,
		       instead(io, dir));
}

/* Does it begin so?  Or it cannot be read, which is somebody else's worry. */
static bool is_usual(const struct hp_io *io, int fd)
{
	char is[sizeof head - 1];
	struct stat st;

	if (hp_io_fstat(io, fd, &st) < 0 || !S_ISREG(st.st_mode))
		return true;
	return hp_io_pread_full(io, fd, is, sizeof is, 0) != sizeof is ||
	       memcmp(is, head, sizeof is) == 0;
}

int hp_manifest_look(const struct hp_io *io, int dir, const char *path,
		     struct hpdsl_error *err)
{
	hp_auto_fd f = { io, io->open(io, dir, HP_MANIFEST_NAME,
				      O_RDONLY | O_NONBLOCK | O_NOCTTY, 0) };
	hp_auto_free char *text = NULL;
	struct hp_manifest m = { .memory = NULL };
	struct hpdsl_error why;
	size_t n;
	int r;

	if (f.fd == -ENOENT)
		return hp_manifest_missing(io, dir, path, err);
	if (f.fd < 0 || is_usual(io, f.fd) ||
	    hp_io_slurp(io, dir, HP_MANIFEST_NAME, HP_MANIFEST_MAX, &text, &n) <
		    0)
		return 0;
	r = hp_manifest_parse(text, n, HP_MANIFEST_NAME, &m, &why);
	hp_manifest_release(&m);
	return r == HPDSL_ETOONEW ? hp_fail(err, r, "%s/%s", path, why.msg) : 0;
}
