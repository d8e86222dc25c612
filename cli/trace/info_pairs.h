/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Who sends how much to whom: messages and bytes by pair of ranks of MPI_COMM_WORLD. */
#ifndef PRECEDENT_CLI_INFO_PAIRS_H
#define PRECEDENT_CLI_INFO_PAIRS_H

#include <stdint.h>

#include "common/hash_table.h"

struct info_pair {
	uint32_t src, dst;
	uint64_t messages, bytes;
};

struct info_pairs {
	struct info_pair *pair; /* in no order, until info_pairs_sort() */
	uint32_t n, cap;
	struct hash_table table;
};

/* -1 without memory. */
int info_pairs_add(struct info_pairs *p, uint32_t src, uint32_t dst, uint64_t messages, uint64_t bytes);
/* Most bytes first; nothing can be added after that. */
void info_pairs_sort(struct info_pairs *p);
void info_pairs_free(struct info_pairs *p);

#endif
