/* SPDX-License-Identifier: Apache-2.0 */
#include "reply.h"

#include "common/common.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

static struct mount_counts *counts(struct mount_session *s)
{
	return &s->slots->counts;
}

/*
 * -ENOENT: whoever asked is gone, or has been answered.  The rest of what can
 * go wrong is ours, and leaves somebody waiting: he is told at least that.
 */
void mount_send(struct mount_session *s, const void *p, size_t n)
{
	uint8_t head[MOUNT_HEAD];
	uint64_t unique;

	atomic_fetch_add(&counts(s)->answered, 1);
	if (write(s->fd, p, n) >= 0 || errno == ENOENT || errno == ENODEV)
		return;
	cmd_message("an answer was not taken: %s", strerror(errno));
	memcpy(&unique, (const uint8_t *)p + 8, sizeof(unique));
	n = mount_answer(head, unique, -EIO);
	if (write(s->fd, head, n) < 0)
		errno = 0;
}

void mount_refuse(struct mount_session *s, uint64_t unique, int code)
{
	uint8_t head[MOUNT_HEAD];

	mount_send(s, head, mount_answer(head, unique, code));
}

void mount_give(struct mount_session *s, uint64_t unique, uint8_t *buf,
		size_t n)
{
	atomic_fetch_add(&counts(s)->bytes, (uint64_t)n);
	mount_send(s, buf, mount_answer_bytes(buf, unique, n));
}

void mount_give_up(struct mount_session *s, uint64_t unique)
{
	atomic_fetch_add(&counts(s)->wrong, 1);
	mount_errors_tell(&s->slots->errors,
			  "servers failed with it at hand, one after the "
			  "other: a request is answered with an error");
	mount_refuse(s, unique, -EIO);
}
