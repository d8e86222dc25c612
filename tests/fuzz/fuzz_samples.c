/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Fuzzes pages of samples. A page that can be decoded must be the same after encoding. Its machine code goes
 * through the instruction decoder and the model, and becomes a kernel if possible. */
#include <stdint.h>
#include <stdlib.h>

#include "common/buf.h"
#include "skelgen/profile/loop_disasm.h"
#include "skelgen/profile/cost_model.h"
#include "skelgen/profile/native_select.h"
#include "skelgen/profile/memset_copy.h"
#include "trace/format/samples.h"

#define HITS 20 /* more hits than the analysis of branch mispredictions needs */

static void check_use(const struct mix_use *use)
{
	double sum = 0;

	for (int c = 0; c < CLASS_N; c++)
		sum += use->share[c];
	for (int l = 0; l < MIX_LEVELS; l++)
		if (!(use->bytes[l] >= 0 && use->bytes[l] < 1e20))
			abort();
	if (!(sum > 0.999 && sum < 1.001))
		abort();
}

/* Check a kernel from the program's code: it stays within its room and uses only permitted instructions. */
static void check_own(const struct mix_body *b, const struct mix_course *course)
{
	static struct skel_mixes m;
	const struct mix_own_callee callee = {"fuzz", b, b->n / 2};
	uint32_t number;

	if (mix_own_add(&m, "fuzz", b, course, !b->is_loop, &callee, &number) < 0)
		abort();
	if (number != MIX_OWN_NONE && (m.n_own != 1 || m.own[0].n == 0 || m.own[0].n > MIX_OWN_PATH || m.own[0].len == 0 ||
				       m.own[0].len > OWN_DATA || m.own[0].needs >= OWN_NEEDS))
		abort();
	for (uint32_t k = 0; k < m.own[0].n_walk && number != MIX_OWN_NONE; k++)
		if (m.own[0].walk[k].span > OWN_WALKS_MOST / OWN_WALKS)
			abort();
	mix_own_free(&m);
}

static void look_at_code(const struct trace_samples *s)
{
	static const uint64_t cache[TSAMPLE_LEVELS] = {32u << 10, 1u << 20, 32u << 20};
	struct mix_body *b = malloc(sizeof(*b));
	double often[MIX_OPS_MAX];
	struct mix_spots *spots = calloc(MIX_OPS_MAX, sizeof(*spots));
	struct mix_course course = {.often = often, .spots = spots};
	struct mix_use use;

	for (uint32_t i = 0; b && spots && i < s->n && i < 16; i++) {
		const struct trace_place *p = s->n_place ? &s->place[s->sample[i].place] : NULL;
		struct mix_hit hit, many[HITS];

		if (!p || mix_body_find(s, p->module, p->offset, b) < 0)
			continue;
		hit = (struct mix_hit){p->offset, s->sample[i].reg};
		use = (struct mix_use){0};
		if (mix_string(b, &hit, 1, cache, true, &use) == 1)
			check_use(&use);
		if (mix_model(b, &hit, 1, cache, false, NULL, &course, &use) != 0)
			continue;
		check_use(&use);
		check_own(b, &course);
		for (uint32_t k = 0; i == 0 && k < HITS; k++) {
			const struct trace_sample *at = &s->sample[k % s->n];

			many[k] = (struct mix_hit){s->place[at->place].offset, at->reg};
		}
		use = (struct mix_use){0};
		if (i == 0 && mix_model(b, many, HITS, cache, false, NULL, &course, &use) == 0) {
			check_use(&use);
			check_own(b, &course);
			if (!(course.wrong >= 0 && course.wrong < 1))
				abort();
		}
	}
	free(spots);
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
