/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The commands, a line each: the one table.  tests/whole/hpdsl.bats compares it
 * with the programs and with what their pages say under NAME.
 */
#include "front.h"

#include <string.h>

#define NAME_MOST 31 /* a longer one is nobody's mistake */

const struct front_word front_words[] = {
	{ "info", 1, "say what is at a path, and what comes next" },
	{ "pack", 1,
	  "pack files, from trees or archives, into shuffled, verified "
	  "chunks" },
	{ "verify", 1, "verify every byte of a packed dataset" },
	{ "ls", 1, "list members, samples or chunks of a packed dataset" },
	{ "cat", 1, "print members of a packed dataset" },
	{ "unpack", 1, "restore the files of a packed dataset" },
	{ "index", 1,
	  "rebuild index and manifest, or make them for any tar files" },
	{ "snapshot", 1,
	  "freeze a name space in one file, ask it, compare it" },
	{ "stage", 1,
	  "put a packed dataset on the SSDs of the nodes of a job" },
	{ "serve", 1,
	  "serve what is on a node's SSD to the other nodes of its job" },
	{ "mount", 1, "mount a packed dataset as the tree that it was" },
	{ "order", 1,
	  "print the order in which an epoch reads a packed dataset" },
	{ "bench", 1,
	  "read epochs of a dataset as a training job would, and time it" },
	{ "stall", 1, "measure how much of a training step waits for data" },
	{ "format", 5, NULL },
	{ "python", 7, NULL },
	{ "frameworks", 7, NULL },
	{ "metrics", 7, NULL },
	{ "recipes", 7, NULL },
	{ "order.7", 7, NULL }, /* order is the command's */
	{ "hpdsl", 7, NULL },
	{ "libhpdsl", 3, NULL },
	{ 0 }
};

const struct front_word *front_word(const char *name, bool pages)
{
	for (const struct front_word *w = front_words; w->name; w++)
		if ((w->section == 1 || pages) && strcmp(w->name, name) == 0)
			return w;
	return NULL;
}

/*
 * How many letters to add, drop, change or swap with their neighbour: "optimal
 * string alignment".
 */
static size_t distance(const char *a, const char *b)
{
	size_t rows[NAME_MOST + 1][NAME_MOST + 1];
	size_t na = strlen(a), nb = strlen(b);

	for (size_t i = 0; i <= na; i++)
		rows[i][0] = i;
	for (size_t j = 0; j <= nb; j++)
		rows[0][j] = j;
	for (size_t i = 1; i <= na; i++)
		for (size_t j = 1; j <= nb; j++) {
			size_t n = rows[i - 1][j - 1] + (a[i - 1] != b[j - 1]);

			if (n > rows[i - 1][j] + 1)
				n = rows[i - 1][j] + 1;
			if (n > rows[i][j - 1] + 1)
				n = rows[i][j - 1] + 1;
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] &&
			    a[i - 2] == b[j - 1] && n > rows[i - 2][j - 2] + 1)
				n = rows[i - 2][j - 2] + 1;
			rows[i][j] = n;
		}
	return rows[na][nb];
}

const char *front_nearest(const char *name, bool pages)
{
	const char *best = NULL;
	size_t least = SIZE_MAX, len;

	if (strncmp(name, "hpdsl-", 6) == 0)
		name += 6;
	len = strlen(name);
	if (len > NAME_MOST)
		return NULL;
	for (const struct front_word *w = front_words; w->name; w++) {
		size_t n = distance(name, w->name);

		if (w->section != 1 && !pages)
			continue;
		if (len > 1 && strncmp(name, w->name, len) == 0)
			n = 0; /* its beginning */
		if (n < least) {
			least = n;
			best = w->name;
		}
	}
	/* half of the letters are another word */
	return best && least * 2 < strlen(best) + 1 ? best : NULL;
}

/* The pages that are no command's, in lines of a terminal's width. */
static void list_pages(FILE *out)
{
	int at = fprintf(out, "manuals of");

	for (const struct front_word *w = front_words; w->name; w++) {
		const char *end = !w[1].name ? ", too." :
				  !w[2].name ? " and" :
					       ",";
		int length = (int)(1 + strlen(w->name) + strlen(end));

		if (w->section == 1)
			continue;
		at = at + length > 79 ? length - 1 : at + length;
		fprintf(out, "%c%s%s", at < length ? '\n' : ' ', w->name, end);
	}
}

char *front_list(void)
{
	char *text = NULL, path[PATH_MAX];
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		cmd_no_memory();
	for (const struct front_word *w = front_words; w->name; w++)
		if (w->section == 1)
			fprintf(out, "  %-8s  %s\n", w->name,
				front_find(w->name, path) ?
					w->text :
					"(not installed here)");
	fputs("\n'hpdsl pack ..' runs hpdsl-pack, 'hpdsl help pack' shows its "
	      "manual; there are\n",
	      out);
	list_pages(out);
	fputs("\n'hpdsl help hpdsl' tells what HPDSL is.", out);
	if (fclose(out) != 0)
		cmd_no_memory();
	return text;
}
