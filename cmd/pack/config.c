/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hpdsl-pack --config: a YAML mapping from long option names to values, a
 * sequence for an option that may be repeated, true or false for a flag.
 * Everything in the file is checked; what the command line gave is then kept.
 */
#include "pack.h"

#include <errno.h>
#include <string.h>
#include <yaml.h>

/* Lives as long as the options: they point to its strings. */
struct pack_config {
	struct pack *p;
	struct pack unused; /* takes what the command line overrides */
	yaml_document_t doc;
	bool loaded;
};

static int refuse(const struct pack_config *c, const yaml_node_t *at,
		  const char *what)
{
	cmd_message("%s: line %zu: %s", c->p->config, at->start_mark.line + 1,
		    what);
	return CMD_USAGE;
}

static const char *scalar(const yaml_node_t *node)
{
	const char *s = (const char *)node->data.scalar.value;

	if (node->type != YAML_SCALAR_NODE ||
	    strlen(s) != node->data.scalar.length)
		return NULL;
	return s;
}

/* Sets an option to one value of the file. */
static int set(struct pack_config *c, const struct argp_option *o,
	       const yaml_node_t *value)
{
	bool kept = o->key == 'j' ? c->p->common.threads_given :
				    (c->p->given & pack_given(o->key)) != 0;
	struct pack *target = kept ? &c->unused : c->p;
	const char *s = scalar(value);
	struct cmd_why why;

	if (!s) {
		cmd_refuse(&why, "%s: a plain value is wanted", o->name);
		return refuse(c, value, why.text);
	}
	/* One that may do without its argument takes both. */
	if ((o->flags & OPTION_ARG_OPTIONAL) && strcmp(s, "true") == 0)
		s = NULL;
	else if ((o->flags & OPTION_ARG_OPTIONAL) && strcmp(s, "false") == 0)
		return CMD_DONE;
	else if (!o->arg) {
		if (strcmp(s, "false") == 0)
			return CMD_DONE;
		if (strcmp(s, "true") != 0) {
			cmd_refuse(&why, "%s: '%s' is not true or false",
				   o->name, s);
			return refuse(c, value, why.text);
		}
	}
	if (pack_set(target, o->key, s, &why) < 0)
		return refuse(c, value, why.text);
	c->p->in_config |= pack_given(o->key);
	return CMD_DONE;
}

static int set_all(struct pack_config *c, const struct argp_option *o,
		   const yaml_node_t *value)
{
	int status = CMD_DONE;

	if (value->type != YAML_SEQUENCE_NODE || !pack_repeats(o->key))
		return set(c, o, value);
	for (yaml_node_item_t *i = value->data.sequence.items.start;
	     !status && i < value->data.sequence.items.top; i++)
		status = set(c, o, yaml_document_get_node(&c->doc, *i));
	return status;
}

/* The pair of that name, before one or among all. */
static const yaml_node_t *find(const struct pack_config *c,
			       const yaml_node_pair_t *before, const char *name)
{
	yaml_document_t *doc = (yaml_document_t *)&c->doc;
	const yaml_node_t *root = yaml_document_get_root_node(doc);
	const yaml_node_pair_t *end =
		before ? before : root->data.mapping.pairs.top;

	for (yaml_node_pair_t *i = root->data.mapping.pairs.start; i < end;
	     i++) {
		const yaml_node_t *key = yaml_document_get_node(doc, i->key);
		const char *other = scalar(key);

		if (other && strcmp(other, name) == 0)
			return key;
	}
	return NULL;
}

size_t pack_config_line(const struct pack_config *c, const char *name)
{
	const struct argp_option *o = pack_option(name);
	const yaml_node_t *key = o && c->p->in_config & pack_given(o->key) ?
					 find(c, NULL, name) :
					 NULL;

	return key ? key->start_mark.line + 1 : 0;
}

/* Is an option given twice?  YAML leaves this to its reader. */
static int refuse_double(struct pack_config *c, const yaml_node_pair_t *pair,
			 const char *name)
{
	static const char *const size[] = { "chunk-size", "shard-size" };
	const yaml_node_t *key = yaml_document_get_node(&c->doc, pair->key);
	struct cmd_why why;

	if (find(c, pair, name)) {
		cmd_refuse(&why, "%s: given twice", name);
		return refuse(c, key, why.text);
	}
	for (int i = 0; i < 2; i++)
		if (strcmp(name, size[i]) == 0 && find(c, pair, size[!i])) {
			cmd_refuse(&why, "%s: given already, as %s", name,
				   size[!i]);
			return refuse(c, key, why.text);
		}
	return CMD_DONE;
}

static int set_pair(struct pack_config *c, const yaml_node_pair_t *pair)
{
	const yaml_node_t *key = yaml_document_get_node(&c->doc, pair->key);
	const yaml_node_t *value = yaml_document_get_node(&c->doc, pair->value);
	const char *name = scalar(key);
	const struct argp_option *o = name ? pack_option(name) : NULL;
	struct cmd_why why;
	int status;

	if (!o) {
		cmd_refuse(&why, "'%s' is no option", name ? name : "?");
		return refuse(c, key, why.text);
	}
	status = refuse_double(c, pair, name);
	return status ? status : set_all(c, o, value);
}

static int set_mapping(struct pack_config *c)
{
	yaml_node_t *root = yaml_document_get_root_node(&c->doc);
	int status = CMD_DONE;

	if (!root) /* an empty file */
		return CMD_DONE;
	if (root->type != YAML_MAPPING_NODE)
		return refuse(c, root,
			      "a mapping of option names to values is "
			      "wanted");
	for (yaml_node_pair_t *i = root->data.mapping.pairs.start;
	     !status && i < root->data.mapping.pairs.top; i++)
		status = set_pair(c, i);
	return status;
}

static int load(struct pack_config *c)
{
	FILE *in = fopen(c->p->config, "re");
	yaml_parser_t parser;
	int status = CMD_DONE;

	if (!in) {
		cmd_message("%s: %s", c->p->config, strerror(errno));
		return CMD_TROUBLE;
	}
	if (!yaml_parser_initialize(&parser))
		cmd_no_memory();
	yaml_parser_set_input_file(&parser, in);
	c->loaded = yaml_parser_load(&parser, &c->doc);
	if (ferror(in)) {
		cmd_message("%s: %s", c->p->config, strerror(errno));
		status = CMD_TROUBLE;
	} else if (!c->loaded) {
		cmd_message("%s: line %zu: %s", c->p->config,
			    parser.problem_mark.line + 1,
			    parser.problem ? parser.problem : "cannot be read");
		status = CMD_USAGE;
	}
	yaml_parser_delete(&parser);
	fclose(in);
	return status;
}

int pack_config(struct pack *p)
{
	struct pack_config *c = cmd_alloc(1, sizeof(*c));
	int status;

	p->config_state = c;
	c->p = p;
	status = load(c);
	return status ? status : set_mapping(c);
}

void pack_config_free(struct pack_config *c)
{
	if (!c)
		return;
	if (c->loaded)
		yaml_document_delete(&c->doc);
	free(c->unused.include.v);
	free(c->unused.exclude.v);
	free(c->unused.meta.v);
	free(c);
}
