/* SPDX-License-Identifier: Apache-2.0 */
/* The stager of one node. */
#include "hpdsl.h"

#include "error.h"

#include <errno.h>

int hpdsl_stager_new(struct hpdsl_stage *s,
		     const struct hpdsl_stager_options *opt,
		     struct hpdsl_stager **ret, struct hpdsl_error *err)
{
	(void)s;
	(void)opt;
	(void)ret;
	return hp_fail(err, -ENOSYS, "there is no stager yet");
}

void hpdsl_stager_free(struct hpdsl_stager *s)
{
	(void)s;
}

size_t hpdsl_stager_message_max(const struct hpdsl_stager *s)
{
	(void)s;
	return 0;
}

int hpdsl_stager_next(struct hpdsl_stager *s, struct hpdsl_stager_message *ret,
		      struct hpdsl_error *err)
{
	(void)s;
	(void)ret;
	(void)err;
	return 0;
}

void hpdsl_stager_sent(struct hpdsl_stager *s,
		       const struct hpdsl_stager_message *m)
{
	(void)s;
	(void)m;
}

void *hpdsl_stager_room(struct hpdsl_stager *s, size_t n)
{
	(void)s;
	(void)n;
	return NULL;
}

int hpdsl_stager_received(struct hpdsl_stager *s, uint32_t from, void *room,
			  size_t n, struct hpdsl_error *err)
{
	(void)s;
	(void)from;
	(void)room;
	(void)n;
	(void)err;
	return 0;
}

void hpdsl_stager_stop(struct hpdsl_stager *s, bool at_once)
{
	(void)s;
	(void)at_once;
}

void hpdsl_stager_report(const struct hpdsl_stager *s,
			 struct hpdsl_stager_report *ret)
{
	(void)s;
	*ret = (struct hpdsl_stager_report){ .idle = true };
}

double hpdsl_stager_ready(const struct hpdsl_stager *s, uint64_t chunk)
{
	(void)s;
	(void)chunk;
	return -1;
}
