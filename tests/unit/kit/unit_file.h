/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Comes before each file of tests/unit: its main is then one of those of which
 * the program of its folder (unit.c) runs the one that it was called by the
 * name of.
 */
#include "unit.h"

/* What is declared static stays so where it is defined. */
static int unit_main(void);

__attribute__((constructor)) static void unit_begin(void)
{
	static struct unit u = { UNIT_NAME, unit_main, 0 };

	unit_known(&u);
}

#define main unit_main
