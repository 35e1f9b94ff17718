/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A chunk that is fetched piece by piece for those who wait for stretches of
 * it: which piece is next, and who has waited enough.  Over memory; no file, no
 * thread, no clock.
 */
#ifndef HP_SERVE_PIECES_H
#define HP_SERVE_PIECES_H

#include <stdbool.h>
#include <stdint.h>

enum { HP_PIECE = 4 << 20 }; /* bytes of each but the last one */
#define HP_NO_PIECE UINT32_MAX

enum hp_piece { HP_PIECE_NOT, HP_PIECE_COMING, HP_PIECE_HERE };

struct hp_pieces {
	uint64_t size; /* bytes of all */
	uint32_t n, here;
	uint32_t *waits; /* of each, how many wait for it */
	uint8_t *is;	 /* of each, enum hp_piece */
	uint32_t next;	 /* no piece before it is NOT */
};

/* False: no memory. */
bool hp_pieces_begin(struct hp_pieces *p, uint64_t size);
void hp_pieces_end(struct hp_pieces *p);

/* Are these bytes, both inclusive and less than size, here? */
bool hp_pieces_have(const struct hp_pieces *p, uint64_t first, uint64_t last);
/* Somebody begins, or ends, to wait for them. */
void hp_pieces_await(struct hp_pieces *p, uint64_t first, uint64_t last);
void hp_pieces_let(struct hp_pieces *p, uint64_t first, uint64_t last);

/*
 * The piece to be fetched now, which is coming from then on: one that somebody
 * waits for, else, unless only those, the first that there is.  HP_NO_PIECE:
 * there is none.
 */
uint32_t hp_pieces_next(struct hp_pieces *p, bool awaited);
/* It came, or is to be fetched again. */
void hp_pieces_came(struct hp_pieces *p, uint32_t piece, bool well);

/* Is there one that is neither here nor coming? */
bool hp_pieces_left(const struct hp_pieces *p);

uint64_t hp_pieces_length(const struct hp_pieces *p, uint32_t piece);

#endif
