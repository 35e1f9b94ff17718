/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A rank of a measured job, in the folder that hpdsl-stall made:
 * hpdsl_measured_* of hpdsl/stall.h.
 *
 * Once a second the folder is looked at, between two steps; the rest of the
 * time a step costs some arithmetic.
 */
#ifndef HP_MEASURE_RANK_H
#define HP_MEASURE_RANK_H

#include "hpdsl/stall.h"

#endif
