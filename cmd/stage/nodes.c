/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From ranks to nodes: MPI tells who shares memory with whom, and rank 0
 * numbers the nodes.
 */
#include "job.h"

#include <sched.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

struct info {
	int leader;
	char boot[40];
};

struct role {
	int status, leader;
	int ranks; /* on this node */
	uint32_t node, nodes;
	char host[STAGE_HOST]; /* of rank 0 */
};

struct stage_name stage_node_name(uint32_t node, const char *host)
{
	struct stage_name s;

	snprintf(s.s, sizeof(s.s), "node %u (%s)", node, host);
	return s;
}

static void know_thyself(struct stage_job *j)
{
	struct stage_key key;
	struct hpdsl_error err;

	if (gethostname(j->host, sizeof(j->host) - 1) < 0)
		strcpy(j->host, "?");
	j->host[sizeof(j->host) - 1] = '\0';
	if (stage_key("/", &key, &err) == 0)
		snprintf(j->boot, sizeof(j->boot), "%s", (char *)key.boot);
}

/* ---- Nodes ------------------------------------------------------------ */

/* The lowest rank that shares memory with this one, or pretends to. */
static int find_leader(struct stage_job *j)
{
	MPI_Group world, group;
	MPI_Comm shared;
	int zero = 0, leader;

	job_guard(j, "MPI_Comm_split_type");
	MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, j->rank,
			    MPI_INFO_NULL, &shared);
	job_unguard();
	MPI_Comm_group(MPI_COMM_WORLD, &world);
	MPI_Comm_group(shared, &group);
	MPI_Group_translate_ranks(group, 1, &zero, world, &leader);
	MPI_Group_free(&world);
	MPI_Group_free(&group);
	MPI_Comm_free(&shared);
	return leader;
}

static const struct info *info_of(const struct stage_mail *m)
{
	return (const struct info *)(const void *)m->bytes;
}

/* Pretended nodes have ranks in blocks; the lowest rank of a node leads it. */
static int pretend_leader(const struct stage_job *j, int rank)
{
	uint64_t nodes = j->o->pretend, ranks = (uint64_t)j->ranks;
	uint64_t node = (uint64_t)rank * nodes / ranks;

	return (int)((node * ranks + nodes - 1) / nodes);
}

static int number(struct stage_job *j, struct stage_mail **info, struct role *r)
{
	int *node = cmd_alloc((size_t)j->ranks, sizeof(*node));
	uint32_t nodes = 0;
	int status = CMD_DONE;

	for (int i = 0; i < j->ranks && !status; i++) {
		const struct info *it = info_of(info[i]);
		int leader = j->o->pretend ? pretend_leader(j, i) : it->leader;
		const struct info *its = info_of(info[leader]);

		if (strcmp(it->boot, its->boot) != 0) {
			cmd_message("ranks %d and %d seem to share memory, and "
				    "are not of one machine",
				    leader, i);
			status = CMD_TROUBLE;
		}
		if (leader == i)
			node[i] = (int)nodes++;
		r[i].leader = leader;
		r[i].node = (uint32_t)node[leader];
		r[leader].ranks++;
	}
	for (int i = 0; i < j->ranks; i++) {
		r[i].nodes = nodes;
		r[i].status = status;
		memcpy(r[i].host, j->host, sizeof(j->host));
	}
	free(node);
	return status;
}

static int check_pretend(const struct stage_job *j)
{
	if (!j->o->pretend || j->o->pretend <= (uint32_t)j->ranks)
		return CMD_DONE;
	if (j->rank == 0)
		cmd_message("--pretend-nodes=%u needs as many ranks, and there "
			    "are %d",
			    j->o->pretend, j->ranks);
	return CMD_USAGE;
}

/* Rank 0 tells all ranks their roles; who leads a node, and who does not. */
static void give_roles(struct stage_job *j, int leader, struct role *ret)
{
	struct info mine = { .leader = leader };
	struct stage_mail *m;

	memcpy(mine.boot, j->boot, sizeof(mine.boot));
	job_post(j, 0, TAG_INFO, &mine, sizeof(mine));
	if (j->rank == 0) {
		struct stage_mail **info = job_gather(j, TAG_INFO);
		struct role *roles =
			cmd_alloc((size_t)j->ranks, sizeof(*roles));

		number(j, info, roles);
		for (int i = 0; i < j->ranks; i++)
			job_post(j, i, TAG_ROLE, &roles[i], sizeof(*roles));
		free(roles);
		job_forget(j, info);
	}
	m = job_answer(j, TAG_ROLE);
	memcpy(ret, m->bytes, sizeof(*ret));
	free(m);
}

/* The leaders' communicator, and their ranks. */
static void find_leaders(struct stage_job *j)
{
	MPI_Request r;

	job_guard(j, "MPI_Comm_split");
	MPI_Comm_split(MPI_COMM_WORLD, j->rank == j->leader ? 0 : MPI_UNDEFINED,
		       j->rank, &j->leads);
	job_unguard();
	j->leaders = cmd_alloc(j->nodes, sizeof(*j->leaders));
	if (j->rank != j->leader) {
		j->leaders[j->node] = j->leader;
		return;
	}
	MPI_Iallgather(&j->rank, 1, MPI_INT, j->leaders, 1, MPI_INT, j->leads,
		       &r);
	job_wait(j, &r);
}

uint32_t job_node_of(const struct stage_job *j, int rank)
{
	uint32_t from = 0, to = j->nodes;

	/* nodes are numbered by the ranks of their leaders */
	while (from < to) {
		uint32_t middle = from + (to - from) / 2;

		if (j->leaders[middle] < rank)
			from = middle + 1;
		else
			to = middle;
	}
	return from < j->nodes && j->leaders[from] == rank ? from : j->nodes;
}

/* ---- Helpers ---------------------------------------------------------- */

/*
 * A launcher binds each rank to a core or two; the leader's threads may use all
 * cores of the node's ranks.  Gives the number of helpers, and who they are.
 */
static size_t meet_helpers(struct stage_job *j, const struct role *mine,
			   int **ret)
{
	cpu_set_t all, one;
	struct stage_mail *m;
	size_t n = 0, expected;
	bool known = sched_getaffinity(0, sizeof(all), &all) == 0;

	*ret = cmd_alloc((size_t)j->ranks, sizeof(**ret));
	if (j->rank != j->leader) {
		if (!known)
			CPU_ZERO(&all);
		job_post(j, j->leader, TAG_MASK, &all, sizeof(all));
		return 0;
	}
	expected = (size_t)mine->ranks - 1;
	while (n < expected) {
		m = job_await(j, TAG_MASK);
		memcpy(&one, m->bytes, sizeof(one));
		CPU_OR(&all, &all, &one);
		(*ret)[n++] = m->source;
		free(m);
	}
	if (known && n)
		sched_setaffinity(0, sizeof(all), &all);
	return n;
}

static void know_hosts(struct stage_job *j, struct stage_mail **hellos,
		       const struct role *mine)
{
	snprintf(j->boss_peer.host, STAGE_HOST, "%s",
		 j->boss == 0 ? mine->host : j->host);
	snprintf(j->self.host, STAGE_HOST, "%s", j->host);
	for (size_t i = 0; i < j->n_peers; i++)
		snprintf(j->peers[i].host, STAGE_HOST, "%s",
			 hellos ? job_hello_host(hellos[j->peers[i].rank]) :
				  j->host);
}

int job_begin(struct stage_job *j)
{
	struct stage_mail **hellos = NULL;
	struct role mine = { 0 };
	int *helpers = NULL;
	size_t n;
	int status;

	know_thyself(j);
	status = job_hello(j, &hellos);
	if (!status)
		status = check_pretend(j);
	if (!status) {
		give_roles(j, find_leader(j), &mine);
		status = mine.status;
	}
	if (!status) {
		j->leader = mine.leader;
		j->node = mine.node;
		j->nodes = mine.nodes;
		find_leaders(j);
		n = meet_helpers(j, &mine, &helpers);
		job_watch(j, helpers, n);
		know_hosts(j, hellos, &mine);
	}
	free(helpers);
	job_forget(j, hellos);
	return status;
}

/* The end: the last mail of all is the exit status. */
int job_end(struct stage_job *j, int status)
{
	struct stage_mail *m;

	if (j->rank == 0)
		for (int i = 1; i < j->ranks; i++)
			job_post(j, i, TAG_FINAL, &status, sizeof(status));
	if (j->rank != 0) {
		m = job_await(j, TAG_FINAL);
		memcpy(&status, m->bytes, sizeof(status));
		free(m);
	}
	job_bye(j);
	/* a launcher ends those who are later than others: all has been said */
	signal(SIGINT, SIG_IGN);
	signal(SIGTERM, SIG_IGN);
	job_flush(j);
	job_unguard();
	j->ready = false;
	return status;
}
