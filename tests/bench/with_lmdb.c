/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Beside a snapshot: LMDB, filled in order, read in one transaction without
 * locks or read-ahead.
 */
#include "keys.h"

#include <lmdb.h>

static void check(int r, const char *what)
{
	if (r)
		die("lmdb: %s: %s", what, mdb_strerror(r));
}

static MDB_env *open_file(const char *file, unsigned flags)
{
	MDB_env *env;

	check(mdb_env_create(&env), "create");
	check(mdb_env_set_mapsize(env, (size_t)8 << 30), "size");
	check(mdb_env_open(env, file, MDB_NOSUBDIR | MDB_NOLOCK | flags, 0666),
	      file);
	return env;
}

static int by_bytes(const void *a, const void *b)
{
	return strcmp(((const struct hpdsl_path *)a)->path,
		      ((const struct hpdsl_path *)b)->path);
}

static void build(const char *file, const struct keys *list)
{
	MDB_env *env;
	MDB_txn *txn;
	MDB_dbi dbi;

	remove(file);
	env = open_file(file, MDB_NOSYNC);
	check(mdb_txn_begin(env, NULL, 0, &txn), "begin");
	check(mdb_dbi_open(txn, NULL, 0, &dbi), "table");
	qsort(list->v, list->n, sizeof *list->v, by_bytes);
	for (size_t i = 0; i < list->n; i++) {
		struct value v = make_value(i);
		MDB_val key = { list->v[i].len, (void *)list->v[i].path };
		MDB_val data = { sizeof v, &v };

		check(mdb_put(txn, dbi, &key, &data, MDB_APPEND),
		      list->v[i].path);
	}
	check(mdb_txn_commit(txn), "commit");
	check(mdb_env_sync(env, 1), "sync");
	mdb_env_close(env);
}

struct reader {
	MDB_txn *txn;
	MDB_dbi dbi;
};

static void *open_table(const char *file)
{
	struct reader *r = malloc(sizeof *r);
	MDB_env *env = open_file(file, MDB_RDONLY | MDB_NORDAHEAD | MDB_NOTLS);

	if (!r)
		die("no memory");
	check(mdb_txn_begin(env, NULL, MDB_RDONLY, &r->txn), "begin");
	check(mdb_dbi_open(r->txn, NULL, 0, &r->dbi), "table");
	return r;
}

static uint64_t find(void *handle, const struct keys *keys)
{
	const struct reader *r = handle;
	uint64_t sum = 0;

	for (size_t i = 0; i < keys->n; i++) {
		MDB_val key = { keys->v[i].len, (void *)keys->v[i].path };
		MDB_val data;
		struct value v;

		check(mdb_get(r->txn, r->dbi, &key, &data), keys->v[i].path);
		if (data.mv_size != sizeof v)
			die("lmdb: %s: not as written", keys->v[i].path);
		memcpy(&v, data.mv_data, sizeof v);
		sum += v.size;
	}
	return sum;
}

int main(int argc, char **argv)
{
	const struct finder f = { "lmdb", build, open_table, find };

	return finder_main(&f, argc, argv);
}
