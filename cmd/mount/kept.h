/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads of what is not at hand, kept for threads that may wait: in the slots,
 * so that the next worker has them if this one dies.
 */
#ifndef MOUNT_KEPT_H
#define MOUNT_KEPT_H

#include "session.h"

/* Some thread answers it.  -ENOMEM: none will. */
int mount_kept_add(struct mount_session *s, const struct mount_kept *what);
/* Who waits for a read that nobody has begun may go at once. */
void mount_kept_interrupt(struct mount_session *s, uint64_t unique);
/* What a worker has left that died; one that failed may have done so by it. */
void mount_kept_begin(struct mount_session *s);
/* Nobody waits any more for what they read, nor for long for them. */
void mount_kept_end(struct mount_session *s);

#endif
