/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tar headers as anybody writes them: v7, ustar, GNU and pax, global headers
 * too, numbers in octal or base 256.  Where readers agree it is as they are;
 * what they read differently is refused.  Pure: the caller hands in the blocks.
 */
#ifndef HP_TAR_FOREIGN_H
#define HP_TAR_FOREIGN_H

#include "hpdsl/core.h"

/* Longest name in a header, before it is cleaned. */
#define HP_FOREIGN_NAME (2 * HPDSL_PATH_MAX)
/* Most bytes in the data of an extended header. */
#define HP_FOREIGN_EXTRA_MAX (1 << 20)

enum hp_foreign_kind {
	HP_FOREIGN_END,	  /* a zero block */
	HP_FOREIGN_EXTRA, /* size bytes follow for hp_foreign_extra */
	HP_FOREIGN_FILE,
	HP_FOREIGN_FOLDER,
	HP_FOREIGN_LINK,    /* hard or symbolic */
	HP_FOREIGN_SPECIAL, /* a device or FIFO */
};

/* What a block and the extended headers before it say. */
struct hp_foreign_member {
	enum hp_foreign_kind kind;
	uint64_t size; /* bytes that follow, without padding */
	/* Of all but END and EXTRA; name lives until the next call. */
	const char *name; /* as it is there, NUL-terminated */
	size_t name_len;
	int64_t mtime;
	uint32_t nsec;
	uint32_t mode; /* 07777 */
};

/* What extended headers say. */
struct hp_foreign_facts {
	bool has_size, has_mtime;
	bool sparse, map; /* a file with holes; where its bytes belong */
	bool holes;	  /* of Solaris: which of its bytes are none */
	uint64_t size;
	int64_t mtime;
	uint32_t nsec;
	size_t path_len; /* 0: none */
	char path[HP_FOREIGN_NAME + 1];
};

struct hp_foreign {
	struct hp_foreign_facts global, local;
	char extra;	 /* kind of the extended header to be handed in */
	bool pending;	 /* extended headers wait for their member */
	bool mapped;	 /* after -EOPNOTSUPP: a sparse file with a map, .. */
	uint64_t stored; /* .. its bytes, those of a map before them too */
	size_t long_len; /* of a GNU name in name; 0: none */
	char name[HP_FOREIGN_NAME + 1];
};

/* At the beginning of an archive. */
void hp_foreign_begin(struct hp_foreign *t);

/*
 * The block (512 bytes) at a header's place.  HPDSL_ECORRUPT: it is none;
 * -EOPNOTSUPP: that of a member (t->name) that cannot be read in place; it can
 * be decoded if t->mapped.  The reason alone is in *err.
 */
int hp_foreign_header(struct hp_foreign *t, const uint8_t *block,
		      struct hp_foreign_member *ret, struct hpdsl_error *err);

/* The data of an extended header, after HP_FOREIGN_EXTRA. */
int hp_foreign_extra(struct hp_foreign *t, const uint8_t *data, size_t n,
		     struct hpdsl_error *err);

#endif
