/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The library's own way to another node's chunks, into buffers, unverified.
 *
 *     reads_peer DIR SIZE UNDER_WAY SECONDS CHUNK..
 */
#include "reads.h"

#include "dataset/dataset.h"
#include "peers/client.h"

#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

static struct {
	struct reads reads;
	struct hp_client *client;
	struct hpdsl_dataset *ds;
	char **chunk;
	unsigned open;
	pthread_mutex_t lock;
	pthread_cond_t over;
} all = { .lock = PTHREAD_MUTEX_INITIALIZER, .over = PTHREAD_COND_INITIALIZER };

struct way {
	char *buf;
	uint64_t began, wanted;
};

static void die(const char *what)
{
	fprintf(stderr, "reads_peer: %s\n", what);
	exit(3);
}

static bool form(void *arg, uint32_t chunk, enum hp_ask_kind kind,
		 struct hp_client_form *ret)
{
	struct hpdsl_chunk c;

	(void)arg;
	if (kind != HP_ASK_PLAIN ||
	    hpdsl_chunk_get(all.ds, chunk, &c, NULL) < 0)
		return false;
	ret->size = c.plain_bytes;
	memcpy(ret->digest, c.plain_checksum, sizeof ret->digest);
	return true;
}

static void done(void *arg, const struct hp_client_got *got);

static void ask(struct way *w)
{
	struct reads *r = &all.reads;
	struct hp_client_want want = { .kind = HP_ASK_PLAIN,
				       .n = r->size,
				       .buf = w->buf };
	struct hpdsl_chunk c;

	want.chunk = (uint32_t)atoi(all.chunk[reads_draw(r, r->files)]);
	if (hpdsl_chunk_get(all.ds, want.chunk, &c, NULL) < 0 ||
	    c.plain_bytes < r->size)
		die("a chunk is too small");
	want.offset = reads_offset(r, c.plain_bytes);
	w->wanted = r->size;
	w->began = reads_now();
	hp_client_submit(all.client, &want, done, w);
}

/* All by one thread, the engine's. */
static void done(void *arg, const struct hp_client_got *got)
{
	struct way *w = arg;

	if (got->n != (ssize_t)w->wanted)
		die(hp_client_why_text(got->why));
	reads_one(&all.reads, w->began);
	if (reads_go_on(&all.reads)) {
		ask(w);
		return;
	}
	pthread_mutex_lock(&all.lock);
	all.open--;
	pthread_cond_signal(&all.over);
	pthread_mutex_unlock(&all.lock);
}

static void open_all(const char *path)
{
	struct hp_client_facts facts = { .form = form };
	struct hpdsl_error err = { 0 };
	struct hpdsl_counts n;
	uint8_t pack[16];

	if (hpdsl_open(path, NULL, &all.ds, &err) < 0)
		die(err.msg);
	hp_index_count(all.ds->index, &n);
	hp_index_pack_id(all.ds->index, pack);
	facts.pack = pack;
	facts.chunks = (uint32_t)n.chunks;
	if (hp_client_open(all.ds->io, all.ds->dir, path, &facts, &all.client,
			   &err) < 0 ||
	    !all.client)
		die(err.msg[0] ? err.msg : "nobody is to be asked");
}

static void run(struct way *ways, char **numbers)
{
	unsigned n;

	reads_begin(&all.reads, numbers);
	n = all.open = all.reads.under_way;
	for (unsigned i = 0; i < n; i++)
		ways[i].buf = reads_memory(all.reads.size);
	for (unsigned i = 0; i < n; i++)
		ask(&ways[i]);
	pthread_mutex_lock(&all.lock);
	while (all.open)
		pthread_cond_wait(&all.over, &all.lock);
	pthread_mutex_unlock(&all.lock);
}

int main(int argc, char **argv)
{
	static struct way ways[READS_WAYS];

	if (argc < 6)
		return 2;
	all.chunk = argv + 5;
	all.reads.files = (uint64_t)argc - 5;
	open_all(argv[1]);
	run(ways, argv + 2);
	reads_end(&all.reads);
	hp_client_close(all.client);
	hpdsl_close(all.ds);
	return 0;
}
