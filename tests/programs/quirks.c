/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Programs that could disturb a tracer or be disturbed by it. Each mode makes 50 calls of MPI_Allreduce from one
 * place and prints its observations, which must not depend on tracing. Usage: quirks MODE [ARGUMENT]
 */
#include <errno.h>
#include <fcntl.h>
#include <mpi.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

extern char **environ;

static int rank, size, calls = 50;
static const char *argument = "";

static void compute(double seconds)
{
	double end = MPI_Wtime() + seconds;

	while (MPI_Wtime() < end)
		;
}

static __attribute__((noinline)) void exchange(int n)
{
	for (int i = 0; i < n; i++) {
		int one = 1, sum = 0;

		MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
		if (sum != size)
			printf("rank %d: wrong sum %d\n", rank, sum);
	}
}

static void say(const char *what, long n)
{
	printf("rank %d: %s %ld\n", rank, what, n);
}

/* ---- signals ---- */

static volatile sig_atomic_t got[NSIG];

static void count(int no)
{
	got[no]++;
}

static long all_got(void)
{
	long n = 0;

	for (int i = 1; i < NSIG; i++)
		n += got[i];
	return n;
}

/* Handle every possible signal. */
static void every(void)
{
	struct sigaction a = {.sa_handler = count};

	for (int i = 1; i < NSIG; i++)
		if (i != SIGCHLD && i != SIGKILL && i != SIGSTOP)
			sigaction(i, &a, NULL);
	compute(0.5);
	exchange(calls);
	raise(SIGURG);
	raise(SIGUSR1);
	raise(SIGRTMAX);
	say("signals", all_got());
	for (int i = 1; i < NSIG; i++)
		if (i != SIGCHLD && i != SIGKILL && i != SIGSTOP)
			signal(i, SIG_DFL);
	compute(0.2);
}

/* PETSc ends at a signal that it does not expect. */
static void unexpected(int no)
{
	(void)no;
	_exit(59);
}

static void urgent(void)
{
	signal(SIGURG, unexpected);
	compute(0.5);
	exchange(calls);
}

static void signal_file(void)
{
	struct signalfd_siginfo info;
	sigset_t all;
	long n = 0;
	int fd;

	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, NULL);
	fd = signalfd(-1, &all, SFD_NONBLOCK);
	compute(0.5);
	exchange(calls);
	while (read(fd, &info, sizeof(info)) > 0)
		n++;
	say("signals", n);
	close(fd);
}

static void await_signal(void)
{
	struct timespec now = {0};
	siginfo_t info;
	sigset_t all;
	int no = 0;

	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, NULL);
	compute(0.5);
	say("waits for", sigtimedwait(&all, &info, &now));
	exchange(calls);
	pthread_kill(pthread_self(), SIGUSR2);
	sigwait(&all, &no);
	say("waited for", no == SIGUSR2);
}

static void alternate_stack(void)
{
	enum { AREA = 65536, STACK = 3072 };
	unsigned char *area = mmap(NULL, AREA, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	stack_t stack = {.ss_sp = area + AREA - STACK, .ss_size = STACK};
	long bad = 0;

	memset(area, 0x5a, AREA - STACK);
	sigaltstack(&stack, NULL);
	compute(0.5);
	exchange(calls);
	for (int i = 0; i < AREA - STACK; i++)
		bad += area[i] != 0x5a;
	say("bytes overwritten", bad);
}

/* Use all interval timers. */
static void timers(void)
{
	static const int which[] = {ITIMER_REAL, ITIMER_VIRTUAL, ITIMER_PROF}, no[] = {SIGALRM, SIGVTALRM, SIGPROF};
	struct sigaction a = {.sa_handler = count};
	struct sigevent e = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGRTMIN};
	struct itimerspec ten_ms = {{0, 10000000}, {0, 10000000}};
	long few = 0;
	timer_t t;

	for (int i = 0; i < 3; i++) {
		struct itimerval v = {{0, 10000}, {0, 10000}};

		sigaction(no[i], &a, NULL);
		setitimer(which[i], &v, NULL);
	}
	sigaction(SIGRTMIN, &a, NULL);
	timer_create(CLOCK_PROCESS_CPUTIME_ID, &e, &t);
	timer_settime(t, 0, &ten_ms, NULL);
	for (int s = 0; s < 30; s++) { /* on a busy machine, a second has little processor time */
		compute(1);
		few = got[SIGRTMIN] < 5;
		for (int i = 0; i < 3; i++)
			few += got[no[i]] < 5;
		if (!few)
			break;
	}
	exchange(calls);
	say("timers that do not run", few);
	say("other signals", all_got() - got[SIGALRM] - got[SIGVTALRM] - got[SIGPROF] - got[SIGRTMIN]);
	for (int i = 0; i < 3; i++)
		setitimer(which[i], &(struct itimerval){0}, NULL);
	timer_delete(t);
}

/* Like a virtual machine with page barriers: protects a page and continues after the fault. */
static unsigned char *page;
static long faults;

static void open_page(int no, siginfo_t *info, void *context)
{
	(void)context;
	if (no != SIGSEGV || info->si_addr != page)
		_exit(60);
	faults++;
	mprotect(page, 4096, PROT_READ | PROT_WRITE);
}

static void protect(void)
{
	struct sigaction a = {.sa_sigaction = open_page, .sa_flags = SA_SIGINFO};

	page = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	sigaction(SIGSEGV, &a, NULL);
	for (int i = 0; i < calls; i++) {
		exchange(1);
		mprotect(page, 4096, PROT_NONE);
		*(volatile unsigned char *)page = 1;
		compute(0.005);
	}
	say("faults", faults);
}

/* ---- limits and resources of a process ---- */

static int descriptors(void)
{
	int n = 0;

	for (int fd = 0; fd < 1024; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

/* Close all descriptors, then open a file under every number. */
static void close_all(void)
{
	char name[64], text[32];
	int fd[64];
	long bad = 0;

	for (int i = 3; i < 4096; i++)
		close(i);
	for (int i = 0; i < 64; i++) {
		snprintf(name, sizeof(name), "%s/quirks.%d.%d", argument, rank, i);
		fd[i] = open(name, O_RDWR | O_CREAT | O_TRUNC, 0600);
		bad += write(fd[i], "mine\n", 5) != 5;
	}
	for (int i = 0; i < 200000; i++) { /* enough different calls to fill a page of the trace */
		int one = i, sum = 0;

		MPI_Sendrecv(&one, 1, MPI_INT, 0, (i * 7919) % 1021, &sum, 1, MPI_INT, 0, (i * 7919) % 1021, MPI_COMM_SELF,
			     MPI_STATUS_IGNORE);
	}
	for (int i = 0; i < 64; i++) {
		bad += lseek(fd[i], 0, SEEK_END) != 5 || pread(fd[i], text, sizeof(text), 0) != 5 || memcmp(text, "mine\n", 5);
		close(fd[i]);
		snprintf(name, sizeof(name), "%s/quirks.%d.%d", argument, rank, i);
		unlink(name);
	}
	say("files that were touched", bad);
	_exit(0); /* without descriptors, MPI itself does not end */
}

static int threads(void)
{
	char line[128];
	int n = -1;
	FILE *f = fopen("/proc/self/status", "r");

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "Threads: %d", &n) == 1)
			break;
	if (f)
		fclose(f);
	return n;
}

static void possessions(void)
{
	int d = descriptors(), t = threads();

	compute(0.3);
	exchange(calls);
	say("descriptors more", descriptors() - d);
	say("threads more", threads() - t);
}

static void limit(int resource, long more)
{
	struct rlimit r = {0};
	unsigned long pages = 0;
	FILE *f = fopen("/proc/self/statm", "r");

	if (!f || fscanf(f, "%lu", &pages) != 1)
		_exit(61);
	fclose(f);
	r.rlim_cur = r.rlim_max = resource == RLIMIT_AS ? pages * 4096 + (unsigned long)more : (unsigned long)more;
	setrlimit(resource, &r);
}

/* Allocate all remaining memory, and then make a few calls. */
static void no_memory(void)
{
	size_t chunk = 1 << 20;
	long n = 0;

	limit(RLIMIT_AS, 64 << 20);
	while (mmap(NULL, chunk, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED)
		n++;
	say("chunks", n > 16);
	exchange(calls);
}

static void no_files(void)
{
	limit(RLIMIT_NOFILE, descriptors() + 1 < 64 ? 64 : descriptors() + 1);
	exchange(calls);
}

static void small_files(void)
{
	limit(RLIMIT_FSIZE, atol(argument));
	for (int i = 0; i < 200000; i++) {
		int one = i, sum = 0;

		MPI_Sendrecv(&one, 1, MPI_INT, 0, (i * 7919) % 1021, &sum, 1, MPI_INT, 0, (i * 7919) % 1021, MPI_COMM_SELF,
			     MPI_STATUS_IGNORE);
	}
	exchange(calls);
}

/* ---- the process ---- */

static void empty_environment(void)
{
	environ = NULL;
	exchange(calls);
}

static void children(void)
{
	long bad = 0;

	for (int i = 0; i < 10; i++) {
		int status = -1;
		pid_t child;

		exchange(calls / 10);
		fflush(stdout);
		child = fork();
		if (child == 0) {
			if (i % 2)
				execl("/bin/sh", "sh", "-c", "exit 7", NULL);
			_exit(7);
		}
		waitpid(child, &status, 0);
		bad += !WIFEXITED(status) || WEXITSTATUS(status) != 7;
		bad += system("exit 3") >> 8 != 3;
	}
	say("children that went wrong", bad);
}

static void elsewhere(void)
{
	if (chdir("/") != 0)
		_exit(62);
	exchange(calls);
}

static void deleted(void)
{
	char path[4096];
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 1);

	path[n > 0 ? n : 0] = '\0';
	MPI_Barrier(MPI_COMM_WORLD);
	unlink(path);
	exchange(calls);
}

static void finalize_late(void)
{
	exchange(calls);
	MPI_Finalize();
}

static void *on_thread(void *unused)
{
	(void)unused;
	MPI_Init(NULL, NULL);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	compute(0.3);
	exchange(calls);
	MPI_Finalize();
	return NULL;
}

/* All of MPI on a thread with a stack of this size. Prints how many bytes are used. */
static void small_stack(void)
{
	size_t bytes = (size_t)atol(argument), used;
	unsigned char *stack = mmap(NULL, bytes + 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	pthread_attr_t a;
	pthread_t t;

	mprotect(stack, 4096, PROT_NONE);
	memset(stack + 4096, 0x5a, bytes);
	pthread_attr_init(&a);
	pthread_attr_setstack(&a, stack + 4096, bytes);
	if (pthread_create(&t, &a, on_thread, NULL))
		_exit(63);
	pthread_join(t, NULL);
	for (used = bytes; used && stack[4096 + bytes - used] == 0x5a; used--)
		;
	fprintf(stderr, "stack %zu\n", used);
}

/* A small alternate stack before MPI_Init, so that no timer takes samples. The program has the first timer of the process. */
static void first_timer(void)
{
	static unsigned char area[8192];
	struct sigevent e = {.sigev_notify = SIGEV_NONE};
	struct itimerspec hour = {.it_value = {3600, 0}}, left;
	timer_t t;

	sigaltstack(&(stack_t){.ss_sp = area, .ss_size = sizeof(area)}, NULL);
	timer_create(CLOCK_MONOTONIC, &e, &t);
	timer_settime(t, 0, &hour, NULL);
	MPI_Init(NULL, NULL);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	compute(0.2);
	exchange(calls);
	MPI_Finalize();
	say("hours left", timer_gettime(t, &left) == 0 && left.it_value.tv_sec > 3000);
}

/* ---- calls ---- */

static jmp_buf back;

static void leave(MPI_Comm *comm, int *code, ...)
{
	(void)comm;
	(void)code;
	longjmp(back, 1);
}

static void jump(void)
{
	static int left;
	MPI_Errhandler handler;

	MPI_Comm_create_errhandler(leave, &handler);
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
	for (int i = 0; i < 5; i++) {
		if (!setjmp(back))
			MPI_Send(&rank, 1, MPI_INT, size + 5, 0, MPI_COMM_WORLD);
		else
			left++;
		exchange(calls / 5);
	}
	say("left", left);
	MPI_Errhandler_free(&handler);
}

/* A reduction of the program that calls MPI: these calls are not the program's. */
static void add(void *in, void *inout, int *n, MPI_Datatype *type)
{
	int bytes;

	MPI_Type_size(*type, &bytes);
	MPI_Send(NULL, 0, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_SELF);
	for (int i = 0; i < *n; i++)
		((int *)inout)[i] += ((int *)in)[i];
}

static void callback(void)
{
	MPI_Op op;

	MPI_Op_create(add, 1, &op);
	for (int i = 0; i < calls; i++) {
		int one = 1, sum = 0;

		MPI_Allreduce(&one, &sum, 1, MPI_INT, op, MPI_COMM_WORLD);
		if (sum != size)
			say("wrong sum", sum);
	}
	MPI_Op_free(&op);
}

/* A second stack, which makes calls in turn with the thread's own stack. */
static ucontext_t outside, inside;

static void coroutine(void)
{
	for (int i = 0; i < calls / 2; i++) {
		exchange(1);
		swapcontext(&inside, &outside);
	}
}

static void coroutines(void)
{
	static char stack[65536];

	getcontext(&inside);
	inside.uc_stack.ss_sp = stack;
	inside.uc_stack.ss_size = sizeof(stack);
	inside.uc_link = &outside;
	makecontext(&inside, coroutine, 0);
	for (int i = 0; i < calls / 2; i++) {
		swapcontext(&outside, &inside);
		exchange(1);
		compute(0.005);
	}
}

static const struct {
	const char *name;
	void (*run)(void);
} mode[] = {
	{"every", every}, {"urgent", urgent}, {"signalfd", signal_file}, {"sigwait", await_signal}, {"altstack", alternate_stack},
	{"timers", timers}, {"protect", protect}, {"close", close_all}, {"possessions", possessions}, {"memory", no_memory},
	{"files", no_files}, {"fsize", small_files}, {"environ", empty_environment}, {"children", children},
	{"chdir", elsewhere}, {"deleted", deleted}, {"atexit", NULL}, {"stack", small_stack}, {"jump", jump},
	{"callback", callback}, {"coroutines", coroutines},
};

int main(int argc, char **argv)
{
	const char *name = argc > 1 ? argv[1] : "";

	argument = argc > 2 ? argv[2] : "";
	if (!strcmp(name, "stack")) {
		small_stack();
		return 0;
	}
	if (!strcmp(name, "first-timer")) {
		first_timer();
		return 0;
	}
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	if (!strcmp(name, "atexit")) {
		atexit(finalize_late);
		return 5;
	}
	for (size_t i = 0; i < sizeof(mode) / sizeof(*mode); i++)
		if (mode[i].run && !strcmp(name, mode[i].name)) {
			mode[i].run();
			MPI_Finalize();
			return 0;
		}
	fprintf(stderr, "quirks: no mode %s\n", name);
	return 2;
}
