/* SPDX-License-Identifier: Apache-2.0 */
/* What the kernel is told, of one request each. */
#ifndef MOUNT_REPLY_H
#define MOUNT_REPLY_H

#include "session.h"

void mount_send(struct mount_session *s, const void *p, size_t n);
void mount_refuse(struct mount_session *s, uint64_t unique, int code);
/* n bytes of a file, behind MOUNT_HEAD bytes for the head. */
void mount_give(struct mount_session *s, uint64_t unique, uint8_t *buf,
		size_t n);
/* What was at hand each time that a server failed. */
void mount_give_up(struct mount_session *s, uint64_t unique);

#endif
