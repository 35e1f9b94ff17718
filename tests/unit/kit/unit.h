/* SPDX-License-Identifier: Apache-2.0 */
/* The test files of a folder, as its program knows them. */
#ifndef UNIT_H
#define UNIT_H

struct unit {
	const char *name;
	int (*run)(void);
	struct unit *next;
};

void unit_known(struct unit *u);

#endif
