/* SPDX-License-Identifier: Apache-2.0 */
/* A stage directory is opened, and closed; what its state file says. */
#include "stage/private.h"

#include "base/error.h"
#include "base/mem.h"
#include "sys/boot.h"
#include "sys/owner.h"

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

static bool ended_in_order(const void *state)
{
	return hp_state_ended(state) != HP_STAGE_AT_WORK;
}

/* -ENOENT, and -EPERM: a stranger's word on what is here is not taken. */
static int read_state(const struct hpdsl_stage *s, const char *name, char **ret,
		      size_t *ret_n, struct hpdsl_error *err)
{
	hp_auto_fd f = { s->io, s->io->open(s->io, s->dir, HP_STATE_NAME,
					    O_RDONLY | O_NONBLOCK, 0) };
	struct stat st;
	int r = f.fd;

	if (r >= 0)
		r = hp_io_fstat(s->io, f.fd, &st);
	/* No option takes it: what a stager believes it goes on with. */
	if (r == 0 && hp_is_foreign(st.st_uid))
		return hp_fail(err, -EPERM,
			       "%s: belongs to user %u, neither to the caller "
			       "nor to root; remove it",
			       name, (unsigned)st.st_uid);
	if (r == 0)
		r = hp_io_slurp_open(s->io, f.fd, hp_state_size(UINT32_MAX),
				     ret, ret_n);
	return r < 0 ? hp_fail_errno(err, r, "%s", name) : 0;
}

int hp_stage_load(struct hpdsl_stage *s, struct hpdsl_error *err)
{
	hp_auto_free char *bytes = NULL, *name = NULL;
	struct hpdsl_error why;
	struct hp_state_header h;
	size_t n;
	int r;

	free(hp_take(s->old_bytes));
	s->has_old = s->old_good = false;
	if (asprintf(&name, "%s/%s", s->path, HP_STATE_NAME) < 0) {
		name = NULL;
		return hp_fail_nomem(err);
	}
	r = read_state(s, name, &bytes, &n, &why);
	if (r == -ENOENT || r == -EISDIR || r == -EINVAL || r == -EFBIG)
		return 0;
	if (r < 0)
		return hp_fail(err, r, "%s", why.msg);
	r = hp_state_parse(bytes, n, name, &h, &why);
	if (r < 0)
		return r == HPDSL_ETOONEW ? hp_fail(err, r, "%s", why.msg) : 0;
	s->has_old = true;
	s->old = h;
	s->old_good =
		hp_state_same_boot(&h, s->boot_id) && ended_in_order(bytes);
	s->old_bytes = (uint8_t *)hp_take(bytes);
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
	free(s->path);
	free(s);
}
