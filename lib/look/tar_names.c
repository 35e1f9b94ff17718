/* SPDX-License-Identifier: Apache-2.0 */
/* The first names in an archive of anybody. */
#include "archive/archive.h"
#include "base/error.h"
#include "hpdsl/look.h"

/* Of what is not passed over by a jump. */
static uint64_t cost(const struct hp_archive_entry *e)
{
	return e->in_place ? 0 : e->size;
}

static int walk(struct hp_archive *a, uint64_t bytes,
		bool (*each)(void *arg, const char *name, size_t len,
			     uint64_t size),
		void *arg, struct hpdsl_error *err)
{
	struct hp_archive_entry e;

	for (;;) {
		int r = hp_archive_next(a, &e, err);

		if (r <= 0)
			return r;
		if (e.type == HP_ARCHIVE_FILE &&
		    each(arg, e.path, e.path_len, e.size))
			return 1;
		if (cost(&e) >= bytes)
			return 1;
		bytes -= cost(&e);
	}
}

int hpdsl_tar_names(const char *path, uint64_t bytes,
		    bool (*each)(void *arg, const char *name, size_t len,
				 uint64_t size),
		    void *arg, struct hpdsl_error *err)
{
	struct hp_archive *a = NULL;
	int r = hp_archive_open(hp_io_or_system(NULL), AT_FDCWD, path, false,
				&a, err);

	if (r < 0)
		return r;
	r = walk(a, bytes, each, arg, err);
	hp_archive_close(a);
	return r;
}
