/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Work with a deadline, in another process: see bounded.h. */
#include "spank/bounded.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define FD_CLOSE_MAX   65536
/* The caller stops waiting first, so it can tell a late answer from a process that was killed. */
#define TIMER_LATER_MS 500

/* shared with the process that works */
struct answer {
	int rc;
	struct errbuf err;
	_Alignas(max_align_t) unsigned char arg[];
};

static void close_span(unsigned first, unsigned last)
{
	struct rlimit open_files;
#ifdef SYS_close_range
	if (first > last || syscall(SYS_close_range, first, last, 0) == 0)
		return;
#endif
	if (getrlimit(RLIMIT_NOFILE, &open_files) != 0 || open_files.rlim_cur > FD_CLOSE_MAX)
		open_files.rlim_cur = FD_CLOSE_MAX;
	for (unsigned fd = first; fd <= last && fd < open_files.rlim_cur; fd++)
		close((int)fd);
}

void bounded_close(int keep, int also)
{
	const int low = keep < also ? keep : also, high = keep < also ? also : keep;
	unsigned from = 3;
	if (low >= 3) {
		close_span(from, (unsigned)low - 1);
		from = (unsigned)low + 1;
	}
	if (high >= 3 && high != low) {
		close_span(from, (unsigned)high - 1);
		from = (unsigned)high + 1;
	}
	close_span(from, UINT32_MAX);
}

static int64_t now_ms(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

bool bounded_poll(int fd, unsigned ms)
{
	struct pollfd end = {.fd = fd, .events = POLLIN};
	const int64_t until = now_ms() + ms;
	int64_t left = ms;
	int n;
	while ((n = poll(&end, 1, left > 0 ? (int)left : 0)) < 0 && errno == EINTR)
		left = until - now_ms();
	return n != 0;
}

/* The worker must not hold the caller's sockets and output. Its timer ends it where a signal can. */
static void worker(const struct bounded *b, struct answer *answer, int done)
{
	const unsigned ms = (b->ms ? b->ms : BOUNDED_MS) + TIMER_LATER_MS;
	const struct itimerval end = {.it_value = {.tv_sec = ms / 1000, .tv_usec = (suseconds_t)(ms % 1000) * 1000}};
	sigset_t alarm_alone;
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	done = fcntl(done, F_DUPFD_CLOEXEC, 3); /* sbatch may have been started without an output */
	dup2(null, STDOUT_FILENO);
	dup2(null, STDERR_FILENO);
	bounded_close(done, -1);
	signal(SIGALRM, SIG_DFL);
	sigemptyset(&alarm_alone);
	sigaddset(&alarm_alone, SIGALRM);
	sigprocmask(SIG_UNBLOCK, &alarm_alone, NULL);
	setitimer(ITIMER_REAL, &end, NULL);
	answer->rc = b->work(answer->arg, &answer->err);
	_exit(write(done, "", 1) != 1);
}

static int await_answer(const struct bounded *b, const struct answer *answer, int done, bool *late, struct errbuf *err)
{
	char byte;
	if (!b->ms)
		return 0;
	*late = !bounded_poll(done, b->ms);
	if (*late)
		return err_set(err, "%s: no answer within %u ms", b->what, b->ms);
	if (read(done, &byte, 1) != 1)
		return err_set(err, "%s: the process that looked at it was killed", b->what);
	memcpy(b->arg, answer->arg, b->size);
	*err = answer->err;
	return answer->rc;
}

int bounded_run(const struct bounded *b, bool *late, struct errbuf *err)
{
	const size_t size = sizeof(struct answer) + b->size;
	struct answer *answer = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int done[2], status, rc;
	bool unused;
	pid_t child;
	late = late ? late : &unused;
	*late = false;
	if (answer == MAP_FAILED)
		return err_set(err, "%s: no memory", b->what);
	if (pipe2(done, O_CLOEXEC) != 0) {
		munmap(answer, size);
		return err_set(err, "%s: no pipe: %s", b->what, strerror(errno));
	}
	memcpy(answer->arg, b->arg, b->size);
	child = fork();
	if (child == 0) {
		if (fork() == 0)
			worker(b, answer, done[1]);
		_exit(0);
	}
	close(done[1]);
	while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	rc = child < 0 ? err_set(err, "%s: no process: %s", b->what, strerror(errno)) : await_answer(b, answer, done[0], late, err);
	close(done[0]);
	munmap(answer, size);
	return rc;
}
