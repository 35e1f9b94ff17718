/* SPDX-License-Identifier: Apache-2.0 */
/* What hpdsl-verify says of things that a source has and its dataset not. */
#include "verify.h"

static void json_known(struct cmd_json *j, const char *name, uint64_t n)
{
	if (n == UINT64_MAX)
		cmd_json_null(j, name);
	else
		cmd_json_u64(j, name, n);
}

/* The names are those of hpdsl-pack --json. */
void verify_json_not_kept(struct cmd_json *j, const struct hpdsl_not_kept *n)
{
	cmd_json_open(j, "not_kept", '{');
	cmd_json_u64(j, "excluded", n->excluded);
	cmd_json_u64(j, "excluded_folders", n->excluded_dirs);
	cmd_json_u64(j, "litter", n->litter);
	cmd_json_u64(j, "litter_folders", n->litter_dirs);
	cmd_json_u64(j, "symlinks_to_folders", n->symlinks_to_dirs);
	cmd_json_u64(j, "linked_files", n->linked_files);
	cmd_json_u64(j, "specials", n->specials);
	cmd_json_u64(j, "empty_folders", n->empty_dirs);
	json_known(j, "xattrs", n->xattrs);
	cmd_json_u64(j, "symlinks_followed", n->symlinks_followed);
	cmd_json_u64(j, "hard_links", n->hard_links);
	cmd_json_u64(j, "sparse", n->sparse);
	cmd_json_close(j, '}');
}

/* Nobody is told that a thing is lost when nobody knows it. */
static uint64_t known(uint64_t n)
{
	return n == UINT64_MAX ? 0 : n;
}

void verify_not_kept(const struct hpdsl_not_kept *n, char out[VERIFY_NOT_KEPT])
{
	char behind[64] = "";
	const struct {
		uint64_t n;
		const char *one, *many, *more;
	} lost[] = {
		{ n->excluded, "file left out", "files left out", "" },
		{ n->excluded_dirs, "folder left out", "folders left out", "" },
		{ n->litter, "file of litter", "files of litter", "" },
		{ n->litter_dirs, "folder of litter", "folders of litter", "" },
		{ n->symlinks_to_dirs, "linked folder", "linked folders",
		  behind },
		{ n->specials, "special file", "special files", "" },
		{ n->empty_dirs, "empty folder", "empty folders", "" },
		{ known(n->xattrs), "file's attributes or ACL",
		  "files' attributes or ACLs", "" },
		{ n->symlinks_followed, "link to a file", "links to files",
		  "" },
		{ n->hard_links, "hard link", "hard links", "" },
		{ n->sparse, "file's holes", "files' holes", "" },
	};
	size_t at = 0;

	if (n->linked_files)
		snprintf(behind, sizeof(behind), " (%s)",
			 cmd_many(n->linked_files, "file").s);
	*out = '\0';
	for (size_t i = 0; i < sizeof(lost) / sizeof(*lost); i++)
		if (lost[i].n)
			at += (size_t)snprintf(
				out + at, VERIFY_NOT_KEPT - at, "%s%llu %s%s",
				at ? ", " : "", (unsigned long long)lost[i].n,
				lost[i].n == 1 ? lost[i].one : lost[i].many,
				lost[i].more);
}
