/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Messages of a rank that a probe has found and no receive has taken. The first receive posted after the probe that the message
 * fits takes the message (MPI 4.1, 3.8.1). In an excerpt a probe without this receive would wait for ever.
 */
#ifndef PRECEDENT_SKELGEN_PIECES_PROBED_H
#define PRECEDENT_SKELGEN_PIECES_PROBED_H

#include <stdbool.h>
#include <stdint.h>

#include "trace/format/defs.h"

#define PROBED_MOST 64 /* messages that a rank has found at a time; of more, the oldest are forgotten: each call looks at all */

enum probed_role { PROBED_OTHER, PROBED_FINDS, PROBED_TAKES };

/* What a call does with messages of others. */
struct probed_call {
	uint8_t role;
	int64_t comm, src, tag; /* src and tag: as found, or wildcards if the call does not tell */
};

struct probed {
	struct probed_message {
		struct probed_call call;
		uint64_t event; /* of the first probe */
	} *at;
	uint32_t n, cap;
};

struct probed_call probed_call_of(const struct trace_defs *d, uint32_t sym);
/* Returns 0, or -1 without memory. */
int probed_find(struct probed *p, const struct probed_call *c, uint64_t event);
/* Returns whether the posted receive takes a message that was found; *since: call of the first probe that found it. */
bool probed_take(struct probed *p, const struct probed_call *c, uint64_t *since);
void probed_free(struct probed *p);

#endif
