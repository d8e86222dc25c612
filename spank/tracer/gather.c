/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Writes one trace file from all ranks, in MPI_Finalize. The ranks agree (agree.h), measure their clocks
 * (offsets.h) and send their pages to rank 0, which writes them at once (gather_root.h).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "spank/tracer/agree.h"
#include "spank/tracer/device.h"
#include "spank/tracer/ends.h"
#include "spank/tracer/facts.h"
#include "spank/tracer/gather_root.h"
#include "spank/tracer/handles.h"
#include "spank/tracer/mpilib.h"
#include "spank/tracer/offsets.h"
#include "spank/tracer/patience.h"
#include "spank/tracer/patient_writer.h"
#include "spank/tracer/record.h"
#include "spank/tracer/place.h"
#include "spank/tracer/run.h"
#include "spank/tracer/sample.h"
#include "trace/format/page.h"
#include "trace/format/writer.h"

#define HOST_BYTES       sizeof(((struct run *)0)->host)
#define CLOCK_SERVER_S 600
#define PART_ROUNDS      3 /* with fewer rounds, replies are still in transit */

/* tags on a communicator of the tracer, besides TAG_PING and TAG_PONG */
enum { TAG_CLOCK = 1, TAG_TURN, TAG_LENGTH, TAG_PAGES };

/* ---- this rank's pages ---- */

static void fill_proc(const struct run *r, struct trace_proc *p, const struct offset_pair *clock)
{
	p->host = (char *)r->host;
	p->program = (char *)r->program;
	p->pid = (uint32_t)getpid();
	p->ns_per_tick = r->ns_per_tick;
	p->start_real_ns = r->start_real_ns;
	p->init_ns = r->init_ns;
	p->before_ns = r->before_ns;
	p->cpu_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID) - r->start_cpu_ns;
	p->thread_level = (uint8_t)(rec.locking ? MPI_THREAD_MULTIPLE : r->thread_level);
	offsets_fix(r, clock, &p->clock);
	place_facts(p);
	p->devices = device_used();
	rec_facts(p);
}

/* Encode definitions, structure and samples (may be empty) as pages. Returns 0, or -1 if memory runs out. */
static int encode_head(const struct run *r, const struct offset_pair *clock, const struct buf *samples, struct buf *out)
{
	struct trace_page m = {.rank = (uint32_t)r->world_rank};
	struct trace_defs d = {0};
	struct buf raw = {0};
	int rv = -1;

	buf_reset(out);
	handles_define(&d);
	site_define(&d);
	passthrough_define(&d);
	d.sigs = rec.sigs;
	fill_proc(r, &d.proc, clock);
	trace_defs_encode(&d, &raw);
	free(d.counted);
	m.type = TPAGE_DEFS;
	if (raw.failed || trace_page_encode(&m, raw.data, raw.len, out) < 0)
		goto out;
	buf_reset(&raw);
	m.type = TPAGE_STRUCT;
	if (fold_encode(rec.fold, &raw) < 0 || trace_page_encode(&m, raw.data, raw.len, out) < 0)
		goto out;
	m.type = TPAGE_SAMPLES;
	if (samples->len && !samples->failed && trace_page_encode(&m, samples->data, samples->len, out) < 0)
		goto out;
	rv = 0;
out:
	buf_free(&raw);
	return rv;
}

/* Like encode_head, within the limit of file sizes. Samples that leave no room for the rest are dropped. Otherwise
 * times are dropped first, then samples. */
static int encode_to_fit(const struct run *r, const struct offset_pair *clock, struct buf *out)
{
	struct buf samples = {0};
	int rv;

	sample_encode(&samples);
	rv = encode_head(r, clock, &samples, out);
	if (rv == 0 && out->len > r->file_share) {
		samples.len = 0;
		rv = encode_head(r, clock, &samples, out);
	}
	if (rv == 0 && out->len + rec_bytes() > r->file_share) {
		if (out->len > r->file_share || !rec_fit(r->file_share - out->len))
			samples.len = 0;
		rv = encode_head(r, clock, &samples, out);
	}
	buf_free(&samples);
	return rv;
}

/* ---- facts of the job ---- */

static void put_hosts(struct buf *b, const char *host, int n)
{
	char count[16];
	struct buf list = {0};
	int distinct = 0;

	for (int i = 0; i < n; i++) {
		int k = i;

		/* ranks of a node are neighbours, or hosts repeat in a cycle: search backwards */
		while (k > 0 && strcmp(host + (size_t)(k - 1) * HOST_BYTES, host + (size_t)i * HOST_BYTES))
			k--;
		if (k)
			continue;
		if (distinct++)
			buf_put(&list, ",", 1);
		buf_put(&list, host + (size_t)i * HOST_BYTES, strlen(host + (size_t)i * HOST_BYTES));
	}
	buf_put_u8(&list, 0);
	snprintf(count, sizeof(count), "%d", distinct);
	facts_put(b, "nodes", count);
	if (!list.failed)
		facts_put(b, "hosts", (const char *)list.data);
	buf_free(&list);
}

static int encode_job(const struct run *r, const char *host, struct buf *out)
{
	struct trace_page m = {.type = TPAGE_JOB};
	struct buf b = {0};
	int rv;

	buf_put(&b, r->facts.data, r->facts.len);
	facts_put(&b, "samples", sample_source());
	put_hosts(&b, host, r->world_size);
	rv = b.failed ? -1 : trace_page_encode(&m, b.data, b.len, out);
	buf_free(&b);
	return rv;
}

/* ---- another rank ---- */

/* Build the next message of this rank: pages from *next on until the message is long enough. */
static void next_message(struct buf *head, uint32_t *next, struct buf *msg)
{
	buf_reset(msg);
	if (head->len) {
		buf_put(msg, head->data, head->len);
		head->len = 0;
	}
	while (*next < rec_n_pages() && (!msg->len || msg->len + rec_page_size(*next) <= GATHER_MESSAGE))
		rec_page_take((*next)++, msg);
}

static int send_pages(MPI_Comm c, struct buf *head, bool broken)
{
	struct buf msg = {0};
	uint32_t next = 0;
	uint64_t len;
	int rv;

	if (mpi.Recv(NULL, 0, MPI_BYTE, 0, TAG_TURN, c, MPI_STATUS_IGNORE) != MPI_SUCCESS)
		return -1;
	do {
		if (!broken)
			next_message(head, &next, &msg);
		len = broken || msg.failed ? GATHER_BROKEN : msg.len;
		rv = mpi.Send(&len, (int)sizeof(len), MPI_BYTE, 0, TAG_LENGTH, c);
		if (rv == MPI_SUCCESS && len && len != GATHER_BROKEN)
			rv = mpi.Send(msg.data, (int)len, MPI_BYTE, 0, TAG_PAGES, c);
	} while (rv == MPI_SUCCESS && len && len != GATHER_BROKEN);
	buf_free(&msg);
	return rv == MPI_SUCCESS ? 0 : -1;
}

/* Answer pings if rank 0 sends them, until rank 0 sends its measurement. */
static void receive_clock(MPI_Comm c, struct offset_pair *clock)
{
	*clock = (struct offset_pair){0};
	if (agree_await(c, 0, TAG_CLOCK, TAG_PING, CLOCK_SERVER_S, NULL, NULL) == TAG_PING)
		offsets_echo(c);
	mpi.Recv(clock, (int)sizeof(*clock), MPI_BYTE, 0, TAG_CLOCK, c, MPI_STATUS_IGNORE);
}

/* ---- rank 0 ---- */

static int link_turn(void *arg, uint32_t rank)
{
	return mpi.Send(NULL, 0, MPI_BYTE, (int)rank, TAG_TURN, *(MPI_Comm *)arg) == MPI_SUCCESS ? 0 : -1;
}

static int link_length(void *arg, uint32_t rank, uint64_t *len)
{
	return mpi.Recv(len, (int)sizeof(*len), MPI_BYTE, (int)rank, TAG_LENGTH, *(MPI_Comm *)arg,
			MPI_STATUS_IGNORE) == MPI_SUCCESS ? 0 : -1;
}

static int link_pages(void *arg, uint32_t rank, void *data, uint32_t len)
{
	return mpi.Recv(data, (int)len, MPI_BYTE, (int)rank, TAG_PAGES, *(MPI_Comm *)arg, MPI_STATUS_IGNORE) ==
	       MPI_SUCCESS ? 0 : -1;
}

static void send_clocks(const struct run *r, MPI_Comm c, const char *hosts)
{
	struct offset_pair clock;

	offsets_end(r, c, hosts, HOST_BYTES);
	for (int i = 1; i < r->world_size; i++) {
		offsets_of(r, i, &clock);
		mpi.Send(&clock, (int)sizeof(clock), MPI_BYTE, i, TAG_CLOCK, c);
	}
	offsets_free();
}

static void write_own(struct trace_writer **w, struct buf *job, struct buf *head, struct errbuf *err)
{
	const uint32_t n = head->len ? rec_n_pages() : 0;

	patient_pages(w, job, err);
	if (*w && head->len)
		patient_pages(w, head, err);
	for (uint32_t i = 0; *w && i < n; i++) {
		struct buf page = {0};

		if (rec_page_take(i, &page) == 0) {
			patient_pages(w, &page, err);
		} else {
			err_set(err, "no memory for a page of times");
			patient_abort(w);
		}
		buf_free(&page);
	}
}

/* The trace's file, made with a deadline. Static, because late work may still use it. */
static struct {
	const struct run *run;
	char path[PATH_MAX + 64];
	struct trace_writer *w;
	struct errbuf err;
} made;

static void make_file(void *arg)
{
	(void)arg;
	if (launch_trace_path(made.run, made.path, sizeof(made.path)) < 0)
		err_set(&made.err, "%s: no free name for the trace", made.run->dir);
	else
		made.w = trace_writer_create(made.path, (uint32_t)made.run->world_size, &made.err);
}

static struct trace_writer *open_trace(const struct run *r, const char *hosts, struct buf *head, struct errbuf *err)
{
	struct trace_writer *w = NULL;
	struct buf job = {0};

	made.run = r;
	if (encode_job(r, hosts, &job) < 0) {
		err_set(err, "no memory");
	} else if (!patience_run(make_file, NULL, SERVER_S)) {
		err_set(err, "%s does not answer", r->dir);
	} else {
		w = made.w;
		*err = made.err;
	}
	if (w)
		write_own(&w, &job, head, err);
	buf_free(&job);
	return w;
}

/* Write the trace. A rank that ran out of memory is left out. */
static void write_trace(const struct run *r, MPI_Comm c, const char *hosts, struct buf *head, bool broken, struct ends_file *file)
{
	const struct gather_link link = {.turn = link_turn, .length = link_length, .pages = link_pages, .arg = &c};
	struct errbuf err = {""};
	struct gather_report report;
	struct trace_writer *w;
	char text[600];
	int rv;

	if (broken)
		head->len = 0;
	w = open_trace(r, hosts, head, &err);
	rv = gather_root(&link, (uint32_t)r->world_size, &w, &report, &err);
	if (broken) {
		report.n_missing++;
		report.missing = 0;
	}
	if (w && (rv < 0 || report.n_missing == (uint32_t)r->world_size)) {
		if (rv == 0)
			err_set(&err, "every rank ran out of memory");
		patient_abort(&w);
	}
	text[0] = '\0';
	if (w)
		patient_close(&w, report.n_missing > 0, made.path, file, &err);
	if (!file->written)
		snprintf(text, sizeof(text), "no trace: %s", err.text);
	else if (report.n_missing)
		snprintf(text, sizeof(text), "the trace lacks %u of %d ranks, the first rank %u: out of memory",
			 report.n_missing, r->world_size, report.missing);
	if (text[0])
		launch_report(r, text);
}

/* ---- all ---- */

/* Measure the length of a tick and the time of tick 0 on the clock of day. */
static void measure_ticks(struct run *r)
{
	struct clock_moment now;
	double ticks;

	clock_moment_read(&now);
	ticks = (double)(int64_t)(now.mono_tick - r->start.mono_tick);
	r->ns_per_tick = ticks > 0 && now.mono_ns > r->start.mono_ns ? (double)(now.mono_ns - r->start.mono_ns) / ticks : 1.0;
	r->start_ticks = rec.broken ? r->start.real_tick : rec.start;
	r->start_real_ns = r->start.real_ns +
			   (uint64_t)(int64_t)((double)(int64_t)(r->start_ticks - r->start.real_tick) * r->ns_per_tick);
}

/* A trace without some calls would look complete, so it is not written. Rank 0 checks its own process for all
 * ranks. */
static bool every_call_seen(const struct run *r)
{
	const char *path = mpilib_passing();
	static char text[PATH_MAX + 128]; /* static, since the stack may be small */

	if (!path)
		return true;
	snprintf(text, sizeof(text), "no trace: MPI calls of %s cannot be recorded, as it was opened with RTLD_DEEPBIND", path);
	launch_report(r, text);
	return false;
}

enum gathered gather_trace(struct run *r)
{
	char *hosts = NULL;
	struct offset_pair clock = {0};
	struct buf head = {0};
	MPI_Comm c = MPI_COMM_NULL;
	static struct ends_file file;
	bool broken;

	measure_ticks(r);
	if (r->world_rank == 0 && every_call_seen(r)) {
		hosts = calloc((size_t)r->world_size, HOST_BYTES);
		if (!hosts)
			launch_report(r, "no trace: no memory");
	}
	if (!agree(r, r->world_rank || hosts) || mpi.Comm_dup(mpi.world, &c) != MPI_SUCCESS) {
		offsets_free();
		free(hosts);
		return GATHERED_NOTHING; /* a rank has no trace, so no rank gathers */
	}
	mpi.Comm_set_errhandler(c, MPI_ERRORS_RETURN);
	mpi.Gather(r->host, HOST_BYTES, MPI_BYTE, hosts, HOST_BYTES, MPI_BYTE, 0, c);
	if (r->world_rank == 0)
		send_clocks(r, c, hosts);
	else
		receive_clock(c, &clock);
	broken = rec.broken || encode_to_fit(r, &clock, &head) < 0;
	if (r->world_rank == 0)
		write_trace(r, c, hosts, &head, broken, &file);
	else
		send_pages(c, &head, broken);
	/* All ranks keep their data until the file is written. */
	mpi.Bcast(&file, (int)sizeof(file), MPI_BYTE, 0, c);
	free(hosts);
	buf_free(&head);
	mpi.Comm_free(&c);
	if (file.written)
		ends_begin(&file, (uint32_t)r->world_rank, (uint32_t)r->world_size);
	return file.written ? GATHERED_WRITTEN : GATHERED_NOT_WRITTEN;
}

void gather_part(void)
{
	for (int i = 0; MPILIB_MPICH && i < PART_ROUNDS; i++)
		mpi.Barrier(mpi.world);
}
