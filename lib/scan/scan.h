/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From directories or a list of paths to struct hp_list, in parallel: opening,
 * listing and asking for attributes wait for a server, so many threads do it.
 * An unreadable folder, a device, a dangling link is an error, and no list
 * comes of it.  A single one is the error's text; several are told by
 * watch->warn, the first 20 of them in the order of their names, and counted in
 * the error.
 */
#ifndef HP_SCAN_H
#define HP_SCAN_H

#include "plan/list.h"

/*
 * Fills *list (zero before) with roots and files, unsorted; the counts of
 * *report that the scan knows.  threads: as in hpdsl_pack_options, but 0 means
 * opt->readers.  An output directory inside an input is HPDSL_EUSAGE; nothing
 * to pack -ENODATA; a special file -ENOTSUP; a link that leads outside -EXDEV;
 * what vanishes meanwhile HPDSL_ECHANGED.  On failure the list is zero again.
 */
int hp_scan(struct hp_list *list, const struct hpdsl_pack_options *opt,
	    struct hpdsl_pack_report *report, struct hpdsl_error *err);

#endif
