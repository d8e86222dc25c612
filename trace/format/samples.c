/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Encoding of the page of samples: see samples.h and precedent-trace.5. */
#include "trace/format/samples.h"

#include <stdlib.h>
#include <string.h>

#define SAMPLES_VERSION 1

/* Registers are stored as differences from the sample before at the same place, since these are often small. */
static void put_registers(const struct trace_sample *s, const struct trace_sample *before, struct buf *out)
{
	for (int i = 0; i < TSAMPLE_REGS; i++)
		buf_put_sv(out, (int64_t)(s->reg[i] - (before ? before->reg[i] : 0)));
}

static void put_sample(const struct trace_samples *all, uint32_t i, const struct trace_sample *before, struct buf *out)
{
	const struct trace_sample *s = &all->sample[i];

	buf_put_uv(out, s->event - (i ? s[-1].event : 0));
	buf_put_uv(out, s->tick - (i ? s[-1].tick : 0));
	buf_put_uv(out, s->thread);
	buf_put_u8(out, s->flags);
	buf_put_uv(out, s->cpu_ns);
	buf_put_uv(out, s->delayed_ns);
	buf_put_uv(out, s->asleep_ns);
	for (int k = 0; k < TCOUNTER_N; k++)
		if (all->counters & (1u << k))
			buf_put_uv(out, s->counter[k]);
	if (s->flags & TSAMPLE_BORDER)
		return;
	buf_put_uv(out, s->place);
	put_registers(s, before, out);
}

static void put_code(const struct trace_samples *s, struct buf *out)
{
	for (uint32_t i = 0; i < s->n_place; i++) {
		buf_put_uv(out, s->place[i].module);
		buf_put_uv(out, s->place[i].offset);
	}
	for (uint32_t i = 0; i < s->n_code; i++) {
		buf_put_uv(out, s->code[i].module);
		buf_put_uv(out, s->code[i].offset);
		buf_put_uv(out, s->code[i].len);
		buf_put(out, s->code[i].bytes, s->code[i].len);
	}
}

void trace_samples_encode(const struct trace_samples *s, struct buf *out)
{
	uint32_t *last = calloc(s->n_place + 1u, sizeof(*last)); /* last sample + 1 at each place */

	if (!last) {
		out->failed = true;
		return;
	}
	buf_put_u8(out, SAMPLES_VERSION);
	buf_put_uv(out, s->period_ns);
	for (int i = 0; i < TSAMPLE_LEVELS; i++)
		buf_put_uv(out, s->cache[i]);
	buf_put_uv(out, s->counters);
	buf_put_uv(out, s->n_thread);
	buf_put_uv(out, s->n_place);
	buf_put_uv(out, s->n_code);
	buf_put_uv(out, s->n);
	put_code(s, out);
	for (uint32_t i = 0; i < s->n; i++) {
		uint32_t *l = &last[s->sample[i].place];

		put_sample(s, i, *l ? &s->sample[*l - 1] : NULL, out);
		if (!(s->sample[i].flags & TSAMPLE_BORDER))
			*l = i + 1;
	}
	free(last);
}

static int get_code(struct rdbuf *r, struct trace_samples *s, struct errbuf *err)
{
	uint64_t left = TSAMPLE_CODE_MAX;

	for (uint32_t i = 0; i < s->n_place; i++) {
		s->place[i].module = (uint32_t)rdbuf_uv(r);
		s->place[i].offset = rdbuf_uv(r);
	}
	for (uint32_t i = 0; i < s->n_code && !r->failed; i++) {
		struct trace_code *c = &s->code[i];
		uint64_t len;
		const void *p;

		c->module = (uint32_t)rdbuf_uv(r);
		c->offset = rdbuf_uv(r);
		len = rdbuf_uv(r);
		if (len > left || c->offset + len < c->offset)
			return err_set(err, "samples: piece %u of code has an invalid length", i);
		if (i && (c->module < c[-1].module ||
			  (c->module == c[-1].module && c->offset < c[-1].offset + c[-1].len)))
			return err_set(err, "samples: piece %u of code is out of order", i);
		left -= len;
		p = rdbuf_bytes(r, len);
		if (!p || !(c->bytes = malloc(len + 1)))
			return err_set(err, "samples: piece %u of code is cut off", i);
		memcpy(c->bytes, p, len);
		c->len = (uint32_t)len;
	}
	return 0;
}

static int get_sample(struct rdbuf *r, struct trace_samples *all, uint32_t i, uint32_t *last, struct errbuf *err)
{
	struct trace_sample *s = &all->sample[i];
	uint64_t place, thread;

	s->event = rdbuf_uv(r) + (i ? s[-1].event : 0);
	s->tick = rdbuf_uv(r) + (i ? s[-1].tick : 0);
	thread = rdbuf_uv(r);
	s->flags = rdbuf_u8(r);
	s->cpu_ns = rdbuf_uv(r);
	s->delayed_ns = rdbuf_uv(r);
	s->asleep_ns = rdbuf_uv(r);
	for (int k = 0; k < TCOUNTER_N; k++)
		if (all->counters & (1u << k))
			s->counter[k] = rdbuf_uv(r);
	if (thread >= all->n_thread || (i && (s->event < s[-1].event || s->tick < s[-1].tick)))
		return err_set(err, "samples: sample %u is malformed", i);
	s->thread = (uint32_t)thread;
	if (s->flags & TSAMPLE_BORDER)
		return 0;
	place = rdbuf_uv(r);
	if (place >= all->n_place)
		return err_set(err, "samples: sample %u names place %llu of %u", i, (unsigned long long)place, all->n_place);
	s->place = (uint32_t)place;
	for (int k = 0; k < TSAMPLE_REGS; k++)
		s->reg[k] = (uint64_t)rdbuf_sv(r) + (last[place] ? all->sample[last[place] - 1].reg[k] : 0);
	last[place] = i + 1;
	return 0;
}

/* Read the header, which holds the sizes of all tables. Each element takes at least a byte, so a short page holds
 * no large tables. */
static int get_head(struct rdbuf *r, struct trace_samples *s, struct errbuf *err)
{
	uint8_t version = rdbuf_u8(r);
	uint64_t n[4];

	s->period_ns = rdbuf_uv(r);
	for (int i = 0; i < TSAMPLE_LEVELS; i++)
		s->cache[i] = rdbuf_uv(r);
	s->counters = (uint32_t)rdbuf_uv(r) & ((1u << TCOUNTER_N) - 1);
	for (int i = 0; i < 4; i++)
		n[i] = rdbuf_uv(r);
	if (r->failed || version != SAMPLES_VERSION)
		return err_set(err, r->failed ? "samples: the page is cut off" : "samples: of a newer version");
	if (n[0] > TSAMPLE_THREADS_MAX || n[1] > TSAMPLE_PLACES_MAX || n[2] > TSAMPLE_PLACES_MAX || n[3] > TSAMPLE_MAX ||
	    2 * n[1] + 3 * n[2] + 7 * n[3] > rdbuf_left(r))
		return err_set(err, "samples: more than the page can hold");
	s->sample = calloc(n[3] + 1, sizeof(*s->sample));
	s->place = calloc(n[1] + 1, sizeof(*s->place));
	s->code = calloc(n[2] + 1, sizeof(*s->code));
	if (!s->sample || !s->place || !s->code)
		return err_set(err, "samples: no memory");
	s->n_thread = (uint32_t)n[0];
	s->n_place = (uint32_t)n[1];
	s->n_code = (uint32_t)n[2];
	s->n = (uint32_t)n[3];
	return 0;
}

int trace_samples_decode(const uint8_t *raw, size_t len, struct trace_samples *out, struct errbuf *err)
{
	struct rdbuf r = {.data = raw, .len = len};
	uint32_t *last = NULL;
	int rv = -1;

	*out = (struct trace_samples){0};
	if (get_head(&r, out, err) < 0 || get_code(&r, out, err) < 0)
		goto out;
	last = calloc(out->n_place + 1u, sizeof(*last));
	if (!last) {
		err_set(err, "samples: no memory");
		goto out;
	}
	for (uint32_t i = 0; i < out->n && !r.failed; i++)
		if (get_sample(&r, out, i, last, err) < 0)
			goto out;
	if (r.failed || r.pos != len) {
		err_set(err, "samples: the page has an invalid length");
		goto out;
	}
	rv = 0;
out:
	free(last);
	if (rv < 0)
		trace_samples_free(out);
	return rv;
}

void trace_samples_free(struct trace_samples *s)
{
	for (uint32_t i = 0; s->code && i < s->n_code; i++)
		free(s->code[i].bytes);
	free(s->sample);
	free(s->place);
	free(s->code);
	*s = (struct trace_samples){0};
}
