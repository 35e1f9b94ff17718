/* SPDX-License-Identifier: Apache-2.0 */
/* What UTF-8 is. */
#include "base/utf8.h"

size_t hp_utf8_char(const unsigned char *s, size_t len)
{
	unsigned char low = 0x80, high = 0xbf;
	size_t n = s[0] < 0x80	? 1 :
		   s[0] < 0xc2	? 0 :
		   s[0] < 0xe0	? 2 :
		   s[0] < 0xf0	? 3 :
		   s[0] <= 0xf4 ? 4 :
				  0;

	if (s[0] == 0xe0)
		low = 0xa0; /* not in fewer bytes */
	else if (s[0] == 0xed)
		high = 0x9f; /* no surrogates */
	else if (s[0] == 0xf0)
		low = 0x90;
	else if (s[0] == 0xf4)
		high = 0x8f;
	if (n > len || (n > 1 && (s[1] < low || s[1] > high)))
		return 0;
	for (size_t i = 2; i < n; i++)
		if (s[i] < 0x80 || s[i] > 0xbf)
			return 0;
	return n;
}
