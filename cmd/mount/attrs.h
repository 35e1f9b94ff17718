/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Extended attributes of files, user.hpdsl.*: where a file's bytes are in the
 * dataset.  Read only, as all else.
 */
#ifndef MOUNT_ATTRS_H
#define MOUNT_ATTRS_H

#include "tree.h"

/*
 * The answer to GETXATTR and LISTXATTR into MOUNT_ANSWER_ROOM bytes at p; its
 * bytes.  What is wrong with the dataset is EIO, and told in *err, whose code
 * is HPDSL_ECORRUPT then.
 */
size_t mount_attrs_answer(const struct mount_tree *t,
			  const struct hpdsl_dataset *ds,
			  const struct mount_request *r, void *p,
			  struct hpdsl_error *err);

#endif
