/* SPDX-License-Identifier: Apache-2.0 */
/* --status, --clean and --plan under a launcher: each node tells rank 0. */
#include "run.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

/* One node's answer. */
struct answer {
	struct hpdsl_error err;
	char path[HPDSL_PATH_MAX + 1], host[STAGE_HOST];
	struct stage_found found;
	uint64_t capacity;
};

struct question {
	const struct stage_job *j;
	struct answer a;
};

static int find_capacity(const struct stage_options *o, struct answer *a)
{
	struct hpdsl_stage_place p = { 0 };
	int ret;

	a->capacity = UINT64_MAX;
	if (o->capacity_given && !o->capacity_percent)
		a->capacity = o->capacity;
	if (!o->local || (o->capacity_given && !o->capacity_percent))
		return 0;
	ret = stage_free(a->path, &p.free_bytes, &a->err);
	p.capacity = p.free_bytes - p.free_bytes / 20;
	a->capacity = stage_capacity(o, &p);
	return ret;
}

/* Of auto the one that is there already. */
static int find_path(const struct stage_job *j, struct answer *a)
{
	const struct stage_where here = { j->node, j->rank, j->host };
	const char *local = j->o->local ? j->o->local : "";
	cmd_auto_free char *path = NULL;
	int ret = 0;

	if (auto_is(local)) {
		path = auto_find(j->o, stage_io(j->node), &a->err);
		ret = path ? 0 : a->err.code;
	} else {
		ret = stage_local(local, &here, &path, &a->err);
	}
	if (ret >= 0)
		snprintf(a->path, sizeof(a->path), "%s", path);
	return ret;
}

static int ask(void *arg)
{
	struct question *q = arg;
	const struct stage_options *o = q->j->o;
	int ret;

	snprintf(q->a.host, sizeof(q->a.host), "%s", q->j->host);
	ret = find_path(q->j, &q->a);
	if (ret < 0)
		return 0;
	if (o->plan)
		ret = find_capacity(o, &q->a);
	else
		ret = stage_status_or_clean(o, q->a.path, stage_io(q->j->node),
					    &q->a.found, &q->a.err);
	if (ret >= 0)
		q->a.err.code = 0;
	return 0;
}

static struct answer *gather(struct stage_job *j)
{
	struct answer *all = cmd_alloc(j->nodes, sizeof(*all));

	for (uint32_t n = 0; n < j->nodes; n++) {
		struct stage_mail *m = job_await(j, TAG_ROW);
		uint32_t i = job_node_of(j, m->source);

		if (i < j->nodes && m->n == sizeof(*all))
			memcpy(&all[i], m->bytes, sizeof(*all));
		free(m);
	}
	return all;
}

/* The worst of all; what is wrong is told of each. */
static int tell_failures(const struct stage_job *j, const struct answer *all)
{
	int status = CMD_DONE;

	for (uint32_t i = 0; i < j->nodes; i++) {
		struct stage_failure f = { .err = all[i].err, .node = i };

		if (!f.err.code)
			continue;
		snprintf(f.host, sizeof(f.host), "%s", all[i].host);
		stage_tell(j, &f);
		status = cmd_worse(status, cmd_status_of(f.err.code));
	}
	return status;
}

static int print(const struct stage_job *j, const struct answer *all)
{
	struct cmd_json json = { .out = stdout };
	bool list = j->o->common.json && j->nodes > 1;

	if (list)
		cmd_json_open(&json, NULL, '[');
	for (uint32_t i = 0; i < j->nodes; i++)
		if (!all[i].err.code)
			stage_found_print(j->o, all[i].path, &all[i].found,
					  &json);
	if (list)
		cmd_json_close(&json, ']');
	if (list || (j->o->common.json && !all[0].err.code))
		cmd_print("\n");
	return tell_failures(j, all);
}

static int plan(const struct stage_job *j, const struct answer *all)
{
	uint32_t nodes = j->nodes == 1 && j->o->nodes ? j->o->nodes : j->nodes;
	uint64_t *capacity = cmd_alloc(nodes, sizeof(*capacity));
	const char **hosts = cmd_alloc(nodes, sizeof(*hosts));
	int status = tell_failures(j, all);

	if (j->o->nodes && j->ranks > 1) {
		cmd_message("--nodes is for one rank, and there are %d",
			    j->ranks);
		status = CMD_USAGE;
	}
	for (uint32_t i = 0; i < nodes; i++) {
		const struct answer *a = &all[i < j->nodes ? i : 0];

		capacity[i] = a->capacity;
		hosts[i] = a->host;
	}
	if (!status)
		status = stage_plan(
			j->o, &(struct stage_plan_for){
				      .nodes = nodes,
				      .capacity = capacity,
				      .hosts = j->ranks > 1 ? hosts : NULL });
	free(capacity);
	free(hosts);
	return status;
}

struct planning {
	const struct stage_job *j;
	const struct answer *all;
};

static int plan_work(void *arg)
{
	const struct planning *p = arg;

	return plan(p->j, p->all);
}

int stage_each(struct stage_job *j)
{
	struct question *q = cmd_alloc(1, sizeof(*q));
	struct planning p = { .j = j };
	struct answer *all;
	int status = CMD_DONE;

	if (j->o->plan && auto_is(j->o->local)) {
		free(q);
		return stage_auto_plan(j);
	}
	q->j = j;
	job_work(j, ask, q, "looking at %s", j->o->local ? j->o->local : "");
	job_post(j, 0, TAG_ROW, &q->a, sizeof(q->a));
	free(q);
	if (j->rank != 0)
		return status;
	all = gather(j);
	p.all = all;
	status = j->o->plan ? job_work(j, plan_work, &p, "reading %s",
				       j->o->dataset) :
			      print(j, all);
	free(all);
	return status;
}

/* The same for this process alone, without MPI. */
int stage_alone(const struct stage_options *o)
{
	struct stage_job j = { .o = o, .ranks = 1, .nodes = 1 };
	struct question *q = cmd_alloc(1, sizeof(*q));
	int status;

	if (o->plan && auto_is(o->local)) {
		free(q);
		return stage_auto_plan_alone(o);
	}
	if (gethostname(j.host, sizeof(j.host) - 1) < 0)
		strcpy(j.host, "?");
	q->j = &j;
	ask(q);
	status = o->plan ? plan(&j, &q->a) : print(&j, &q->a);
	free(q);
	return status;
}
