/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The Lyndon engine behind repeats_find(). repeat_list_add() is shared with repeats.c. */
#ifndef PRECEDENT_SKELGEN_CONTRACT_LYNDON_H
#define PRECEDENT_SKELGEN_CONTRACT_LYNDON_H

#include "skelgen/contract/repeats.h"

/* Direct comparisons before the hash is built: twenty-four for each symbol suffice for all but contrived
 * texts. */
#define REPEATS_LYNDON_BUDGET(n) (UINT64_C(24) * (n) + 4096)

/* Append the maximal repetitions of s[0..n) to `out`. budget: direct comparisons before the hash is built. */
int repeats_lyndon_find(const uint32_t *s, uint32_t n, uint64_t budget, struct repeat_list *out,
			struct errbuf *err);

int repeat_list_add(struct repeat_list *list, struct repeat r, struct errbuf *err);

#endif
