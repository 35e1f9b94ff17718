/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writing index.hpdsl front to back, in memory of 16 bytes a member: what a
 * member is comes from a source that is walked several times.
 */
#ifndef HP_INDEX_WRITE_H
#define HP_INDEX_WRITE_H

#include "base/key.h"
#include "chunk/seek_table.h"
#include "sys/io.h"

struct hp_index_member {
	const char *path;
	size_t path_len;
	uint64_t offset, size, checksum;
	int64_t mtime;
	uint32_t nsec;
	uint32_t mode;	    /* permission bits and HP_MEMBER_ flags */
	const char *stored; /* name in the chunk; NULL: the path */
	size_t stored_len;
	const uint8_t *sha256; /* with hp_index_source.sha256 */
	uint64_t sample;
	uint32_t label;
};

/* A chunk file that is there: just written, read again or found. */
struct hp_chunk_made {
	const char *name;
	uint64_t first_sample, first_member;
	uint64_t bytes;	      /* as stored */
	uint8_t checksum[16]; /* XXH3-128 of the file */
	bool done;	      /* while it is being made: all is known */
	bool compressed;      /* then also of the tar: */
	uint64_t plain_bytes;
	uint8_t plain_checksum[16];
	struct hp_frame_row *frames; /* n_frames of them */
	uint32_t n_frames;
	bool has_sha256; /* with hp_index_source.sha256 */
	uint8_t sha256[32];
};

/* Members come in packed order, their samples without gaps from 0. */
struct hp_index_source {
	uint64_t samples, members, bytes;
	uint8_t dataset_id[16];
	uint32_t flags; /* HP_INDEX_GROUP_NONE, ..; LAST is key's to say */
	struct hp_key_rule key;
	bool sha256; /* members and chunks have them */
	bool stored; /* some members have names of their own */
	const struct hp_chunk_made *chunks;
	uint32_t n_chunks;
	const char *const *classes;
	uint32_t n_classes;
	void *arg;
	void (*begin)(void *arg); /* to the first member */
	/* 1, 0 behind the last, or an error.  Strings live until the next call.
	 */
	int (*next)(void *arg, struct hp_index_member *ret,
		    struct hpdsl_error *err);
};

/* Where the bytes go, in order. */
struct hp_sink {
	int (*write)(void *arg, const void *buf, size_t n,
		     struct hpdsl_error *err);
	void *arg;
};

int hp_index_write(const struct hp_index_source *src,
		   const struct hp_sink *sink, struct hpdsl_error *err);

/*
 * The same into the file index.hpdsl of dir, whole (see sys/outfile.h); its
 * size, XXH3-128, and SHA-256 unless ret_sha256 is NULL.
 */
int hp_index_save(const struct hp_index_source *src, const struct hp_io *io,
		  int dir, uint64_t *ret_bytes, uint8_t ret_checksum[16],
		  uint8_t *ret_sha256, struct hpdsl_error *err);

/* What is known of an index before it can be written. */
struct hp_index_extent {
	uint64_t samples, members, chunks;
	uint64_t path_bytes;   /* of all paths */
	uint64_t stored;       /* members with a name of their own, .. */
	uint64_t stored_bytes; /* .. and the bytes of these */
	uint64_t frames;       /* of compressed chunks */
	bool sha256;
};

/* Upper bound of the size, for the check of free space. */
uint64_t hp_index_bound(const struct hp_index_extent *e);

#endif
