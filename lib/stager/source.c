/* SPDX-License-Identifier: Apache-2.0 */
/* Segments of chunks, from wherever they come, into their buffers. */
#include "stager/stager.h"

#include <errno.h>

struct hp_source hp_stager_source(const struct hpdsl_stager *s,
				  const struct hp_stager_chunk *c,
				  enum hp_chunk_at at)
{
	return hp_source_of(s->sources, at, s->io, (uint32_t)c->number);
}

ssize_t hp_stager_segment(const struct hp_source *from, const struct hp_job *j,
			  bool blocks)
{
	const struct hp_segment_id *id = &j->id;
	size_t n = id->length;
	ssize_t got;

	if (blocks)
		n = (n + HP_BUFFER_ALIGN - 1) / HP_BUFFER_ALIGN *
		    HP_BUFFER_ALIGN;
	got = hp_source_read(from, j->buffer->data, n, id->offset);
	if (got != -EINVAL || !blocks || from->fd.fd < 0)
		return got;
	got = from->io->set_flags(from->io, from->fd.fd, 0);
	return got < 0 ? got :
			 hp_source_read(from, j->buffer->data, id->length,
					id->offset);
}
