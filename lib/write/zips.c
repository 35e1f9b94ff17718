/* SPDX-License-Identifier: Apache-2.0 */
/* What chunks that are compressed take and give back: contexts of zstd. */
#include "write/engine.h"

#include "base/error.h"
#include "base/mem.h"

#include <errno.h>
#include <string.h>
