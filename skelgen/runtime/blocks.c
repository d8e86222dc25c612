/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The compute blocks of a run. All ranks measure at the same time: caches, bandwidth and cores are shared as in the
 * program. On the traced machine this is the calibration. The blocks of the run itself then correct the calibration, and the
 * file is written at the end. Elsewhere each kernel is measured only briefly, for the result.
 */
#include "skelgen/runtime/blocks.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "skelgen/runtime/alike.h"
#include "skelgen/runtime/caches.h"
#include "skelgen/runtime/calibfile.h"
#include "skelgen/runtime/company.h"
#include "skelgen/runtime/compute.h"
#include "skelgen/runtime/data.h"
#include "skelgen/runtime/runtime.h"

/* Spent at most by all kernels, by them among each other, by all mixes, and by the long block. */
#define KERNELS_BUDGET_NS 250e6
#define KERNEL_MOST_NS    40e6
#define AMONG_BUDGET_NS   100e6
#define MIXES_BUDGET_NS   250e6
#define MIX_MOST_NS       80e6
#define SHARE_BUDGET_NS   300e6
#define CALIBRATE_WALL_NS 10e9 /* by the clock: ten times as long as all that takes with a processor for each rank */
#define EMPTY_PART        0.2 /* of these, for an empty loop: it takes the same at every turn */
#define GLANCE_NS         4e6
#define GLANCE_SHARE_NS   150e6

static struct {
	struct compute_mix mix[COMPUTE_MIXES];
	int n_mix;
	double worked_on[LEVEL_N]; /* bytes, by the program; 0: not known */
	struct calibration cal; /* of the traced machine */
	double kernel_ns[CLASS_N]; /* per unit, this machine, mean over ranks */
	double calibrated_ns;
	uint64_t kind; /* of processor */
	const char *calibrate; /* file to write in the end, or NULL */
	int empty;
} blocks;

void skel_blocks_be_empty(void)
{
	blocks.empty = 1;
	kernel_be_empty();
}

int skel_blocks_are_empty(void)
{
	return blocks.empty;
}

/* FNV-1a over the mixes, so that a calibration is used with these only; small enough for a double. */
static uint64_t mixes_number(const struct compute_mix *mix, int n)
{
	uint64_t h = 0xcbf29ce484222325ull;

	for (int m = 0; m < n; m++) {
		double v[CLASS_N + 2];

		memcpy(v, mix[m].share, sizeof mix[m].share);
		v[CLASS_N] = mix[m].off_cpu;
		v[CLASS_N + 1] = mix[m].threads;
		for (size_t i = 0; i < sizeof v; i++)
			h = (h ^ ((const unsigned char *)v)[i]) * 0x100000001b3ull;
	}
	return h % 999999999937ull;
}

/* The next power of two by ratio; of a program whose rows are not known, the longest. */
static int chain_row(double row)
{
	int n = KERNEL_ROW_LEAST;

	while (n < KERNEL_ROW_MOST && (row <= 0 || row > n * M_SQRT2))
		n *= 2;
	return n;
}

/* The mixes of skel.c.data; the first one's vectors are the program's. */
static void mixes_read(void)
{
	const double *number = skel_data_mixes(&blocks.n_mix);

	if (blocks.n_mix > COMPUTE_MIXES)
		skel_fail("skel.c.data has %d mixes: more than %d", blocks.n_mix, COMPUTE_MIXES);
	for (int m = 0; m < blocks.n_mix; m++)
		if (compute_mix_read(number + m * DATA_MIX, &blocks.mix[m]) != 0)
			skel_fail("skel.c.data is damaged: mix %d makes no sense", m);
	for (int m = 0; blocks.empty && m < blocks.n_mix; m++)
		blocks.mix[m] = (struct compute_mix){.share[CLASS_INTEGER] = 1, .threads = 1};
	blocks.cal.n_mix = blocks.n_mix;
	blocks.cal.mixes = mixes_number(blocks.mix, blocks.n_mix);
	blocks.cal.classes = compute_classes(blocks.mix, blocks.n_mix);
	/* A mean of widths that the program mixes. */
	blocks.cal.shape.vector_bits = number[DATA_MIX_VECTOR_BITS] >= 384 ? 512 :
				       number[DATA_MIX_VECTOR_BITS] >= 192 ? 256 : 128;
	memcpy(blocks.worked_on, number + DATA_MIX_BYTES, sizeof blocks.worked_on);
	blocks.cal.shape.row = chain_row(number[DATA_MIX_ROW]);
	blocks.cal.shape.packed = (int)fmin(16, fmax(0, number[DATA_MIX_PACKED]));
}

static int ranks_here(void)
{
	MPI_Comm node;
	int n;

	PMPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, skel_rank, MPI_INFO_NULL, &node);
	PMPI_Comm_size(node, &n);
	PMPI_Comm_free(&node);
	return n;
}

/* The same sizes on all ranks, by the smallest caches. */
static void shape_choose(const struct caches *c, int ranks)
{
	int bits = blocks.cal.shape.vector_bits, packed = blocks.cal.shape.packed,
	    row = blocks.cal.shape.row;
	uint64_t mine[LEVEL_N];

	caches_shape(c, ranks, &blocks.cal.shape);
	caches_shape_like(c, ranks, blocks.worked_on, &blocks.cal.shape);
	blocks.cal.shape.vector_bits = bits;
	blocks.cal.shape.packed = packed;
	blocks.cal.shape.row = row;
	caches_bound(c, ranks, blocks.cal.classes, &blocks.cal.shape);
	memcpy(mine, blocks.cal.shape.bytes, sizeof mine);
	PMPI_Allreduce(mine, blocks.cal.shape.bytes, LEVEL_N, MPI_UINT64_T, MPI_MIN, MPI_COMM_WORLD);
}

static void calibration_read(const char *path)
{
	size_t bytes = sizeof blocks.cal;
	struct calibration *all = skel_rank == 0 ? skel_alloc((size_t)skel_size, bytes) : NULL;
	char why[256] = "";

	if (skel_rank == 0) {
		all[0] = blocks.cal; /* what it must be of */
		if (calibfile_read(path, all, skel_size, why, sizeof why) != 0)
			skel_fail("%s", why);
	}
	PMPI_Scatter(all, (int)bytes, MPI_BYTE, &blocks.cal, (int)bytes, MPI_BYTE, 0, MPI_COMM_WORLD);
	free(all);
}

/* -1 and why, on rank 0. */
static int calibration_write(const char *path, char why[256])
{
	size_t bytes = sizeof blocks.cal;
	struct calibration *all = skel_rank == 0 ? skel_alloc((size_t)skel_size, bytes) : NULL;
	uint64_t *kind = skel_rank == 0 ? skel_alloc((size_t)skel_size, sizeof *kind) : NULL;
	int rv = 0;

	PMPI_Gather(&blocks.cal, (int)bytes, MPI_BYTE, all, (int)bytes, MPI_BYTE, 0, MPI_COMM_WORLD);
	PMPI_Gather(&blocks.kind, 1, MPI_UINT64_T, kind, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD);
	if (skel_rank == 0) {
		alike_mean(all, kind, skel_size);
		rv = calibfile_write(path, all, skel_size, why, 256);
	}
	free(kind);
	free(all);
	return rv;
}

static void kernels_measure(struct curve *curve, double budget_ns)
{
	for (int c = 0; c < CLASS_N; c++) {
		if (!(blocks.cal.classes >> c & 1))
			continue;
		PMPI_Barrier(MPI_COMM_WORLD);
		calibrate_kernel(c, budget_ns, &curve[c]);
	}
}

/* The least of several rounds, as of the clock. */
static double gap_cost_ns(void)
{
	const int rounds = 10, gaps = 200;
	double least = 0, sum = 0;
	int mix;

	for (int round = 0; round < rounds; round++) {
		double start = skel_clock_ns();

		for (int i = 0; i < gaps; i++)
			sum += skel_data_gap(i & 1, (uint64_t)(round * gaps + i), &mix);
		start = skel_clock_ns() - start;
		if (round == 0 || start < least)
			least = start;
	}
	skel_data_rewind();
	return sum < 0 ? 0 : least / gaps;
}

/* Returns what the first mix takes by the clock over what it should. */
static double calibrate_here(void)
{
	struct calibration *c = &blocks.cal;
	double part = blocks.empty ? EMPTY_PART : 1, budget, wall_share;

	budget = KERNELS_BUDGET_NS / __builtin_popcount(c->classes);
	kernels_measure(c->kernel, part * (budget < KERNEL_MOST_NS ? budget : KERNEL_MOST_NS));
	PMPI_Barrier(MPI_COMM_WORLD);
	calibrate_among(c, blocks.empty ? 0 : AMONG_BUDGET_NS);
	budget = MIXES_BUDGET_NS / c->n_mix;
	for (int m = 0; m < c->n_mix; m++) {
		if (blocks.empty && m > 0) { /* all mixes are the same */
			memcpy(c->block_ns[m], c->block_ns[0], sizeof c->block_ns[m]);
			continue;
		}
		PMPI_Barrier(MPI_COMM_WORLD);
		calibrate_mix(c, m, part * (budget < MIX_MOST_NS ? budget : MIX_MOST_NS));
	}
	calibrate_call(c);
	c->gap_ns = gap_cost_ns();
	PMPI_Barrier(MPI_COMM_WORLD);
	calibration_scale(c, calibrate_share(c, part * SHARE_BUDGET_NS, &wall_share));
	return wall_share;
}

/* Time over processor time of blocks: the loss to other processes, without a calibration. */
static double share_glance(void)
{
	double start = skel_clock_ns(), cpu[2] = {0, 0}, wall;

	for (int i = 0; i < 2; i++) {
		struct timespec t;

		while (i == 1 && skel_clock_ns() - start < GLANCE_SHARE_NS)
			compute_block(0, 200e3);
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
		cpu[i] = (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
	}
	wall = skel_clock_ns() - start;
	return blocks.mix[0].threads == 1 && cpu[1] - cpu[0] > wall / 1000 ? wall / (cpu[1] - cpu[0]) : 1;
}

/* What a unit of each kernel takes here. */
static void kernels_report(const struct curve *curve, double share)
{
	double mine[CLASS_N] = {0};

	for (int c = 0; c < CLASS_N; c++)
		if (blocks.cal.classes >> c & 1)
			mine[c] = curve_ns_per_unit(&curve[c]) * share;
	PMPI_Allreduce(mine, blocks.kernel_ns, CLASS_N, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
	for (int c = 0; c < CLASS_N; c++)
		blocks.kernel_ns[c] /= skel_size;
}

/* Rounds that were left out were not measured for lack of processors, of other programs or of the job itself. */
static void lacked_undone(void)
{
	double most = calibrate_undone();

	PMPI_Allreduce(MPI_IN_PLACE, &most, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
	blocks.cal.lacked = fmax(blocks.cal.lacked, most);
}

void skel_blocks_open(const char *calibrate, const char *calibration)
{
	double start = skel_clock_ns();
	int ranks = ranks_here();
	struct kernel_shape shape;
	struct caches caches;
	char why[256] = "";

	mixes_read();
	caches_read("/sys", &caches);
	blocks.kind = alike_kind("/proc/cpuinfo", &caches, ranks);
	if (calibration != NULL)
		calibration_read(calibration);
	else
		shape_choose(&caches, ranks);
	shape = blocks.cal.shape;
	caches_bound(&caches, ranks, blocks.cal.classes, &shape);
	if (compute_open(blocks.mix, blocks.n_mix, &shape) != 0)
		skel_fail("no memory or no threads for the compute kernels");
	if (calibration == NULL) {
		struct company before;
		double share, together;

		company_look(&before);
		calibrate_limit(CALIBRATE_WALL_NS);
		share = calibrate_here();
		skel_company(&before, &blocks.cal.lacked, &together);
		lacked_undone();
		kernels_report(blocks.cal.kernel, share);
	} else {
		static struct curve glance[CLASS_N];

		kernels_measure(glance, GLANCE_NS);
		compute_use(&blocks.cal);
		PMPI_Barrier(MPI_COMM_WORLD);
		kernels_report(glance, share_glance());
	}
	/* At once, so that a file that cannot be written is no news in the end. */
	if (calibrate != NULL && calibration_write(calibrate, why) != 0)
		skel_fail("%s", why);
	compute_use(&blocks.cal);
	if (calibration == NULL && !blocks.empty)
		compute_learn();
	blocks.calibrate = calibrate;
	blocks.calibrated_ns = skel_clock_ns() - start;
}

int skel_blocks_close(void)
{
	char why[256] = "";
	int rv = 0;

	if (blocks.calibrate != NULL) {
		compute_learnt(&blocks.cal);
		rv = calibration_write(blocks.calibrate, why);
		if (rv != 0)
			fprintf(stderr, "skeleton: rank 0: %s\n", why);
	}
	compute_close();
	return rv;
}

void skel_blocks_print(FILE *f)
{
	for (int c = 0; c < CLASS_N; c++)
		if (blocks.cal.classes >> c & 1)
			fprintf(f, "kernel %s %.6f\n", kernel_name(c), blocks.kernel_ns[c]);
	fprintf(f, "calibrated_s %.6f\nlacked_calibrating %.4f\n", blocks.calibrated_ns * 1e-9, blocks.cal.lacked);
	fprintf(f, "digest %.6g\n", compute_digest());
}

void skel_blocks_run(int mix, double ns)
{
	double sleep = compute_sleep_ns(mix, ns);

	compute_block(mix, compute_work_ns(mix, ns));
	if (sleep > 0)
		skel_sleep(sleep);
}

void skel_gap(int gap)
{
	int mix;
	double ns = skel_data_gap(gap, skel_position, &mix);

	skel_compute(mix, ns - blocks.cal.gap_ns);
}
