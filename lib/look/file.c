/* SPDX-License-Identifier: Apache-2.0 */
/* A file of a dataset without the others: is it whole, as far as it tells? */
#include "base/error.h"
#include "base/mem.h"
#include "format/manifest.h"
#include "format/stage_state.h"
#include "hpdsl/look.h"
#include "index/index.h"
#include "peers/book.h"

#include <string.h>

static int check_view(const char *path, const struct hp_io *io,
		      enum hpdsl_kind kind, struct hpdsl_error *err)
{
	struct hp_view v = { .p = NULL };
	struct hp_index *ix = NULL;
	struct hp_state_header h;
	struct hp_book b;
	int r = hp_view_open(&v, io, AT_FDCWD, path, err);

	if (r < 0)
		return r;
	if (kind == HPDSL_KIND_INDEX)
		r = hp_index_open_view(&v, path, &ix, err);
	else if (kind == HPDSL_KIND_STATE)
		r = hp_state_parse(v.p, v.size, path, &h, err);
	else
		r = hp_book_parse(v.p, v.size, path, &b, err);
	explicit_bzero(&b, sizeof b);
	hp_index_free(ix);
	hp_view_close(&v);
	return r;
}

static int check_manifest(const char *path, const struct hp_io *io,
			  struct hpdsl_error *err)
{
	hp_auto_free char *text = NULL;
	struct hp_manifest m;
	size_t len;
	int r = hp_io_slurp(io, AT_FDCWD, path, HP_MANIFEST_MAX, &text, &len);

	if (r < 0)
		return hp_fail_errno(err, r, "%s", path);
	r = hp_manifest_parse(text, len, path, &m, err);
	if (r == 0)
		hp_manifest_release(&m);
	return r;
}

int hpdsl_file_check(const char *path, const struct hp_io *io,
		     enum hpdsl_kind kind, struct hpdsl_error *err)
{
	io = hp_io_or_system(io);
	switch (kind) {
	case HPDSL_KIND_INDEX:
	case HPDSL_KIND_STATE:
	case HPDSL_KIND_BOOK:
		return check_view(path, io, kind, err);
	case HPDSL_KIND_MANIFEST:
		return check_manifest(path, io, err);
	default:
		return 0;
	}
}
