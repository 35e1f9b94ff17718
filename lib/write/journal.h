/* SPDX-License-Identifier: Apache-2.0 */
/*
 * journal.hpdsl: what an unfinished pack was going to write, which chunks it
 * has finished, and how far the compressed archives are in those it has not. It
 * is the packer's lock too.  Removed when the manifest is there.
 * hpdsl-format(5), "Journal".
 *
 * Its head is written last: a journal without a valid head, or with one that
 * has no options (a claim), is one whose pack had not begun to write chunks.
 * The packer that takes it over writes its own name behind the head, never the
 * head itself, which alone tells the names of the chunks that lie here.  A torn
 * record at the end is passed over.
 */
#ifndef HP_JOURNAL_H
#define HP_JOURNAL_H

#include "format/manifest.h"
#include "index/write.h"
#include "plan/list.h"

#define HP_JOURNAL_MAGIC "\x89HPDSLJ\n"
#define HP_JOURNAL_VERSION 1

struct hp_journal_record {
	uint32_t chunk;	 /* below 2^31 */
	bool compressed; /* the file is .tar.zst */
	uint64_t bytes;
	uint8_t checksum[16]; /* XXH3-128 of the chunk file */
};

/*
 * How far a compressed archive is in its places, on the disk; of what is read
 * in any order only what it is.
 */
struct hp_journal_position {
	uint32_t root;	  /* number of the INPUT */
	uint64_t files;	  /* of hp_archive's walk that are done */
	uint64_t bytes;	  /* of the next one */
	uint64_t archive; /* hp_journal_archive(), or of the dataset id */
};

struct hp_journal;

/*
 * Opens (creates) the journal in dir and locks it.  -EBUSY: another packer
 * holds it (*err names its node and process).  A file system without locks is
 * told through watch->warn and accepted.  *ret_resumable: it has a valid head
 * with options.  The head then names this process.  io, dir and watch are
 * borrowed.
 */
int hp_journal_open(const struct hp_io *io, int dir,
		    const struct hpdsl_watch *watch, struct hp_journal **ret,
		    bool *ret_resumable, struct hpdsl_error *err);

/*
 * Starts afresh: writes options, the sorted list, then the head, with the
 * number of chunks that are planned; synced.
 */
int hp_journal_begin(struct hp_journal *j, const struct hp_pairs *options,
		     const struct hp_list *list, uint64_t chunks,
		     struct hpdsl_error *err);

/* How many chunks that pack was going to write; 0: nobody knows. */
uint64_t hp_journal_chunks(const struct hp_journal *j);

/*
 * Compares with what is there: HPDSL_EDIFFERS with one line that names the
 * option, or the first file and how many were added, removed, changed.
 */
int hp_journal_compare(struct hp_journal *j, const struct hp_pairs *options,
		       const struct hp_list *list, struct hpdsl_error *err);

/*
 * Reads the records behind the list; *ret is malloc'ed, one for each chunk (the
 * last written counts), by chunk number, which is in no way checked.  Cuts off
 * a torn tail, so that hp_journal_add can go on.
 */
int hp_journal_records(struct hp_journal *j, struct hp_journal_record **ret,
		       size_t *ret_n, struct hpdsl_error *err);

/* Of an INPUT that hp_journal_records has met, the last one; or NULL. */
const struct hp_journal_position *hp_journal_position(
	const struct hp_journal *j, uint32_t root);

/* Appends and syncs, from any thread.  A failed sync is final. */
int hp_journal_add(struct hp_journal *j, const struct hp_journal_record *rec,
		   struct hpdsl_error *err);

/* The same of chunk c as it is. */
int hp_journal_add_made(struct hp_journal *j, uint32_t c,
			const struct hp_chunk_made *made,
			struct hpdsl_error *err);
/* n > 0 positions in the same way, synced once. */
int hp_journal_add_positions(struct hp_journal *j,
			     const struct hp_journal_position *pos, size_t n,
			     struct hpdsl_error *err);

/* Unlinks the file, gives up the lock; j is gone even if this fails. */
int hp_journal_remove(struct hp_journal *j, struct hpdsl_error *err);
/* Closes; the file stays.  NULL is fine. */
void hp_journal_close(struct hp_journal *j);

/* The decoders, over memory (also the fuzz targets). */
#define HP_JOURNAL_HEAD 64
#define HP_JOURNAL_OWNER 128
#define HP_JOURNAL_BODY (HP_JOURNAL_HEAD + HP_JOURNAL_OWNER)
#define HP_JOURNAL_RECORD 40

struct hp_journal_head {
	uint64_t options_bytes; /* right behind the owner */
	uint64_t list_bytes;	/* behind the options */
	uint64_t n_files;
	uint64_t chunks; /* that it was going to write; 0: it does not say */
	uint64_t body_checksum; /* XXH3-64 of options and list */
};

int hp_journal_head_read(const uint8_t buf[HP_JOURNAL_HEAD],
			 struct hp_journal_head *ret, struct hpdsl_error *err);
void hp_journal_head_write(const struct hp_journal_head *head,
			   uint8_t buf[HP_JOURNAL_HEAD]);

/*
 * Who is at work, between the head and the options; for a message alone, so
 * that nothing depends on it and every byte of it is taken.
 */
struct hp_journal_owner {
	char host[64]; /* NUL-terminated, cut if need be; any bytes */
	uint32_t pid;  /* 0: it does not say */
};

void hp_journal_owner_read(const uint8_t buf[HP_JOURNAL_OWNER],
			   struct hp_journal_owner *ret);
void hp_journal_owner_write(const struct hp_journal_owner *owner,
			    uint8_t buf[HP_JOURNAL_OWNER]);

/* 0, or HPDSL_ECORRUPT (no text: a torn tail is no error). */
int hp_journal_record_read(const uint8_t buf[HP_JOURNAL_RECORD],
			   struct hp_journal_record *ret);
void hp_journal_record_write(const struct hp_journal_record *rec,
			     uint8_t buf[HP_JOURNAL_RECORD]);

int hp_journal_position_read(const uint8_t buf[HP_JOURNAL_RECORD],
			     struct hp_journal_position *ret);
void hp_journal_position_write(const struct hp_journal_position *pos,
			       uint8_t buf[HP_JOURNAL_RECORD]);
/* What tells an archive file from another one: its size and time. */
uint64_t hp_journal_archive(const struct hp_root *root);

/* One file of the list: fixed part and path. */
#define HP_JOURNAL_FILE 24
struct hp_journal_file {
	uint64_t size;
	int64_t mtime;
	uint32_t nsec;
	uint16_t mode;
	uint16_t path_len;
	const char *path; /* into buf, not NUL-terminated */
};

/* Bytes taken, 0 if n are too few, HPDSL_ECORRUPT (no text). */
ssize_t hp_journal_file_read(const uint8_t *buf, size_t n,
			     struct hp_journal_file *ret);
/* Without the path, which follows. */
void hp_journal_file_write(const struct hp_journal_file *f,
			   uint8_t buf[HP_JOURNAL_FILE]);

/*
 * Options as key, NUL, value, NUL, ...; the strings stay in buf, ret->v is
 * freed by hp_pairs_release.  HPDSL_ECORRUPT.
 */
int hp_journal_options_read(const char *buf, size_t n, struct hp_pairs *ret,
			    struct hpdsl_error *err);
#define HP_JOURNAL_OPTIONS_MAX (16u << 20)

#endif
