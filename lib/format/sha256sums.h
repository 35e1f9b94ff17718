/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SHA256SUMS: what `sha256sum -c` checks a dataset by.  It covers every file
 * that the manifest lists but itself.
 */
#ifndef HP_SHA256SUMS_H
#define HP_SHA256SUMS_H

#include "base/text.h"
#include "format/manifest.h"
#include "sys/io.h"

#define HP_SHA256SUMS_NAME "SHA256SUMS"

/* In the order of the manifest; of files that have SHA-256 there. */
void hp_sha256sums_format(const struct hp_manifest *m, struct hp_text *t);

/*
 * Writes the file into dir, and lists it in the manifest, whose files become
 * *ret_files, one more than they were, to be freed once the manifest is
 * written.
 */
int hp_sha256sums_write(const struct hp_io *io, int dir, struct hp_manifest *m,
			struct hp_manifest_file **ret_files,
			struct hpdsl_error *err);

#endif
