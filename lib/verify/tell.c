/* SPDX-License-Identifier: Apache-2.0 */
/* What is told of damage, and what counts as such. */
#include "verify/verify.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static void tell(struct hp_verify *v, const struct hp_damage_place *spot,
		 const char *fmt, va_list ap)
{
	char reason[1024];
	struct hpdsl_damage d = { spot->file, spot->sample, spot->path,
				  reason };

	if (!v->opt->damage)
		return;
	vsnprintf(reason, sizeof reason, fmt, ap);
	pthread_mutex_lock(&v->meter.lock);
	v->opt->damage(v->opt->arg, &d);
	pthread_mutex_unlock(&v->meter.lock);
}

void hp_verify_tell(struct hp_verify *v, struct hp_damage_place spot,
		    const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	tell(v, &spot, fmt, ap);
	va_end(ap);
}

void hp_verify_file(struct hp_verify *v, const char *file, const char *fmt, ...)
{
	struct hp_damage_place spot = { file, UINT64_MAX, NULL };
	va_list ap;

	va_start(ap, fmt);
	tell(v, &spot, fmt, ap);
	va_end(ap);
	v->report->damaged_files++;
}

bool hp_verify_is_damage(int code)
{
	switch (code) {
	case -ENOENT:
	case -EIO:
	case -EISDIR:
	case -ENOTDIR:
	case -ELOOP:
	case -ENXIO:  /* a socket */
	case -EINVAL: /* hp_io_slurp: not a regular file */
	case -EFBIG:
	case HPDSL_ECORRUPT:
	case HPDSL_ENOTOURS:
		return true;
	default:
		return false;
	}
}

const char *hp_verify_reason(const struct hpdsl_error *err, const char *name)
{
	size_t n = strlen(name);

	if (strncmp(err->msg, name, n) == 0 &&
	    strncmp(err->msg + n, ": ", 2) == 0)
		return err->msg + n + 2;
	return err->msg;
}

void hp_verify_count(struct hp_verify *v, const struct hpdsl_chunk *chunk,
		     uint64_t bytes)
{
	pthread_mutex_lock(&v->meter.lock);
	v->report->chunks++;
	v->report->samples += chunk->samples;
	v->report->members += chunk->members;
	v->report->bytes += bytes;
	pthread_mutex_unlock(&v->meter.lock);
}
