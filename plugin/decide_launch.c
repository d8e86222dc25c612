/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A job whose key is unknown may have the launches of a known job (common/launches.h). The new job then takes the
 * known job's key. So it is predicted and not traced, and its run is learned under that key. If the store fails
 * here, the job counts as unknown.
 */
#include <string.h>

#include "plugin/decide_internal.h"

/* Of a kind whose keys never come again, one key in 16 is still traced: the kind may have changed its ways.
 */
#define FRESH_TRACED '0' /* first hex digit of the key */

/* The traced run of the program that launches the same left no trace, and no past runs predict it. Then this job is a
 * job of its own. It is traced, unless the tracer may be why that run failed. */
static bool is_of_its_own(struct deciding *d)
{
	const struct store_program *p = &d->known.program;

	if (d->known.n_estimates || !store_program_lacks_trace(p) || p->retrace_at > d->in->now)
		return false;
	if (strstr(p->reason, STORE_WITHOUT_TRACER) || strstr(p->reason, STORE_NOT_BY_ITSELF)) {
		d->untraced = UNTRACED_LAUNCHES;
		d->same_job = p->source_job;
	}
	d->marked_since = p->retrace_at;
	return true;
}

bool decide_launch(struct deciding *d)
{
	struct decision *out = d->out;
	char key[IDENTITY_KEY_LEN + 1];

	if (!d->src->reads->launch || !out->comment.launch ||
	    d->src->reads->launch(d->src->store, out->comment.launch, key, NULL) <= 0)
		return false;
	if (d->src->reads->lookup(d->src->store, key, &d->known, NULL) <= 0 || d->known.program.uid != d->in->uid)
		return false;
	if (is_of_its_own(d))
		return false;
	memcpy(out->id.key, key, sizeof(out->id.key));
	memcpy(out->comment.key, key, sizeof(out->comment.key));
	d->same_launches = true;
	d->same_job = d->known.program.source_job;
	return true;
}

bool decide_is_fresh(struct deciding *d)
{
	uint64_t kind;

	/* Beyond what its model over inputs knows, the next traced run tells the model more. */
	if (d->unmodelled.text[0] || d->mode_given || !d->src->reads->kind || d->out->id.key[0] == FRESH_TRACED)
		return false;
	kind = store_kind_name(d->in->uid, d->in->name, d->out->id.family);
	if (d->src->reads->kind(d->src->store, kind, &d->fresh, NULL) <= 0)
		return false;
	d->untraced = UNTRACED_FRESH;
	return true;
}
