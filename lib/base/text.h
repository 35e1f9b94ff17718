/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bytes that grow at their end.  The first failure stays, and what is added
 * after it is passed over, so that it is looked at once, in the end.
 */
#ifndef HP_TEXT_H
#define HP_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Zero everywhere is an empty one. */
struct hp_text {
	char *p; /* malloc'ed */
	size_t n, cap;
	bool failed; /* no memory */
};

void hp_text_add(struct hp_text *t, const void *p, size_t n);
void hp_text_puts(struct hp_text *t, const char *s);
void hp_text_u64(struct hp_text *t, uint64_t v); /* in decimal */
/* 8 bytes, little-endian. */
void hp_text_le64(struct hp_text *t, uint64_t v);
/* Frees what it holds; empty again. */
void hp_text_release(struct hp_text *t);

#endif
