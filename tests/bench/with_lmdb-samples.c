/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Beside the loader: files as values of LMDB, under their numbers, read in
 * random order, each value copied once.
 *
 *     with_lmdb-samples build FILE < NUL-terminated paths
 *     with_lmdb-samples read FILE THREADS
 */
#include <errno.h>
#include <fcntl.h>
#include <lmdb.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LARGEST ((size_t)16 << 20)

static MDB_env *env;
static MDB_dbi table;
static uint32_t *order, n_values;
static _Atomic uint32_t next_value;
static atomic_ullong bytes;

static void check(int r, const char *what)
{
	if (!r)
		return;
	fprintf(stderr, "lmdb: %s: %s\n", what, mdb_strerror(r));
	exit(1);
}

static MDB_txn *open_file(const char *file, unsigned flags, unsigned begin)
{
	MDB_txn *txn;

	check(mdb_env_create(&env), "create");
	check(mdb_env_set_mapsize(env, (size_t)16 << 30), "size");
	check(mdb_env_open(env, file, MDB_NOSUBDIR | MDB_NOLOCK | flags, 0666),
	      file);
	check(mdb_txn_begin(env, NULL, begin, &txn), "begin");
	check(mdb_dbi_open(txn, NULL, MDB_INTEGERKEY, &table), "table");
	return txn;
}

static size_t slurp(const char *path, char *buf)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, buf, LARGEST);

	check(n < 0 ? errno : 0, path);
	close(fd);
	return (size_t)n;
}

static void build(const char *file)
{
	MDB_txn *txn;
	char *buf = malloc(LARGEST), *path = NULL;
	size_t cap = 0;

	remove(file);
	txn = open_file(file, MDB_NOSYNC, 0);
	for (uint32_t i = 0; getdelim(&path, &cap, '\0', stdin) > 0; i++) {
		MDB_val key = { sizeof i, &i };
		MDB_val data = { slurp(path, buf), buf };

		check(mdb_put(txn, table, &key, &data, MDB_APPEND), path);
	}
	check(mdb_txn_commit(txn), "commit");
	check(mdb_env_sync(env, 1), "sync");
	free(path);
	free(buf);
}

static void *read_some(void *arg)
{
	char *buf = malloc(LARGEST);
	MDB_txn *txn;
	uint32_t i;

	check(mdb_txn_begin(env, NULL, MDB_RDONLY, &txn), "begin");
	while ((i = next_value++) < n_values) {
		MDB_val key = { sizeof order[i], &order[i] }, data;

		check(mdb_get(txn, table, &key, &data), "get");
		memcpy(buf, data.mv_data, data.mv_size);
		bytes += data.mv_size;
	}
	mdb_txn_abort(txn);
	free(buf);
	return arg;
}

static void shuffle(void)
{
	uint64_t s = 42;

	order = malloc(n_values * sizeof *order);
	for (uint32_t i = 0; i < n_values; i++) {
		uint32_t k;

		s = s * 6364136223846793005u + 1442695040888963407u;
		k = (uint32_t)((s >> 33) % (i + 1));
		order[i] = order[k];
		order[k] = i;
	}
}

static void read_all(const char *file, int threads)
{
	pthread_t id[64];
	MDB_stat stat;
	MDB_txn *txn = open_file(file, MDB_RDONLY | MDB_NORDAHEAD, MDB_RDONLY);

	check(mdb_stat(txn, table, &stat), "stat");
	mdb_txn_commit(txn);
	n_values = (uint32_t)stat.ms_entries;
	shuffle();
	for (int i = 0; i < threads; i++)
		check(pthread_create(&id[i], NULL, read_some, NULL), "thread");
	for (int i = 0; i < threads; i++)
		pthread_join(id[i], NULL);
	printf("%llu\n", (unsigned long long)bytes);
	free(order);
}

int main(int argc, char **argv)
{
	int threads = argc == 4 ? atoi(argv[3]) : 0;

	if (argc == 3 && strcmp(argv[1], "build") == 0)
		build(argv[2]);
	else if (threads > 0 && threads <= 64)
		read_all(argv[2], threads);
	else
		return 2;
	mdb_env_close(env);
	return 0;
}
