/* SPDX-License-Identifier: Apache-2.0 */
/* A stage directory is opened, and closed. */
#include "stage/private.h"

#include "base/error.h"
#include "base/mem.h"
#include "sys/boot.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int hp_stage_new(const char *path, const struct hp_io *io,
		 struct hpdsl_stage **ret, struct hpdsl_error *err)
{
	struct hpdsl_stage *s = calloc(1, sizeof *s);
	size_t len = strlen(path);

	if (!s)
		return hp_fail_nomem(err);
	s->io = hp_io_or_system(io);
	s->dir = s->lock = -1;
	s->nodes = 1;
	pthread_mutex_init(&s->state_lock, NULL);
	/* A slash behind a link would follow it. */
	while (len > 1 && path[len - 1] == '/')
		len--;
	s->path = strndup(path, len);
	if (!s->path) {
		hpdsl_stage_close(s);
		return hp_fail_nomem(err);
	}
	if (gethostname(s->host, sizeof s->host - 1) < 0)
		strcpy(s->host, "?");
	hp_boot_id(s->io, s->boot_id);
	*ret = s;
	return 0;
}

/* Text for people, in one line. */
static void set_job(struct hpdsl_stage *s, const char *job)
{
	snprintf(s->job, sizeof s->job, "%s", job);
	for (char *p = s->job; *p; p++)
		if ((unsigned char)*p < 0x20 || *p == 0x7f)
			*p = ' ';
}

int hpdsl_stage_open(const char *path, const struct hpdsl_stage_at *at,
		     struct hpdsl_stage **ret, struct hpdsl_error *err)
{
	struct hpdsl_stage *s;
	int r;

	if (at->nodes ? at->node >= at->nodes : at->node > 0)
		return hp_fail(err, HPDSL_EUSAGE, "node %u of %u", at->node,
			       at->nodes);
	r = hp_stage_new(path, at->io, &s, err);
	if (r < 0)
		return r;
	s->node = at->node;
	s->nodes = at->nodes ? at->nodes : 1;
	set_job(s, at->job ? at->job : "");
	r = hp_stage_take(s, true, err);
	if (r < 0) {
		hpdsl_stage_close(s);
		return r;
	}
	*ret = s;
	return 0;
}

void hpdsl_stage_close(struct hpdsl_stage *s)
{
	if (!s)
		return;
	/* Whoever closes it is in order, if nothing else is. */
	s->has_stager = false;
	if (s->state && hp_state_ended(s->state) == HP_STAGE_AT_WORK)
		hpdsl_stage_end(s, -EIO, NULL);
	if (s->state)
		s->io->unmap(s->io, s->state, s->state_size);
	hp_stage_abandon_put(s);
	hpdsl_close(s->ds);
	if (s->lock >= 0)
		s->io->close(s->io, s->lock);
	if (s->dir >= 0)
		s->io->close(s->io, s->dir);
	pthread_mutex_destroy(&s->state_lock);
	free(s->old_bytes);
	free(s->origin);
	free(s->here);
	hp_sides_release(&s->sides);
	free(s->path);
	free(s);
}
