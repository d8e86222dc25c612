/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Merging of contracted trees: time, size of the result and memory for simulated ranks of a stencil, a wavefront, rows
 * and columns, and irregular programs, from few ranks to many. A tree is timed as it is used: ranks grouped, contracted,
 * merged, parameters fitted, and the whole proved for every rank, by expansion and once more by hash.
 * Each run is a process of its own. Usage: bench_merge [most ranks [program [fewest ranks [runs]]]].
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/arena.h"
#include "skelgen/pipeline.h"
#include "skelgen/merge/verify.h"
#include "skelgen/tree/tree.h"
#include "tests/unit/synthetic.h"

#define MOST_RUNS 3

struct result {
	double wall_s, user_s, hash_s;
	uint64_t events, length, nodes, bytes, peak_kib;
};

static struct syn *make_stencil(uint32_t side)
{
	return syn_stencil(side, side, 100, SYN_PROC_NULL);
}

static struct syn *make_torus(uint32_t side)
{
	return syn_stencil(side, side, 100, SYN_PERIODIC);
}

static struct syn *make_wavefront(uint32_t side)
{
	return syn_wavefront(side, side, 20, 10);
}

static struct syn *make_cg(uint32_t side)
{
	return syn_cg(side, side, 75);
}

/* Neighbours of an irregular mesh: each rank has those that its seed draws, in both directions, in every step. */
static struct syn *make_graph(uint32_t side)
{
	return syn_graph(side * side, 6, 100, 4711);
}

static struct syn *make_random(uint32_t side)
{
	return syn_irregular(side * side, 17);
}

static const struct {
	const char *name;
	struct syn *(*make)(uint32_t side);
} programs[] = {
	{"stencil", make_stencil},   {"torus", make_torus},	    {"LU wavefront", make_wavefront},
	{"CG rows, columns", make_cg}, {"irregular graph", make_graph}, {"random program", make_random},
};

static double now(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static uint64_t status_kib(const char *key)
{
	char line[256];
	FILE *f = fopen("/proc/self/status", "r");
	uint64_t value = 0;

	while (f && fgets(line, sizeof(line), f))
		if (!strncmp(line, key, strlen(key)))
			value = strtoull(line + strlen(key), NULL, 10);
	if (f)
		fclose(f);
	return value;
}

/* Peak memory counts from here on. */
static void forget_peak(void)
{
	FILE *f = fopen("/proc/self/clear_refs", "w");

	if (f) {
		fputs("5", f);
		fclose(f);
	}
}

static int build(const struct trace *t, struct result *out)
{
	struct skel_tree tree;
	struct errbuf err = {""};
	uint64_t before = status_kib("VmRSS:");
	double wall = now(CLOCK_MONOTONIC), user = now(CLOCK_PROCESS_CPUTIME_ID);

	forget_peak();
	if (skel_tree_build(t, &tree, &err) < 0) {
		fprintf(stderr, "bench_merge: %s\n", err.text);
		return 1;
	}
	out->wall_s = now(CLOCK_MONOTONIC) - wall;
	out->user_s = now(CLOCK_PROCESS_CPUTIME_ID) - user;
	out->peak_kib = status_kib("VmHWM:") - before;
	out->length = skel_tree_length(&tree);
	out->nodes = tree.n_node;
	out->bytes = arena_bytes(tree.arena);
	for (uint32_t r = 0; r < trace_n_ranks(t); r++)
		out->events += trace_get_rank(t, r)->events.length;
	user = now(CLOCK_PROCESS_CPUTIME_ID);
	if (skel_verify_by_hash(&tree, NULL, &err) < 0) {
		fprintf(stderr, "bench_merge: %s\n", err.text);
		return 1;
	}
	out->hash_s = now(CLOCK_PROCESS_CPUTIME_ID) - user;
	skel_tree_free(&tree);
	return 0;
}

static void measure(struct syn *(*make)(uint32_t), uint32_t side, struct result *shared)
{
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		struct syn *s = make(side);
		struct trace *t = syn_open(s);

		syn_destroy(s);
		memset(shared, 0, sizeof(*shared));
		_exit(build(t, shared));
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid || status != 0) {
		fprintf(stderr, "bench_merge: a run failed\n");
		exit(1);
	}
}

static int by_user_time(const void *a, const void *b)
{
	const struct result *x = a, *y = b;

	return (x->user_s > y->user_s) - (x->user_s < y->user_s);
}

int main(int argc, char **argv)
{
	uint32_t most = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : 4096;
	uint32_t fewest = argc > 3 ? (uint32_t)strtoul(argv[3], NULL, 10) : 16;
	int runs = argc > 4 && atoi(argv[4]) > 0 && atoi(argv[4]) < MOST_RUNS ? atoi(argv[4]) : MOST_RUNS;
	struct result *shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct result run[MOST_RUNS];

	if (shared == MAP_FAILED) {
		perror("bench_merge");
		return 1;
	}
	printf("%-17s %6s %10s %8s %8s %8s %6s %6s %10s %9s\n", "program", "ranks", "calls", "wall s", "cpu s", "hash s",
	       "length", "nodes", "bytes", "peak MiB");
	for (size_t i = 0; i < sizeof(programs) / sizeof(*programs); i++)
		for (uint32_t side = 4; side * side <= most; side *= 2) {
			const struct result *m = &run[runs / 2];

			if (side * side < fewest || (argc > 2 && strstr(programs[i].name, argv[2]) == NULL))
				continue;
			for (int k = 0; k < runs; k++) {
				measure(programs[i].make, side, shared);
				run[k] = *shared;
			}
			qsort(run, (size_t)runs, sizeof(*run), by_user_time);
			printf("%-17s %6u %10llu %8.2f %8.2f %8.2f %6llu %6llu %10llu %9.1f\n", programs[i].name,
			       side * side, (unsigned long long)m->events, m->wall_s, m->user_s, m->hash_s,
			       (unsigned long long)m->length, (unsigned long long)m->nodes,
			       (unsigned long long)m->bytes, (double)m->peak_kib / 1024);
			fflush(stdout);
		}
	return 0;
}
