/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The threads of the process, from /proc: see sample_impl.h. The thread library is not used. */
#include <fcntl.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "spank/tracer/sample_impl.h"

#define LOOK_NS 100000000 /* interval between looks for new threads; a look costs about 20 us */

struct thread {
	pid_t id; /* 0: the thread has ended */
	bool seen;
};
static struct thread thread[SAMPLE_THREADS];
static uint64_t looked_ns;

static long open_file(const char *path)
{
	return syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0);
}

long sample_read_file(const char *path, char *text, long size)
{
	long fd = open_file(path), n;

	text[0] = '\0';
	if (fd < 0)
		return -1;
	n = syscall(SYS_read, fd, text, size - 1);
	syscall(SYS_close, fd);
	text[n > 0 ? n : 0] = '\0';
	return n;
}

static uint64_t parse_number(const char **p)
{
	uint64_t v = 0;

	while (**p == ' ')
		++*p;
	while (**p >= '0' && **p <= '9')
		v = v * 10 + (uint64_t)(*(*p)++ - '0');
	return v;
}

static char *put_text(char *to, const char *text)
{
	while (*text)
		*to++ = *text++;
	return to;
}

static char *put_number(char *to, uint64_t v)
{
	char digits[20];
	int n = 0;

	do
		digits[n++] = (char)('0' + v % 10);
	while (v /= 10);
	while (n)
		*to++ = digits[--n];
	return to;
}

uint64_t sample_delay_ns(pid_t id)
{
	char path[64], text[96];
	const char *p = text;

	*put_text(put_number(put_text(path, "/proc/self/task/"), (uint64_t)id), "/schedstat") = '\0';
	if (sample_read_file(path, text, sizeof(text)) <= 0)
		return UINT64_MAX;
	parse_number(&p); /* running time */
	return parse_number(&p);
}

pid_t sample_thread_id(uint32_t index)
{
	return thread[index].id;
}

pid_t sample_threads_begin(void)
{
	memset(thread, 0, sizeof(thread));
	looked_ns = 0;
	sampling.n_thread = 1;
	thread[0].id = (pid_t)syscall(SYS_gettid);
	return thread[0].id;
}

static void thread_seen(const struct sample_source *source, pid_t id)
{
	uint32_t i;

	for (i = 0; i < sampling.n_thread; i++)
		if (thread[i].id == id) {
			thread[i].seen = true;
			return;
		}
	for (i = 1; i < sampling.n_thread && thread[i].id; i++)
		; /* reuse the entry of a thread that has ended */
	if (i == SAMPLE_THREADS)
		return;
	thread[i] = (struct thread){.id = id, .seen = true};
	if (i == sampling.n_thread)
		sampling.n_thread++;
	source->thread_begin(i, id);
}

/* In the kernel's struct linux_dirent64, the length is at 16 and the name at 19. */
static void read_entries(const struct sample_source *source, const char *entries, long n)
{
	for (long at = 0; at + 19 < n;) {
		const char *name = entries + at + 19;
		uint16_t len;

		memcpy(&len, entries + at + 16, sizeof(len));
		if (*name >= '1' && *name <= '9')
			thread_seen(source, (pid_t)parse_number(&name));
		if (!len)
			return;
		at += len;
	}
}

void sample_threads_look(const struct sample_source *source, uint64_t now_ns)
{
	static char entries[4096]; /* static, since the program's stack may be small; not thread-safe */
	long fd, n;

	if (now_ns - looked_ns < LOOK_NS)
		return;
	looked_ns = now_ns;
	fd = open_file("/proc/self/task");
	if (fd < 0)
		return;
	for (uint32_t i = 1; i < sampling.n_thread; i++)
		thread[i].seen = false;
	while ((n = syscall(SYS_getdents64, fd, entries, sizeof(entries))) > 0)
		read_entries(source, entries, n);
	syscall(SYS_close, fd);
	for (uint32_t i = 1; n == 0 && i < sampling.n_thread; i++) {
		if (thread[i].seen || !thread[i].id)
			continue;
		source->thread_end(i);
		thread[i].id = 0;
	}
}
