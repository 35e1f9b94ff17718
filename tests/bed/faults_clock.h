/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TEST_FAULTS_CLOCK_H
#define TEST_FAULTS_CLOCK_H

/* 1: a thread begins something during which time stands; -1: it has ended. */
void faults_clock_hold(int more);

#endif
