/* SPDX-License-Identifier: Apache-2.0 */
/* Modes and options as text: for people, and to compare those of two ranks. */
#include "auto.h"

typedef unsigned long long LLU;

struct cmd_text stage_mode(enum hpdsl_stage_mode mode, uint32_t copies)
{
	static const char *const names[] = {
		[HPDSL_STAGE_AUTO] = "auto",
		[HPDSL_STAGE_REPLICATE] = "replicate",
		[HPDSL_STAGE_PARTITION] = "partition",
		[HPDSL_STAGE_COPIES] = "copies",
	};
	struct cmd_text t;

	if (mode == HPDSL_STAGE_COPIES)
		snprintf(t.s, sizeof(t.s), "%s=%u", names[mode], copies);
	else
		snprintf(t.s, sizeof(t.s), "%s", names[mode]);
	return t;
}

struct cmd_text stage_mode_of(uint32_t parts, uint32_t nodes)
{
	if (parts <= 1)
		return stage_mode(HPDSL_STAGE_REPLICATE, 0);
	if (parts >= nodes)
		return stage_mode(HPDSL_STAGE_PARTITION, 0);
	return stage_mode(HPDSL_STAGE_COPIES, nodes / parts);
}

struct cmd_text stage_parts(uint32_t first, uint32_t last, const char *one,
			    const char *more)
{
	struct cmd_text t;

	if (first == last)
		snprintf(t.s, sizeof(t.s), "%s%u", one, first);
	else
		snprintf(t.s, sizeof(t.s), "%s%u-%u", more, first, last);
	return t;
}

void stage_json_parts(struct cmd_json *j, uint32_t nodes, uint32_t parts,
		      uint32_t node)
{
	struct hpdsl_stage_span s = hpdsl_stage_parts_of(nodes, parts, node);

	cmd_json_u64(j, "part", s.first);
	cmd_json_u64(j, "last_part", s.last);
}

char *stage_canonical(const struct stage_options *o)
{
	const struct hpdsl_order *order = &o->order.order;
	char *text = NULL;
	int n = asprintf(
		&text,
		"DATASET %s\n%s for LOCALDIR\n--mode %s\n--keep-compressed %d\n"
		"--order-from %s\n--seed %llu\n--epoch %llu\n--step %llu\n"
		"--batch %u\n--batch-size %u\n--ranks %u\n--lanes %llu\n"
		"--piece %llu\n--windows %u\n--no-shuffle %d\n"
		"--pretend-nodes %u\n--rate %llu\n"
		"--memory %llu\n--timeout %llu\n--peer-port %u\n--plan "
		"%d\n--status %d\n"
		"--clean %d\n",
		o->dataset ? o->dataset : "",
		auto_is(o->local) ? o->local : "a path",
		stage_mode(o->mode, o->copies).s, o->keep_compressed,
		o->order.state ? o->order.state : "", (LLU)order->seed,
		(LLU)order->epoch, (LLU)order->step, order->batch,
		o->order.batch_size, o->order.share.ranks, (LLU)order->lanes,
		(LLU)order->piece, order->windows, order->plain, o->pretend,
		(LLU)o->rate, (LLU)o->memory, (LLU)o->timeout, o->peer_port,
		o->plan, o->status, o->clean);

	if (n < 0)
		cmd_no_memory();
	return text;
}
