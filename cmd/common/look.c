/* SPDX-License-Identifier: Apache-2.0 */
/* What names say of the samples that they make, in the JSON of a command. */
#include "common/common.h"

#include <string.h>

void cmd_json_look(struct cmd_json *j, const struct hpdsl_group_look *look)
{
	cmd_json_open(j, "group_look", '{');
	cmd_json_string(j, "verdict", hpdsl_look_word(look->verdict));
	cmd_json_u64(j, "files", look->files);
	cmd_json_name(j, "example", look->example, strlen(look->example));
	cmd_json_close(j, '}');
}
