/* SPDX-License-Identifier: Apache-2.0 */
/* --plan with LOCALDIR auto: which place it would be.  Writes nothing. */
#include "run.h"

#include <string.h>

/* What a plan is printed from. */
struct found {
	const struct stage_options *o;
	uint32_t nodes;
	const struct choose_node *all; /* of each, or with --nodes of one */
	bool alike;
	const char *const *hosts;
	const struct choice *choice;
	const char *directory;
};

static int print(const struct found *f)
{
	uint64_t *capacity = cmd_alloc(f->nodes, sizeof(*capacity));
	int status;

	for (uint32_t n = 0; n < f->nodes; n++)
		capacity[n] =
			f->all[f->alike ? 0 : n].of[f->choice->place].room;
	status = stage_plan(f->o, &(struct stage_plan_for){
					  .nodes = f->nodes,
					  .capacity = capacity,
					  .hosts = f->hosts,
					  .directory = f->directory,
					  .reason = f->choice->why,
					  .others = f->choice->others,
				  });
	free(capacity);
	return status;
}

/* ---- Under a launcher ------------------------------------------------- */

static int print_run(void *arg)
{
	const struct stage_run *r = arg;
	const struct found f = {
		.o = r->o,
		.nodes = r->j->nodes,
		.all = r->place.all,
		.hosts = r->hosts,
		.choice = &r->place.choice,
		.directory = r->path,
	};

	return print(&f);
}

static int close_source(void *arg)
{
	struct stage_run *r = arg;

	hpdsl_stage_source_close(r->source);
	return 0;
}

static int find_and_print(struct stage_run *r)
{
	int ret = run_dataset(r);

	if (!ret)
		ret = run_place(r, false);
	if (ret) {
		stage_tell(r->j, &r->failure);
		return cmd_status_of(ret);
	}
	if (r->j->rank != 0)
		return CMD_DONE;
	return job_work(r->j, print_run, r, "reading %s", r->o->dataset);
}

int stage_auto_plan(struct stage_job *j)
{
	struct stage_run r = {
		.j = j,
		.o = j->o,
		.io = stage_io(j->node),
		.path = strdup(j->o->local),
		.hosts = run_hosts(j),
	};
	int status = CMD_USAGE;

	if (!r.path)
		cmd_no_memory();
	if (j->ranks == 1) {
		status = stage_auto_plan_alone(j->o);
	} else if (!j->o->nodes) {
		status = find_and_print(&r);
	} else if (j->rank == 0) {
		cmd_message("--nodes is for one rank, and there are %d",
			    j->ranks);
	}
	job_work(j, close_source, &r, "closing %s", j->o->dataset);
	free(r.path);
	free(r.place.all);
	free(r.hosts);
	free(r.origin);
	free(r.manifest);
	return status;
}

/* ---- Without MPI ------------------------------------------------------ */

/* This node, as often as --nodes says. */
static int choose(const struct stage_options *o,
		  const struct hpdsl_stage_pack *pack, struct auto_node *n,
		  struct choice *ret, struct hpdsl_error *err)
{
	uint32_t nodes = o->nodes ? o->nodes : 1;
	struct choose_node *all = cmd_alloc(nodes, sizeof(*all));
	struct auto_question q = { .o = o,
				   .pack = pack,
				   .call = n->call,
				   .nodes = nodes,
				   .all = all };
	struct hpdsl_state wanted;
	int r = stage_order(o, pack->pack, &wanted, err);

	for (uint32_t i = 0; i < CHOOSE_PLACES; i++)
		auto_look(n, i);
	for (uint32_t i = 0; i < nodes; i++)
		all[i] = n->found;
	q.parts = r < 0 ? 0 : wanted.order.parts;
	if (r >= 0)
		r = auto_choose(&q, ret, err);
	free(all);
	return r;
}

static int plan_with(const struct stage_options *o,
		     const struct hpdsl_stage_pack *pack,
		     struct auto_call *call)
{
	struct auto_node n = { .o = o, .io = stage_io(0), .call = call };
	cmd_auto_free char *directory = NULL;
	struct hpdsl_error err;
	struct choice choice;
	uint8_t id[16];
	int status;

	if (hpdsl_stage_pack_id(pack, id, &err) < 0)
		return cmd_tell(&err);
	auto_call(o->local, id, call);
	auto_begin(&n);
	if (choose(o, pack, &n, &choice, &err) < 0) {
		status = cmd_tell(&err);
	} else {
		directory = auto_path(call->path[choice.place], call->name);
		status = print(&(struct found){
			.o = o,
			.nodes = o->nodes ? o->nodes : 1,
			.all = &n.found,
			.alike = true,
			.choice = &choice,
			.directory = directory,
		});
	}
	auto_release(&n);
	return status;
}

int stage_auto_plan_alone(const struct stage_options *o)
{
	struct auto_call *call;
	struct hpdsl_stage_source *source;
	struct hpdsl_stage_pack pack;
	struct hpdsl_error err;
	int status;

	if (hpdsl_stage_source_open(o->dataset, stage_io(0), &source, &err) < 0)
		return cmd_tell(&err);
	hpdsl_stage_source_pack(source, &pack);
	call = cmd_alloc(1, sizeof(*call));
	status = plan_with(o, &pack, call);
	free(call);
	hpdsl_stage_source_close(source);
	return status;
}
