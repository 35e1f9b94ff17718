/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading index.hpdsl: over memory, whoever mapped or read it.  Opening looks
 * at the header, the section table and, of a file that stays open, the
 * checksums of blocks only, and copies them; every 64 KiB block is checked
 * against its checksum at first touch, every number at each use, on a copy.
 * Hostile bytes give HPDSL_ECORRUPT, never a fault, even if they are being
 * written to.  hpdsl-format(5), "Index".
 *
 * Names of chunks and classes are private memory of the index, and stay what
 * they are.  Paths, keys and names in chunks are the mapping's: valid when they
 * are handed out, but whoever writes the file changes them, their NUL too.  Who
 * uses them does so within their length, and copies and checks first what must
 * not change.  copy.h has rows that are surely those that were written.
 */
#ifndef HP_INDEX_H
#define HP_INDEX_H

#include "base/key.h"
#include "hpdsl/dataset.h"
#include "sys/view.h"

#define HP_INDEX_MAGIC "\x89HPDSLI\n"
#define HP_INDEX_VERSION 1

enum hp_index_section {
	HP_SECTION_SAMPLES = 1, /* rows of 16 */
	HP_SECTION_MEMBERS = 2, /* rows of 52 */
	HP_SECTION_PATHS = 3,	/* each with a NUL behind it */
	HP_SECTION_LOOKUP = 4,	/* slots of 8 */
	HP_SECTION_CHUNKS = 5,	/* rows of 88 */
	HP_SECTION_NAMES = 6,	/* of chunks, each with a NUL */
	HP_SECTION_CLASSES = 7, /* rows of 8: offset u48, length u16 */
	HP_SECTION_CLASS_NAMES = 8,
	/* Only where needed: */
	HP_SECTION_STORED = 9,	       /* rows of 16: names in chunks */
	HP_SECTION_MEMBER_SHA256 = 10, /* rows of 32 */
	HP_SECTION_FRAMES = 11,	       /* rows of 16 */
	HP_SECTION_STORED_PATHS = 12,  /* each with a NUL behind it */
	HP_SECTION_CHUNK_SHA256 = 13,  /* rows of 32 */
	HP_SECTION_DOUBLES = 14,       /* declared suffixes, each with a NUL */
};

/* Header flags. */
enum {
	HP_INDEX_GROUP_NONE = 1, /* samples of one member, keys repeat */
	/* Adopted tars: chunk names are paths, headers are anybody's, paths
	 * may repeat. */
	HP_INDEX_FOREIGN = 2,
	HP_INDEX_SHUFFLED = 4, /* neighbours are as good as drawn */
	HP_INDEX_LAST = 8,     /* keys end at the last dot: hp_index_key_rule */
};
/* Flags in the upper bits of a member's mode field. */
enum { HP_MEMBER_GENERATED = 1 << 12 };

struct hp_index;

/*
 * Opens size bytes at p, which must stay until the index is freed.  name is for
 * messages and is copied.
 */
int hp_index_open(const void *p, uint64_t size, const char *name,
		  struct hp_index **ret, struct hpdsl_error *err);
/* The same of a view; with hp_view_hold's, what has to be right is read. */
int hp_index_open_view(const struct hp_view *v, const char *name,
		       struct hp_index **ret, struct hpdsl_error *err);
void hp_index_free(struct hp_index *ix);

/* ---- Which one it is: identity.c -------------------------------------- */

/* XXH3-128 of the file, all of which is read. */
void hp_index_pack_id(const struct hp_index *ix, uint8_t ret[16]);
/*
 * Of the header and the checksums of all blocks, as they were when it was
 * opened: another one for every pack, from memory alone.
 */
void hp_index_digest(const struct hp_index *ix, uint8_t ret[16]);
/* Is index.hpdsl of dir by now one of another pack, and sound as far as opening
 * it tells? */
bool hp_index_replaced(const struct hp_index *ix, const struct hp_io *io,
		       int dir);

/* ---- What it has ------------------------------------------------------ */

void hp_index_count(const struct hp_index *ix, struct hpdsl_counts *ret);
uint32_t hp_index_flags(const struct hp_index *ix);
/* How its keys end; the index's, and private memory. */
const struct hp_key_rule *hp_index_key_rule(const struct hp_index *ix);
static inline size_t hp_index_key_length(const struct hp_index *ix,
					 const char *path, size_t len)
{
	return hp_key_length(hp_index_key_rule(ix), path, len);
}

/* As the hpdsl_ functions of the same name. */
int hp_index_sample(const struct hp_index *ix, uint64_t number,
		    struct hpdsl_sample *ret, struct hpdsl_error *err);
int hp_index_member(const struct hp_index *ix, uint64_t number,
		    struct hpdsl_member *ret, struct hpdsl_error *err);
/* The same for who wants its content alone: the path is NULL, not looked at. */
int hp_index_place(const struct hp_index *ix, uint64_t number,
		   struct hpdsl_member *ret, struct hpdsl_error *err);
int hp_index_find(const struct hp_index *ix, const char *path, size_t path_len,
		  uint64_t *ret, struct hpdsl_error *err);
int hp_index_next(const struct hp_index *ix, const char *path, size_t path_len,
		  uint64_t after, uint64_t *ret, struct hpdsl_error *err);
int hp_index_chunk(const struct hp_index *ix, uint32_t number,
		   struct hpdsl_chunk *ret, struct hpdsl_error *err);
int hp_index_class(const struct hp_index *ix, uint32_t label, const char **ret,
		   struct hpdsl_error *err);
/* As hpdsl_sample_labels. */
int hp_index_labels(const struct hp_index *ix, uint64_t first, uint64_t n,
		    uint32_t *ret, struct hpdsl_error *err);

/* A sample's row, checked. */
struct hp_sample_row {
	uint64_t first, end; /* members */
	uint32_t chunk, label;
};

int hp_index_sample_row(const struct hp_index *ix, uint64_t number,
			struct hp_sample_row *ret, struct hpdsl_error *err);

/* "member 7: has an impossible time": HPDSL_ECORRUPT. */
int hp_index_bad_row(const struct hp_index *ix, const char *what,
		     uint64_t number, const char *why, struct hpdsl_error *err);
/* Is there such a section, with nothing in it? */
bool hp_index_is_bare(const struct hp_index *ix, enum hp_index_section kind);

/* Have members names in their chunks that are not their paths? */
bool hp_index_has_stored(const struct hp_index *ix);
/*
 * The member's name in its chunk: ret is NULL if it is its path.
 */
int hp_index_stored(const struct hp_index *ix, uint64_t member,
		    const char **ret, size_t *ret_len, struct hpdsl_error *err);
/* Has it SHA-256 of all members and chunks? */
bool hp_index_has_sha256(const struct hp_index *ix);
/* SHA-256 of a member's content, of a chunk's file.  -ENODATA: none here. */
int hp_index_member_sha256(const struct hp_index *ix, uint64_t number,
			   uint8_t ret[32], struct hpdsl_error *err);
int hp_index_chunk_sha256(const struct hp_index *ix, uint32_t number,
			  uint8_t ret[32], struct hpdsl_error *err);

/* A frame of a compressed chunk; number counts in the chunk. */
struct hp_frame {
	uint64_t plain, plain_end;   /* offsets in the plain tar */
	uint64_t stored, stored_end; /* in the file */
};
int hp_index_frame(const struct hp_index *ix, const struct hpdsl_chunk *c,
		   uint32_t number, struct hp_frame *ret,
		   struct hpdsl_error *err);
/* The number of the frame that holds byte offset of the plain tar. */
int hp_index_frame_find(const struct hp_index *ix, const struct hpdsl_chunk *c,
			uint64_t offset, uint32_t *ret,
			struct hpdsl_error *err);

/*
 * Checks everything: all blocks, all rows and how they fit together, that each
 * path is found.  told() hears each thing that is wrong (told may be NULL);
 * the result is HPDSL_ECORRUPT with the first of them, or 0; HPDSL_ETOONEW if
 * rows are of a kind that this version does not know.
 */
int hp_index_check(const struct hp_index *ix,
		   void (*told)(void *arg, const char *reason), void *arg,
		   struct hpdsl_error *err);

#endif
