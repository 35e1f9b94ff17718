/* SPDX-License-Identifier: Apache-2.0 */
/* LOCALDIR as it was given: a path with % and $, or the word auto. */
#include "auto.h"
#include "variables.h"

#include <errno.h>
#include <string.h>

static char *variable(const char *name)
{
	return getenv(name);
}

static int expand(const char *local, const struct stage_where *w,
		  variables_get *get, char **ret, struct hpdsl_error *err)
{
	cmd_auto_free char *text = stage_expand(local, w);

	if (!text) {
		err->code = HPDSL_EUSAGE;
		snprintf(err->msg, sizeof(err->msg),
			 "LOCALDIR '%.400s': only %%n, %%h, %%r and %%%% have "
			 "a meaning, and no other %%",
			 local);
		return err->code;
	}
	*ret = variables_expand(text, get, err);
	return *ret ? 0 : err->code;
}

int stage_local(const char *local, const struct stage_where *w, char **ret,
		struct hpdsl_error *err)
{
	cmd_auto_free char *path = NULL;
	int r = expand(local, w, variable, &path, err);

	if (r < 0)
		return r;
	if (strlen(path) > HPDSL_PATH_MAX) {
		err->code = -ENAMETOOLONG;
		snprintf(err->msg, sizeof(err->msg), "%.400s: %s", path,
			 strerror(ENAMETOOLONG));
		return err->code;
	}
	*ret = path;
	path = NULL;
	return 0;
}

/* ---- On the command line ---------------------------------------------- */

static int refuse(struct hpdsl_error *err, const char *text)
{
	err->code = HPDSL_EUSAGE;
	snprintf(err->msg, sizeof(err->msg), "%s", text);
	return err->code;
}

static int check_auto(const struct stage_options *o, struct hpdsl_error *err)
{
	const char *name = auto_given(o->local);

	if (name && !choose_is_name(name)) {
		err->code = HPDSL_EUSAGE;
		snprintf(err->msg, sizeof(err->msg),
			 "LOCALDIR '%.400s': NAME is at most 64 letters, "
			 "digits, '_', '.' and '-'",
			 o->local);
		return err->code;
	}
	if (o->pretend)
		return refuse(err,
			      "--pretend-nodes needs a path: LOCALDIR auto is "
			      "one for all nodes, and these are one machine");
	if ((o->status || o->clean) && !name && !o->of)
		return refuse(err, "DATASET is missing in front of auto, or "
				   "auto:NAME is meant");
	return 0;
}

/* Any: whether it is set is for the nodes to say. */
static char *any(const char *name)
{
	static char value[] = "/";

	(void)name;
	return value;
}

int stage_local_check(const struct stage_options *o, struct hpdsl_error *err)
{
	const struct stage_where nowhere = { .host = "h" };
	cmd_auto_free char *path = NULL;

	if (auto_is(o->local))
		return check_auto(o, err);
	return expand(o->local, &nowhere, any, &path, err);
}

/* By what %% and $$ leave it as it is. */
static bool has(const char *local, char sign)
{
	for (const char *s = local; *s; s++)
		if (*s == sign && *++s != sign)
			return true;
	return false;
}

bool stage_local_is_found(const char *local)
{
	return auto_is(local) || has(local, '$');
}

bool stage_local_varies(const char *local)
{
	return !auto_is(local) && (has(local, '%') || has(local, '$'));
}
