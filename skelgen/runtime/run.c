/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The life of a skeleton: options, calibration, the virtual clock's start and end, the result. Options:
 *   --calibrate FILE    measure this machine (the one that was traced) and keep the constants in FILE
 *   --calibration FILE  use the constants of the machine that was traced
 *   --result FILE       write key and value lines there instead of printing them
 *   --scratch DIR       make calls on files, on scratch files in DIR
 * Without the first two, the machine at hand is taken for the one that was traced.
 */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "skelgen/runtime/blocks.h"
#include "skelgen/runtime/company.h"
#include "skelgen/runtime/runtime.h"

/* Work that is done again and again, to see how much the machine differs from time to time. */
#define SAME_TIMES 3
#define SAME_STEPS 60000000 /* about 80 ms: many periods of a CPU quota */

int skel_rank, skel_size;

static struct {
	const struct skel_program *program;
	const char *calibrate, *calibration, *result, *scratch;
	double entered_ns;  /* main */
	double begun_ns;    /* MPI_Init returned */
	double started_ns;  /* the skeleton's own clock starts */
	double process_ns;  /* age of the process when main was entered */
	double same_ns[SAME_TIMES]; /* the same work, before and after calibration and at the end */
	int status;         /* that main returns */
	double computed_ns; /* of virtual time, in blocks: mean over ranks */
	struct company begun; /* with started_ns */
	double lacked, together; /* since then */
	int left[2];        /* requests and communicators that were there at the end, all ranks */
} run;

struct outcome {
	double virtual_ns, real_ns, half_ns;
	double before_ns, after_ns; /* the first sampled loop, the last one; 0 when there is none */
	double noise;
};

void skel_fail(const char *fmt, ...)
{
	char why[1024];
	va_list ap;
	int up = 0;

	va_start(ap, fmt);
	vsnprintf(why, sizeof why, fmt, ap);
	va_end(ap);
	fprintf(stderr, "skeleton: rank %d: %s\n", skel_rank, why); /* in one piece: mpirun writes between pieces */
	skel_files_remove();
	MPI_Initialized(&up);
	if (up)
		MPI_Abort(MPI_COMM_WORLD, 1);
	exit(1);
}

void *skel_alloc(size_t n, size_t size)
{
	void *p = calloc(n > 0 ? n : 1, size);

	if (p == NULL)
		skel_fail("no memory for %zu x %zu bytes", n, size);
	return p;
}

/* Age of this process, to a hundredth of a second; 0 when the system does not say. */
static double process_age_ns(void)
{
	char text[1024], *p;
	FILE *f = fopen("/proc/self/stat", "r");
	unsigned long long start = 0;
	struct timespec now;
	size_t n;

	if (f == NULL)
		return 0;
	n = fread(text, 1, sizeof text - 1, f);
	fclose(f);
	text[n] = '\0';
	p = strrchr(text, ')');
	for (int field = 2; p != NULL && field < 22; field++)
		p = strchr(p + 1, ' ');
	if (p == NULL || sscanf(p, "%llu", &start) != 1 || clock_gettime(CLOCK_BOOTTIME, &now) != 0)
		return 0;
	double age = (double)now.tv_sec + (double)now.tv_nsec * 1e-9 - (double)start / (double)sysconf(_SC_CLK_TCK);

	return age > 0 && age < 3600 ? age * 1e9 : 0;
}

void skel_start(void)
{
	run.entered_ns = skel_clock_ns();
	run.process_ns = process_age_ns();
}

static void usage(const char *why, const char *what)
{
	if (skel_rank == 0)
		fprintf(stderr,
			"skeleton: %s%s\nUsage: skel [--calibrate FILE | --calibration FILE] [--result FILE] [--empty-loop] [--scratch DIR]\n",
			why, what);
	MPI_Finalize();
	exit(2);
}

static void options_read(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--empty-loop") == 0) {
			skel_blocks_be_empty();
			continue;
		}
		const char **to = strcmp(argv[i], "--calibrate") == 0	  ? &run.calibrate
				  : strcmp(argv[i], "--calibration") == 0 ? &run.calibration
				  : strcmp(argv[i], "--result") == 0	  ? &run.result
				  : strcmp(argv[i], "--scratch") == 0	  ? &run.scratch
									  : NULL;

		if (to == NULL)
			usage("unknown argument ", argv[i]);
		if (i + 1 == argc)
			usage("no file name after ", argv[i]);
		*to = argv[++i];
	}
	if (run.calibrate != NULL && run.calibration != NULL)
		usage("--calibrate and --calibration exclude each other", "");
}

static double same_work_ns(void)
{
	volatile uint64_t end;
	uint64_t x = 1;
	double begin;

	if (skel_blocks_are_empty()) /* nothing is predicted */
		return 0;
	MPI_Barrier(MPI_COMM_WORLD);
	begin = skel_clock_ns();
	for (int i = 0; i < SAME_STEPS; i++)
		x = x * 6364136223846793005u + 1442695040888963407u;
	end = x;
	(void)end;
	return skel_clock_ns() - begin;
}

void skel_company(const struct company *begin, double *most, double *together)
{
	struct company mine, *all = skel_rank == 0 ? skel_alloc((size_t)skel_size, sizeof *all) : NULL;
	double sum[2];

	company_since(begin, &mine);
	PMPI_Gather(&mine, (int)sizeof mine, MPI_BYTE, all, (int)sizeof mine, MPI_BYTE, 0, MPI_COMM_WORLD);
	if (skel_rank == 0)
		company_sum(all, skel_size, &sum[0], &sum[1]);
	PMPI_Bcast(sum, 2, MPI_DOUBLE, 0, MPI_COMM_WORLD);
	*most = sum[0];
	*together = sum[1];
	free(all);
}

/* Relative deviation of the same work from time to time, of the rank that sees most. */
static double noise_seen(void)
{
	double mean = 0, square = 0, mine, most;

	for (int i = 0; i < SAME_TIMES; i++)
		mean += run.same_ns[i] / SAME_TIMES;
	for (int i = 0; i < SAME_TIMES; i++)
		square += (run.same_ns[i] - mean) * (run.same_ns[i] - mean);
	mine = mean > 0 ? sqrt(square / (SAME_TIMES - 1)) / mean : 0;
	MPI_Allreduce(&mine, &most, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
	return most;
}

void skel_begin(int argc, char **argv, const struct skel_program *program)
{
	run.begun_ns = skel_clock_ns();
	run.program = program;
	MPI_Comm_rank(MPI_COMM_WORLD, &skel_rank);
	MPI_Comm_size(MPI_COMM_WORLD, &skel_size);
	options_read(argc, argv);
	if (skel_size != program->n_ranks) {
		if (skel_rank == 0)
			fprintf(stderr, "skeleton: of a program on %d ranks: cannot run on %d\n", program->n_ranks,
				skel_size);
		MPI_Finalize();
		exit(2);
	}
	skel_data_open(program, skel_rank);
	skel_loops_open(program->n_loops);
	skel_handles_open(program);
	skel_windows_open(program);
	skel_files_open(program, run.scratch);
	run.same_ns[0] = same_work_ns();
	skel_blocks_open(run.calibrate, run.calibration);
	run.same_ns[1] = same_work_ns();
	company_look(&run.begun);
	MPI_Barrier(MPI_COMM_WORLD);
	run.started_ns = skel_clock_ns();
	skel_share_from(run.started_ns);
	skel_spent_start();
}

static void print_loops(FILE *f)
{
	for (int i = 0; i < run.program->n_loops; i++) {
		const struct skel_loop_state *l = &skel_loops[i];

		if (l->visits > 0 && l->run != l->total)
			fprintf(f, "loop %d %llu %llu %.9f\nwindows %d %d %.9f %.9f %.9f\n", i,
				(unsigned long long)l->total, (unsigned long long)l->run, l->window_ns * 1e-9, i,
				skel_loop_windows(l), l->virtual_ns * 1e-9, sqrt(l->half2_ns2) * 1e-9,
				l->spikes_ns * 1e-9);
	}
}

static void print_result(FILE *f, const struct outcome *o, const struct outcome *low, double end_ns)
{
	const struct skel_program *p = run.program;

	fprintf(f, "program %s\nranks %d\n", p->name, p->n_ranks);
	fprintf(f, "skel_s %.9f\nlo_s %.9f\nhi_s %.9f\nran_s %.9f\n", o->virtual_ns * 1e-9, low->half_ns * 1e-9,
		o->half_ns * 1e-9, o->real_ns * 1e-9);
	if (!skel_shares())
		fprintf(f, "computed_s %.9f\n", run.computed_ns * 1e-9);
	fprintf(f, "init_s %.9f\nwall_s %.9f\n", (run.begun_ns - run.entered_ns) * 1e-9,
		(end_ns - run.entered_ns + run.process_ns) * 1e-9);
	fprintf(f, "traced_s %.9f\nevents %.0f\nconfidence %.4f\n", p->traced_s, p->events, p->confidence);
	fprintf(f, "noise %.6f\nlacked %.4f %.4f\n", o->noise, run.lacked, run.together);
	if (o->before_ns > 0)
		fprintf(f, "prologue_s %.9f\nepilogue_s %.9f\n", o->before_ns * 1e-9, o->after_ns * 1e-9);
	fprintf(f, "left_requests %d\nleft_comms %d\n", run.left[0], run.left[1]);
	print_loops(f);
	skel_files_print(f);
	skel_blocks_print(f);
}

/* Beside its final name first, so that a reader finds the whole or nothing. The others are about to finalize by now, and
 * an MPI_Abort that meets that may hang: the exit status tells. */
static void write_result(const struct outcome *o, const struct outcome *low, double end_ns)
{
	size_t n = strlen(run.result) + 16;
	char *beside = skel_alloc(n, 1);
	bool done = false;
	FILE *f;

	snprintf(beside, n, "%s.%d", run.result, (int)getpid());
	f = fopen(beside, "w");
	if (f != NULL) {
		print_result(f, o, low, end_ns);
		int bad = ferror(f) != 0;

		done = fclose(f) == 0 && !bad && rename(beside, run.result) == 0;
	}
	if (!done) {
		fprintf(stderr, "skeleton: rank %d: cannot write %s: %s\n", skel_rank, run.result, strerror(errno));
		unlink(beside);
		run.status = 1;
	}
	free(beside);
}

/* After the handles are closed. */
static void left_count(void)
{
	int mine[2] = {skel_left_requests, skel_left_comms};

	PMPI_Reduce(mine, run.left, 2, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
}

int skel_again(void)
{
	return skel_pieces_again(run.program->rounds_s * 1e9);
}

void skel_end(void)
{
	skel_pieces_close();

	double end = skel_clock_ns(), elapsed = skel_virtual_at(end) - run.started_ns;
	double half = sqrt(skel_width2_ns2()), first, last;
	struct outcome mine = {elapsed, end - run.started_ns, elapsed + half, 0, 0, 0}, most;
	struct outcome low = {elapsed, 0, elapsed - half > 0 ? elapsed - half : 0, 0, 0, 0}, lowest;

	skel_company(&run.begun, &run.lacked, &run.together);
	run.computed_ns = skel_computed_ns() / skel_size;
	skel_loops_phases(&first, &last);
	if (first > 0) {
		mine.before_ns = first - run.started_ns;
		mine.after_ns = run.started_ns + elapsed - last;
	}
	run.same_ns[2] = same_work_ns();
	MPI_Reduce(&mine, &most, 5, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
	PMPI_Reduce(skel_rank == 0 ? MPI_IN_PLACE : &run.computed_ns, &run.computed_ns, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
	MPI_Reduce(&low, &lowest, 5, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
	most.noise = noise_seen();
	skel_windows_close();
	skel_files_close();
	skel_handles_close();
	left_count();
	if (skel_rank == 0) {
		if (run.result != NULL)
			write_result(&most, &lowest, skel_clock_ns());
		else
			print_result(stdout, &most, &lowest, skel_clock_ns());
	}
	skel_loops_close();
	skel_data_close();
	skel_buffers_close();
	if (skel_blocks_close() != 0)
		run.status = 1;
}

int skel_status(void)
{
	return run.status;
}
