/* SPDX-License-Identifier: Apache-2.0 */
/* --plan: what staging would do, from the origin's index alone. */
#include "plan.h"
#include "stage.h"

#include <errno.h>
#include <sys/stat.h>

struct plan_inputs {
	struct hpdsl_dataset *ds;
	uint64_t chunks;
	uint64_t *weight, *capacity;
	uint64_t whole;		   /* bytes of side files of all of it */
	struct hpdsl_state wanted; /* the order, as it was asked for */
	uint32_t *use;		   /* chunks in order of use */
};

static void release(struct plan_inputs *in)
{
	hpdsl_close(in->ds);
	free(in->weight);
	free(in->capacity);
	free(in->use);
}

/* Bytes of each chunk on a node, as hpdsl_stage_weights() has them there. */
static int weigh(const struct stage_options *o, struct plan_inputs *in,
		 struct hpdsl_error *err)
{
	struct hpdsl_counts counts;
	struct hpdsl_chunk c;

	hpdsl_count(in->ds, &counts);
	in->chunks = counts.chunks;
	in->weight = cmd_alloc(in->chunks, sizeof(*in->weight));
	for (uint32_t i = 0; i < in->chunks; i++) {
		int r = hpdsl_chunk_get(in->ds, i, &c, err);

		if (r < 0)
			return r;
		in->weight[i] = c.compressed && !o->keep_compressed ?
					c.plain_bytes :
					c.bytes;
	}
	return 0;
}

/* A pipe would have to be waited for. */
static int check_regular(const char *name, struct hpdsl_error *err)
{
	struct stat st;

	if (stat(name, &st) < 0 || S_ISREG(st.st_mode))
		return 0;
	err->code = -EINVAL;
	snprintf(err->msg, sizeof(err->msg), "%.900s: not a regular file",
		 name);
	return err->code;
}

/* What side files add to that, which the index knows nothing of. */
static int weigh_sides(const struct stage_options *o, struct plan_inputs *in,
		       struct hpdsl_error *err)
{
	cmd_auto_free char *name = NULL, *text = NULL;
	struct hpdsl_stage_pack pack;
	size_t size;
	int r;

	if (asprintf(&name, "%s/dataset.yaml", o->dataset) < 0) {
		name = NULL;
		cmd_no_memory();
	}
	r = check_regular(name, err);
	if (r == 0)
		r = cmd_file_read(name, &text, &size, err);
	if (r == 0)
		r = hpdsl_stage_pack_parse(o->dataset, text, size, &pack, err);
	if (r == 0 && pack.chunks != in->chunks)
		return 0; /* they do not agree; whoever stages is told */
	return r < 0 ? r :
		       hpdsl_stage_pack_sides(&pack, o->keep_compressed, NULL,
					      in->weight, &in->whole, err);
}

/* What the dataset's index is known by; a state may be of another one. */
static int find_pack(const struct stage_options *o, uint8_t ret[16],
		     struct hpdsl_error *err)
{
	struct hpdsl_stage_source *source;
	struct hpdsl_stage_pack pack;
	int r = hpdsl_stage_source_open(o->dataset, stage_io(0), &source, err);

	if (r < 0)
		return r;
	hpdsl_stage_source_pack(source, &pack);
	for (int i = 0; i < 16; i++)
		ret[i] = pack.pack[i];
	hpdsl_stage_source_close(source);
	return 0;
}

static int gather(const struct stage_options *o, uint32_t nodes,
		  const uint64_t *capacity, struct plan_inputs *in,
		  struct hpdsl_error *err)
{
	uint8_t pack[16] = { 0 };
	unsigned flags = o->common.foreign_owner ? HPDSL_OPEN_FOREIGN_OWNER : 0;
	int r = hpdsl_open_with(o->dataset, flags, stage_io(0), &in->ds, err);

	if (r == 0)
		r = weigh(o, in, err);
	if (r == 0)
		r = weigh_sides(o, in, err);
	if (r == 0 && o->order.state)
		r = find_pack(o, pack, err);
	if (r == 0)
		r = stage_order(o, pack, &in->wanted, err);
	if (r < 0)
		return r;
	in->use = cmd_alloc(in->chunks, sizeof(*in->use));
	in->capacity = cmd_alloc(nodes, sizeof(*in->capacity));
	for (uint32_t n = 0; n < nodes; n++)
		in->capacity[n] = capacity ? capacity[n] : UINT64_MAX;
	return 0;
}

static int make_plan(const struct stage_options *o,
		     const struct plan_inputs *in, struct plan_view *v,
		     struct hpdsl_error *err)
{
	const struct hpdsl_stage_wish wish = {
		.mode = o->mode,
		.copies = o->copies,
		.parts = in->wanted.order.parts,
		.nodes = v->nodes,
		.capacity = in->capacity,
		.chunks = in->chunks,
		.weight = in->weight,
		.order = in->use,
		.hosts = v->hosts,
		.whole = in->whole,
	};
	uint32_t parts = v->plan ? hpdsl_stage_plan_parts(v->plan) : 1;
	int r = stage_first_use(o, &in->wanted, in->ds, v->nodes, parts,
				in->use, err);

	if (r < 0)
		return r;
	hpdsl_stage_plan_free(v->plan);
	v->plan = NULL;
	return hpdsl_stage_plan_new(&wish, &v->plan, err);
}

static int make(const struct stage_options *o, const struct plan_inputs *in,
		struct plan_view *v, struct hpdsl_error *err)
{
	int r;

	v->chunks = in->chunks;
	v->rates = o->rates;
	r = plan_rates(o->rates_from, &v->rates, err);
	if (r < 0)
		return r;
	if (o->rate &&
	    (v->rates.origin <= 0 || v->rates.origin > (double)o->rate))
		v->rates.origin = (double)o->rate;
	r = make_plan(o, in, v, err);
	/* how many parts there are is known only now */
	if (r == 0 && hpdsl_stage_plan_parts(v->plan) > 1)
		r = make_plan(o, in, v, err);
	return r;
}

int stage_plan(const struct stage_options *o, const struct stage_plan_for *f)
{
	const struct cmd_text mode = stage_mode(o->mode, o->copies);
	struct plan_view v = {
		.mode = mode.s,
		.nodes = f->nodes,
		.hosts = f->hosts,
		.directory = f->directory,
		.reason = f->reason,
		.others = f->others,
	};
	struct plan_inputs in = { 0 };
	struct hpdsl_error err = { 0 };
	int r = gather(o, f->nodes, f->capacity, &in, &err);

	if (r == 0)
		r = make(o, &in, &v, &err);
	if (r == 0) {
		plan_find_link(&v, o->interface);
		plan_sums(&v);
		if (o->common.json)
			plan_json(&v);
		else
			plan_print(&v);
	}
	free(v.share);
	hpdsl_stage_plan_free(v.plan);
	release(&in);
	return r < 0 ? cmd_tell(&err) : CMD_DONE;
}
