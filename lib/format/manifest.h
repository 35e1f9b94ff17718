/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dataset.yaml: between struct and text, over memory.  The same struct always
 * gives the same bytes.  The last line is the checksum of all bytes before it.
 * hpdsl-format(5), "Manifest".
 */
#ifndef HP_MANIFEST_H
#define HP_MANIFEST_H

#include "hpdsl/pack.h"

#define HP_MANIFEST_NAME "dataset.yaml"
#define HP_MANIFEST_VERSION 1
#define HP_MANIFEST_MAX (1u << 30)
#define HP_MANIFEST_ODD 96 /* bytes: HP_YAML_ODD */

/* Bytes, not always UTF-8; NUL-terminated. */
struct hp_pair {
	const char *key, *value;
};

/*
 * Options as the manifest and the journal keep them: in a fixed order, a key
 * that is given several times (include) repeated.
 */
struct hp_pairs {
	struct hp_pair *v;
	size_t n;
};

struct hp_manifest_file {
	const char *name;
	uint64_t bytes, samples; /* samples: of chunks */
	uint8_t checksum[16];	 /* XXH3-128 */
	bool compressed;	 /* a chunk; then also: */
	uint64_t plain_bytes;
	uint8_t plain_checksum[16];
	bool has_sha256;
	uint8_t sha256[32];
};

struct hp_manifest {
	uint8_t dataset_id[16];
	bool has_sha256; /* the next, and those of all files */
	uint8_t dataset_id_sha256[32];
	uint64_t samples, members, bytes;
	bool has_seed;
	uint64_t seed;
	struct hp_pairs options;
	const char *const *classes;
	size_t n_classes;
	struct hp_pairs meta;
	struct hp_manifest_file index;
	struct hp_manifest_file *chunks;
	size_t n_chunks;
	struct hp_manifest_file *files; /* all others: side files, sums */
	size_t n_files;
	bool rebuilt;
	bool adopted;	  /* foreign tars: chunk names may be paths */
	const char *lost; /* what a rebuild could not bring back, or NULL */
	/* What is known to nobody, or out of order, for those who check; "" */
	char odd[HP_MANIFEST_ODD];
	void *memory; /* of a parsed one: freed by release */
};

/* *ret is malloc'ed. */
int hp_manifest_format(const struct hp_manifest *m, char **ret, size_t *ret_len,
		       struct hpdsl_error *err);

/*
 * name is for messages.  HPDSL_ENOTOURS: no manifest of ours; HPDSL_ETOONEW;
 * HPDSL_ECORRUPT: the checksum or a value is wrong.  Unknown keys are passed
 * over.  All strings belong to *ret.
 */
int hp_manifest_parse(const char *text, size_t len, const char *name,
		      struct hp_manifest *ret, struct hpdsl_error *err);
void hp_manifest_release(struct hp_manifest *m);

struct hp_io;

/*
 * For whoever goes on with the index alone: HPDSL_ENOTOURS: there is none in
 * the directory dir, which is called path; HPDSL_ETOONEW; else 0, also for one
 * that is damaged.
 */
int hp_manifest_look(const struct hp_io *io, int dir, const char *path,
		     struct hpdsl_error *err);
/* What is said where there is none, and what can be done: HPDSL_ENOTOURS. */
int hp_manifest_missing(const struct hp_io *io, int dir, const char *path,
			struct hpdsl_error *err);

/* What the inputs say of the classes; zero, or no such thing: nothing. */
struct hp_labels_known {
	bool kept;     /* samples have the classes of packed inputs */
	bool by_value; /* whole numbers keep their value: hp_list.by_value */
	const uint8_t *checksum; /* XXH3-128 of the labels file, or NULL */
};

/* The option that lists suffixes, of a dataset grouped by the last dot. */
#define HP_DOUBLE_SUFFIX "double_suffix"

/* By_value, as key and value of an option. */
#define HP_LABEL_NUMBERS "label_numbers"
#define HP_LABEL_NUMBERS_VALUE "value"

/* What was left out as litter: a version, or that; absent: as before. */
#define HP_LITTER "litter"
#define HP_LITTER_KEPT "keep"

/*
 * The options of a pack that shape its bytes, as pairs (keys are the long
 * options' names with _ for -), always with the value that takes effect.  seed
 * and meta (as "KEY=VALUE") are among them; in the manifest they have places
 * of their own: hp_manifest_format passes these two over, and a parsed
 * manifest's options are without them.
 */
int hp_options_pairs(const struct hpdsl_pack_options *opt,
		     const struct hp_labels_known *known, struct hp_pairs *ret,
		     struct hpdsl_error *err);
/* Those of its classes alone. */
int hp_label_pairs(const struct hpdsl_pack_options *opt,
		   const struct hp_labels_known *known, struct hp_pairs *ret,
		   struct hpdsl_error *err);
/* opt->meta taken apart, for hp_manifest.meta.  HPDSL_EUSAGE. */
int hp_meta_pairs(const struct hpdsl_pack_options *opt, struct hp_pairs *ret,
		  struct hpdsl_error *err);
/* Of those made by the two above, in one piece of memory with their strings. */
void hp_pairs_release(struct hp_pairs *p);
/*
 * 0 if equal, else HPDSL_EDIFFERS with "seed is 2 now, was 1" in *err.  The
 * order of different keys does not matter.
 */
int hp_pairs_compare(const struct hp_pairs *now, const struct hp_pairs *was,
		     struct hpdsl_error *err);
/* The same with a manifest's options, seed and meta. */
int hp_manifest_compare(const struct hp_manifest *m, const struct hp_pairs *now,
			struct hpdsl_error *err);

#endif
