/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Functions that are only counted; their stubs are in the generated passthrough.S. */
#include <stdlib.h>
#include <string.h>

#include "spank/tracer/mpilib.h"
#include "spank/tracer/run.h"
#include "spank/tracer/spill.h"
#include "spank/tracer/wrap.h"
#include "trace/format/defs.h"

extern uint64_t passthrough_count[];
extern void *passthrough_target[];
extern const char passthrough_name[], passthrough_symbol[];
extern const uint32_t passthrough_n;

void *passthrough_resolve(uint32_t target);

static const char *nth(const char *s, uint32_t n)
{
	while (n--)
		s += strlen(s) + 1;
	return s;
}

void *passthrough_resolve(uint32_t target)
{
	const char *name = nth(passthrough_symbol, target);
	void *f = mpilib_function(name);

	if (!f)
		return mpilib_missing(name);
	passthrough_target[target] = f;
	return f;
}

void *wrap_resolve(const char *name)
{
	void *f = mpilib_function(name);

	return f ? f : mpilib_missing(name);
}

void passthrough_protect(struct spill *s)
{
	spill_counters(s, passthrough_count, passthrough_n, passthrough_name);
}

void passthrough_define(struct trace_defs *d)
{
	const char *name = passthrough_name;

	d->counted = calloc(passthrough_n ? passthrough_n : 1, sizeof(*d->counted));
	for (uint32_t i = 0; d->counted && i < passthrough_n; i++, name += strlen(name) + 1)
		if (passthrough_count[i])
			d->counted[d->n_counted++] =
				(struct trace_counted){.name = (char *)name, .calls = passthrough_count[i]};
}
