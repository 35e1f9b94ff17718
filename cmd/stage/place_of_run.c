/* SPDX-License-Identifier: Apache-2.0 */
/*
 * LOCALDIR of a run: what was given, expanded on each node; or auto: rank 0
 * names the candidates, all nodes look at theirs, and rank 0 chooses.
 */
#include "run.h"

#include <string.h>

static int expand(struct stage_step *s)
{
	struct stage_run *r = s->r;
	const struct stage_where here = { r->j->node, r->j->rank, r->j->host };
	char *path;
	int ret = stage_local(r->o->local, &here, &path, &s->err);

	if (ret < 0)
		return ret;
	free(r->path);
	r->path = path;
	r->placed = true;
	return 0;
}

/* ---- auto ------------------------------------------------------------- */

struct search {
	struct stage_run *r;
	struct auto_call *call;
	struct auto_node node;
	uint32_t place; /* that is looked at */
	struct choice choice;
	struct hpdsl_error err;
};

static int call(void *arg)
{
	struct search *s = arg;
	uint8_t id[16];
	int ret = hpdsl_stage_pack_id(&s->r->pack, id, &s->err);

	if (ret >= 0)
		auto_call(s->r->o->local, id, s->call);
	return ret;
}

static int look(void *arg)
{
	struct search *s = arg;

	auto_look(&s->node, s->place);
	return 0;
}

static int put(void *arg)
{
	struct search *s = arg;

	auto_put(&s->node, s->r->j->node);
	return 0;
}

static int see(void *arg)
{
	struct search *s = arg;

	auto_see(&s->node, s->r->j->node);
	return 0;
}

static int take_away(void *arg)
{
	struct search *s = arg;

	auto_take_away(&s->node, s->r->j->node);
	return 0;
}

/* Between the steps all nodes wait for each other. */
static int search(struct search *s, bool write)
{
	const struct hpdsl_error none = { 0 };
	struct stage_job *j = s->r->j;
	int ret;

	for (s->place = 0; s->place < CHOOSE_PLACES; s->place++)
		if (s->node.path[s->place])
			job_work(j, look, s, "looking at %s",
				 s->node.path[s->place]);
	if (!write)
		return run_agree(s->r, &none, false);
	job_work(j, put, s, "writing to candidates for LOCALDIR");
	ret = run_agree(s->r, &none, false);
	if (!ret && j->nodes > 1) {
		job_work(j, see, s, "looking for a place");
		ret = run_agree(s->r, &none, false);
	}
	job_work(j, take_away, s, "writing to candidates for LOCALDIR");
	return ret;
}

static int choose(void *arg)
{
	struct search *s = arg;
	const struct stage_run *r = s->r;
	const struct auto_question q = {
		.o = r->o,
		.pack = &r->pack,
		.parts = r->wanted.order.parts,
		.call = s->call,
		.nodes = r->j->nodes,
		.all = r->place.all,
		.hosts = r->hosts,
	};

	return auto_choose(&q, &s->choice, &s->err);
}

/* "is /local/a on node 0 (nid1)", "is not set on node 1 (nid2)" */
static void add_path(struct hpdsl_error *err, const char *path, uint32_t node,
		     const char *host)
{
	size_t n = strlen(err->msg);

	snprintf(err->msg + n, sizeof(err->msg) - n, "%s%.300s on %s",
		 path && *path ? "" : "not set", path ? path : "",
		 stage_node_name(node, host).s);
}

/* The one that differs knows both paths. */
static void tell_both(struct search *s)
{
	const struct stage_job *j = s->r->j;
	uint32_t place = s->choice.place;

	s->err = (struct hpdsl_error){ HPDSL_EUSAGE, "" };
	snprintf(s->err.msg, sizeof(s->err.msg), "LOCALDIR auto: %s is ",
		 choose_name(place));
	add_path(&s->err, s->call->path[place], 0, j->boss_peer.host);
	strcat(s->err.msg, ", and ");
	add_path(&s->err, s->node.path[place], j->node, j->host);
}

/* Rank 0 chooses, and all hear of it. */
static int agree(struct search *s)
{
	struct stage_job *j = s->r->j;
	struct {
		struct choice choice;
		int code;
	} word = { .code = 0 };

	job_allgather(j, &s->node.found, sizeof(s->node.found),
		      s->r->place.all);
	if (j->rank == 0) {
		word.code = job_work(j, choose, s, "choosing a place");
		word.choice = s->choice;
	}
	job_bcast(j, &word, sizeof(word), 0);
	s->choice = word.choice;
	if (word.code >= 0 || s->choice.node != UINT32_MAX)
		s->err.code = 0;
	if (word.code < 0 && s->choice.node == j->node)
		tell_both(s);
	return run_agree(s->r, &s->err, true);
}

static void warn_of_memory(const struct search *s)
{
	const struct stage_run *r = s->r;

	if (s->choice.ram && r->j->rank == 0)
		cmd_warning("%s is memory of the job, of which staging takes "
			    "half of what is left at most",
			    r->path);
}

static int find(struct search *s, bool write)
{
	struct stage_run *r = s->r;
	int ret = 0;

	if (r->j->rank == 0 && job_work(r->j, call, s, "naming LOCALDIR") >= 0)
		s->err.code = 0;
	ret = run_agree(r, &s->err, true);
	if (ret)
		return ret;
	job_bcast(r->j, s->call, sizeof(*s->call), 0);
	auto_begin(&s->node);
	ret = search(s, write);
	if (!ret)
		ret = agree(s);
	if (!ret) {
		free(r->path);
		r->path = auto_path(s->call->path[s->choice.place],
				    s->call->name);
		r->placed = r->place.found = true;
		r->place.choice = s->choice;
	}
	auto_release(&s->node);
	return ret;
}

int run_place(struct stage_run *r, bool write)
{
	struct search s = { .r = r, .choice.node = UINT32_MAX };
	int ret;

	if (!auto_is(r->o->local))
		return run_step(r, expand, true, false, "naming %s", r->path);
	s.call = cmd_alloc(1, sizeof(*s.call));
	s.node = (struct auto_node){ .o = r->o, .io = r->io, .call = s.call };
	r->place.all = cmd_alloc(r->j->nodes, sizeof(*r->place.all));
	ret = find(&s, write);
	if (!ret)
		warn_of_memory(&s);
	free(s.call);
	return ret;
}
