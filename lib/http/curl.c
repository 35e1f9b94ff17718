/* SPDX-License-Identifier: Apache-2.0 */
/* libcurl, found by its name once a process. */
#include "http/curl.h"

#include <dlfcn.h>
#include <pthread.h>
#include <string.h>

/* The one thing here that a process has once, as libcurl itself is. */
static struct hp_curl table;
static const char *missing;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static const struct {
	const char *name;
	size_t at;
} functions[] = {
#define F(x)                                            \
	{                                               \
		"curl_" #x, offsetof(struct hp_curl, x) \
	}
	F(global_init),	  F(version_info),    F(easy_init),
	F(easy_setopt),	  F(easy_getinfo),    F(easy_cleanup),
	F(multi_init),	  F(multi_setopt),    F(multi_add_handle),
	F(multi_perform), F(multi_wait),      F(multi_remove_handle),
	F(multi_cleanup), F(multi_info_read),
#undef F
};

static const char *look_up(void *library)
{
	for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
		void *f = dlsym(library, functions[i].name);

		if (!f)
			return HP_CURL_NAME " has not all functions";
		memcpy((char *)&table + functions[i].at, &f, sizeof f);
	}
	if (table.version_info(0)->version_num < HP_CURL_OLDEST)
		return HP_CURL_NAME " is older than 7.61";
	if (table.global_init(HP_CURL_GLOBAL_DEFAULT) != 0)
		return HP_CURL_NAME " cannot be initialised";
	return NULL;
}

/* It stays: what it has set up for the process cannot be taken back. */
static void load(void)
{
	void *library = dlopen(HP_CURL_NAME, RTLD_NOW | RTLD_LOCAL);

	missing = library ? look_up(library) :
			    "there is no " HP_CURL_NAME " that can be loaded";
}

const struct hp_curl *hp_curl(const char **why)
{
	pthread_once(&once, load);
	*why = missing;
	return missing ? NULL : &table;
}
