/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Samples: see sample.h. Whatever runs in the handler makes system calls directly and takes no lock but its own. */
#include "spank/tracer/sample.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include "spank/tracer/clock.h"
#include "spank/tracer/counters.h"
#include "spank/tracer/record.h"
#include "spank/tracer/sample_impl.h"

#if defined(__x86_64__)

#define HZ_DEFAULT  256
#define HZ_MAX      1000
#define ALL_RANKS   (1u << 18)  /* samples of a run, about: a rank of many has fewer, */
#define RANK_LEAST  256         /* but so many, */
#define RANK_MOST   4096        /* and no more than that */
#define SCAN_NS     100000000   /* between two looks for new threads */
#define LATE_NS     1000000     /* longer off the processor: was it asleep? */

/* Ignored by default: one still on its way when a program resets its signals must not end the program. */
#define SAMPLE_SIGNAL SIGURG

struct sample_state sampling;
static struct counters counters;

/* Held by the handler while it stores; a thread that finds it taken drops its sample. */
static atomic_flag storing = ATOMIC_FLAG_INIT;
static atomic_bool running;
static uint64_t interval_ns;
static uint64_t looked_ns; /* for new threads */

struct thread {
	pid_t id;
	int timer;
	bool seen;
	uint64_t cpu_ns, wall_ns, delay_ns; /* at the last sample */
};
/* All under `storing`. */
static struct thread thread[SAMPLE_THREADS];

/* ---- system calls, as a handler may make them ---- */

static long call_open(const char *path)
{
	return syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0);
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

/* How long the calling thread has waited for a processor in all; UINT64_MAX where the kernel does not say. */
static uint64_t delay_now(void)
{
	char text[96];
	const char *p = text;
	long fd = call_open("/proc/thread-self/schedstat"), n;

	if (fd < 0)
		return UINT64_MAX;
	n = syscall(SYS_read, fd, text, sizeof(text) - 1);
	syscall(SYS_close, fd);
	if (n <= 0)
		return UINT64_MAX;
	text[n] = '\0';
	parse_number(&p);
	return parse_number(&p);
}

static void arm(int timer)
{
	struct itimerspec t = {.it_value = {.tv_sec = (time_t)(interval_ns / 1000000000ull),
					    .tv_nsec = (long)(interval_ns % 1000000000ull)}};

	syscall(SYS_timer_settime, timer, 0, &t, NULL);
}

/* A timer of this thread's time in user mode, armed; -1 when there is none to be had. */
static int timer_of(pid_t id, uint32_t index)
{
	struct sigevent e = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SAMPLE_SIGNAL,
			     .sigev_value.sival_int = (int)index};
	clockid_t user_time = (clockid_t)(~(unsigned)id << 3 | 5u); /* CPUCLOCK_VIRT, CPUCLOCK_PERTHREAD */
	int timer;

	e._sigev_un._tid = id;
	if (syscall(SYS_timer_create, user_time, &e, &timer) < 0)
		return -1;
	arm(timer);
	return timer;
}

/* ---- threads ---- */

static void thread_seen(pid_t id)
{
	uint32_t i;

	for (i = 0; i < sampling.n_thread; i++)
		if (thread[i].id == id) {
			thread[i].seen = true;
			return;
		}
	for (i = 1; i < sampling.n_thread && thread[i].id; i++)
		; /* the place of one that has ended */
	if (i == SAMPLE_THREADS)
		return;
	thread[i] = (struct thread){.id = id, .seen = true, .timer = timer_of(id, i)};
	if (i == sampling.n_thread)
		sampling.n_thread++;
}

/* The kernel's struct linux_dirent64 has its length at 16 and the name at 19. */
static void threads_list(const char *entries, long n)
{
	for (long at = 0; at + 19 < n;) {
		const char *name = entries + at + 19;
		uint16_t len;

		memcpy(&len, entries + at + 16, sizeof(len));
		if (*name >= '1' && *name <= '9')
			thread_seen((pid_t)parse_number(&name));
		if (!len)
			return;
		at += len;
	}
}

static void threads_look(void)
{
	long fd = call_open("/proc/self/task"), n;
	char entries[4096];

	if (fd < 0)
		return;
	for (uint32_t i = 1; i < sampling.n_thread; i++)
		thread[i].seen = false;
	while ((n = syscall(SYS_getdents64, fd, entries, sizeof(entries))) > 0)
		threads_list(entries, n);
	syscall(SYS_close, fd);
	for (uint32_t i = 1; n == 0 && i < sampling.n_thread; i++) {
		if (thread[i].seen || !thread[i].id)
			continue;
		if (thread[i].timer >= 0)
			syscall(SYS_timer_delete, thread[i].timer);
		thread[i].id = 0;
	}
}

/* ---- storing ---- */

/* What the thread did with its time since it was seen last. */
static void measure(struct trace_sample *s, struct thread *t)
{
	uint64_t cpu = clock_true_ns(CLOCK_THREAD_CPUTIME_ID), wall = clock_true_ns(CLOCK_MONOTONIC), off, delay;

	if (t->wall_ns) {
		s->cpu_ns = cpu - t->cpu_ns;
		off = wall - t->wall_ns > s->cpu_ns ? wall - t->wall_ns - s->cpu_ns : 0;
		if (off > LATE_NS) {
			delay = delay_now();
			s->delayed_ns = delay < t->delay_ns ? 0 : delay - t->delay_ns;
			s->delayed_ns = s->delayed_ns < off ? s->delayed_ns : off;
			s->asleep_ns = off - s->delayed_ns;
			t->delay_ns = delay;
		}
	} else {
		t->delay_ns = delay_now();
	}
	t->cpu_ns = cpu;
	t->wall_ns = wall;
}

/* u: where it was, or NULL at a border. */
static void store(uint32_t index, const ucontext_t *u, uint8_t flags)
{
	static const uint8_t reg[TSAMPLE_REGS] = {REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP, REG_RSI, REG_RDI,
						  REG_R8, REG_R9, REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15};
	struct sample_kept *k;
	struct trace_sample *s;

	if (sampling.n == sampling.room) {
		sample_thin(sampling.kept, &sampling.n);
		interval_ns *= 2;
		sampling.period_ns *= 2;
	}
	k = &sampling.kept[sampling.n];
	*k = (struct sample_kept){.s = {.event = rec.n_events, .tick = clock_ticks() - rec.start, .thread = index,
					.flags = flags}};
	s = &k->s;
	/* Processors' clocks may differ by a little. */
	if (sampling.n && s->tick < k[-1].s.tick)
		s->tick = k[-1].s.tick;
	if (sampling.n && s->event < k[-1].s.event)
		s->event = k[-1].s.event;
	measure(s, &thread[index]);
	if (index == 0)
		counters_take(&counters, s->counter);
	for (int i = 0; u && i < TSAMPLE_REGS; i++)
		s->reg[i] = (uint64_t)u->uc_mcontext.gregs[reg[i]];
	k->pc = u ? (uint64_t)u->uc_mcontext.gregs[REG_RIP] : 0;
	sampling.n++;
}

static bool scan_is_due(void)
{
	uint64_t now = thread[0].wall_ns; /* as just measured */

	if (now - looked_ns < SCAN_NS)
		return false;
	looked_ns = now;
	return true;
}

static void on_signal(int no, siginfo_t *info, void *context);

/* Has the program taken the signal over? Then it gets no more of ours. */
static bool is_ours(void)
{
	struct sigaction now;

	return sigaction(SAMPLE_SIGNAL, NULL, &now) == 0 && (now.sa_flags & SA_SIGINFO) && now.sa_sigaction == on_signal;
}

/*
 * Aligns its stack itself: qemu-user begins handlers with one that is 8 bytes off, and the first 16 bytes that are stored
 * there at once would fault.
 */
__attribute__((force_align_arg_pointer))
static void on_signal(int no, siginfo_t *info, void *context)
{
	uint32_t index = (uint32_t)info->si_value.sival_int;
	int err = errno;

	(void)no;
	if (info->si_code != SI_TIMER || index >= SAMPLE_THREADS || !atomic_load(&running))
		return;
	if (!atomic_flag_test_and_set_explicit(&storing, memory_order_acquire)) {
		/* A timer that comes late was held back: this thread blocks signals, and might await them. */
		bool again = info->si_overrun == 0 && is_ours() && atomic_load(&running);

		if (rec.on && again) {
			store(index, context, rec_self.depth || rec_polls.n >= REC_POLL_INSIDE || (index && rec.live->enter_tick) ? TSAMPLE_IN_MPI : 0);
			if (index == 0 && scan_is_due())
				threads_look();
		}
		atomic_flag_clear_explicit(&storing, memory_order_release);
		if (again)
			arm(thread[index].timer);
	} else {
		arm(thread[index].timer);
	}
	errno = err;
}

/* ---- begin and end ---- */

/* On these systems a timer of time in user mode expires in user mode only. */
static bool is_by_ticks(void)
{
	long fd = call_open("/sys/devices/system/cpu/nohz_full");
	char text[16] = "";
	long n;

	if (fd < 0)
		return true;
	n = syscall(SYS_read, fd, text, sizeof(text) - 1);
	syscall(SYS_close, fd);
	return n <= 0 || text[0] == '\n' || text[0] == '(' || text[0] == ' '; /* "(null)" */
}

/* Another profiler is at work, which must not see that there are two. */
static bool is_profiled(void)
{
	struct itimerval t;
	struct sigaction a;

	if (sigaction(SIGPROF, NULL, &a) == 0 && a.sa_handler != SIG_DFL && a.sa_handler != SIG_IGN)
		return true;
	return (getitimer(ITIMER_PROF, &t) == 0 && (t.it_value.tv_sec || t.it_value.tv_usec)) ||
	       (getitimer(ITIMER_VIRTUAL, &t) == 0 && (t.it_value.tv_sec || t.it_value.tv_usec));
}

/* Has the program a use for the signal already, or does it block it? */
static bool is_taken(void)
{
	struct sigaction a;
	sigset_t blocked;

	return sigaction(SAMPLE_SIGNAL, NULL, &a) || (a.sa_flags & SA_SIGINFO) || a.sa_handler != SIG_DFL ||
	       pthread_sigmask(SIG_SETMASK, NULL, &blocked) || sigismember(&blocked, SAMPLE_SIGNAL);
}

static uint64_t wanted_hz(void)
{
	const char *s = getenv("PRECEDENT_TRACE_SAMPLE");
	char *end;
	unsigned long v;

	if (!s || !*s)
		return HZ_DEFAULT;
	v = strtoul(s, &end, 10);
	if (end == s || *end)
		return HZ_DEFAULT;
	return v < HZ_MAX ? v : HZ_MAX;
}

static uint32_t room_of(uint32_t n_ranks)
{
	uint32_t n = ALL_RANKS / (n_ranks ? n_ranks : 1);

	return n < RANK_LEAST ? RANK_LEAST : n > RANK_MOST ? RANK_MOST : n;
}

void sample_begin(uint32_t rank, uint32_t n_ranks)
{
	struct sigaction a = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK};
	uint64_t hz = wanted_hz();
	uint32_t room = room_of(n_ranks);
	void *p;

	sampling = (struct sample_state){.rank = rank, .room = room, .n_thread = 1};
	if (!hz || !is_by_ticks() || is_profiled() || is_taken())
		return;
	p = mmap(NULL, room * sizeof(struct sample_kept), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED)
		return;
	sampling.kept = p;
	/* A little less than a number of ticks, whatever their length: not to wait for one more. */
	sampling.period_ns = 1000000000ull / hz;
	interval_ns = sampling.period_ns - sampling.period_ns / 32;
	sigfillset(&a.sa_mask); /* one signal at a time on this stack */
	if (sigaction(SAMPLE_SIGNAL, &a, NULL)) {
		sample_free();
		return;
	}
	counters_open(&counters);
	sampling.counters = counters.have;
	looked_ns = 0;
	memset(thread, 0, sizeof(thread));
	store(0, NULL, TSAMPLE_BORDER);
	atomic_store(&running, true);
	thread[0].id = (pid_t)syscall(SYS_gettid);
	thread[0].timer = timer_of(thread[0].id, 0);
}

void sample_end(void)
{
	struct sigaction a = {.sa_handler = SIG_IGN};

	if (!sampling.kept || !atomic_exchange(&running, false))
		return;
	while (atomic_flag_test_and_set_explicit(&storing, memory_order_acquire))
		; /* a handler of another thread is about to leave */
	for (uint32_t i = 0; i < sampling.n_thread; i++)
		if (thread[i].id && thread[i].timer >= 0)
			syscall(SYS_timer_delete, thread[i].timer);
	store(0, NULL, TSAMPLE_BORDER);
	if (is_ours()) {
		/* What is still on its way finds nobody; then all is as it was. */
		sigaction(SAMPLE_SIGNAL, &a, NULL);
		a.sa_handler = SIG_DFL;
		sigaction(SAMPLE_SIGNAL, &a, NULL);
	}
	counters_close(&counters);
}

void sample_free(void)
{
	if (sampling.kept)
		munmap(sampling.kept, sampling.room * sizeof(*sampling.kept));
	sampling.kept = NULL;
}

#else /* registers of other processors cannot be decoded */

struct sample_state sampling;

void sample_begin(uint32_t rank, uint32_t n_ranks)
{
	(void)rank;
	(void)n_ranks;
}

void sample_end(void)
{
}

void sample_free(void)
{
}

#endif
