/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The call in which a rank was when it ended (struct trace_in_call), and signatures. */
#ifndef PRECEDENT_TRACE_IN_CALL_H
#define PRECEDENT_TRACE_IN_CALL_H

#include "trace/format/defs.h"

bool trace_fn_has_param(uint32_t fn, enum trace_kind kind);
/* Does the function test for something, so that programs call it again and again? */
bool trace_fn_polls(uint32_t fn);
/*
 * Does the signature have the function, call site and parameters of this call?
 *
 * A salvaged trace mostly has the call as its last event: always if the rank had made such a call before. So if the last
 * event is such a call, it is the call that did not return.
 */
bool trace_in_call_is(const struct trace_defs *d, uint32_t symbol, const struct trace_in_call *c);

#endif
