/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Pages of samples of any content: decoded, and what can be decoded is the same after encoding it again; the machine code
 * in them goes through the decoder of instructions and the model. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/buf.h"
#include "skelgen/profile/loop_disasm.h"
#include "skelgen/profile/address_stride.h"
#include "skelgen/profile/cost_model.h"
#include "skelgen/profile/memset_copy.h"
#include "trace/format/samples.h"

#define HITS 20 /* more hits than the analysis of branch mispredictions needs */

static void check_use(const struct cost_model_result *use)
{
	double sum = 0;

	for (int c = 0; c < CLASS_N; c++)
		sum += use->share[c];
	for (int l = 0; l < PROFILE_LEVELS; l++)
		if (!(use->bytes[l] >= 0 && use->bytes[l] < 1e20))
			abort();
	if (!(sum > 0.999 && sum < 1.001))
		abort();
}

/* A loop with many samples: branches are estimated, and with these the model says the same again. */
static void check_branches(const struct loop_body *b, const struct loop_sample *many, const uint64_t *cache)
{
	double often[LOOP_OPS_MAX];
	struct cost_model_branches branches = {.often = often};
	struct cost_model_result use = {0}, again = {0};

	if (cost_model(b, many, HITS, cache, false, &branches, &use) != 0)
		return;
	check_use(&use);
	for (uint32_t i = 0; i < b->n; i++)
		if (!(often[i] >= 0 && often[i] <= 1))
			abort();
	if (!branches.known || !(branches.mispredicted >= 0 && branches.mispredicted < 1e9) || cost_model(b, many, HITS, cache, false, &branches, &again) != 0 ||
	    memcmp(use.share, again.share, sizeof(use.share)))
		abort();
}

static void look_at_code(const struct trace_samples *s)
{
	static const uint64_t cache[TSAMPLE_LEVELS] = {32u << 10, 1u << 20, 32u << 20};
	struct loop_body *b = malloc(sizeof(*b));
	struct cost_model_result use;

	for (uint32_t i = 0; b && i < s->n && i < 16; i++) {
		const struct trace_place *p = s->n_place ? &s->place[s->sample[i].place] : NULL;
		struct loop_sample hit, many[HITS];

		if (!p || loop_body_find(s, p->module, p->offset, b) < 0)
			continue;
		hit = (struct loop_sample){p->offset, s->sample[i].reg};
		use = (struct cost_model_result){0};
		if (memset_copy(b, &hit, 1, cache, true, &use) == 1)
			check_use(&use);
		if (cost_model(b, &hit, 1, cache, false, NULL, &use) != 0)
			continue;
		check_use(&use);
		for (uint32_t k = 0; i == 0 && k < HITS; k++) {
			const struct trace_sample *at = &s->sample[k % s->n];

			many[k] = (struct loop_sample){s->place[at->place].offset, at->reg};
		}
		if (i == 0)
			check_branches(b, many, cache);
	}
	free(b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct trace_samples s, again;
	struct buf out = {0};
	struct errbuf err;

	if (trace_samples_decode(data, size, &s, &err) < 0)
		return 0;
	look_at_code(&s);
	trace_samples_encode(&s, &out);
	if (out.failed || trace_samples_decode(out.data, out.len, &again, &err) < 0 || again.n != s.n)
		abort();
	trace_samples_free(&again);
	trace_samples_free(&s);
	buf_free(&out);
	return 0;
}
