/* SPDX-License-Identifier: Apache-2.0 */
/* Between the files that keep a stage directory in order: see stage.h. */
#ifndef HP_STAGE_DIR_H
#define HP_STAGE_DIR_H

#include "stage/stage.h"
#include "sys/meter.h"

enum { HP_STAGE_HOLDER = 384 }; /* of the lock's text */

/* A fresh one, with nothing open, to be closed.  io may be NULL. */
int hp_stage_new(const char *path, const struct hp_io *io,
		 struct hpdsl_stage **ret, struct hpdsl_error *err);

/* Opens the directory and locks it: what hpdsl_stage_open() promises. */
int hp_stage_take(struct hpdsl_stage *s, bool make, struct hpdsl_error *err);

/*
 * Before there are beats: who waits for the lock sees that the work goes on.
 * Any thread, as often as it likes.
 */
void hp_stage_touch(struct hpdsl_stage *s);

/*
 * Reads the state file that is there.  One that cannot be read for what it is
 * counts as none.  HPDSL_ETOONEW.
 */
int hp_stage_load(struct hpdsl_stage *s, struct hpdsl_error *err);

/* Is there a regular file of that name? */
bool hp_stage_is_file(const struct hpdsl_stage *s, const char *name);
/* hp_listdir from the beginning. */
int hp_stage_list(const struct hpdsl_stage *s,
		  int (*each)(void *arg, const char *name), void *arg);

/* What a name in a stage directory means. */
struct hp_stage_name {
	enum {
		HP_NAME_OTHER,
		HP_NAME_FIXED, /* index, manifest, state, lock, servers' */
		HP_NAME_PART,  /* a temporary file of ours */
		HP_NAME_CHUNK,
		HP_NAME_SIDE,	/* a side file that is in no folder */
		HP_NAME_FOLDER, /* that of the others */
	} kind;
	uint64_t chunk; /* CHUNK, and PART of one */
	bool zst;	/* the name ends so; CHUNK */
};
/* chunks: how many there are; files of others are none of ours. */
void hp_stage_name_read(const char *name, uint64_t chunks,
			struct hp_stage_name *ret);

/*
 * XXH3-128 of a file, touching the lock.  -EINVAL: no regular file; -errno.
 * m: told, or NULL.
 */
int hp_stage_hash(struct hpdsl_stage *s, const char *name, struct hp_meter *m,
		  uint8_t ret[16]);
/* A small file that appears whole; not synced. */
int hp_stage_put(const struct hpdsl_stage *s, const char *name,
		 const void *bytes, size_t n, struct hpdsl_error *err);

/* HPDSL_EDIFFERS: what is here is of another pack. */
int hp_stage_same_pack(struct hpdsl_stage *s,
		       const struct hpdsl_stage_pack *pack,
		       struct hpdsl_error *err);

/* Fills here[], removes what is damaged or left over. */
int hp_stage_find(struct hpdsl_stage *s, const struct hpdsl_stage_begin *opt,
		  struct hpdsl_error *err);

/* What a kind of file system (statfs's f_type) is called if machines share it;
 * "": it is none of those. */
const char *hp_stage_shared_kind(uint64_t type);

/* A file as it has to be, and what may be wrong with it. */
struct hp_stage_file {
	const char *name;
	uint64_t bytes;
	const uint8_t *checksum; /* 16 bytes; NULL: it is not hashed */
	bool any; /* what is no regular file is bad, and no error */
};
enum hp_stage_bad {
	HP_STAGE_SOUND,
	HP_STAGE_BAD_KIND,
	HP_STAGE_BAD_SIZE,
	HP_STAGE_BAD_BYTES,
	HP_STAGE_BAD_READ,
};
/*
 * An enum hp_stage_bad; -ENOENT.  What cannot be known is an error: *err names
 * the file.
 */
int hp_stage_check_file(struct hpdsl_stage *s, const struct hp_stage_file *f,
			struct hp_meter *m, struct hpdsl_error *err);
/* "damaged" */
const char *hp_stage_bad_word(enum hp_stage_bad bad);

/* ---- Side files ------------------------------------------------------- */

/* sides_find.c: which of them are here; removes what is damaged or left over.
 */
int hp_stage_find_sides(struct hpdsl_stage *s,
			const struct hpdsl_stage_begin *opt, struct hp_meter *m,
			struct hpdsl_error *err);
/*
 * sides_folder.c: opens the folder of some, which must be a directory of this
 * user's and no link; make: makes it.  A descriptor, -ENOENT, -errno.
 */
int hp_stage_side_folder(const struct hpdsl_stage *s, bool make,
			 struct hpdsl_error *err);
/* Is it a name of one in that folder?  part: a temporary one. */
bool hp_stage_in_side_folder(const char *name, bool *ret_part);
/* Removes temporary files of an open one: 0 or -errno. */
int hp_stage_sweep_side_folder(const struct hpdsl_stage *s, int folder);
/* Removes what has the folder's name and is none, a link and not what it leads
 * to: 1: so it was; 0; -errno. */
int hp_stage_mend_side_folder(const struct hpdsl_stage *s,
			      struct hpdsl_error *err);
/*
 * Removes what has a side file's name in an open directory, whatever it is: a
 * link, and not what it leads to; a folder if it is empty.  1; 0: there is
 * nothing; -ENOTEMPTY; -errno.  ret_bytes: of a file; may be NULL.
 */
int hp_stage_remove_side(const struct hpdsl_stage *s, int dir, const char *name,
			 uint64_t *ret_bytes);
/* sides_drop.c: before the manifest here, text (NULL: it cannot be read), is
 * replaced: removes its side files that the next one has not so. */
int hp_stage_drop_sides(struct hpdsl_stage *s, const char *text, size_t n,
			const struct hpdsl_stage_pack *next,
			struct hpdsl_error *err);
/* sides_plan.c: has the plan the side file for this node? */
bool hp_stage_side_planned(const struct hpdsl_stage *s,
			   const struct hpdsl_stage_plan *plan,
			   const struct hp_side_row *r);
/* Bytes of those that are here; plan: that it has not for this node. */
uint64_t hp_stage_sides_held(const struct hpdsl_stage *s,
			     const struct hpdsl_stage_plan *plan);

void hp_stage_abandon_put(struct hpdsl_stage *s);

#endif
