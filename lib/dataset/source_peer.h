/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The source of chunks at the job's other nodes: peers/client.h as a row of the
 * table of sources.  There is nothing to switch on: once a server of this node
 * has been up for the stage directory, what is not here is asked of them.
 *
 * Any number of threads; no lock, which a child of fork() could find held.
 */
#ifndef HP_SOURCE_PEER_H
#define HP_SOURCE_PEER_H

#include "dataset/source.h"
#include "peers/client.h"

struct hpdsl_dataset;

/* By one book; those before it stay, as somebody may be asking by them. */
struct hp_peer_client {
	struct hp_peer_client *before;
	struct hp_client *client;
	ino_t book; /* and when it changed: that of the file */
	struct timespec made;
};

/* Of a stage directory that is open for reading. */
struct hp_peer_source {
	const struct hpdsl_dataset *ds;
	struct hp_peer_client *now; /* atomic; NULL: nobody is asked */
	bool in_vain; /* atomic: somebody was asked so since it was looked at */
	uint64_t looked; /* atomic: when somebody last tried to get one */
	pid_t looking;	 /* atomic: somebody does */
	bool off;
};

/* Puts it into sources, which has the dataset's others. */
void hp_peer_source_init(struct hp_peer_source *p,
			 const struct hpdsl_dataset *ds,
			 struct hp_sources *sources);
void hp_peer_source_release(struct hp_peer_source *p);

/* Into ret what is known of peers alone. */
void hp_peer_source_count(const struct hp_peer_source *p,
			  struct hpdsl_sources *ret);

/* "node 3 (nid000007)", who sent; false: nobody, or several. */
bool hp_peer_source_sender(const struct hp_peer_source *p, uint32_t sent,
			   char *buf, size_t room);

/* A line for people that nobody has got yet: false, there is none. */
#define HP_PEER_NOTE HPDSL_PEER_NOTE
bool hp_peer_source_note(struct hp_peer_source *p, char buf[HP_PEER_NOTE]);

#endif
