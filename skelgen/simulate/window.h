/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Windows and files in a simulated run: the synchronisation of calls, and the balance of epochs. */
#ifndef PRECEDENT_SKELGEN_SIMULATE_WINDOW_H
#define PRECEDENT_SKELGEN_SIMULATE_WINDOW_H

#include "skelgen/simulate/rank.h"

/* Open epochs of one rank on a window. */
struct sim_win {
	uint64_t sequence;        /* fences and frees so far */
	uint64_t locks;
	uint32_t started, posted; /* symbols whose groups are open, or SKEL_NOTHING */
	bool fenced;
};

/* Begin a call of class TC_WIN, TC_RMA or TC_SYNC; TC_FILE or TC_IO. -1 with a contradiction in s->err. */
int sim_win_call(struct sim *s, struct sim_rank *r);
int sim_file_call(struct sim *s, struct sim_rank *r);
/* The rank has ended: has it closed what it opened? */
int sim_win_end(struct sim *s, const struct sim_rank *r);

#endif
