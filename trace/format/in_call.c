/* SPDX-License-Identifier: GPL-2.0-or-later */
/* See in_call.h. */
#include "trace/format/in_call.h"

#include "trace/functions.h"

bool trace_fn_has_param(uint32_t fn, enum trace_kind kind)
{
	for (uint32_t i = 0; i < trace_fn[fn].n_param; i++)
		if (trace_fn[fn].param[i].kind == kind)
			return true;
	return false;
}

bool trace_fn_polls(uint32_t fn)
{
	switch (fn) {
	case FN_MPI_Test:
	case FN_MPI_Testall:
	case FN_MPI_Testany:
	case FN_MPI_Testsome:
	case FN_MPI_Iprobe:
	case FN_MPI_Improbe:
	case FN_MPI_Win_test:
		return true;
	default:
		return false;
	}
}

/* The last parameter of this kind, or TRACE_NULL. If a call sends and receives, the receive's parameters come
 * last. */
static int64_t last_value(const struct trace_defs *d, uint32_t symbol, uint8_t kind)
{
	int64_t value = TRACE_NULL;
	struct sig_walk w;

	sig_walk_begin(&w, d, symbol);
	while (sig_walk_next(&w))
		if (w.kind == kind)
			value = *w.val;
	return value;
}

bool trace_in_call_is(const struct trace_defs *d, uint32_t symbol, const struct trace_in_call *c)
{
	uint8_t dst;

	if (!c->inside) /* it has no function */
		return false;
	dst = trace_fn_has_param(c->fn, TK_DST) ? TK_DST : TK_ROOT;
	return d->sigs.sig[symbol].fn == c->fn && d->sigs.sig[symbol].site == c->site &&
	       (!trace_fn_has_param(c->fn, dst) || last_value(d, symbol, dst) == c->dst) &&
	       (!trace_fn_has_param(c->fn, TK_SRC) || last_value(d, symbol, TK_SRC) == c->src) &&
	       (!trace_fn_has_param(c->fn, TK_TAG) || last_value(d, symbol, TK_TAG) == c->tag) &&
	       (c->comm < 0 || last_value(d, symbol, TK_COMM) == c->comm) &&
	       (c->win < 0 || last_value(d, symbol, TK_WIN) == c->win) &&
	       (c->file < 0 || last_value(d, symbol, TK_FILE) == c->file);
}
