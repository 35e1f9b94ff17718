/* SPDX-License-Identifier: Apache-2.0 */
/*
 * YAML from typed values.  What a reader would take for a number, a truth value
 * or nothing is quoted where it is text, and what YAML cannot print is
 * !!binary, so that every reader gets the same.  Lines are not folded.
 */
#ifndef HP_YAML_WRITER_H
#define HP_YAML_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <yaml.h>

/* The first failure stays; what is put after it is passed over. */
struct hp_yaml_writer {
	yaml_emitter_t yaml;
	char *buf; /* the text; freed by the caller */
	size_t len, cap, max;
	int fail; /* 0, -ENOMEM, -EFBIG (over max bytes), -EINVAL */
};

/* Starts a document; false: no memory, and nothing to end or free. */
bool hp_yaml_begin(struct hp_yaml_writer *w, size_t max);
/* Ends it; buf is complete, without a NUL, if nothing failed. */
void hp_yaml_end(struct hp_yaml_writer *w);

void hp_yaml_begin_map(struct hp_yaml_writer *w, bool one_line);
void hp_yaml_end_map(struct hp_yaml_writer *w);
void hp_yaml_begin_list(struct hp_yaml_writer *w);
void hp_yaml_end_list(struct hp_yaml_writer *w);

/* A word of ours that is safe without quotes, or meant as number or truth. */
void hp_yaml_put_plain(struct hp_yaml_writer *w, const char *s);
void hp_yaml_put_number(struct hp_yaml_writer *w, uint64_t v);
/* Any bytes, as text for every reader. */
void hp_yaml_put_text(struct hp_yaml_writer *w, const char *s);

/* Bytes behind the text, as they are, once it has ended: 1, or 0 and fail. */
int hp_yaml_append(struct hp_yaml_writer *w, const void *p, size_t n);

#endif
