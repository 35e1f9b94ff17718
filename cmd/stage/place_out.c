/* SPDX-License-Identifier: Apache-2.0 */
/* LOCALDIR, where a program that runs this has to be told. */
#include "run.h"

#include <string.h>

/* As soon as readers can open it, on whatever node. */
void report_place(struct stage_run *r)
{
	if (r->j->rank != 0 || r->o->common.json ||
	    !stage_local_is_found(r->o->local))
		return;
	cmd_progress_clear();
	cmd_write(r->path, strlen(r->path));
	cmd_write("\n", 1);
	cmd_flush();
}

/* Rank 0's goes to itself, like the others'. */
void report_paths(struct stage_run *r)
{
	const char *path = r->placed ? r->path : "";

	if (r->o->common.json && stage_local_varies(r->o->local))
		job_post(r->j, 0, TAG_PATH, path, strlen(path) + 1);
}

static void json_paths(struct cmd_json *j, struct stage_run *r)
{
	cmd_json_open(j, "directories", '[');
	for (uint32_t i = 0; i < r->j->nodes; i++) {
		struct stage_mail *m =
			job_await_from(r->j, TAG_PATH, r->j->leaders[i]);

		if (*m->bytes)
			cmd_json_string(j, NULL, (const char *)m->bytes);
		else
			cmd_json_null(j, NULL);
		free(m);
	}
	cmd_json_close(j, ']');
}

void report_paths_json(struct cmd_json *j, struct stage_run *r)
{
	if (r->placed)
		cmd_json_name(j, "directory", r->path, strlen(r->path));
	else
		cmd_json_null(j, "directory");
	if (stage_local_varies(r->o->local))
		json_paths(j, r);
	else
		cmd_json_null(j, "directories");
}
