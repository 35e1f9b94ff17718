/* SPDX-License-Identifier: Apache-2.0 */
/* Is a file one that hpdsl_pack's labels could be had from? */
#include "base/error.h"
#include "hpdsl/look.h"
#include "plan/labels_table.h"

#include <errno.h>
#include <string.h>

enum { TABLE_MAX = 16 << 20 /* bytes; who looks does not wait for more */ };

int hpdsl_labels_look(const char *path, const struct hp_io *io,
		      struct hpdsl_error *err)
{
	struct hp_labels_file f = { .name = path };
	struct hpdsl_error why;
	char comma = hp_labels_comma(path);
	int r;

	if (!comma)
		return 0;
	r = hp_io_slurp(hp_io_or_system(io), AT_FDCWD, path, TABLE_MAX, &f.text,
			&f.len);
	if (r == -EFBIG || r == -EINVAL)
		return 0;
	if (r < 0)
		return hp_fail_errno(err, r, "%s", path);
	if (!memchr(f.text, '\0', f.len))
		r = hp_labels_table_read(&f, comma, NULL, &why) == 0 &&
		    f.n_rows > 0;
	hp_labels_file_release(&f);
	return r;
}
