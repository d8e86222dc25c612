/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One trace file from all ranks, inside MPI_Finalize. Rank 0 decides by the markers, tells everybody, and waits
 * until everybody has answered; only then is anything collective done. Pages come to rank 0 one rank after the
 * other, in messages of whole pages, and go to the file as they come: rank 0 holds one message at a time.
 */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "spank/tracer/facts.h"
#include "spank/tracer/handles.h"
#include "spank/tracer/mpilib.h"
#include "spank/tracer/record.h"
#include "spank/tracer/run.h"
#include "trace/page.h"
#include "trace/writer.h"

#define MESSAGE_BYTES (1u << 20)
#define HOST_BYTES    64
#define PATIENCE_S    600
#define BROKEN        UINT64_MAX

/* Empty messages on MPI_COMM_WORLD: where a program left a receive open, nothing can be overwritten. */
enum { TAG_GO = 32700, TAG_NO_GO, TAG_READY, TAG_COMMIT, TAG_CANCEL };
/* on our own communicator */
enum { TAG_TURN = 1, TAG_LENGTH, TAG_PAGES };

/* ---- agreement ---- */

static void send_token(int to, int tag)
{
	mpi.Send(NULL, 0, MPI_BYTE, to, tag, mpi.world);
}

/* Wait for an empty message with tag a or b; the tag, or -1 when patience ends. */
static int await_token(int from, int a, int b)
{
	uint64_t end = clock_ns(CLOCK_MONOTONIC) + PATIENCE_S * 1000000000ull;
	struct timespec nap = {.tv_nsec = 20000};

	for (unsigned k = 0;; k++) {
		int flag = 0, tag = k & 1 ? b : a;

		if (mpi.Iprobe(from, tag, mpi.world, &flag, MPI_STATUS_IGNORE) != MPI_SUCCESS)
			return -1;
		if (flag) {
			mpi.Recv(NULL, 0, MPI_BYTE, from, tag, mpi.world, MPI_STATUS_IGNORE);
			return tag;
		}
		if (k < 1000) {
			sched_yield();
			continue;
		}
		nanosleep(&nap, NULL);
		if (clock_ns(CLOCK_MONOTONIC) > end)
			return -1;
	}
}

static bool agree_root(const struct run *r, bool able)
{
	int64_t n = able ? launch_count(r) : 0;
	bool all = n == r->world_size;
	char text[160];

	for (int i = 1; i < r->world_size; i++)
		send_token(i, all ? TAG_GO : TAG_NO_GO);
	if (!all) {
		snprintf(text, sizeof(text), "no trace: the tracer is present in %lld of %d ranks only", (long long)n,
			 r->world_size);
		launch_report(r, text);
		launch_unmark(r);
		return false;
	}
	for (int i = 1; i < r->world_size; i++)
		all = all && await_token(i, TAG_READY, TAG_READY) == TAG_READY;
	launch_unmark(r); /* not earlier: the others look for the first marker when they arrive */
	for (int i = 1; i < r->world_size; i++)
		send_token(i, all ? TAG_COMMIT : TAG_CANCEL);
	if (!all)
		launch_report(r, "no trace: a rank did not answer in MPI_Finalize");
	return all;
}

/* True on all ranks, or on none. A rank 0 that is not able (no memory) says no. */
static bool agree(const struct run *r, bool able)
{
	if (r->world_size == 1) {
		launch_unmark(r);
		return able;
	}
	if (r->world_rank == 0)
		return agree_root(r, able);
	if (!launch_root_present(r)) {
		launch_unmark(r);
		return false;
	}
	if (await_token(0, TAG_GO, TAG_NO_GO) != TAG_GO)
		return false;
	send_token(0, TAG_READY);
	return await_token(0, TAG_COMMIT, TAG_CANCEL) == TAG_COMMIT;
}

/* ---- this rank's pages ---- */

static void fill_proc(const struct run *r, struct trace_proc *p, char *host, char *program)
{
	uint64_t mono = clock_ns(CLOCK_MONOTONIC), ticks = clock_ticks();

	p->host = host;
	p->program = program;
	p->pid = (uint32_t)getpid();
	p->ns_per_tick = ticks > r->start_ticks && mono > r->start_mono_ns ?
				 (double)(mono - r->start_mono_ns) / (double)(ticks - r->start_ticks) :
				 1.0;
	p->start_real_ns = r->start_real_ns;
	p->init_ns = r->init_ns;
	p->before_ns = r->before_ns;
	p->cpu_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID) - r->start_cpu_ns;
	p->thread_level = (uint8_t)r->thread_level;
	rec_facts(p);
}

/* Definitions and structure as pages. -1 without memory. */
static int encode_head(const struct run *r, char *host, char *program, struct buf *out)
{
	struct trace_page m = {.rank = (uint32_t)r->world_rank};
	struct trace_defs d = {0};
	struct buf raw = {0};
	int rv = -1;

	handles_define(&d);
	site_define(&d);
	passthrough_define(&d);
	d.sigs = rec.sigs;
	fill_proc(r, &d.proc, host, program);
	trace_defs_encode(&d, &raw);
	free(d.counted);
	m.type = TPAGE_DEFS;
	if (raw.failed || trace_page_encode(&m, raw.data, raw.len, out) < 0)
		goto out;
	buf_reset(&raw);
	m.type = TPAGE_STRUCT;
	if (fold_encode(rec.fold, &raw) < 0 || trace_page_encode(&m, raw.data, raw.len, out) < 0)
		goto out;
	rv = 0;
out:
	buf_free(&raw);
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

		/* ranks of a node are neighbours, or the hosts come round: look at the nearest first */
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

	facts_put_job(&b, r);
	put_hosts(&b, host, r->world_size);
	rv = b.failed ? -1 : trace_page_encode(&m, b.data, b.len, out);
	buf_free(&b);
	return rv;
}

/* ---- transport ---- */

/* The next message of this rank: pages from *next on until it is long enough. */
static void next_message(struct buf *head, uint32_t *next, struct buf *msg)
{
	buf_reset(msg);
	if (head->len) {
		buf_put(msg, head->data, head->len);
		head->len = 0;
	}
	while (*next < rec_n_pages() && (!msg->len || msg->len + rec_page_size(*next) <= MESSAGE_BYTES))
		rec_page_take((*next)++, msg);
}

static int send_pages(MPI_Comm c, struct buf *head, bool broken)
{
	struct buf msg = {0};
	uint32_t next = 0;
	uint64_t len;
	int rv = 0;

	if (mpi.Recv(NULL, 0, MPI_BYTE, 0, TAG_TURN, c, MPI_STATUS_IGNORE) != MPI_SUCCESS)
		return -1;
	do {
		if (!broken)
			next_message(head, &next, &msg);
		len = broken || msg.failed ? BROKEN : msg.len;
		rv = mpi.Send(&len, (int)sizeof(len), MPI_BYTE, 0, TAG_LENGTH, c);
		if (rv == MPI_SUCCESS && len && len != BROKEN)
			rv = mpi.Send(msg.data, (int)len, MPI_BYTE, 0, TAG_PAGES, c);
	} while (rv == MPI_SUCCESS && len && len != BROKEN);
	buf_free(&msg);
	return rv == MPI_SUCCESS ? 0 : -1;
}

/* All messages of a rank, into the file while there is one (w is NULL after an error, which is in err). */
static int receive_pages(MPI_Comm c, int from, struct trace_writer **w, struct errbuf *err)
{
	struct buf msg = {0};
	uint64_t len;
	int rv = -1;

	if (mpi.Send(NULL, 0, MPI_BYTE, from, TAG_TURN, c) != MPI_SUCCESS)
		goto out;
	for (;;) {
		if (mpi.Recv(&len, (int)sizeof(len), MPI_BYTE, from, TAG_LENGTH, c, MPI_STATUS_IGNORE) != MPI_SUCCESS)
			goto out;
		if (!len || len == BROKEN)
			break;
		msg.len = 0;
		if (len > INT32_MAX || buf_reserve(&msg, len) < 0)
			goto out;
		if (mpi.Recv(msg.data, (int)len, MPI_BYTE, from, TAG_PAGES, c, MPI_STATUS_IGNORE) != MPI_SUCCESS)
			goto out;
		if (*w && trace_writer_pages(*w, msg.data, len, err) < 0) {
			trace_writer_abort(*w);
			*w = NULL;
		}
	}
	if (len == BROKEN && *w) {
		err_set(err, "rank %d ran out of memory", from);
		trace_writer_abort(*w);
		*w = NULL;
	}
	rv = 0;
out:
	if (rv < 0)
		err_set(err, "rank %d could not deliver its pages", from);
	buf_free(&msg);
	return rv;
}

static int write_own(struct trace_writer *w, struct buf *job, struct buf *head, struct errbuf *err)
{
	if (trace_writer_pages(w, job->data, job->len, err) < 0 ||
	    trace_writer_pages(w, head->data, head->len, err) < 0)
		return -1;
	for (uint32_t i = 0; i < rec_n_pages(); i++) {
		struct buf page = {0};
		int rv = rec_page_take(i, &page);

		if (rv < 0)
			err_set(err, "no memory for a page of times");
		else
			rv = trace_writer_pages(w, page.data, page.len, err);
		buf_free(&page);
		if (rv < 0)
			return -1;
	}
	return 0;
}

static void write_file(const struct run *r, MPI_Comm c, const char *host, struct buf *head, bool broken)
{
	struct errbuf err = {""};
	struct trace_writer *w = NULL;
	struct buf job = {0};
	char path[PATH_MAX + 64], text[600];
	bool written = false;
	int ok = 0;

	if (broken)
		err_set(&err, "rank 0 ran out of memory");
	else if (encode_job(r, host, &job) < 0)
		err_set(&err, "no memory");
	else if (launch_trace_path(r, path, sizeof(path)) < 0)
		err_set(&err, "%s: no free name for the trace", r->dir);
	else
		w = trace_writer_create(path, (uint32_t)r->world_size, &err);
	if (w && write_own(w, &job, head, &err) < 0) {
		trace_writer_abort(w);
		w = NULL;
	}
	for (int i = 1; i < r->world_size && ok == 0; i++)
		ok = receive_pages(c, i, &w, &err);
	if (w && ok == 0)
		written = trace_writer_close(w, false, &err) == 0;
	else if (w)
		trace_writer_abort(w);
	if (!written) {
		snprintf(text, sizeof(text), "no trace: %s", err.text);
		launch_report(r, text);
	}
	buf_free(&job);
}

void gather_trace(const struct run *r)
{
	char host[HOST_BYTES] = "", program[PATH_MAX] = "", *hosts = NULL;
	struct buf head = {0};
	MPI_Comm c = MPI_COMM_NULL;
	bool broken;

	if (r->world_rank == 0)
		hosts = calloc((size_t)r->world_size, HOST_BYTES);
	if (!agree(r, r->world_rank || hosts) || mpi.Comm_dup(mpi.world, &c) != MPI_SUCCESS) {
		free(hosts);
		return;
	}
	mpi.Comm_set_errhandler(c, MPI_ERRORS_RETURN);
	gethostname(host, sizeof(host) - 1);
	if (readlink("/proc/self/exe", program, sizeof(program) - 1) < 0)
		program[0] = '\0';
	broken = rec.broken || encode_head(r, host, program, &head) < 0;
	mpi.Gather(host, HOST_BYTES, MPI_BYTE, hosts, HOST_BYTES, MPI_BYTE, 0, c);
	if (r->world_rank == 0)
		write_file(r, c, hosts, &head, broken);
	else
		send_pages(c, &head, broken);
	free(hosts);
	buf_free(&head);
	mpi.Comm_free(&c);
}
