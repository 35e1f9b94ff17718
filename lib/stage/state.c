/* SPDX-License-Identifier: Apache-2.0 */
/* The state file that an earlier stager left: what of it is believed. */
#include "stage/private.h"

#include "base/error.h"
#include "base/mem.h"
#include "sys/owner.h"

#include <errno.h>
#include <stdio.h>

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
