/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What libcurl reads of any server of files, as the library sets it up.
 *
 *     reads_curl URL BYTES SIZE UNDER_WAY SECONDS FILE..
 */
#include "reads.h"

#include "http/curl.h"

#include <string.h>

struct way {
	void *easy;
	char *buf;
	uint64_t got, began;
};

static size_t take(char *p, size_t one, size_t n, void *arg)
{
	struct way *w = arg;

	memcpy(w->buf + w->got, p, one * n);
	w->got += one * n;
	return one * n;
}

static void ask(const struct hp_curl *c, void *multi, struct way *w,
		struct reads *r, char **argv)
{
	const uint64_t at = reads_offset(r, r->bytes);
	char range[64], url[4096];

	snprintf(url, sizeof url, "%s/%s", argv[1],
		 argv[6 + reads_draw(r, r->files)]);
	snprintf(range, sizeof range, "%llu-%llu", (unsigned long long)at,
		 (unsigned long long)(at + r->size - 1));
	w->got = 0;
	w->began = reads_now();
	c->easy_setopt(w->easy, HP_CURLOPT_URL, url);
	c->easy_setopt(w->easy, HP_CURL_POINTER + 7, range);
	c->multi_add_handle(multi, w->easy);
}

static struct way *begin(const struct hp_curl *c, const struct reads *r)
{
	struct way *w = reads_memory(r->under_way * sizeof *w);

	for (unsigned i = 0; i < r->under_way; i++) {
		w[i].buf = reads_memory(r->size);
		w[i].easy = c->easy_init();
		c->easy_setopt(w[i].easy, HP_CURLOPT_PROXY, "");
		c->easy_setopt(w[i].easy, HP_CURLOPT_WRITEFUNCTION, take);
		c->easy_setopt(w[i].easy, HP_CURLOPT_WRITEDATA, &w[i]);
		c->easy_setopt(w[i].easy, HP_CURLOPT_PRIVATE, &w[i]);
		c->easy_setopt(w[i].easy, HP_CURLOPT_BUFFERSIZE,
			       r->size < 262144 ? 65536L : 262144L);
	}
	return w;
}

static int ended(const struct hp_curl *c, void *multi, struct reads *r,
		 char **argv)
{
	struct hp_curl_msg *m;
	int left;

	while ((m = c->multi_info_read(multi, &left))) {
		struct way *w;

		c->easy_getinfo(m->easy, HP_CURLINFO_PRIVATE, &w);
		if (m->data.result != HP_CURLE_OK || w->got != r->size)
			return -1;
		reads_one(r, w->began);
		c->multi_remove_handle(multi, w->easy);
		ask(c, multi, w, r, argv);
	}
	return 0;
}

int main(int argc, char **argv)
{
	const char *why = "bad arguments";
	const struct hp_curl *c = argc > 6 ? hp_curl(&why) : NULL;
	struct reads r;
	struct way *w;
	void *multi;
	int n;

	if (!c) {
		fprintf(stderr, "reads_curl: %s\n", why);
		return 2;
	}
	r.bytes = strtoull(argv[2], NULL, 10);
	r.files = (uint64_t)argc - 6;
	reads_begin(&r, argv + 3);
	w = begin(c, &r);
	multi = c->multi_init();
	for (unsigned i = 0; i < r.under_way; i++)
		ask(c, multi, &w[i], &r, argv);
	while (reads_go_on(&r)) {
		c->multi_perform(multi, &n);
		if (ended(c, multi, &r, argv) < 0) {
			fprintf(stderr, "reads_curl: a read failed\n");
			return 3;
		}
		c->multi_perform(multi, &n);
		c->multi_wait(multi, NULL, 0, 1000, &n);
	}
	reads_end(&r);
	return 0;
}
