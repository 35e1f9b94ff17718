/* SPDX-License-Identifier: Apache-2.0 */
/*
 * --plan: what readers can expect of nodes that serve each other.  A node holds
 * a part; of an epoch in any order it fetches all the rest from the others.
 */
#include "plan.h"

#include <string.h>

#define MBIT 125000.0 /* bytes */

bool plan_peers(uint32_t nodes, uint32_t parts, double link,
		struct plan_peers *ret)
{
	struct plan_peers p = { .copies = parts < nodes ? nodes / parts : 1 };

	/* alone, or with everything: it asks nobody */
	if (nodes < 2 || parts < 2)
		return false;
	p.efficiency = hpdsl_peer_efficiency(nodes, p.copies);
	p.rate = link > 0 ? p.efficiency * link : 0;
	*ret = p;
	return true;
}

void plan_find_link(struct plan_view *v, const char *interface)
{
	struct hpdsl_peer_node here;
	struct hpdsl_error err;

	if (v->rates.link > 0) {
		v->link = v->rates.link;
		snprintf(v->link_name, sizeof(v->link_name), "%s/s",
			 cmd_bytes((uint64_t)v->link).s);
		return;
	}
	if (hpdsl_peer_interfaces(interface, NULL, &here, &err) < 0 ||
	    !here.offer[0].mbits)
		return;
	v->link = here.offer[0].mbits * MBIT;
	snprintf(v->link_name, sizeof(v->link_name), "%.15s, %g Gbit/s",
		 here.offer[0].interface, here.offer[0].mbits / 1000.0);
}

void plan_print_peers(const struct plan_view *v)
{
	struct plan_peers p;

	if (!plan_peers(v->nodes, hpdsl_stage_plan_parts(v->plan), v->link, &p))
		return;
	/* the plan's line says how many nodes, and copies */
	if (p.rate > 0)
		cmd_print("peers: about %s/s a node, %.2f of its link (%s)\n",
			  cmd_bytes((uint64_t)p.rate).s, p.efficiency,
			  v->link_name);
	else
		cmd_print("peers: about %.2f of a node's link, whose speed is "
			  "not known\n",
			  p.efficiency);
}

void plan_json_peers(const struct plan_view *v, struct cmd_json *j)
{
	struct plan_peers p;
	bool any = plan_peers(v->nodes, hpdsl_stage_plan_parts(v->plan),
			      v->link, &p);

	if (any)
		cmd_json_real(j, "peer_efficiency", p.efficiency);
	else
		cmd_json_null(j, "peer_efficiency");
	if (any && p.rate > 0)
		cmd_json_real(j, "peer_rate", p.rate);
	else
		cmd_json_null(j, "peer_rate");
}
