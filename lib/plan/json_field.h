/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One field at the top level of a JSON object (RFC 8259), over memory.  What is
 * around it is passed over, not judged.
 */
#ifndef HP_JSON_FIELD_H
#define HP_JSON_FIELD_H

#include "base/text.h"

/*
 * Is the value of the field a text of at least one character, or a whole
 * number? Then *ret, which is emptied before, has it.  False: it is anything
 * else, or not there, or this is no object.  Of a name that is there twice the
 * last one counts.  ret->failed: no memory.
 */
bool hp_json_field(const char *s, size_t n, const char *field,
		   struct hp_text *ret);

#endif
