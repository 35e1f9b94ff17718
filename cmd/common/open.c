/* SPDX-License-Identifier: Apache-2.0 */
/* The dataset that a command is about. */
#include "common.h"

int cmd_open(const char *dataset, bool foreign_owner,
	     struct hpdsl_dataset **ret, struct hpdsl_error *err)
{
	unsigned flags = foreign_owner ? HPDSL_OPEN_FOREIGN_OWNER : 0;

	return hpdsl_open_with(dataset, flags, NULL, ret, err);
}

void cmd_close(struct hpdsl_dataset *ds)
{
	char text[HPDSL_PEER_NOTE];

	while (hpdsl_peer_note(ds, text))
		cmd_warning("%s", text);
	hpdsl_close(ds);
}
