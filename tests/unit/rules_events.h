/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Random events for rules, and everything that rules find, as numbers. */
#ifndef PRECEDENT_TESTS_UNIT_RULES_EVENTS_H
#define PRECEDENT_TESTS_UNIT_RULES_EVENTS_H

#include "expert/engine/engine.h"

#define SEND "function_call_send_operation"
#define RECV "function_call_receive_operation"

struct rules_events {
	const struct rules *rules;
	uint32_t seed;
	uint64_t now;
};

/* Make the next event, of three ranks: half of them messages, the others of any kind. Returns its type. */
uint32_t rules_event(struct rules_events *d, struct engine_simple *s, union rules_value *v);

struct rules_log {
	int64_t *n;
	uint64_t count;
};

/* A callback for engine_options.found, with arg a log. Each finding has its rule, whether it is untimed, its
 * values except strings, and its simple events. */
int rules_log_found(void *arg, struct engine *e, const struct engine_finding *f, struct errbuf *err);

#endif
