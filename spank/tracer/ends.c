/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The time of a process after MPI_Finalize: see ends.h. */
#include "spank/tracer/ends.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "spank/tracer/clock.h"
#include "spank/tracer/patience.h"
#include "spank/tracer/quiet.h"
#include "trace/format/ends.h"
#include "trace/format/page.h"

#define LEAST_NS 100000000ull /* shorter times are not written */

static struct {
	struct ends_file file;
	uint32_t rank, n_ranks;
	pid_t pid; /* the process that was traced; a child of fork has another id */
	uint64_t from_ns;
} ends;

static bool is_file(const struct stat *st)
{
	return S_ISREG(st->st_mode) && st->st_uid == geteuid() && (uint64_t)st->st_ino == ends.file.inode &&
	       (uint64_t)st->st_size == ends.file.size;
}

void ends_file_of(const char *path, struct ends_file *f)
{
	size_t n = strnlen(path, sizeof(f->path));
	struct stat st;

	*f = (struct ends_file){.written = 1};
	if (n == sizeof(f->path) || lstat(path, &st) < 0)
		return;
	memcpy(f->path, path, n + 1);
	f->inode = (uint64_t)st.st_ino;
	f->size = (uint64_t)st.st_size;
}

void ends_begin(const struct ends_file *f, uint32_t rank, uint32_t n_ranks)
{
	ends.file = *f;
	ends.rank = rank;
	ends.n_ranks = n_ranks;
	ends.pid = getpid();
}

void ends_finalized(void)
{
	if (ends.pid && !ends.from_ns)
		ends.from_ns = clock_ns(CLOCK_MONOTONIC);
}

static uint64_t after_ns;

static void write_end(void *arg)
{
	const uint64_t room = TRACE_TRAILER + (uint64_t)TRACE_END_BYTES * ends.n_ranks, packed = trace_end_pack(ends.rank, after_ns);
	int fd = open(ends.file.path, O_WRONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	struct stat st;
	struct quiet q;
	uint8_t b[TRACE_END_BYTES];

	(void)arg;
	for (int i = 0; i < TRACE_END_BYTES; i++)
		b[i] = (uint8_t)(packed >> 8 * i);
	if (fd < 0)
		return;
	quiet_begin(&q);
	if (!fstat(fd, &st) && is_file(&st))
		(void)!pwrite(fd, b, sizeof(b), (off_t)(ends.file.size - room + (uint64_t)TRACE_END_BYTES * ends.rank));
	quiet_end(&q);
	close(fd);
}

/* Runs last in a process, after its atexit functions. The file may have been moved or replaced by then. */
__attribute__((destructor)) static void tell_end(void)
{
	const uint64_t room = TRACE_TRAILER + (uint64_t)TRACE_END_BYTES * ends.n_ranks;
	int err = errno;

	if (!ends.from_ns || ends.pid != getpid() || ends.file.size < room)
		return;
	after_ns = clock_ns(CLOCK_MONOTONIC) - ends.from_ns;
	if (after_ns >= LEAST_NS)
		patience_run(write_end, NULL, SERVER_S);
	errno = err;
}
