/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Requests that a run leaves under way: started, and neither completed nor freed. */
#ifndef PRECEDENT_SKELGEN_TREE_LEFT_REQUESTS_H
#define PRECEDENT_SKELGEN_TREE_LEFT_REQUESTS_H

#include <stdint.h>

#include "trace/read/reader.h"

/* Of all ranks. Reads every call of the trace. Returns 0, or -1 without memory. */
int skel_count_left_requests(const struct trace *t, uint64_t *left);

#endif
