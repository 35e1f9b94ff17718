/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kinds of file systems that several machines mount, by the numbers of statfs.
 * What is not here may be shared all the same, but nobody would think so.
 */
#include "stage/private.h"

/* Those of linux/magic.h, and those that are in no header of the kernel's. */
static const struct kind {
	uint64_t type;
	const char *name;
} kinds[] = {
	{ 0x6969, "nfs" },	  { 0x0bd00bd0, "lustre" },
	{ 0x47504653, "gpfs" },	  { 0x00c36400, "ceph" },
	{ 0x19830326, "beegfs" }, { 0x65735546, "fuse" },
	{ 0xaad7aaea, "panfs" },  { 0x20030528, "orangefs" },
	{ 0x01161970, "gfs2" },	  { 0x7461636f, "ocfs2" },
	{ 0xff534d42, "cifs" },	  { 0xfe534d42, "smb2" },
	{ 0x517b, "smb" },	  { 0x5346414f, "afs" },
	{ 0x6b414653, "afs" },	  { 0x01021997, "9p" },
	{ 0x73757245, "coda" },	  { 0xbeefdead, "snfs" },
	{ 0x013111a8, "ibrix" },
};

const char *hp_stage_shared_kind(uint64_t type)
{
	/* Some kernels have it as a signed number of 32 bits. */
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
		if (kinds[i].type == (type & 0xffffffff))
			return kinds[i].name;
	return "";
}
