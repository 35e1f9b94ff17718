/* SPDX-License-Identifier: Apache-2.0 */
/* A circle of places, and how far one request goes. */
#include "peers/ports.h"

bool hp_ports_next(struct hp_ports *w, uint32_t all, uint32_t *ret_place)
{
	if (w->tried >= all || w->tried >= HP_PORTS_MOST) {
		if (!w->mute || w->again)
			return false;
		w->again = true;
		*ret_place = w->mute - 1;
		return true;
	}
	*ret_place = w->place % all;
	w->place = (w->place + 1) % all;
	w->tried++;
	return true;
}

void hp_ports_mute(struct hp_ports *w, uint32_t place)
{
	if (!w->mute)
		w->mute = place + 1;
	w->mutes++;
}

uint32_t hp_ports_after(const struct hp_ports *w, uint32_t all)
{
	return w->tried < all ? w->place : w->mute % all;
}
