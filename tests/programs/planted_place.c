/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Planted problems of nodes, files and the time outside of MPI: see planted.h. The program itself makes separate
 * nodes for some ranks and limits on processor time, before MPI_Init. If this is not permitted, it says so, and
 * --list leaves these forms out.
 */
#define _GNU_SOURCE /* unshare, sched_setaffinity */
#include <sched.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "planted.h"

#define OUTSIDE_NS 1500000000ll /* before MPI_Init, and after MPI_Finalize */
#define PERIOD_US  10000        /* period of the limit, */
#define QUOTA_US   2000         /* and its quota */
#define BLOCK      (1 << 16)    /* bytes written at a time */
#define CGROUPS    "/sys/fs/cgroup"

static struct {
	int64_t from_ns, to_ns; /* outside */
	char group[128];        /* made for this process, "" none */
	bool old;               /* of version 1 */
	MPI_File file;
	char block[BLOCK];
} own;

/* ---- before MPI_Init ---- */

/* The launcher's rank; -1: not known. */
static int early_rank(void)
{
	static const char *const name[] = {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK"};

	for (size_t i = 0; i < sizeof(name) / sizeof(*name); i++)
		if (getenv(name[i]))
			return atoi(getenv(name[i]));
	return -1;
}

static bool write_text(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	bool ok = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);

	if (fd >= 0)
		close(fd);
	return ok;
}

static bool write_in(const char *dir, const char *name, const char *text)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	return write_text(path, text);
}

/* Give odd ranks a node with another name. */
static bool other_node(void)
{
	return early_rank() % 2 == 0 || (unshare(CLONE_NEWUTS) == 0 && sethostname("slow", 4) == 0);
}

static void leave_group(void)
{
	char pid[16];

	snprintf(pid, sizeof(pid), "%d", (int)getpid());
	if (own.group[0] && write_text(own.old ? CGROUPS "/cpu/cgroup.procs" : CGROUPS "/cgroup.procs", pid))
		rmdir(own.group);
	own.group[0] = '\0';
}

/* Make a control group with a fifth of a processor and a high weight, so that only the limit delays it. */
static bool limited(void)
{
	char pid[16], text[64];
	bool ok;

	own.old = access(CGROUPS "/cpu/cpu.cfs_quota_us", F_OK) == 0 || access(CGROUPS "/cpu/cgroup.procs", F_OK) == 0;
	snprintf(own.group, sizeof(own.group), "%s/planted-%d", own.old ? CGROUPS "/cpu" : CGROUPS, (int)getpid());
	if (mkdir(own.group, 0700) < 0) {
		own.group[0] = '\0';
		return false;
	}
	snprintf(pid, sizeof(pid), "%d", (int)getpid());
	if (own.old) {
		snprintf(text, sizeof(text), "%d", PERIOD_US);
		ok = write_in(own.group, "cpu.cfs_period_us", text);
		snprintf(text, sizeof(text), "%d", QUOTA_US);
		ok = ok && write_in(own.group, "cpu.cfs_quota_us", text);
		write_in(own.group, "cpu.shares", "262144");
	} else {
		snprintf(text, sizeof(text), "%d %d", QUOTA_US, PERIOD_US);
		ok = write_in(own.group, "cpu.max", text);
		write_in(own.group, "cpu.weight", "10000");
	}
	if (!ok || !write_in(own.group, "cgroup.procs", pid)) {
		rmdir(own.group);
		own.group[0] = '\0';
		return false;
	}
	return true;
}

static bool wait_outside(void)
{
	own.from_ns = now_ns();
	until(&(struct world){0}, own.from_ns + OUTSIDE_NS);
	own.to_ns = now_ns();
	return true;
}

/* Is this permitted? A child process tries. */
static bool may(bool (*prepare)(void))
{
	int status = 1;
	pid_t child = fork();

	if (child == 0) {
		setenv("OMPI_COMM_WORLD_RANK", "1", 1);
		status = prepare() ? 0 : 1;
		leave_group();
		_exit(status);
	}
	return child > 0 && waitpid(child, &status, 0) == child && status == 0;
}

/* ---- the forms ---- */

/* Odd ranks compute longer in every repetition. */
static void slow_node(struct world *w, int rep)
{
	bool slow = w->rank % 2;

	(slow ? late : early)(w, rep);
	mark(w, rep, slow ? 'c' : 'v');
	MPI_Barrier(w->comm);
}

static int64_t processor_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/*
 * Use a quarter of a delay of processor time, which takes longer by the limit. The time without the processor is
 * lost, and so is such time at the end of the wait for the next repetition. The kernel counts both.
 */
static void throttled(struct world *w, int rep)
{
	static int64_t before;
	int64_t begin, now;

	if (rep == 0)
		before = ready_ns();
	early(w, rep);
	if (w->clean)
		return;
	begin = processor_ns();
	lose_from(w, rep);
	while (processor_ns() - begin < w->delay_ns / 4)
		;
	w->end_ns[rep] = now_ns() - (processor_ns() - begin);
	at(w, rep, 2.9);
	now = ready_ns();
	if (now >= 0)
		w->end_ns[rep] = w->stamp_ns[rep] + now - before;
	before = now;
}

static void open_own(struct world *w)
{
	char name[64];

	snprintf(name, sizeof(name), "/tmp/planted-%d-%d", (int)getpid(), w->rank);
	MPI_File_open(MPI_COMM_SELF, name, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &own.file);
}

static void close_own(struct world *w)
{
	(void)w;
	MPI_File_close(&own.file);
}

/* Rank 0 writes for the delay, and the others wait for it. */
static void one_writes(struct world *w, int rep)
{
	int64_t end;

	early(w, rep);
	end = now_ns() + w->delay_ns;
	if (w->rank) {
		mark(w, rep, 'v');
	} else {
		do
			MPI_File_write_at(own.file, 0, own.block, BLOCK, MPI_BYTE, MPI_STATUS_IGNORE);
		while (!w->clean && now_ns() < end);
		mark(w, rep, 'c');
	}
	MPI_Barrier(w->comm);
}

static void nothing(struct world *w, int rep)
{
	early(w, rep);
	MPI_Barrier(w->comm);
}

static void outside(struct world *w, int rep)
{
	if (rep == 0 && own.to_ns) {
		w->role[0] = 'w';
		w->stamp_ns[0] = own.from_ns;
		w->end_ns[0] = own.to_ns;
	}
	nothing(w, rep);
}

static const struct form forms[] = {
	{"node", "slower", "nodes of different speed in one job", slow_node, NULL, NULL},
	{"throttled", "quota", "the job is throttled by its limit of processor time", throttled, NULL, NULL},
	{"io", "one-writes", "file access is unequal over ranks", one_writes, open_own, close_own},
	{"before-init", "sleep", "time before MPI_Init", outside, NULL, NULL},
	{"after-finalize", "sleep", "time after MPI_Finalize", nothing, NULL, NULL},
};
/* Actions before MPI_Init, for planted forms only. Nodes also exist in the clean program. */
static bool (*const before[])(void) = {other_node, limited, NULL, wait_outside, NULL};
#define N_FORM ((int)(sizeof(forms) / sizeof(*forms)))

int main(int argc, char **argv)
{
	const struct form *f = argc > 1 ? form_named(forms, N_FORM, argv[1]) : NULL;
	bool (*prepare)(void) = f ? before[f - forms] : NULL;
	bool clean = false;
	int rv;

	if (argc == 2 && !strcmp(argv[1], "--list")) {
		for (int i = 0; i < N_FORM; i++)
			if (before[i] == NULL || before[i] == wait_outside || may(before[i]))
				printf("%s\t%s\t%s\n", forms[i].kind, forms[i].form, forms[i].problem);
		return 0;
	}
	for (int i = 2; i < argc; i++)
		clean |= !strcmp(argv[i], "--clean");
	if (prepare && (!clean || prepare == other_node) && !prepare()) {
		fprintf(stderr, "planted: %s: %s\n", argv[1], strerror(errno));
		return 1;
	}
	rv = planted_main(forms, N_FORM, argc, argv);
	leave_group();
	if (f && f->run == nothing && !clean && wait_outside())
		printf("planted %d 0 w:%lld-%lld\n", early_rank(), (long long)own.from_ns, (long long)own.to_ns);
	return rv;
}
