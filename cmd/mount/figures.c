/* SPDX-License-Identifier: Apache-2.0 */
#include "figures.h"

#include "mount.h"
#include "native.h"

#include <string.h>

enum { VERSION = 1, CHOSEN = 1, FOLDER = 2 };

static const char magic[8] = "hpdslMNT";

void mount_figures_encode(const struct mount_figures *f,
			  uint8_t ret[MOUNT_FIGURES_BYTES])
{
	const char *text[] = { f->place, f->dataset, f->folder };
	uint8_t *to = ret + MOUNT_FIGURES_NUMBERS;

	memset(ret, 0, MOUNT_FIGURES_BYTES);
	memcpy(ret, magic, sizeof(magic));
	mount_put32(ret + 8, VERSION);
	mount_put32(ret + 12, MOUNT_FIGURES_BYTES);
	mount_put32(ret + 16,
		    (f->chosen ? CHOSEN : 0) | (f->has_folder ? FOLDER : 0));
	mount_put32(ret + 20, f->view);
	mount_put32(ret + 24, f->way);
	mount_put32(ret + 28, f->keeper);
	mount_put32(ret + 32, f->worker);
	mount_put32(ret + 36, f->turn);
	mount_put64(ret + 40, (uint64_t)f->since);
	for (int i = 0; i < MOUNT_FIGURES; i++)
		mount_put64(ret + 48 + 8 * i, f->n[i]);
	for (int i = 0; i < 3; i++)
		memcpy(to + (size_t)i * PATH_MAX, text[i], strlen(text[i]));
}

/* ---- What is read ----------------------------------------------------- */

/* A string that ends, and nothing behind its end. */
static bool take_text(const uint8_t *p, char ret[PATH_MAX])
{
	const uint8_t *end = memchr(p, '\0', PATH_MAX);

	for (const uint8_t *c = end; c && c < p + PATH_MAX; c++)
		if (*c)
			return false;
	if (end)
		memcpy(ret, p, PATH_MAX);
	return end != NULL;
}

static bool is_process(uint32_t n)
{
	return n > 0 && n <= INT32_MAX;
}

/* A count of more than that would have taken longer than there is time. */
static bool take_numbers(const uint8_t *p, struct mount_figures *ret)
{
	const uint32_t flags = mount_get32(p + 16);
	bool sound = !(flags & ~(uint32_t)(CHOSEN | FOLDER));

	ret->chosen = flags & CHOSEN;
	ret->has_folder = flags & FOLDER;
	ret->view = mount_get32(p + 20);
	ret->way = mount_get32(p + 24);
	ret->keeper = mount_get32(p + 28);
	ret->worker = mount_get32(p + 32);
	ret->turn = mount_get32(p + 36);
	ret->since = (int64_t)mount_get64(p + 40);
	for (int i = 0; i < MOUNT_FIGURES; i++) {
		ret->n[i] = mount_get64(p + 48 + 8 * i);
		sound = sound && ret->n[i] <= INT64_MAX;
	}
	return sound && ret->view <= MOUNT_VIEW_CHUNKS &&
	       ret->way <= MOUNT_WAY_ROOT && is_process(ret->keeper) &&
	       is_process(ret->worker) && ret->since >= 0;
}

int mount_figures_decode(const uint8_t *p, size_t n, struct mount_figures *ret)
{
	const uint8_t *text = p + MOUNT_FIGURES_NUMBERS;

	if (n < 16 || memcmp(p, magic, sizeof(magic)) != 0)
		return HPDSL_ENOTOURS;
	if (mount_get32(p + 8) != VERSION ||
	    mount_get32(p + 12) != MOUNT_FIGURES_BYTES)
		return HPDSL_ETOONEW;
	if (n != MOUNT_FIGURES_BYTES || !take_numbers(p, ret) ||
	    !take_text(text, ret->place) ||
	    !take_text(text + PATH_MAX, ret->dataset) ||
	    !take_text(text + 2 * PATH_MAX, ret->folder))
		return HPDSL_ECORRUPT;
	return *ret->place == '/' && (ret->has_folder || !*ret->folder) ?
		       0 :
		       HPDSL_ECORRUPT;
}
