/* SPDX-License-Identifier: Apache-2.0 */
/* Names of the files that lie in a dataset, and of those on their way there. */
#ifndef HP_NAMES_H
#define HP_NAMES_H

#include <stdbool.h>
#include <stdint.h>

#define HP_INDEX_NAME "index.hpdsl"
#define HP_JOURNAL_NAME "journal.hpdsl"

/* Where there are chunks there is this one, in the one form or the other. */
#define HP_CHUNK_FIRST "chunk-000000.tar"
#define HP_CHUNK_ZST_FIRST HP_CHUNK_FIRST ".zst"
#define HP_CHUNKS_MAX 1000000 /* chunk-%06u */

/* "chunk-000017.tar"; out has HP_CHUNK_NAME bytes. */
#define HP_CHUNK_NAME 32
void hp_chunk_name(uint32_t c, char out[HP_CHUNK_NAME]);
/* "chunk-000017.tar.zst": of the compressed form. */
void hp_chunk_zst_name(uint32_t c, char out[HP_CHUNK_NAME]);
/* The one or the other. */
void hp_chunk_name_of(uint32_t c, bool compressed, char out[HP_CHUNK_NAME]);
/* The number in such a name of either form, or -1. */
int64_t hp_chunk_number(const char *name);
/* Does the name end in .zst? */
bool hp_chunk_name_is_zst(const char *name);

/* Does it look like the temporary name of a file that is to appear whole? */
bool hp_name_is_part(const char *name);

#endif
