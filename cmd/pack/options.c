/* SPDX-License-Identifier: Apache-2.0 */
/* hpdsl-pack's options: one table for the command line and for --config. */
#include "pack.h"

#include "common/option_table.h"

#include <string.h>

#define READERS_MAX 4096

/* ---- Values that only this command takes ------------------------------ */

static int take_labels(const struct cmd_option *o, void *to, const char *arg,
		       struct cmd_why *why)
{
	struct pack *p = to;
	struct cmd_labels labels;

	if (cmd_value_labels(o->name, arg, p->opt.label_file, &labels, why) < 0)
		return -1;
	CMD_SET_LABELS(&p->opt, labels);
	return 0;
}

static int take_zstd(const struct cmd_option *o, void *to, const char *arg,
		     struct cmd_why *why)
{
	struct pack *p = to;
	uint64_t level = 3;

	if (arg && (cmd_parse_count(arg, &level) < 0 || !level || level > 22))
		return cmd_refuse(why, "%s: '%s' is no level from 1 to 22",
				  o->name, arg);
	p->opt.zstd = (int)level;
	return 0;
}

/* Words with commas between them, a bit each, and those of before. */
static int take_list(const struct cmd_option *o, void *to, const char *arg,
		     struct cmd_why *why)
{
	unsigned bits = 0;

	for (const char *s = arg;; s++) {
		size_t n = strcspn(s, ",");
		const char *word = o->words;
		unsigned bit = 1;

		for (; *word; bit *= 2) {
			size_t len = strcspn(word, " ");

			if (len == n && strncmp(s, word, n) == 0)
				break;
			word += len + (word[len] == ' ');
		}
		if (!*word)
			return cmd_refuse(why, "%s: '%s' is %s", o->name, arg,
					  o->wrong);
		bits |= bit;
		s += n;
		if (!*s)
			break;
	}
	*(unsigned *)to |= bits;
	return 0;
}

static int take_size(const struct cmd_option *o, void *to, const char *arg,
		     struct cmd_why *why)
{
	uint64_t n;

	if (cmd_parse_size(arg, &n) < 0 || !n)
		return cmd_refuse(why,
				  "%s: '%s' is no size such as 1000000 or 64M",
				  o->name, arg);
	*(uint64_t *)to = n;
	return 0;
}

static int take_readers(const struct cmd_option *o, void *to, const char *arg,
			struct cmd_why *why)
{
	struct pack *p = to;
	uint64_t n;

	if (cmd_value_count(o->name, arg, 1, &n, why) < 0)
		return -1;
	if (n > READERS_MAX)
		return cmd_refuse(why, "%s: at most %d", o->name, READERS_MAX);
	p->opt.readers = (uint32_t)n;
	return 0;
}

static int take_meta(const struct cmd_option *o, void *to, const char *arg,
		     struct cmd_why *why)
{
	struct pack *p = to;
	const char *equals = strchr(arg, '=');

	if (!equals || equals == arg)
		return cmd_refuse(why, "%s: '%s' is not KEY=VALUE", o->name,
				  arg);
	cmd_strings_add(&p->meta, arg);
	return 0;
}

/* ---- The table -------------------------------------------------------- */

#define FLAG(member) CMD_FLAG(struct pack, member)
#define STRING(member) CMD_STRING(struct pack, member)
#define STRINGS(member) CMD_STRINGS(struct pack, member)
#define COUNT(member, from) CMD_COUNT(struct pack, member, from)
#define SIZE(member) \
	.take = take_size, .place = CMD_AT(struct pack, member, uint64_t)
#define WORD(member, all, not_one) CMD_WORD(struct pack, member, all, not_one)
#define LIST(member, all, no_list)                                         \
	.take = take_list, .place = CMD_AT(struct pack, member, unsigned), \
	.words = (all), .wrong = (no_list)

static const struct cmd_option options[] = {
	{ NULL, NULL, "What is packed:", .group = 1 },
	{ "files-from", "FILE",
	  "Pack the paths in FILE (-: standard input), one a line, relative to "
	  "INPUT, or to the current folder without one",
	  STRING(files_from) },
	{ "null", NULL, "Paths in FILE end with a NUL byte", FLAG(null),
	  .letter = '0' },
	{ "from-snapshot", "FILE",
	  "Do not walk INPUT: FILE is a snapshot of it",
	  STRING(from_snapshot) },
	{ "include", "GLOB", "Only files that match; may be repeated",
	  STRINGS(include) },
	{ "exclude", "GLOB", "No files or folders that match; may be repeated",
	  STRINGS(exclude) },
	{ "keep-litter", NULL,
	  "Pack what desktops and file systems leave among files, too: ._*, "
	  ".DS_Store, __MACOSX and the like",
	  FLAG(keep_litter) },
	{ "symlinks", "HOW",
	  "follow (default): a link to a file becomes its data, if that is "
	  "inside INPUT; follow-all: wherever it is",
	  WORD(opt.symlinks, "follow follow-all", "not follow or follow-all") },
	{ "prefix-input", NULL, "Begin paths with the name of their INPUT",
	  FLAG(opt.prefix_input) },
	{ "nested", NULL, "Unpack archives that lie in an archive, too",
	  FLAG(opt.nested) },
	{ "strict", NULL,
	  "Refuse archives that are taken with a warning else, as a tar "
	  "without its end mark",
	  FLAG(opt.strict) },

	{ NULL, NULL, "Samples and chunks:", .group = 2 },
	{ "group", "HOW",
	  "key (default, where names do not look otherwise): files that differ "
	  "only behind the first dot are one sample; last: behind the last "
	  "dot; "
	  "none: each file is one",
	  WORD(opt.group, "key none last", "not key, last or none") },
	{ "double-suffix", "SUFFIX",
	  "With --group=last: a suffix with a dot inside, such as seg.png; may "
	  "be "
	  "repeated",
	  STRINGS(double_suffix) },
	{ "labels", "HOW",
	  "none (default); dir[:N]: the class is the Nth folder of the path; "
	  "parent: the folder that holds the file; cls, json:FIELD: what "
	  "members say; FILE: lines of path or key "
	  "and class; .csv, .tsv, .jsonl: a table",
	  .take = take_labels },
	{ "label-columns", "NAME,CLASS",
	  "Columns of a FILE called .csv, .tsv or .jsonl, by name or number",
	  STRING(opt.label_columns) },
	{ "cls", NULL,
	  "Add to each sample a member .cls with the number of its class",
	  FLAG(opt.cls) },
	{ "for", "LIST",
	  "Set names, .cls and index files as these readers want them: "
	  "webdataset, dali, energon, wids, torch",
	  LIST(readers, "webdataset dali energon wids torch",
	       "no list of webdataset, dali, energon, wids, torch") },
	{ "names", "HOW",
	  "keep (default): names in chunks are those of the files; portable: "
	  "names that every reader takes",
	  WORD(opt.names, "keep portable", "not keep or portable") },
	{ "shuffle", "HOW",
	  "global (default): random order of samples; none: sorted",
	  WORD(opt.shuffle, "global none", "not global or none") },
	{ "seed", "N", "Which random order (default: 0)", COUNT(opt.seed, 0) },
	{ "chunk-size", "SIZE", "Mean size of a chunk (default: 64M to 1G)",
	  SIZE(opt.chunk_size) },
	/* as others call it */
	{ "shard-size", "SIZE", "The same", SIZE(shard_size),
	  .flags = OPTION_HIDDEN, .instead = true },
	{ "chunks", "N", "Number of chunks instead", COUNT(opt.chunks, 1),
	  .instead = true },
	{ "samples-per-chunk", "N", "Samples in a chunk instead",
	  COUNT(opt.samples_per_chunk, 1), .instead = true },
	{ "multiple-of", "N", "Make the number of chunks a multiple of N",
	  COUNT(opt.multiple_of, 1) },
	{ "meta", "KEY=VALUE",
	  "Put into the manifest (licence, source); may be repeated",
	  .take = take_meta },
	{ "zstd", "LEVEL", "Compress chunks, LEVEL 1 to 22 (default: 3)",
	  .take = take_zstd, .flags = OPTION_ARG_OPTIONAL },
	{ "digest", "HOW",
	  "xxh3 (default); sha256: SHA-256 of all members and files too",
	  WORD(opt.digest, "xxh3 sha256", "not xxh3 or sha256") },
	{ "emit", "LIST",
	  "Write index files of other readers: dali, energon, wids",
	  LIST(opt.emit, "dali energon wids",
	       "no list of dali, energon, wids") },
	{ "snapshot", "FILE", "Write a snapshot of the dataset to FILE",
	  STRING(snapshot_file) },

	{ NULL, NULL, "The run:", .group = 3 },
	{ "readers", "N", "Files that are read at a time (default: 16)",
	  .take = take_readers },
	{ "memory", "SIZE", "Memory for buffers (default: 512M, at least 8M)",
	  SIZE(opt.memory) },
	{ "resume", NULL, "Complete what an interrupted run began",
	  FLAG(opt.resume) },
	{ "force", NULL,
	  "Replace the dataset in OUTPUT, once the new one is complete",
	  FLAG(opt.force) },
	{ "deadline", "TIME",
	  "Stop in time, with exit status 75: seconds from now, or Slurm's "
	  "[D-]HH:MM:SS",
	  CMD_DEADLINE(struct pack, deadline) },
	{ "dry-run", NULL, "Print what would be made, and write nothing",
	  FLAG(opt.dry_run), .letter = 'n' },
	{ "config", "FILE", "Options from a YAML file; the command line wins",
	  STRING(config) },
	{ 0 }
};

/* As argp has it. */
static struct argp_option shown[sizeof(options) / sizeof(*options)];

int pack_set(struct pack *p, int key, const char *arg, struct cmd_why *why)
{
	int ret = cmd_options_set(options, key, p, arg, why);

	return ret == ARGP_ERR_UNKNOWN ?
		       cmd_common_set(&p->common, key, arg, why) :
		       ret;
}

uint64_t pack_given(int key)
{
	const struct cmd_option *o = cmd_options_find(options, key);

	return o ? cmd_options_bit(options, o) : 0;
}

bool pack_has(const struct pack *p, const char *name)
{
	const struct argp_option *o = pack_option(name);

	return o && ((p->given | p->in_config) & pack_given(o->key));
}

bool pack_on_line(const struct pack *p, const char *name)
{
	const struct argp_option *o = pack_option(name);

	return o && (p->given & pack_given(o->key));
}

bool pack_repeats(int key)
{
	const struct cmd_option *o = cmd_options_find(options, key);

	return o && (o->take == cmd_take_strings || o->take == take_meta ||
		     o->take == take_list);
}

const struct argp_option *pack_option(const char *name)
{
	const struct argp_option *tables[] = { shown, cmd_common_argp.options };

	if (strcmp(name, "config") == 0)
		return NULL;
	for (int t = 0; t < 2; t++)
		for (const struct argp_option *o = tables[t]; o->name || o->doc;
		     o++)
			if (o->name && strcmp(o->name, name) == 0)
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

static const struct argp argp = {
	shown,
	parse,
	"INPUT... OUTPUT",
	"Pack the files of each INPUT, a folder, an archive (tar, tar.gz, "
	".bz2, .xz, .zst, zip) or a packed dataset, into shuffled tar chunks "
	"with an "
	"index, in the new or empty folder OUTPUT.\v"
	"SIZE takes K, M, G and T, powers of 1024. A GLOB with a slash is "
	"matched against the whole path, another one against the base name. "
	"With --files-from there is one INPUT or none.",
	cmd_common_children,
	NULL,
	NULL
};

const struct argp *pack_argp(void)
{
	cmd_options_show(options, shown);
	return &argp;
}
