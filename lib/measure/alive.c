/* SPDX-License-Identifier: Apache-2.0 */
/* How long a beat was not there, of the time in which it could be seen. */
#include "measure/alive.h"

enum hp_measure_is hp_measure_looked(struct hp_measure_alive *a, double begun,
				     double answered, bool is_new)
{
	double passed = answered - a->looked;

	a->looked = answered;
	if (is_new) {
		a->seen = answered;
		a->silent = 0;
		return HP_MEASURE_ALIVE;
	}
	if (answered - begun <= HP_MEASURE_IN_TIME)
		a->silent += passed < HP_MEASURE_IN_TIME ? passed :
							   HP_MEASURE_IN_TIME;
	if (a->silent >= HP_MEASURE_DEAD)
		return HP_MEASURE_ENDED;
	return answered - a->seen > HP_MEASURE_DEAD ? HP_MEASURE_UNSURE :
						      HP_MEASURE_ALIVE;
}
