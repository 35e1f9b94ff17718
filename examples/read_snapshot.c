/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Asks a snapshot in C in place of stat() and readdir(): prints the size and
 * path of each file below PATH, and how many folders were listed for that.
 *
 *	cc read_snapshot.c $(pkg-config --cflags --libs hpdsl)
 *	./a.out SNAPSHOT [PATH]
 */
#include <hpdsl.h>

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define ROOM 64

static int print_file(const struct hpdsl_snapshot *s,
		      const struct hpdsl_entry *e, struct hpdsl_error *err)
{
	char path[HPDSL_PATH_MAX + 1];
	size_t len;
	int rc = hpdsl_snapshot_path(s, e->number, path, &len, err);

	if (rc == 0)
		printf("%" PRIu64 "\t%s\n", e->size, path);
	return rc;
}

/* As readdir() and stat() of each name would go; counts the folders. */
static int64_t list(const struct hpdsl_snapshot *s, uint64_t folder,
		    struct hpdsl_error *err)
{
	struct hpdsl_entry e[ROOM];
	uint64_t cursor = 0;
	int64_t n, listed = 1;

	while ((n = hpdsl_snapshot_readdir(s, folder, &cursor, e, ROOM, err)) >
	       0)
		for (int64_t i = 0; i < n; i++) {
			int64_t rc = 0;

			if (S_ISDIR(e[i].mode))
				rc = list(s, e[i].number, err);
			else if (S_ISREG(e[i].mode))
				rc = print_file(s, &e[i], err);
			if (rc < 0)
				return rc;
			listed += rc;
		}
	return n < 0 ? n : listed;
}

int main(int argc, char **argv)
{
	const char *path = argc > 2 ? argv[2] : "";
	struct hpdsl_snapshot *s = NULL;
	struct hpdsl_error err;
	struct hpdsl_entry e;
	int64_t rc;

	if (argc < 2 || argc > 3) {
		fprintf(stderr, "usage: read_snapshot SNAPSHOT [PATH]\n");
		return 2;
	}
	rc = hpdsl_snapshot_open(argv[1], 0, NULL, &s, &err);
	if (rc == 0)
		rc = hpdsl_snapshot_lookup(s, path, strlen(path), &e, &err);
	if (rc == 0)
		rc = S_ISDIR(e.mode) ? list(s, e.number, &err) :
				       print_file(s, &e, &err);
	if (rc < 0)
		fprintf(stderr, "read_snapshot: %s\n", err.msg);
	else
		fprintf(stderr, "read_snapshot: %" PRId64 " folders\n", rc);
	hpdsl_snapshot_close(s);
	return rc < 0;
}
