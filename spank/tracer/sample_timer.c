/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Samples by timers, for nodes whose kernel forbids perf_event_open to users. Each thread has a timer of its time in user
 * mode; a signal handler stores program counter and registers.
 *
 * The signal is 32, which the GNU C library reserves for itself (SIGCANCEL). Its sigaction and sigwait reject this
 * number, and no signal set contains it. So a program cannot handle, block or await the signal. A signal 32 that does not
 * come from the tracer's timers is passed on to the handler that was there. Sampling is off in these cases:
 *
 * - Kernels without scheduler ticks (nohz_full). With ticks, a timer expires only when a tick finds the thread in user
 *   mode, so that its signal never interrupts a system call.
 *
 * - Threads with an alternate stack of common size. The handler runs on the thread's own stack, since an alternate stack
 *   may be too small. In runtimes such as Go, the thread's own stack may be too small.
 *
 * Only the handler restarts a timer.
 */
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include "common/arch/arch.h"
#include "spank/tracer/caller.h"
#include "spank/tracer/clock.h"
#include "spank/tracer/record.h"
#include "spank/tracer/sample_impl.h"

#if ARCH_SAMPLES

#define SAMPLE_SIGNAL 32
/* bytes; crash handlers (UCX) have larger alternate stacks, runtimes have 8 to 32 KiB */
#define STACK_LEAST   (64u << 10)
/* of the watch: short first, so that short runs have places; then so long that its cost does not matter */
#define WATCH_FIRST_NS 125000000ull
#define WATCH_MOST_NS  2000000000ull
#define MAGIC         0x50524500 /* in the timers' values, besides the index of the thread */

/* The kernel's structure, since the C library rejects signal 32. */
struct kernel_action {
	void (*handler)(int no, siginfo_t *info, void *context);
	unsigned long flags;
	void (*restorer)(void);
	unsigned long mask;
};
#define RESTORER 0x04000000ul

static struct kernel_action before; /* the handler before */
static atomic_bool running;
static atomic_flag storing = ATOMIC_FLAG_INIT; /* a thread that finds it set drops its sample */
static int timer[SAMPLE_THREADS];
static uint64_t watch_ns; /* period of the watch; 0: this is the source of samples */
static uint64_t delay_seen_ns[SAMPLE_THREADS];

void sample_restore(void) __attribute__((visibility("hidden")));
ARCH_SIGRETURN("sample_restore");

static long action(const struct kernel_action *set, struct kernel_action *get)
{
	return syscall(SYS_rt_sigaction, SAMPLE_SIGNAL, set, get, sizeof(set->mask));
}

/* ---- timers ---- */

static void arm_timer(int t)
{
	uint64_t period = watch_ns ? watch_ns : sampling.period_ns;
	/* A little less than a whole number of scheduler ticks, to avoid waiting for one more. */
	uint64_t ns = period - period / 32;
	struct itimerspec when = {.it_value = {.tv_sec = (time_t)(ns / 1000000000ull), .tv_nsec = (long)(ns % 1000000000ull)}};

	syscall(SYS_timer_settime, t, 0, &when, NULL);
}

static void thread_begin(uint32_t index, pid_t id)
{
	struct sigevent e = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SAMPLE_SIGNAL,
			     .sigev_value.sival_int = MAGIC | (int)index};
	clockid_t user_time = (clockid_t)(~(unsigned)id << 3 | 5u); /* CPUCLOCK_VIRT, CPUCLOCK_PERTHREAD */

	e._sigev_un._tid = id;
	delay_seen_ns[index] = sample_delay_ns(id);
	if (syscall(SYS_timer_create, user_time, &e, &timer[index]) < 0)
		timer[index] = -1;
	else
		arm_timer(timer[index]);
}

static void thread_end(uint32_t index)
{
	if (timer[index] >= 0)
		syscall(SYS_timer_delete, timer[index]);
	timer[index] = -1;
}

/* ---- the handler ---- */

static bool has_small_stack(void)
{
	stack_t s;

	return syscall(SYS_sigaltstack, NULL, &s) < 0 || (!(s.ss_flags & SS_DISABLE) && s.ss_size < STACK_LEAST);
}

/* The part of the time off the processor in which the thread waited for a processor. */
static uint64_t delay_part_ns(uint32_t index, uint64_t off)
{
	uint64_t now, seen = delay_seen_ns[index];

	if (!off)
		return 0;
	now = sample_delay_ns((pid_t)syscall(SYS_gettid));
	delay_seen_ns[index] = now;
	return now == UINT64_MAX || now < seen ? 0 : now - seen; /* without schedstat, both are UINT64_MAX */
}

static bool is_in_mpi(uint32_t index)
{
	return rec_self.depth || rec_polls.n >= REC_POLL_INSIDE || (index && rec.live->enter_tick);
}

/* For readers of the spill file, if the process is killed before its next call. */
static void store_place(const ucontext_t *u)
{
	struct spill_live *live = rec.live;
	uint64_t pc = (uint64_t)u->uc_mcontext.gregs[ARCH_UCONTEXT_PC], sp = (uint64_t)u->uc_mcontext.gregs[ARCH_UCONTEXT_SP];

	live->place[live->n_place % SPILL_PLACES_MAX] =
		(struct spill_place){rec.n_events, pc, sp >= rec_self.stack_lo ? caller_find(pc, sp, rec_self.stack_hi) : 0};
	__atomic_store_n(&live->n_place, live->n_place + 1, __ATOMIC_RELEASE);
}

static void store(uint32_t index, const ucontext_t *u)
{
	static const uint8_t reg[TSAMPLE_REGS] = ARCH_UCONTEXT_REGS;
	struct sample_look look = {.event = rec.n_events, .tick = clock_ticks() - rec.start,
				   .cpu_ns = clock_true_ns(CLOCK_THREAD_CPUTIME_ID),
				   .wall_ns = clock_true_ns(CLOCK_MONOTONIC),
				   .pc = (uint64_t)u->uc_mcontext.gregs[ARCH_UCONTEXT_PC]};

	if (is_in_mpi(index))
		look.flags = TSAMPLE_IN_MPI;
	else if (index == 0)
		store_place(u);
	look.delayed_ns = delay_part_ns(index, sample_off_ns(index, look.cpu_ns, look.wall_ns));
	if (index == 0)
		counters_take(&sampling.counters, look.counter);
	for (int i = 0; i < TSAMPLE_REGS; i++)
		look.reg[i] = (uint64_t)u->uc_mcontext.gregs[reg[i]];
	sample_keep(index, &look);
	if (index == 0)
		sample_threads_look(&sample_timer, look.wall_ns);
}

/* A foreign signal: call the handler that was there before. */
static void pass_signal_on(int no, siginfo_t *info, void *context)
{
	if (before.handler == (void *)SIG_DFL) {
		action(&before, NULL);
		syscall(SYS_tgkill, getpid(), syscall(SYS_gettid), no);
	} else if (before.handler != (void *)SIG_IGN) {
		before.handler(no, info, context);
	}
}

/* The stack is aligned here, since qemu-user starts handlers with a stack that is off by 8 bytes. */
__attribute__((force_align_arg_pointer)) static void on_signal(int no, siginfo_t *info, void *context)
{
	uint32_t index = (uint32_t)info->si_value.sival_int ^ MAGIC;
	int err = errno;

	if (info->si_code != SI_TIMER || index >= SAMPLE_THREADS) {
		pass_signal_on(no, info, context);
		return;
	}
	if (!atomic_load(&running) || has_small_stack())
		return;
	if (!atomic_flag_test_and_set_explicit(&storing, memory_order_acquire)) {
		if (rec.on && atomic_load(&running) && !watch_ns)
			store(index, context);
		else if (rec.on && atomic_load(&running) && !is_in_mpi(index))
			store_place(context);
		atomic_flag_clear_explicit(&storing, memory_order_release);
	}
	/* A late signal was blocked: the thread blocks even this signal, so its timer is not armed again. */
	if (watch_ns && watch_ns < WATCH_MOST_NS)
		watch_ns *= 2;
	if (info->si_overrun == 0 && atomic_load(&running))
		arm_timer(timer[index]);
	errno = err;
}

/* ---- begin and end ---- */

/* Does the kernel account time by ticks? Then a timer of user time expires in user mode only. */
static bool is_by_ticks(void)
{
	char text[16];

	/* "(null)": no such processors */
	return sample_read_file("/sys/devices/system/cpu/nohz_full", text, sizeof(text)) <= 0 || strchr("\n( ", text[0]);
}

/* Set up everything but the timers. */
static int handler_begin(struct errbuf *err)
{
	struct kernel_action ours = {.handler = on_signal, .flags = SA_SIGINFO | SA_RESTART | RESTORER,
				     .restorer = sample_restore, .mask = ~0ul};
	struct kernel_action now;

	if (!is_by_ticks())
		return err_set(err, "timers: this kernel runs without scheduler ticks (nohz_full)");
	if (has_small_stack())
		return err_set(err, "timers: the program has a small alternate stack for signals");
	if (action(NULL, &now) < 0 || (now.handler != on_signal && (before = now, action(&ours, NULL)) < 0))
		return err_set(err, "timers: %s", strerror(errno));
	for (uint32_t i = 0; i < SAMPLE_THREADS; i++)
		timer[i] = -1;
	caller_begin();
	atomic_store(&running, true);
	return 0;
}

static int timer_begin(struct errbuf *err)
{
	watch_ns = 0;
	if (handler_begin(err) < 0)
		return -1;
	thread_begin(0, sample_threads_begin());
	return 0;
}

/* The handler stays: a signal in transit would otherwise end the process. */
static void timer_end(void)
{
	atomic_store(&running, false);
	while (atomic_flag_test_and_set_explicit(&storing, memory_order_acquire))
		; /* wait for a handler of another thread to leave */
	for (uint32_t i = 0; i < SAMPLE_THREADS; i++)
		thread_end(i);
	atomic_flag_clear_explicit(&storing, memory_order_release);
}

void sample_watch_begin(void)
{
	struct errbuf none;

	watch_ns = 0;
	if (handler_begin(&none) < 0)
		return; /* timer[] is not valid */
	watch_ns = WATCH_FIRST_NS;
	thread_begin(0, (pid_t)syscall(SYS_gettid));
}

void sample_watch_end(void)
{
	if (watch_ns)
		timer_end();
}

const struct sample_source sample_timer = {"timer", timer_begin, thread_begin, thread_end, delay_part_ns, timer_end};

#endif
