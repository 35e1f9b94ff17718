/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which names other readers of tar chunks trip over, and why.  Pure: over the
 * names of a sample, wherever they are from.
 */
#ifndef HP_NAME_RISK_H
#define HP_NAME_RISK_H

#include "hpdsl/pack.h"

/* Why; in the order in which they are told. */
enum hp_risk {
	HP_RISK_NO_SUFFIX,   /* no dot behind the key, or nothing behind it */
	HP_RISK_DOTS,	     /* parts that all members share come behind the
				first dot */
	HP_RISK_BLANK,	     /* a space */
	HP_RISK_HIDDEN,	     /* the base name begins with a dot */
	HP_RISK_META,	     /* the first component is __x__ */
	HP_RISK_UNDERSCORES, /* the base name begins with __ */
	HP_RISK_FIELD,	     /* the suffix begins with __ */
	HP_RISK_LONG,	     /* over 100 bytes */
	HP_RISK_PAX,	     /* so long that the header needs a pax record */
	HP_RISK_UPPER,	     /* upper case in the suffix */
	HP_RISK_SAME,	     /* suffixes of a sample equal in lower case */
	HP_RISK_NOT_ASCII,   /* a byte above 0x7f, */
	HP_RISK_NOT_UTF8,    /* and not even UTF-8 */
	HP_RISK_CONTROL,     /* a byte below 0x20 or 0x7f, but a newline */
	HP_RISK_NEWLINE,     /* a newline */
	HP_RISK_FOLDER,	     /* one in a folder's name, and then a dot there */
	HP_RISK_QUOTE,	     /* a backslash, or a semicolon in the suffix */
	HP_RISK_SLASH,	     /* begins with ./ or / (never in our chunks) */
	HP_RISK_KEY_AGAIN,   /* the key of another sample, too: the caller says
				so */
	HP_RISKS
};

/* In one reader's eyes. */
enum hp_risk_effect {
	HP_EFFECT_NONE,
	HP_EFFECT_DROPS,   /* the member is not seen */
	HP_EFFECT_RENAMES, /* another key or field than the path says */
	HP_EFFECT_SPLITS,  /* members of a sample apart, or samples mixed */
	HP_EFFECT_REFUSES, /* an error; of the reader or its indexer */
};

/* "no suffix": static. */
const char *hp_risk_text(enum hp_risk risk);
/* "drops", ..; NULL for none. */
const char *hp_effect_text(enum hp_risk_effect effect);
/* What one reader (one bit of enum hpdsl_reader) makes of such a name. */
enum hp_risk_effect hp_risk_effect(enum hp_risk risk, unsigned reader);
/* The readers that trip, enum hpdsl_reader or'ed. */
unsigned hp_risk_readers(enum hp_risk risk);

/* A name as it stands in a tar header; any bytes but NUL. */
struct hp_name {
	const char *s;
	size_t len;
};

/*
 * What is odd about the members of one sample: bit 1 << risk of ret[i] for
 * names[i].  The members of a sample have one key, whose rule may be another
 * than that of the readers, or it is one member.  HP_RISK_KEY_AGAIN is never
 * set here.  Only memory can fail; 16 bytes a name meanwhile.
 */
int hp_risks_find(const struct hp_name *names, size_t n, uint32_t *ret,
		  struct hpdsl_error *err);

/* Counts, and the first name of each; zero at first. */
struct hp_risk_counts {
	uint64_t names; /* looked at */
	uint64_t risky; /* with any risk */
	struct {
		uint64_t names;
		char first[HPDSL_NAME_EXAMPLE]; /* printable */
	} of[HP_RISKS];
	/* Room for one sample; see hp_risk_counts_release. */
	uint32_t *found;
	size_t room;
};

/*
 * Counts the members of one sample.  also: bits that are set for each of them
 * (HP_RISK_KEY_AGAIN).
 */
int hp_risk_counts_add(struct hp_risk_counts *c, const struct hp_name *names,
		       size_t n, uint32_t also, struct hpdsl_error *err);
void hp_risk_counts_release(struct hp_risk_counts *c);

/* For a report: those that were found, in order; returns how many. */
size_t hp_risk_counts_tell(const struct hp_risk_counts *c,
			   struct hpdsl_name_risk ret[HPDSL_NAME_RISKS]);

#endif
