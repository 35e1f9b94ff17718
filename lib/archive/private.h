/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Between the parts of the archive reader.  A feed hands out bytes in pieces; a
 * layer is libarchive's reader over a feed.  The bottom layer reads the archive
 * file, those above it archives inside.
 */
#ifndef HP_ARCHIVE_PRIVATE_H
#define HP_ARCHIVE_PRIVATE_H

#include "archive/archive.h"

#include "base/error.h"

#include <archive.h>
#include <archive_entry.h>

#define HP_FEED_HEAD 512
#define HP_NO_TAR_INSIDE                                                      \
	"is compressed, but not a tar: decompress it and pack what comes of " \
	"it"

enum hp_feed_kind {
	HP_FEED_REGION, /* of the archive file */
	HP_FEED_MEMBER, /* what the layer below is at, decoded as it comes */
	HP_FEED_MEMORY,
};

struct hp_filter;
struct hp_tar_tail;

/* Bytes that were looked at, and are to be handed out first. */
struct hp_ahead {
	uint8_t head[HP_FEED_HEAD];
	size_t len, at;
	const uint8_t *rest; /* of the piece that the head ends in */
	size_t rest_len;
};

struct hp_feed {
	struct hp_archive *a;
	enum hp_feed_kind kind;
	uint64_t base, len; /* REGION: in the file; MEMORY: len */
	uint64_t at;	    /* the next byte */
	bool sparse; /* MEMBER: holes at the end are left out by the reader */
	struct archive *from; /* MEMBER */
	uint8_t *memory;      /* MEMORY: owned */
	uint8_t *buf;
	size_t step;	 /* bytes read at a time: few after a jump */
	uint64_t kept;	 /* MEMORY: bytes that count, whatever len is */
	uint64_t one_at; /* the byte there is read as 1; 0: none */
	struct hp_ahead raw, plain;
	struct hp_filter *decoder; /* or NULL: the bytes are those of .. */
	bool zip, seven;	   /* .. a zip, or 7z, or a tar */
};

/* What the end of a zip says, and what the walk has seen of its bytes. */
struct hp_zip {
	uint64_t end;	 /* of the directory or the zip64 record behind it */
	uint64_t begin;	 /* of the directory, .. */
	uint64_t size;	 /* .. and its bytes; */
	bool placed;	 /* it does lie there */
	uint64_t shift;	 /* bytes in front of what its offsets count */
	uint64_t count;	 /* members that it says there are, .. */
	uint64_t modulo; /* .. or so many more; 0: exactly */
	uint64_t
		rest[2]; /* of no record, between directory and end: from, to */
	struct hp_zip_name *names; /* in the directory: owned */
	size_t n_names;
	/* The walk: */
	uint64_t behind; /* the last member, or 0 */
	bool described;	 /* by up to 24 bytes behind its content */
	bool lost;	 /* its end is not known */
	uint64_t gaps, gap_bytes, first_gap;
	bool told_half; /* of a backslash that may be half a letter */
};

struct hp_layer {
	struct hp_layer *below;
	struct archive *reader;
	struct archive_entry *entry; /* libarchive's own */
	struct hp_feed feed;
	struct hp_feed member; /* what was taken of the file it is at */
	size_t prefix_len;     /* of a->path: the folder this archive is */
	uint64_t entries;
	uint64_t content; /* in the feed: where the last one began */
	uint64_t next;	  /* in the feed: where a tar's next header is */
	struct hp_headers *headers; /* of a tar */
	struct hp_zip zip;
	/* Piece handed out last: what the reader left of it is the tail. */
	const uint8_t *piece;
	size_t piece_len;
	uint64_t given; /* bytes handed out, skipped ones included */
};

struct hp_archive {
	const struct hp_io *io;
	int fd;
	char *name;
	struct stat st;
	bool nested;
	const int *stop;
	bool (*enter)(void *arg); /* NULL: into all */
	void *enter_arg;
	void (*tell)(void *arg, const char *text); /* or NULL */
	void *tell_arg;
	uint64_t tried[2]; /* methods of zips, a bit each */
	locale_t locale;
	struct hp_layer *top;
	unsigned depth;
	uint64_t ordinal, decoded;
	uint64_t memory;     /* bytes of zips kept in memory */
	uint64_t size, done; /* of the file the walk is at */
	bool in_file, sparse;
	char *path; /* folders of inner archives, then the path */
	size_t path_cap;
	uint8_t *window;	   /* of a zip, around a local header */
	uint8_t *target;	   /* of a zip's link */
	struct hpdsl_error failed; /* what a callback could not say */
};

/* ---- layer.c ---------------------------------------------------------- */

/* "name: why", or "name: in inner/: why" */
int hp_archive_fail(const struct hp_archive *a, int code, const char *why,
		    struct hpdsl_error *err);
/* To who asked for it: what is taken, but not as it should be. */
void hp_archive_tell(const struct hp_archive *a, const char *why);
/* What a callback noted, or else the reader. */
int hp_archive_fail_reader(const struct hp_archive *a, struct archive *reader,
			   struct hpdsl_error *err);
/*
 * Puts a layer on top if its feed is an archive: 1, or 0 if it is none, and
 * then it is untouched but for what was looked at.
 */
int hp_layer_push(struct hp_archive *a, struct hp_layer *l,
		  struct hpdsl_error *err);
void hp_layer_pop(struct hp_archive *a);
void hp_layer_free(struct hp_layer *l);
/* What is left of the last file; then the top's next header: 1, 0 or a code. */
int hp_layer_next(struct hp_archive *a, struct hpdsl_error *err);

/* ---- header.c --------------------------------------------------------- */

enum hp_archive_type hp_entry_type(struct archive_entry *e);
/* Of a tar; none of these does anything in a zip.  Codes are in a->failed. */
int hp_headers_new(struct hp_layer *l);
void hp_headers_free(struct hp_headers *h);
/* The layer's piece goes away, or more is left out behind it. */
int hp_headers_next_piece(struct hp_layer *l);
/* At l->next libarchive begins to read headers, .. */
void hp_headers_begin(struct hp_layer *l);
/* .. and at l->content it is behind them: is it as they say? */
int hp_headers_end(struct hp_layer *l);
/* From there on, at the end: what libarchive was given. */
void hp_headers_add_tail(const struct hp_layer *l, uint64_t at,
			 struct hp_tar_tail *t);
/*
 * What our reader found and libarchive has otherwise: times just before 1970,
 * and what a global pax header says, which it passes over.
 */
void hp_headers_say(const struct hp_layer *l, struct hp_archive_entry *ret,
		    const char **path, size_t *len);
/* Is the last one a sparse file? */
bool hp_headers_sparse(const struct hp_layer *l);
/* It was gone past: is what it took what the headers say? */
int hp_headers_check_room(struct hp_layer *l, uint64_t used);

/* ---- entry.c ---------------------------------------------------------- */

/* What the top layer is at; its path goes behind the layer's folder. */
int hp_layer_entry(struct hp_archive *a, struct hp_archive_entry *ret,
		   struct hpdsl_error *err);

/* ---- feed.c ----------------------------------------------------------- */

/* The next piece: its bytes, 0 at the end, or a code that is in a->failed. */
ssize_t hp_feed_take(struct hp_feed *f, const uint8_t **ret);
/* n bytes of what libarchive's reader is at, or its code. */
ssize_t hp_reader_take(struct archive *reader, void *buf, size_t n,
		       bool sparse);
/* What the bytes are, by the first ones; sets decoder and zip. */
int hp_feed_recognise(struct hp_feed *f);
/* Bytes passed over without being read, at most n; REGION and MEMORY only. */
uint64_t hp_feed_skip(struct hp_feed *f, uint64_t n);
/* To where from the beginning; past the end is the end. */
void hp_feed_seek(struct hp_feed *f, uint64_t to);
/* Can it seek?  Then its bytes are the archive's. */
bool hp_feed_seekable(const struct hp_feed *f);
/* A MEMBER of n bytes becomes MEMORY. */
int hp_feed_keep(struct hp_feed *f, uint64_t n);
/* Bytes at an offset, of what is seekable; fewer at the end. */
ssize_t hp_feed_peek(struct hp_feed *f, void *buf, size_t n, uint64_t at);
void hp_feed_release(struct hp_feed *f);

/* ---- decode.c --------------------------------------------------------- */

/* Gives the next piece of a feed, as hp_feed_take() does. */
typedef ssize_t hp_feed_taker(struct hp_feed *f, const uint8_t **ret);

/*
 * One for what begins like this, over the bytes that take gives: 0 and NULL if
 * it is not compressed.
 */
int hp_filter_new(struct hp_feed *f, hp_feed_taker *take, const uint8_t *head,
		  size_t n, struct hp_filter **ret);
void hp_filter_free(struct hp_filter *d);
ssize_t hp_filter_take(struct hp_filter *d, const uint8_t **ret);

/* ---- zip.c ------------------------------------------------------------ */

/* What libarchive does not tell of a zip's member, or not as it is. */
struct hp_zip_facts {
	bool dos;     /* made where a backslash parts folders */
	bool slashes; /* header and directory differ in slashes alone */
	bool utf8;    /* the path is: no backslash is half a letter */
	uint16_t method;
	bool stored;   /* not compressed, and .. */
	uint32_t crc;  /* .. this is the CRC-32 of it */
	bool has_time; /* of an unknown zone, read as UTC: */
	int64_t mtime;
	/* Raw bytes, valid until the next call. */
	const char *path, *target;
	size_t path_len, target_len;
};

/* The layer's reader is behind a member's header, or behind a link. */
int hp_zip_facts(struct hp_layer *l, struct hp_zip_facts *ret);
/*
 * The raw path in path[n], a backslash being a slash where it is meant so; true
 * if one was left that may be half a letter.
 */
bool hp_zip_part(const struct hp_zip_facts *z, char *path, size_t n);

/* ---- zip_end.c -------------------------------------------------------- */

/*
 * Before libarchive sees it: finds the end, and takes from the feed what
 * libarchive would trip over.  0 or a code; a zip without an end is
 * libarchive's to refuse.
 */
int hp_zip_begin(struct hp_layer *l);
/* The number of the disk that has the end; false: it does not end as a zip. */
bool hp_zip_find_disk(struct hp_layer *l, unsigned *ret);
/* Is nothing in it?  libarchive would not know. */
bool hp_zip_is_empty(const struct hp_layer *l);
/* At the end: were it as many members as there should be? */
int hp_zip_check_count(struct hp_layer *l);

/* ---- zip_gap.c -------------------------------------------------------- */

/* The first sign of a zip's directory or end in these bytes, or NULL. */
const uint8_t *hp_zip_find_sign(const uint8_t *p, size_t n);
/*
 * The walk is at a member from offset on; its content ends at end, which may be
 * UINT64_MAX: nobody knows.  What lies before it and belongs to no member is
 * looked at.
 */
int hp_zip_pass(struct hp_layer *l, uint64_t offset, uint64_t end,
		bool described);
/* At the end: the same of what lies around the directory. */
int hp_zip_pass_end(struct hp_layer *l);
/* Then: what there is to tell of it all; false: nothing. */
bool hp_zip_say_gaps(const struct hp_layer *l, char *text, size_t n);

/* ---- zip_link.c ------------------------------------------------------- */

/* A deflated content, and what comes of it. */
struct hp_zip_stored {
	uint64_t at; /* in the feed */
	uint32_t len, size, crc;
};

int hp_zip_inflate_target(struct hp_layer *l, const struct hp_zip_stored *s,
			  struct hp_zip_facts *ret);

/* ---- zip_names.c ------------------------------------------------------ */

/* What the directory says of the member whose header is at an offset. */
struct hp_zip_name {
	uint64_t offset;
	uint64_t hash; /* XXH3-64 of the name, */
	uint64_t same; /* and with slashes for its backslashes */
	uint64_t stored;
	uint32_t size, crc;
	uint8_t system; /* that it was made on */
};

/* From the directory, before the first member. */
int hp_zip_load_names(struct hp_layer *l);
/* Of a name as it stands in a zip: hp_zip_name.same. */
uint64_t hp_zip_hash_slashes(const uint8_t *name, size_t n);
/* NULL: nothing is known of it. */
const struct hp_zip_name *hp_zip_find_name(const struct hp_layer *l,
					   uint64_t offset);

#endif
