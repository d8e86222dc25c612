/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The loops in which a program spends most of its computation, made into kernels (own_code.h): what a processor that weighs
 * instructions in another way charges for them is then right by construction. As many as there is room for, those met most
 * by the first ranks that have samples; computation outside of them is left to the kernels of its classes. A function of the mathematical
 * library that a loop calls is executed in it, where it is called: while one waits the other goes on, and who is called waits for its argument.
 * Source: algorithms, C.8.
 */
#ifndef PRECEDENT_SKELGEN_PROFILE_NATIVE_SELECT_H
#define PRECEDENT_SKELGEN_PROFILE_NATIVE_SELECT_H

#include <stdbool.h>
#include <stdint.h>

#include "skelgen/profile/compute_profile.h"
#include "skelgen/profile/loop_disasm.h"
#include "skelgen/profile/cost_model.h"

#define MIX_OWN_PATH 4096 /* instructions of a unit, at most */
#define MIX_OWN_NONE UINT32_MAX

/* Time of this class is that of instructions, which a loop of its own does instead. */
bool mix_own_is_core(int c);
/* ... or that of what it goes through. */
bool mix_own_is_part(const struct skel_own *own, int c);

/*
 * The instructions of a body in the order in which they are executed, for as many iterations as make a unit: branches are taken
 * as often as what they lead to is executed (often: of each instruction, of the most frequent one), evenly spread. path: room for
 * MIX_OWN_PATH. Returns how many.
 */
uint32_t mix_own_path(const struct mix_body *b, const double *often, uint16_t *path);

/* A function that a loop calls. */
struct mix_own_callee {
	const char *module;
	const struct mix_body *b; /* straight code */
	uint32_t call;            /* instruction of the loop */
};

/* The number of the loop at first .. last of a module, or of the straight code of which that is a part, also of one that is called; or
 * MIX_OWN_NONE. */
uint32_t mix_own_find(const struct skel_mixes *m, const char *module, uint64_t first, uint64_t last, bool is_loop);
/* Make a body a loop of its own. course: how it is gone through; NULL: straight. is_function: it is called, with other arguments each time.
 * callee: what it calls; NULL: nothing. number: out, MIX_OWN_NONE where that cannot be or there is no room. -1: no memory. */
int mix_own_add(struct skel_mixes *m, const char *module, const struct mix_body *b, const struct mix_course *course, bool is_function,
		const struct mix_own_callee *callee, uint32_t *number);
void mix_own_free(struct skel_mixes *m);

/* What the time of a mix goes to by classes of work, its own loops counted as these. */
void mix_own_as_classes(const struct skel_mixes *m, const double *share, double *out);

#endif
