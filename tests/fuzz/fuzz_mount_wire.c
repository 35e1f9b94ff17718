/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as a request of the kernel to a mount: what is understood of them
 * lies within them, and what is told of INIT and of a listing within its room.
 * And as a mount's figures: what is taken for some is what would be written of
 * them.
 */
#include "cmd/mount/figures.c"
#include "cmd/mount/wire.c"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_name(const struct mount_request *r, const uint8_t *p,
		       size_t size)
{
	const uint8_t *name = (const uint8_t *)r->name;

	if (name < p || name + r->name_len >= p + size ||
	    strlen(r->name) != r->name_len)
		abort();
}

static void try_init(const struct mount_request *r)
{
	uint8_t out[80];
	const struct mount_offer offer = { .plus = true, .give = r->node & 1 };
	struct mount_agreed agreed;
	size_t n;
	int code = mount_answer_init(out, r, &offer, &n, &agreed);

	if (n > sizeof(out) || (code && code != -EPROTO) ||
	    (code == 0 && (agreed.flags & ~r->init.flags ||
			   agreed.flags2 & ~r->init.flags2)))
		abort();
}

/* As many names as there is room for, and none behind it. */
static void try_list(const struct mount_request *r)
{
	static const char name[MOUNT_NAME] = "name";
	const struct mount_attr a = { .ino = r->node, .mode = S_IFREG };
	struct mount_listing l = { .plus = r->op == MOUNT_READDIRPLUS };
	size_t len = r->offset % (MOUNT_NAME + 1);

	l.room = r->size % 4096;
	l.p = malloc(MOUNT_HEAD + l.room);
	if (!l.p)
		return;
	while (mount_listing_add(&l, &a, name, len, l.at + 1, true))
		if (l.at > l.room)
			abort();
	if (mount_listing_end(&l, r->unique) != MOUNT_HEAD + l.at)
		abort();
	free(l.p);
}

static void try(const uint8_t *p, size_t size)
{
	struct mount_request r;
	int code = mount_decode(p, size, &r);

	if (code && code != -EPROTO)
		abort();
	if (code)
		return;
	if (r.op == MOUNT_LOOKUP)
		check_name(&r, p, size);
	if (r.op == MOUNT_INIT)
		try_init(&r);
	if (r.op == MOUNT_READDIR || r.op == MOUNT_READDIRPLUS)
		try_list(&r);
}

static void try_figures(const uint8_t *p, size_t n)
{
	static struct mount_figures f;
	static uint8_t again[MOUNT_FIGURES_BYTES];

	if (mount_figures_decode(p, n, &f) != 0)
		return;
	mount_figures_encode(&f, again);
	if (memcmp(p, again, n) != 0)
		abort();
}

/* Alone, and in the place of some of a sound one. */
static void figures(const uint8_t *data, size_t size)
{
	static const struct mount_figures sound = { .keeper = 1,
						    .worker = 2,
						    .place = "/" };
	static uint8_t p[MOUNT_FIGURES_BYTES];
	const size_t at = size ? data[0] % 160 : 0;

	try_figures(data, size);
	mount_figures_encode(&sound, p);
	memcpy(p + at, data, size < sizeof(p) - at ? size : sizeof(p) - at);
	try_figures(p, sizeof(p));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	/* Of the exact size, so that reading beyond it is seen. */
	uint8_t *p = calloc(1, size + !size);
	uint32_t n = (uint32_t)size;

	if (p) {
		if (size)
			memcpy(p, data, size);
		try(p, size);
		figures(p, size);
		/* With the length that it says put right. */
		if (size >= sizeof(n))
			memcpy(p, &n, sizeof(n));
		try(p, size);
	}
	free(p);
	return 0;
}
