/* SPDX-License-Identifier: Apache-2.0 */
/* The chunks that were found, and what is told of them on the way. */
#include "reindex/adopt.h"

#include "base/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

int hp_reindex_chunks(struct hp_reindex *x, size_t n, struct hpdsl_error *err)
{
	if (!x->names)
		x->names = hp_arena_new();
	x->chunks = calloc(n, sizeof *x->chunks);
	if (!x->names || !x->chunks)
		return hp_fail_nomem(err);
	x->n_chunks = (uint32_t)n;
	return 0;
}

void hp_found_release(struct hp_found *c)
{
	free(c->files);
	free(c->made.frames);
	free(c->contents);
	hp_arena_free(c->arena);
	if (c->adopted)
		free(c->adopted->places);
	free(c->adopted);
}

/* With the directory's name before it, if it has one. */
static void warn(struct hp_reindex *x, const char *text)
{
	if (x->path)
		hp_meter_warn(&x->meter, "%s: %s", x->path, text);
	else
		hp_meter_warn(&x->meter, "%s", text);
}

void hp_reindex_warn(struct hp_reindex *x, const char *fmt, ...)
{
	struct hpdsl_error text;
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text.msg, sizeof text.msg, fmt, ap);
	va_end(ap);
	warn(x, text.msg);
}

int hp_reindex_differs(struct hp_reindex *x, int code, struct hpdsl_error *err,
		       const char *fmt, ...)
{
	struct hpdsl_error text;
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text.msg, sizeof text.msg, fmt, ap);
	va_end(ap);
	if (!x->opt->force)
		return hp_fail(err, code, "%s", text.msg);
	warn(x, text.msg);
	return 0;
}
