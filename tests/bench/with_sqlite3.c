/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Beside a snapshot: SQLite, a table without row numbers, mapped, one prepared
 * statement.
 */
#include "keys.h"

#include <sqlite3.h>

static void check(sqlite3 *db, int r, const char *what)
{
	if (r != SQLITE_OK && r != SQLITE_DONE && r != SQLITE_ROW)
		die("sqlite3: %s: %s", what, sqlite3_errmsg(db));
}

static void run(sqlite3 *db, const char *sql)
{
	check(db, sqlite3_exec(db, sql, NULL, NULL, NULL), sql);
}

static sqlite3 *open_file(const char *file)
{
	sqlite3 *db;

	check(NULL, sqlite3_open(file, &db), file);
	run(db, "PRAGMA mmap_size = 2000000000");
	run(db, "PRAGMA locking_mode = EXCLUSIVE");
	return db;
}

static void build(const char *file, const struct keys *list)
{
	sqlite3_stmt *insert;
	sqlite3 *db;

	remove(file);
	db = open_file(file);
	run(db, "PRAGMA journal_mode = OFF");
	run(db, "CREATE TABLE t(path TEXT PRIMARY KEY, value BLOB)"
		" WITHOUT ROWID");
	run(db, "BEGIN");
	check(db,
	      sqlite3_prepare_v2(db, "INSERT INTO t VALUES (?, ?)", -1, &insert,
				 NULL),
	      "prepare");
	for (size_t i = 0; i < list->n; i++) {
		struct value v = make_value(i);

		sqlite3_bind_text(insert, 1, list->v[i].path,
				  (int)list->v[i].len, SQLITE_STATIC);
		sqlite3_bind_blob(insert, 2, &v, sizeof v, SQLITE_STATIC);
		check(db, sqlite3_step(insert), list->v[i].path);
		sqlite3_reset(insert);
	}
	sqlite3_finalize(insert);
	run(db, "COMMIT");
	sqlite3_close(db);
}

static void *open_table(const char *file)
{
	sqlite3 *db = open_file(file);

	/* One transaction for all: no lock a lookup. */
	run(db, "BEGIN");
	return db;
}

static uint64_t find(void *handle, const struct keys *keys)
{
	sqlite3 *db = handle;
	sqlite3_stmt *select;
	uint64_t sum = 0;

	check(db,
	      sqlite3_prepare_v2(db, "SELECT value FROM t WHERE path = ?", -1,
				 &select, NULL),
	      "prepare");
	for (size_t i = 0; i < keys->n; i++) {
		struct value v;

		sqlite3_bind_text(select, 1, keys->v[i].path,
				  (int)keys->v[i].len, SQLITE_STATIC);
		if (sqlite3_step(select) != SQLITE_ROW ||
		    sqlite3_column_bytes(select, 0) != sizeof v)
			die("sqlite3: no '%s'", keys->v[i].path);
		memcpy(&v, sqlite3_column_blob(select, 0), sizeof v);
		sum += v.size;
		sqlite3_reset(select);
	}
	sqlite3_finalize(select);
	return sum;
}

int main(int argc, char **argv)
{
	const struct finder f = { "sqlite3", build, open_table, find };

	return finder_main(&f, argc, argv);
}
