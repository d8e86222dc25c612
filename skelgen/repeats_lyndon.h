/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The Lyndon engine behind repeats_find(), and what it shares with repeats.c. */
#ifndef PRECEDENT_SKELGEN_REPEATS_LYNDON_H
#define PRECEDENT_SKELGEN_REPEATS_LYNDON_H

#include "skelgen/repeats.h"

int repeats_lyndon_find(const uint32_t *s, uint32_t n, struct repeat_list *out, struct errbuf *err);

int repeat_list_add(struct repeat_list *list, struct repeat r, struct errbuf *err);

#endif
