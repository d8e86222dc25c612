/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a trace says of its clocks, one line a rank, and what the correction makes of its messages. */
#include <inttypes.h>
#include <stdio.h>

#include "trace/clock/clock.h"

static void print_list(const char *name, const double *v, unsigned n)
{
	printf(" %s=", name);
	for (unsigned i = 0; i < n; i++)
		printf("%s%.0f", i ? "," : "", v[i]);
}

static void print_rank(const struct trace *t, uint32_t r)
{
	const struct trace_proc *p = &trace_get_rank(t, r)->defs.proc;
	double ns[2] = {0};

	for (unsigned i = 0; i < p->clock.n; i++)
		ns[i] = (double)p->clock.tick[i] * p->ns_per_tick;
	printf("rank=%" PRIu32 " host=%s start=%" PRIu64, r, p->host, p->start_real_ns % 1000000000000ull);
	print_list("offsets", p->clock.offset_ns, p->clock.n);
	print_list("errors", p->clock.error_ns, p->clock.n);
	print_list("ns", ns, p->clock.n);
	printf("\n");
}

int main(int argc, char **argv)
{
	struct trace_clock_report report;
	struct trace_clock *c;
	struct errbuf err = {""};
	struct trace *t = argc == 2 ? trace_open(argv[1], &err) : NULL;
	int rv = 1;

	if (!t) {
		fprintf(stderr, "%s\n", err.text);
		return 1;
	}
	for (uint32_t r = 0; r < trace_n_ranks(t); r++)
		print_rank(t, r);
	c = trace_clock_create(t, &err);
	if (c && trace_clock_control(c, t, &report, &err) == 0) {
		printf("messages=%" PRIu64 " reversed=%" PRIu64 " after=%" PRIu64 " worst=%.0f error=%.0f moved=%.0f\n",
		       report.messages, report.reversed, report.reversed_after, report.worst_ns, report.error_ns,
		       report.moved_ns);
		rv = 0;
	} else {
		fprintf(stderr, "%s\n", err.text);
	}
	trace_clock_destroy(c);
	trace_close(t);
	return rv;
}
