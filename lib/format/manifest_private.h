/* SPDX-License-Identifier: Apache-2.0 */
/* Between manifest_parse.c and manifest_files.c. */
#ifndef HP_MANIFEST_PRIVATE_H
#define HP_MANIFEST_PRIVATE_H

#include "format/manifest.h"
#include "format/yaml_reader.h"

/* The values of index (into struct hp_manifest_file), chunks and files (into
 * struct hp_manifest, its key adopted before chunks). */
int hp_manifest_read_index(struct hp_yaml_reader *r, void *into);
int hp_manifest_read_chunks(struct hp_yaml_reader *r, void *into);
int hp_manifest_read_files(struct hp_yaml_reader *r, void *into);

#endif
