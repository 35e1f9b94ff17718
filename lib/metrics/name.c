/* SPDX-License-Identifier: Apache-2.0 */
/* Names of files of metrics. */
#include "metrics/file.h"

#include <stdio.h>
#include <string.h>

/* What a host may be called, if nobody plays tricks. */
static bool is_plain(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
	       (c >= '0' && c <= '9') || c == '-' || c == '.';
}

static void put_node(const struct hp_metrics_self *self, char ret[65])
{
	size_t i = 0;

	for (; i < 64 && self->node[i]; i++)
		ret[i] = is_plain(self->node[i]) ? self->node[i] : '_';
	ret[i] = '\0';
}

void hp_metrics_name(const char *part, const struct hp_metrics_self *self,
		     unsigned n, char ret[HP_OUTFILE_NAME])
{
	char node[65], number[16] = "";

	put_node(self, node);
	if (n)
		snprintf(number, sizeof number, "-%u", n);
	snprintf(ret, HP_OUTFILE_NAME, "hpdsl-%.64s.%s.%s%s.prom", part, node,
		 self->pid, number);
}

/* If it begins so: what is behind, else NULL. */
static const char *behind(const char *s, const char *with)
{
	size_t n = strlen(with);

	return s && !strncmp(s, with, n) ? s + n : NULL;
}

static const char *behind_number(const char *s)
{
	size_t n = s ? strspn(s, "0123456789") : 0;

	return n ? s + n : NULL;
}

bool hp_metrics_is_name(const char *name, const struct hp_metrics_self *self)
{
	bool half = *name == '.';
	char node[65];
	const char *s = behind(name + half, "hpdsl-");

	put_node(self, node);
	if (s)
		s = strchr(s, '.');
	if (s)
		s = behind(s + 1, node);
	s = behind_number(behind(s, "."));
	if (s && *s == '-')
		s = behind_number(s + 1);
	s = behind(s, ".prom");
	return s && !strcmp(s, half ? ".part" : "");
}
