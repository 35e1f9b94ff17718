/* SPDX-License-Identifier: Apache-2.0 */
/* What a book says to people: all but its secret and the nodes. */
#include "base/error.h"
#include "peers/book_file.h"

#include "hpdsl/peers.h"

#include <string.h>

static int read_head(const struct hp_io *io, int dir, const char *path,
		     struct hpdsl_peer_about *ret, struct hpdsl_error *err)
{
	struct hp_book_file *f;
	int r = hp_book_load(io, dir, path, &f, err);

	if (r < 0)
		return r;
	*ret = (struct hpdsl_peer_about){
		.made = f->book.head.made,
		.nodes = f->book.head.nodes,
		.node = f->book.head.node,
		.port = f->book.head.port,
		.ports = HP_BOOK_PORTS,
	};
	memcpy(ret->id, f->book.head.id, sizeof ret->id);
	memcpy(ret->job, f->book.head.job, sizeof ret->job);
	ret->job[sizeof ret->job - 1] = '\0';
	hp_book_unload(f);
	return 0;
}

int hpdsl_peer_about(const char *path, const struct hp_io *io,
		     struct hpdsl_peer_about *ret, struct hpdsl_error *err)
{
	int dir, r;

	io = hp_io_or_system(io);
	dir = io->open(io, AT_FDCWD, path, O_RDONLY | O_DIRECTORY, 0);
	if (dir < 0)
		return hp_fail_errno(err, dir, "%s", path);
	r = read_head(io, dir, path, ret, err);
	io->close(io, dir);
	return r;
}
