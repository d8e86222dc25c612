/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Scratch files (--scratch DIR): one for each open file, with a unique name. It is sparse and has its final length from the
 * beginning, so that every read finds data. It is removed when it is closed or the skeleton ends.
 *
 * All of them together hold at most RANK_BYTES for each rank, and TOTAL_BYTES. Each rank lends half of its rest to the file
 * that it opens. All ranks of a file lend as much as the rank with the smallest rest. An access beyond the
 * bound happens inside it: offsets wrap around, pointers begin again, and longer accesses are shortened.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "skelgen/runtime/mpilib.h"
#include "skelgen/runtime/runtime.h"
#include "skelgen/runtime/scratch.h"
#include "skelgen/runtime/scratch_path.h"

#define RANK_BYTES  ((int64_t)256 << 20)
#define TOTAL_BYTES ((int64_t)4 << 30)
#define LEAST_BYTES 4096 /* of a rank in a file */
#define PROBE_BYTES 65536

struct scratch {
	MPI_File f;
	MPI_Comm comm;
	int open, n, rank;       /* processes of the file, and which this is */
	int pending;             /* a split call was begun: how, | PENDING */
	void *buffer;            /* of it, */
	int64_t expected;        /* and its bytes */
	uint64_t opened;         /* which opening of this process it is */
	int64_t lent, bytes;     /* this rank's part of the bound, and the bound */
	int64_t unit, room;      /* bytes of an elementary datatype; so many of these there are in the view */
	int64_t at;              /* individual pointer, in units */
	int64_t shared;          /* units that this rank moved with the shared pointer since it was set */
};

#define PENDING (1 << 30)

/* Requests of accesses under way, by slot. */
struct flight {
	MPI_Request request;
	int file; /* + 1; 0: none */
	int64_t bytes;
};

static struct {
	const char *dir;
	int on;
	struct scratch *file;
	int n, n_request;
	struct flight *flight;
	int64_t left;
	uint64_t n_opened;
	int64_t calls, bytes, shortened, failed;
	int64_t total[4]; /* these, of all ranks */
	int used;         /* and they mean something */
	int error; /* of MPI or, negative, of the system: the first failure */
} state;

void skel_scratch_set(const char *dir)
{
	state.dir = dir;
}

int skel_scratch_is_open(int k)
{
	return state.on && state.file[k].open;
}

/* ---- the directory ---- */

/* Can something be written there? 0, or errno. */
static int directory_probe(void)
{
	static const char zeros[PROBE_BYTES];
	char path[SCRATCH_PATH_BYTES];
	int fd, error = scratch_path_make(state.n, path, 0, 0);
	ssize_t n;

	if (error != 0)
		return error;
	fd = open(path, O_WRONLY | O_NOFOLLOW | O_CLOEXEC);
	n = fd >= 0 ? write(fd, zeros, sizeof zeros) : -1;
	error = n < 0 ? errno : n < (ssize_t)sizeof zeros ? ENOSPC : 0;
	if (fd >= 0 && close(fd) != 0 && error == 0)
		error = errno;
	scratch_path_forget(state.n);
	return error;
}

static int directory_see(void)
{
	struct stat st;

	if (stat(state.dir, &st) != 0)
		return errno;
	if (!S_ISDIR(st.st_mode))
		return ENOTDIR;
	if (access(state.dir, W_OK | X_OK) != 0)
		return errno;
	return skel_rank == 0 ? directory_probe() : 0;
}

void skel_scratch_begin(const struct skel_program *p)
{
	int error, most;

	if (state.dir == NULL || p->n_files == 0)
		return;
	state.n = p->n_files;
	error = scratch_paths_begin(state.dir, state.n + 1); /* and one for the directory's probe */
	if (error == 0)
		error = directory_see();
	PMPI_Allreduce(&error, &most, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
	if (most != 0) {
		if (skel_rank == 0)
			fprintf(stderr, "skeleton: no scratch files in %s: %s: calls on files are delays\n", state.dir,
				strerror(most));
		return;
	}
	state.n_request = p->n_requests;
	state.file = skel_alloc((size_t)state.n, sizeof *state.file);
	state.flight = skel_alloc((size_t)state.n_request + 1, sizeof *state.flight);
	state.left = TOTAL_BYTES / skel_size < RANK_BYTES ? TOTAL_BYTES / skel_size : RANK_BYTES;
	state.on = 1;
}

void skel_scratch_refuse(int n)
{
	if (state.on && skel_rank == 0)
		fprintf(stderr, "skeleton: no scratch files: the trace does not tell the file or datatype of %d calls: calls "
				"on files are delays\n", n);
	state.on = 0;
}

/* ---- failures ---- */

static int room_lacks(int64_t bytes)
{
	struct statvfs fs;

	return statvfs(state.dir, &fs) == 0 && fs.f_bavail * fs.f_frsize < (uint64_t)bytes + PROBE_BYTES;
}

/* What the call is for the skeleton: done or not. */
static int outcome(int rc, int64_t bytes)
{
	if (rc == MPI_SUCCESS) {
		state.calls++;
		state.bytes += bytes;
		return 1;
	}
	state.failed++;
	if (state.error == 0)
		state.error = room_lacks(bytes) ? -ENOSPC : rc;
	return 0;
}

/* Not every MPI library says of an access that it failed, but all say how much of it was done. */
static int short_of(int rc, const MPI_Status *status, int64_t bytes)
{
	MPI_Count done = 0;

	if (rc == MPI_SUCCESS && bytes > 0 &&
	    (MPILIB_GET_ELEMENTS(status, MPI_BYTE, &done) != MPI_SUCCESS || done < bytes))
		return MPI_ERR_IO;
	return rc;
}

static int failed_system(int error)
{
	state.failed++;
	if (state.error == 0)
		state.error = -error;
	return 0;
}

static void failures_say(void)
{
	int64_t mine[4] = {state.calls, state.bytes, state.shortened, state.failed};
	char text[MPI_MAX_ERROR_STRING + 1] = "";
	int n, class = 0, most;

	if (state.error > 0)
		PMPI_Error_class(state.error, &class);
	n = state.error < 0 ? (1 << 20) - state.error : class; /* what the system says, before what MPI says */
	PMPI_Allreduce(&n, &most, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
	PMPI_Reduce(mine, state.total, 4, MPI_INT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
	if (skel_rank != 0 || state.total[3] == 0)
		return;
	if (most < 1 << 20)
		PMPI_Error_string(most, text, &n);
	fprintf(stderr, "skeleton: %lld calls on scratch files in %s failed and were delays: %s\n", (long long)state.total[3],
		state.dir, most < 1 << 20 ? text : strerror(most - (1 << 20)));
}

/* ---- opening and closing ---- */

static void view_reset(struct scratch *s)
{
	s->unit = 1;
	s->room = s->bytes;
	s->at = s->shared = 0;
}

/* Tells the file's name to all of its processes, once all see the file. 0, or errno of a process that does not. */
static int file_agree(int k, char path[SCRATCH_PATH_BYTES])
{
	const struct scratch *s = &state.file[k];
	struct stat st;
	int error = 0, most;

	if (s->rank == 0)
		error = scratch_path_make(k, path, (unsigned)++state.n_opened, s->bytes);
	PMPI_Bcast(path, SCRATCH_PATH_BYTES, MPI_CHAR, 0, s->comm);
	PMPI_Bcast(&error, 1, MPI_INT, 0, s->comm);
	if (error == 0 && s->rank != 0)
		error = stat(path, &st) != 0 ? errno : st.st_size == s->bytes ? 0 : ESTALE;
	PMPI_Allreduce(&error, &most, 1, MPI_INT, MPI_MAX, s->comm);
	if (most != 0)
		scratch_path_forget(k);
	return most;
}

int skel_scratch_open(int k, MPI_Comm c, MPI_Comm own)
{
	struct scratch *s = &state.file[k];
	int64_t share = state.left / 2;
	char path[SCRATCH_PATH_BYTES] = "";
	int rc, bad, error;

	if (!state.on)
		return 0;
	memset(s, 0, sizeof *s);
	s->comm = own;
	PMPI_Comm_size(own, &s->n);
	PMPI_Comm_rank(own, &s->rank);
	PMPI_Allreduce(&share, &s->lent, 1, MPI_INT64_T, MPI_MIN, own);
	s->bytes = s->lent * s->n;
	if (s->lent < LEAST_BYTES)
		return failed_system(EMFILE);
	error = file_agree(k, path);
	if (error != 0)
		return failed_system(error);
	rc = MPI_File_open(c, path, MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &s->f);
	bad = rc != MPI_SUCCESS;
	PMPI_Allreduce(MPI_IN_PLACE, &bad, 1, MPI_INT, MPI_MAX, own);
	if (bad) { /* where others have it open it cannot be closed, which all of them would have to do */
		scratch_path_forget(k);
		return outcome(rc != MPI_SUCCESS ? rc : MPI_ERR_IO, 0);
	}
	PMPI_File_set_errhandler(s->f, MPI_ERRORS_RETURN);
	view_reset(s);
	state.left -= s->lent;
	s->opened = ++state.n_opened;
	s->open = 1;
	return outcome(rc, 0);
}

static int split_end(struct scratch *s, MPI_Status *status)
{
	int how = s->pending & ~PENDING;

	s->pending = 0;
	switch (how & (SKEL_IO_WRITE | SKEL_IO_AT | SKEL_IO_ALL | SKEL_IO_ORDERED)) {
	case SKEL_IO_AT | SKEL_IO_ALL:
		return MPI_File_read_at_all_end(s->f, s->buffer, status);
	case SKEL_IO_AT | SKEL_IO_ALL | SKEL_IO_WRITE:
		return MPI_File_write_at_all_end(s->f, s->buffer, status);
	case SKEL_IO_ALL:
		return MPI_File_read_all_end(s->f, s->buffer, status);
	case SKEL_IO_ALL | SKEL_IO_WRITE:
		return MPI_File_write_all_end(s->f, s->buffer, status);
	case SKEL_IO_ORDERED:
		return MPI_File_read_ordered_end(s->f, s->buffer, status);
	default:
		return MPI_File_write_ordered_end(s->f, s->buffer, status);
	}
}

/* Watch the access until it is over, and let go of a request that failed. */
static int request_watch(MPI_Request *q, int64_t bytes)
{
	MPI_Status status;
	int rc, over = 0;

	while (!over)
		if (PMPI_Request_get_status(*q, &over, &status) != MPI_SUCCESS)
			break;
	rc = short_of(MPI_SUCCESS, &status, bytes);
	if (rc == MPI_SUCCESS)
		return MPI_Wait(q, MPI_STATUS_IGNORE);
	PMPI_Request_free(q);
	return rc;
}

/* Wait for the access. MPICH does not go on with an access while it is watched. */
static int request_wait(MPI_Request *q, int64_t bytes)
{
	MPI_Errhandler before;
	MPI_Status status;
	int rc;

	PMPI_Comm_get_errhandler(MPI_COMM_WORLD, &before);
	PMPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
	rc = MPI_Wait(q, &status);
	rc = short_of(rc, &status, bytes);
	PMPI_Comm_set_errhandler(MPI_COMM_WORLD, before);
	PMPI_Errhandler_free(&before);
	return rc;
}

/* Wait for the access, and see how much of it was done. */
static int request_end(MPI_Request *q, int64_t bytes)
{
	return MPILIB_WAIT_IS_FATAL ? request_watch(q, bytes) : request_wait(q, bytes);
}

/* Is request i of a file still under way? */
static int flight_is_open(int i)
{
	return state.flight[i].file > 0 && req[i] != MPI_REQUEST_NULL && req[i] == state.flight[i].request;
}

static int flight_end(int i)
{
	int64_t bytes = state.flight[i].bytes;

	state.flight[i].file = 0;
	return outcome(request_end(&req[i], bytes), bytes);
}

int skel_scratch_wait(int n, const int *slot)
{
	int done = state.on;

	for (int i = 0; state.on && i < n; i++)
		if (slot[i] >= 0 && slot[i] < state.n_request && flight_is_open(slot[i]))
			done &= flight_end(slot[i]);
		else
			done &= slot[i] < 0;
	return done;
}

/* Accesses of the file that the skeleton has not waited for. */
static void flights_end(int k)
{
	for (int i = 0; i < state.n_request; i++) {
		if (state.flight[i].file != k + 1)
			continue;
		if (flight_is_open(i))
			flight_end(i);
		state.flight[i].file = 0;
	}
}

int skel_scratch_close(int k)
{
	struct scratch *s = &state.file[k];
	int rc;

	flights_end(k);
	if (s->pending)
		split_end(s, MPI_STATUS_IGNORE);
	rc = MPI_File_close(&s->f);
	s->open = 0;
	state.left += s->lent;
	scratch_path_forget(k);
	return outcome(rc, 0);
}

int skel_scratch_finish(int k)
{
	struct scratch *s = &state.file[k];
	MPI_Status status;

	return s->pending ? outcome(short_of(split_end(s, &status), &status, s->expected), s->expected) : 0;
}

/* Those that the program left open, in the order in which all of their processes opened them. */
static void files_close(void)
{
	for (;;) {
		int first = -1;

		for (int k = 0; k < state.n; k++)
			if (state.file[k].open && (first < 0 || state.file[k].opened < state.file[first].opened))
				first = k;
		if (first < 0)
			return;
		skel_scratch_close(first);
	}
}

void skel_scratch_end(void)
{
	if (state.on) {
		files_close();
		failures_say();
		state.used = 1;
	}
	scratch_paths_end();
	state.on = 0;
	state.n = 0;
	free(state.file);
	free(state.flight);
	state.file = NULL;
	state.flight = NULL;
}

void skel_scratch_print(FILE *f)
{
	if (state.used)
		fprintf(f, "scratch %lld %lld %lld %lld\n", (long long)state.total[0], (long long)state.total[1],
			(long long)state.total[2], (long long)state.total[3]);
}

/* ---- views, pointers, sizes ---- */

int skel_scratch_sync(int k)
{
	return outcome(MPI_File_sync(state.file[k].f), 0);
}

int skel_scratch_atomicity(int k, int flag)
{
	return outcome(MPI_File_set_atomicity(state.file[k].f, flag != 0), 0);
}

int skel_scratch_size(int k, int allocate, int64_t size)
{
	struct scratch *s = &state.file[k];

	if (!allocate) /* as long as it was, so that reads find something */
		return outcome(MPI_File_set_size(s->f, s->bytes), 0);
	return outcome(MPI_File_preallocate(s->f, size < 0 ? 0 : size < s->bytes ? size : s->bytes), 0);
}

/* A view whose filetype is longer than the file is one of this rank's part of the file, without gaps. */
int skel_scratch_view(int k, int64_t disp, MPI_Datatype unit, MPI_Datatype t)
{
	struct scratch *s = &state.file[k];
	MPI_Aint lb, extent, low, span;
	int unit_size, size, rc;
	int64_t tile, last, room;

	PMPI_Type_size(unit, &unit_size);
	PMPI_Type_size(t, &size);
	PMPI_Type_get_extent(t, &lb, &extent);
	PMPI_Type_get_true_extent(t, &low, &span);
	if (unit_size <= 0) {
		unit = MPI_BYTE;
		unit_size = 1;
	}
	tile = low + span > extent ? low + span : extent;
	if (size <= 0 || size % unit_size != 0 || low < 0 || extent < size || tile > s->bytes) {
		t = unit;
		room = s->lent / unit_size;
		disp = s->lent * s->rank;
		state.shortened++;
	} else {
		last = tile <= s->bytes / 2 ? s->bytes / 2 : s->bytes - tile;
		disp = disp < 0 ? 0 : disp <= last ? disp : disp % (last + 1);
		room = ((s->bytes - disp - tile) / extent + 1) * (size / unit_size);
	}
	rc = MPI_File_set_view(s->f, disp, unit, t, "native", MPI_INFO_NULL);
	if (rc == MPI_SUCCESS) {
		s->unit = unit_size;
		s->room = room > 0 ? room : 0;
		s->at = s->shared = 0;
	}
	return outcome(rc, 0);
}

static int64_t wrapped(int64_t offset, int64_t room)
{
	return offset <= 0 || room <= 0 ? 0 : offset <= room ? offset : offset % room;
}

int skel_scratch_seek(int k, int64_t offset, int whence)
{
	struct scratch *s = &state.file[k];
	int64_t from = whence == MPI_SEEK_CUR ? s->at : whence == MPI_SEEK_END ? s->room : 0;

	s->at = wrapped(offset > INT64_MAX - from ? 0 : from + offset, s->room);
	return outcome(MPI_File_seek(s->f, s->at, MPI_SEEK_SET), 0);
}

/* Where the shared pointer is, nobody knows without asking: relative to that, it begins again. */
int skel_scratch_seek_shared(int k, int64_t offset, int whence)
{
	struct scratch *s = &state.file[k];
	int64_t to = whence == MPI_SEEK_SET ? wrapped(offset, s->room) : 0;

	s->shared = (to + s->n - 1) / s->n;
	return outcome(MPI_File_seek_shared(s->f, to, MPI_SEEK_SET), 0);
}

/* ---- reading and writing ---- */

struct access {
	MPI_File f;
	MPI_Offset offset;
	void *buffer;
	int count;
	MPI_Datatype t;
	MPI_Request *q;
	MPI_Status *status;
};

#define AT_DO(what)    MPI_File_##what(a->f, a->offset, a->buffer, a->count, a->t, a->status)
#define AT_BEGIN(what) MPI_File_##what(a->f, a->offset, a->buffer, a->count, a->t)
#define AT_START(what) MPI_File_##what(a->f, a->offset, a->buffer, a->count, a->t, a->q)
#define DO(what)       MPI_File_##what(a->f, a->buffer, a->count, a->t, a->status)
#define BEGIN(what)    MPI_File_##what(a->f, a->buffer, a->count, a->t)
#define START(what)    MPI_File_##what(a->f, a->buffer, a->count, a->t, a->q)

static int access_start(int how, const struct access *a)
{
	switch (how & (SKEL_IO_WRITE | SKEL_IO_AT | SKEL_IO_ALL | SKEL_IO_SHARED)) {
	case SKEL_IO_AT:
		return AT_START(iread_at);
	case SKEL_IO_AT | SKEL_IO_WRITE:
		return AT_START(iwrite_at);
	case SKEL_IO_AT | SKEL_IO_ALL:
		return AT_START(iread_at_all);
	case SKEL_IO_AT | SKEL_IO_ALL | SKEL_IO_WRITE:
		return AT_START(iwrite_at_all);
	case SKEL_IO_ALL:
		return START(iread_all);
	case SKEL_IO_ALL | SKEL_IO_WRITE:
		return START(iwrite_all);
	case SKEL_IO_SHARED:
		return START(iread_shared);
	case SKEL_IO_SHARED | SKEL_IO_WRITE:
		return START(iwrite_shared);
	case SKEL_IO_WRITE:
		return START(iwrite);
	default:
		return START(iread);
	}
}

static int access_begin(int how, const struct access *a)
{
	switch (how & (SKEL_IO_WRITE | SKEL_IO_AT | SKEL_IO_ORDERED)) {
	case SKEL_IO_AT:
		return AT_BEGIN(read_at_all_begin);
	case SKEL_IO_AT | SKEL_IO_WRITE:
		return AT_BEGIN(write_at_all_begin);
	case SKEL_IO_ORDERED:
		return BEGIN(read_ordered_begin);
	case SKEL_IO_ORDERED | SKEL_IO_WRITE:
		return BEGIN(write_ordered_begin);
	case SKEL_IO_WRITE:
		return BEGIN(write_all_begin);
	default:
		return BEGIN(read_all_begin);
	}
}

static int access_do(int how, const struct access *a)
{
	switch (how & (SKEL_IO_WRITE | SKEL_IO_AT | SKEL_IO_ALL | SKEL_IO_SHARED | SKEL_IO_ORDERED)) {
	case SKEL_IO_AT:
		return AT_DO(read_at);
	case SKEL_IO_AT | SKEL_IO_WRITE:
		return AT_DO(write_at);
	case SKEL_IO_AT | SKEL_IO_ALL:
		return AT_DO(read_at_all);
	case SKEL_IO_AT | SKEL_IO_ALL | SKEL_IO_WRITE:
		return AT_DO(write_at_all);
	case SKEL_IO_ALL:
		return DO(read_all);
	case SKEL_IO_ALL | SKEL_IO_WRITE:
		return DO(write_all);
	case SKEL_IO_SHARED:
		return DO(read_shared);
	case SKEL_IO_SHARED | SKEL_IO_WRITE:
		return DO(write_shared);
	case SKEL_IO_ORDERED:
		return DO(read_ordered);
	case SKEL_IO_ORDERED | SKEL_IO_WRITE:
		return DO(write_ordered);
	case SKEL_IO_WRITE:
		return DO(write);
	default:
		return DO(read);
	}
}

/* Where n of the units at `offset` lie inside the view: accesses of one length keep apart as long as there is room. */
static int64_t offset_inside(const struct scratch *s, int64_t offset, int64_t n)
{
	int64_t places;

	if (offset < 0 || n <= 0)
		return 0;
	if (offset <= s->room - n)
		return offset;
	places = (s->room - offset % n) / n;
	return places > 0 ? offset / n % places * n + offset % n : 0;
}

/* Find the place of n units; how the access is made then. */
static int access_place(struct scratch *s, int how, int64_t n, MPI_Offset *offset)
{
	int over;

	if (how & SKEL_IO_AT) {
		*offset = offset_inside(s, *offset, n);
	} else if (how & SKEL_IO_ORDERED) {
		over = s->shared + n > s->room / s->n;
		PMPI_Allreduce(MPI_IN_PLACE, &over, 1, MPI_INT, MPI_MAX, s->comm);
		if (over) {
			PMPI_File_seek_shared(s->f, 0, MPI_SEEK_SET);
			s->shared = 0;
		}
		s->shared += n;
	} else if (how & SKEL_IO_SHARED) {
		if (s->shared + n > s->room / s->n) { /* alone, a process cannot set the pointer */
			*offset = 0;
			return (how & ~SKEL_IO_SHARED) | SKEL_IO_AT;
		}
		s->shared += n;
	} else {
		if (s->at + n > s->room) {
			PMPI_File_seek(s->f, 0, MPI_SEEK_SET);
			s->at = 0;
		}
		s->at += n;
	}
	return how;
}

int skel_scratch_access(int k, int how, int64_t offset, int64_t count, MPI_Datatype t, MPI_Request *q)
{
	struct scratch *s = &state.file[k];
	int size = 0, begin = (how & SKEL_IO_BEGIN) != 0, rc;
	int64_t room = how & (SKEL_IO_SHARED | SKEL_IO_ORDERED) ? s->room / s->n : s->room, most, slot, bytes;
	MPI_Status status;
	struct access a = {.f = s->f, .offset = offset, .t = t, .q = q, .status = &status};

	PMPI_Type_size(t, &size);
	most = size > 0 ? room * s->unit / size : INT32_MAX;
	most = most < INT32_MAX ? most : INT32_MAX;
	state.shortened += count > most;
	a.count = (int)(count < 0 ? 0 : count < most ? count : most);
	if (begin && s->pending)
		split_end(s, MPI_STATUS_IGNORE);
	how = access_place(s, how, ((int64_t)a.count * size + s->unit - 1) / s->unit, &a.offset);
	slot = q != NULL ? SKEL_SLOT(q - req) : begin ? SKEL_SLOT((int64_t)state.n_request + k) : 0;
	a.buffer = skel_buf((int)slot + !(how & SKEL_IO_WRITE), a.count, t);
	if (q != NULL && flight_is_open((int)(q - req)))
		flight_end((int)(q - req));
	bytes = (int64_t)a.count * size;
	if (q == NULL && !begin)
		return outcome(short_of(access_do(how, &a), &status, bytes), bytes);
	/* In MPICH a write that finds no room never ends. */
	if (q != NULL && (how & SKEL_IO_WRITE) && !(how & SKEL_IO_ALL) && room_lacks(bytes * s->n))
		return failed_system(ENOSPC);
	rc = begin ? access_begin(how, &a) : access_start(how, &a);
	if (rc != MPI_SUCCESS && q != NULL)
		*q = MPI_REQUEST_NULL;
	else if (q != NULL)
		state.flight[q - req] = (struct flight){*q, k + 1, bytes};
	else if (rc == MPI_SUCCESS) {
		s->pending = how | PENDING;
		s->buffer = a.buffer;
		s->expected = bytes;
	}
	return outcome(rc, 0);
}
