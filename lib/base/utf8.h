/* SPDX-License-Identifier: Apache-2.0 */
/* What UTF-8 is: the well-formed sequences of the Unicode standard, 3-7. */
#ifndef HP_UTF8_H
#define HP_UTF8_H

#include <stddef.h>

/*
 * Bytes of the character at s, of which there are len, at least one; 0: there
 * is none.  No surrogates, nothing in more bytes than it needs.
 */
size_t hp_utf8_char(const unsigned char *s, size_t len);

#endif
