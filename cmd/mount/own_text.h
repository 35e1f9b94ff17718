/* SPDX-License-Identifier: Apache-2.0 */
/* What is in the files of the mount's own folder. */
#ifndef MOUNT_OWN_TEXT_H
#define MOUNT_OWN_TEXT_H

#include "own.h"

/* For mount_own; arg is a struct mount_status. */
int mount_own_text(void *arg, enum mount_own_file file,
		   struct mount_own_text *ret);

#endif
