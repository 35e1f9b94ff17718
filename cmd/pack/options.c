/* SPDX-License-Identifier: Apache-2.0 */
/* hpdsl-pack's options: one table for the command line and for --config. */
#include "pack.h"

#include <string.h>

#define READERS_MAX 4096

enum {
	OPT_FILES_FROM = CMD_OPT_OWN,
	OPT_CHUNK_SIZE,
	OPT_CHUNKS,
	OPT_SAMPLES_PER_CHUNK,
	OPT_MULTIPLE_OF,
	OPT_SHUFFLE,
	OPT_SEED,
	OPT_GROUP,
	OPT_LABELS,
	OPT_SYMLINKS,
	OPT_PREFIX_INPUT,
	OPT_INCLUDE,
	OPT_EXCLUDE,
	OPT_META,
	OPT_READERS,
	OPT_MEMORY,
	OPT_RESUME,
	OPT_FORCE,
	OPT_DEADLINE,
	OPT_CONFIG,
	OPT_NESTED,
	OPT_NAMES,
	OPT_CLS,
	OPT_ZSTD,
	OPT_DIGEST,
	OPT_EMIT,
	OPT_FROM_SNAPSHOT,
	OPT_SNAPSHOT,
};

static const struct argp_option options[] = {
	{ NULL, 0, NULL, 0, "What is packed:", 1 },
	{ "files-from", OPT_FILES_FROM, "FILE", 0,
	  "Pack the paths in FILE (-: standard input), one a line, relative "
	  "to INPUT, or to the current folder without one",
	  1 },
	{ "null", '0', NULL, 0, "Paths in FILE end with a NUL byte", 1 },
	{ "from-snapshot", OPT_FROM_SNAPSHOT, "FILE", 0,
	  "Do not walk INPUT: FILE is a snapshot of it", 1 },
	{ "include", OPT_INCLUDE, "GLOB", 0,
	  "Only files that match; may be repeated", 1 },
	{ "exclude", OPT_EXCLUDE, "GLOB", 0,
	  "No files or folders that match; may be repeated", 1 },
	{ "symlinks", OPT_SYMLINKS, "HOW", 0,
	  "follow (default): a link to a file becomes its data, if that is "
	  "inside INPUT; follow-all: wherever it is",
	  1 },
	{ "prefix-input", OPT_PREFIX_INPUT, NULL, 0,
	  "Begin paths with the name of their INPUT", 1 },
	{ "nested", OPT_NESTED, NULL, 0,
	  "Unpack archives that lie in an archive, too", 1 },

	{ NULL, 0, NULL, 0, "Samples and chunks:", 2 },
	{ "group", OPT_GROUP, "HOW", 0,
	  "key (default): files that differ only behind the first dot are one "
	  "sample; none: each file is one",
	  2 },
	{ "labels", OPT_LABELS, "HOW", 0,
	  "none (default); dir[:N]: the class is the Nth folder of the path; "
	  "parent: the folder that holds the file; FILE: lines of path or key "
	  "and class",
	  2 },
	{ "cls", OPT_CLS, NULL, 0,
	  "Add to each sample a member .cls with the number of its class", 2 },
	{ "names", OPT_NAMES, "HOW", 0,
	  "keep (default): names in chunks are those of the files; portable: "
	  "names that every reader takes",
	  2 },
	{ "shuffle", OPT_SHUFFLE, "HOW", 0,
	  "global (default): random order of samples; none: sorted", 2 },
	{ "seed", OPT_SEED, "N", 0, "Which random order (default: 0)", 2 },
	{ "chunk-size", OPT_CHUNK_SIZE, "SIZE", 0,
	  "Mean size of a chunk (default: 64M)", 2 },
	{ "chunks", OPT_CHUNKS, "N", 0, "Number of chunks instead", 2 },
	{ "samples-per-chunk", OPT_SAMPLES_PER_CHUNK, "N", 0,
	  "Samples in a chunk instead", 2 },
	{ "multiple-of", OPT_MULTIPLE_OF, "N", 0,
	  "Make the number of chunks a multiple of N", 2 },
	{ "meta", OPT_META, "KEY=VALUE", 0,
	  "Put into the manifest (licence, source); may be repeated", 2 },

	{ "zstd", OPT_ZSTD, "LEVEL", OPTION_ARG_OPTIONAL,
	  "Compress chunks, LEVEL 1 to 22 (default: 3)", 2 },
	{ "digest", OPT_DIGEST, "HOW", 0,
	  "xxh3 (default); sha256: SHA-256 of all members and files too", 2 },
	{ "emit", OPT_EMIT, "LIST", 0,
	  "Write index files of other readers: dali, energon, wids", 2 },
	{ "snapshot", OPT_SNAPSHOT, "FILE", 0,
	  "Write a snapshot of the dataset to FILE", 2 },

	{ NULL, 0, NULL, 0, "The run:", 3 },
	{ "readers", OPT_READERS, "N", 0,
	  "Files that are read at a time (default: 16)", 3 },
	{ "memory", OPT_MEMORY, "SIZE", 0,
	  "Memory for buffers (default: 512M, at least 8M)", 3 },
	{ "resume", OPT_RESUME, NULL, 0,
	  "Complete what an interrupted run began", 3 },
	{ "force", OPT_FORCE, NULL, 0,
	  "Replace the dataset in OUTPUT, once the new one is complete", 3 },
	{ "deadline", OPT_DEADLINE, "TIME", 0,
	  "Stop in time, with exit status 75: seconds from now, or Slurm's "
	  "[D-]HH:MM:SS",
	  3 },
	{ "dry-run", 'n', NULL, 0,
	  "Print what would be made, and write nothing", 3 },
	{ "config", OPT_CONFIG, "FILE", 0,
	  "Options from a YAML file; the command line wins", 3 },
	{ 0 }
};

/* Index of arg in names, which ends with NULL. */
static int choice(const char *option, const char *arg, const char *const *names,
		  struct cmd_why *why)
{
	char all[80] = "";

	for (int i = 0; names[i]; i++) {
		if (strcmp(arg, names[i]) == 0)
			return i;
		snprintf(all + strlen(all), sizeof(all) - strlen(all), "%s%s",
			 i ? " or " : "", names[i]);
	}
	return cmd_refuse(why, "%s: '%s' is not %s", option, arg, all);
}

static int set_choice(struct pack *p, int key, const char *arg,
		      struct cmd_why *why)
{
	static const char *const shuffles[] = { "global", "none", NULL };
	static const char *const groups[] = { "key", "none", NULL };
	static const char *const links[] = { "follow", "follow-all", NULL };
	static const char *const names[] = { "keep", "portable", NULL };
	static const char *const digests[] = { "xxh3", "sha256", NULL };
	int i;

	if (key == OPT_SHUFFLE) {
		i = choice("shuffle", arg, shuffles, why);
		p->opt.shuffle = i ? HPDSL_SHUFFLE_NONE : HPDSL_SHUFFLE_GLOBAL;
	} else if (key == OPT_GROUP) {
		i = choice("group", arg, groups, why);
		p->opt.group = i ? HPDSL_GROUP_NONE : HPDSL_GROUP_KEY;
	} else if (key == OPT_NAMES) {
		i = choice("names", arg, names, why);
		p->opt.names = i ? HPDSL_NAMES_PORTABLE : HPDSL_NAMES_KEEP;
	} else if (key == OPT_DIGEST) {
		i = choice("digest", arg, digests, why);
		p->opt.digest = i ? HPDSL_DIGEST_SHA256 : HPDSL_DIGEST_XXH3;
	} else {
		i = choice("symlinks", arg, links, why);
		p->opt.symlinks =
			i ? HPDSL_SYMLINKS_FOLLOW_ALL : HPDSL_SYMLINKS_FOLLOW;
	}
	return i < 0 ? -1 : 0;
}

static int set_labels(struct pack *p, const char *arg, struct cmd_why *why)
{
	uint64_t dir = 1;

	p->opt.label_file = NULL;
	if (strcmp(arg, "none") == 0) {
		p->opt.labels = HPDSL_LABELS_NONE;
	} else if (strcmp(arg, "parent") == 0) {
		p->opt.labels = HPDSL_LABELS_PARENT;
	} else if (strcmp(arg, "dir") == 0 ||
		   (strncmp(arg, "dir:", 4) == 0 &&
		    cmd_parse_count(arg + 4, &dir) == 0 && dir &&
		    dir <= HPDSL_PATH_MAX)) {
		p->opt.labels = HPDSL_LABELS_DIR;
		p->opt.label_dir = (uint32_t)dir;
	} else if (strncmp(arg, "dir:", 4) == 0 || !*arg) {
		return cmd_refuse(why,
				  "labels: '%s' is not none, dir, dir:N, "
				  "parent or a file",
				  arg);
	} else {
		p->opt.labels = HPDSL_LABELS_FILE;
		p->opt.label_file = arg;
	}
	return 0;
}

static int set_zstd(struct pack *p, const char *arg, struct cmd_why *why)
{
	uint64_t level = 3;

	if (arg && (cmd_parse_count(arg, &level) < 0 || !level || level > 22))
		return cmd_refuse(why, "zstd: '%s' is no level from 1 to 22",
				  arg);
	p->opt.zstd = (int)level;
	return 0;
}

/* Names with commas between them. */
static int set_emit(struct pack *p, const char *arg, struct cmd_why *why)
{
	static const char *const names[] = { "dali", "energon", "wids" };
	unsigned emit = 0;

	for (const char *s = arg;; s++) {
		size_t n = strcspn(s, ","), i = 0;

		while (i < 3 && (strncmp(s, names[i], n) || names[i][n]))
			i++;
		if (i == 3)
			return cmd_refuse(why,
					  "emit: '%s' is no list of dali, "
					  "energon, wids",
					  arg);
		emit |= 1u << i;
		s += n;
		if (!*s)
			break;
	}
	p->opt.emit = emit;
	return 0;
}

static int size(const char *option, const char *arg, uint64_t *ret,
		struct cmd_why *why)
{
	uint64_t n;

	if (cmd_parse_size(arg, &n) < 0 || !n)
		return cmd_refuse(why,
				  "%s: '%s' is no size such as 1000000 or 64M",
				  option, arg);
	*ret = n;
	return 0;
}

static int set_number(struct pack *p, int key, const char *arg,
		      struct cmd_why *why)
{
	uint64_t readers = 0;

	switch (key) {
	case OPT_CHUNK_SIZE:
		return size("chunk-size", arg, &p->opt.chunk_size, why);
	case OPT_CHUNKS:
		return cmd_value_count("chunks", arg, 1, &p->opt.chunks, why);
	case OPT_SAMPLES_PER_CHUNK:
		return cmd_value_count("samples-per-chunk", arg, 1,
				       &p->opt.samples_per_chunk, why);
	case OPT_MULTIPLE_OF:
		return cmd_value_count("multiple-of", arg, 1,
				       &p->opt.multiple_of, why);
	case OPT_MEMORY:
		return size("memory", arg, &p->opt.memory, why);
	case OPT_READERS:
		if (cmd_value_count("readers", arg, 1, &readers, why) < 0)
			return -1;
		if (readers > READERS_MAX)
			return cmd_refuse(why, "readers: at most %d",
					  READERS_MAX);
		p->opt.readers = (uint32_t)readers;
		return 0;
	case OPT_SEED:
		return cmd_value_count("seed", arg, 0, &p->opt.seed, why);
	default: /* OPT_DEADLINE */
		return cmd_value_deadline(arg, &p->deadline, why);
	}
}

static int add_meta(struct pack *p, const char *arg, struct cmd_why *why)
{
	const char *equals = strchr(arg, '=');

	if (!equals || equals == arg)
		return cmd_refuse(why, "meta: '%s' is not KEY=VALUE", arg);
	cmd_strings_add(&p->meta, arg);
	return 0;
}

/* Options that are a name or a flag: nothing to refuse. */
static int set_plain(struct pack *p, int key, const char *arg)
{
	switch (key) {
	case OPT_FILES_FROM:
		p->files_from = arg;
		return 0;
	case '0':
		p->null = true;
		return 0;
	case OPT_PREFIX_INPUT:
		p->opt.prefix_input = true;
		return 0;
	case OPT_INCLUDE:
		cmd_strings_add(&p->include, arg);
		return 0;
	case OPT_EXCLUDE:
		cmd_strings_add(&p->exclude, arg);
		return 0;
	case OPT_RESUME:
		p->opt.resume = true;
		return 0;
	case OPT_FORCE:
		p->opt.force = true;
		return 0;
	case 'n':
		p->opt.dry_run = true;
		return 0;
	case OPT_CONFIG:
		p->config = arg;
		return 0;
	case OPT_NESTED:
		p->opt.nested = true;
		return 0;
	case OPT_CLS:
		p->opt.cls = true;
		return 0;
	case OPT_FROM_SNAPSHOT:
		p->from_snapshot = arg;
		return 0;
	case OPT_SNAPSHOT:
		p->snapshot_file = arg;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

int pack_set(struct pack *p, int key, const char *arg, struct cmd_why *why)
{
	int ret;

	switch (key) {
	case OPT_SHUFFLE:
	case OPT_GROUP:
	case OPT_SYMLINKS:
	case OPT_NAMES:
	case OPT_DIGEST:
		return set_choice(p, key, arg, why);
	case OPT_LABELS:
		return set_labels(p, arg, why);
	case OPT_META:
		return add_meta(p, arg, why);
	case OPT_ZSTD:
		return set_zstd(p, arg, why);
	case OPT_EMIT:
		return set_emit(p, arg, why);
	case OPT_CHUNK_SIZE:
	case OPT_CHUNKS:
	case OPT_SAMPLES_PER_CHUNK:
	case OPT_MULTIPLE_OF:
	case OPT_SEED:
	case OPT_READERS:
	case OPT_MEMORY:
	case OPT_DEADLINE:
		return set_number(p, key, arg, why);
	default:
		ret = cmd_common_set(&p->common, key, arg, why);
		return ret == ARGP_ERR_UNKNOWN ? set_plain(p, key, arg) : ret;
	}
}

uint64_t pack_given(int key)
{
	if (key == OPT_CHUNKS || key == OPT_SAMPLES_PER_CHUNK)
		key = OPT_CHUNK_SIZE;
	return key >= CMD_OPT_OWN ? UINT64_C(1) << (key - CMD_OPT_OWN) : 0;
}

bool pack_repeats(int key)
{
	return key == OPT_INCLUDE || key == OPT_EXCLUDE || key == OPT_META;
}

const struct argp_option *pack_option(const char *name)
{
	const struct argp_option *tables[] = { options,
					       cmd_common_argp.options };

	for (int t = 0; t < 2; t++)
		for (const struct argp_option *o = tables[t]; o->name || o->doc;
		     o++)
			if (o->name && o->key != OPT_CONFIG &&
			    strcmp(o->name, name) == 0)
				return o;
	return NULL;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct pack *p = state->input;
	struct cmd_why why;
	int ret;

	if (key == ARGP_KEY_INIT) {
		state->child_inputs[0] = &p->common;
		return 0;
	}
	if (key == ARGP_KEY_ARG) {
		cmd_strings_add(&p->args, arg);
		return 0;
	}
	ret = pack_set(p, key, arg, &why);
	if (ret < 0)
		argp_error(state, "--%s", why.text);
	if (ret == 0)
		p->given |= pack_given(key);
	return ret == ARGP_ERR_UNKNOWN ? ARGP_ERR_UNKNOWN : 0;
}

const struct argp pack_argp = {
	options,
	parse,
	"INPUT... OUTPUT",
	"Pack the files of each INPUT, a folder, an archive (tar, tar.gz, "
	".bz2, "
	".xz, .zst, zip) or a packed dataset, into shuffled tar chunks with an "
	"index, in the new or empty folder OUTPUT.\v"
	"SIZE takes K, M, G and T, powers of 1024. A GLOB with a slash is "
	"matched against the whole path, another one against the base name. "
	"With --files-from there is one INPUT or none.",
	cmd_common_children,
	NULL,
	NULL
};
