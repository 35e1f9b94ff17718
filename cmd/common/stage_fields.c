/* SPDX-License-Identifier: Apache-2.0 */
/* What a stage directory says of itself, as fields of a JSON object. */
#include "common.h"

#include <string.h>

void cmd_json_stage(struct cmd_json *j, const struct hpdsl_stage_status *s)
{
	cmd_json_u64(j, "ready", s->ready);
	cmd_json_u64(j, "ready_bytes", s->ready_bytes);
	cmd_json_u64(j, "planned", s->ready + s->coming + s->lost);
	cmd_json_u64(j, "coming", s->at_work ? s->coming : 0);
	cmd_json_u64(j, "missing", cmd_stage_missing(s));
	cmd_json_bool(j, "complete", s->complete);
	cmd_json_bool(j, "at_work", s->at_work);
	cmd_json_bool(j, "stale", s->stale);
	if (s->at_work)
		cmd_json_real(j, "beat_age", s->beat_age);
	cmd_json_u64(j, "node", s->node);
	cmd_json_u64(j, "nodes", s->nodes);
	cmd_json_u64(j, "part", s->part);
	cmd_json_u64(j, "last_part", s->last_part);
	cmd_json_u64(j, "parts", s->parts);
	cmd_json_name(j, "host", s->host, strlen(s->host));
	cmd_json_name(j, "job", s->job, strlen(s->job));
	cmd_json_i64(j, "started", s->started);
	cmd_json_name(j, "origin", s->origin, strlen(s->origin));
}

uint64_t cmd_stage_missing(const struct hpdsl_stage_status *s)
{
	return s->lost + (s->at_work ? 0 : s->coming);
}
