/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an index has in place of a folder or a member that it has not, for the
 * one who asked.  The samples are gone through, at most so many of them: this
 * is for a message, and costs what one of these does.
 */
#ifndef HP_BESIDE_H
#define HP_BESIDE_H

#include "base/error.h"
#include "base/near.h"
#include "index/index.h"

enum { HP_BESIDE = HP_NEAR_TEXT + HP_PRINTABLE + 32 };

/*
 * "there are 'train', 'val'", or "in 'train' there are 'cat', 'dog'": the
 * folders beside the first part of the path that there is not.  Of all samples
 * if there are that few, else of a million.  Returns buf.
 */
const char *hp_index_beside(const struct hp_index *ix, const char *folder,
			    size_t len, char buf[HP_BESIDE]);

/*
 * Adds to an error that ends in the member that is not there "; there is .."
 * and paths that are near to it: of one that has folders in front which no
 * member has, what is behind them, else the nearest among 4,096.
 */
void hp_index_tell_near(const struct hp_index *ix, const char *path, size_t len,
			struct hpdsl_error *err);

#endif
