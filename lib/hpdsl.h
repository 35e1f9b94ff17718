/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libhpdsl: packed training datasets.  Whole samples in plain tar chunks, one
 * binary index that answers by number and by path, checksums over every byte.
 *
 * Conventions.  Functions return 0 or a count, or a negative code: -errno, or
 * one of enum hpdsl_code.  On failure ret_* outputs are untouched and *err (may
 * be NULL) holds one line that names the object and the reason.  Sizes and
 * offsets are bytes.  Numbers of samples, members and chunks count from 0.
 * Strings handed out live as long as the object they came from.  Nothing here
 * prints, exits, changes a signal handler or keeps mutable globals.
 *
 * This header is all of the sheets below; each may be included by itself.
 */
#ifndef HPDSL_H
#define HPDSL_H

#include "hpdsl/core.h"
#include "hpdsl/pack.h"
#include "hpdsl/dataset.h"
#include "hpdsl/verify.h"
#include "hpdsl/unpack.h"
#include "hpdsl/snapshot.h"
#include "hpdsl/serve.h"
#include "hpdsl/stage.h"
#include "hpdsl/peers.h"
#include "hpdsl/order.h"
#include "hpdsl/loader.h"
#include "hpdsl/metrics.h"
#include "hpdsl/stall.h"
#include "hpdsl/look.h"

#define HPDSL_VERSION "0.1.0"

#endif
