/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Steps whose computation runs on an NVIDIA device: a kernel over the rank's numbers, then their sum over all ranks.
 *
 *   gpu [STEPS=200] [NUMBERS=1000000] [PASSES=2000]
 *
 * Each pass multiplies and adds once per number. The program opens the driver's library, which translates the kernel. So the
 * program builds without CUDA. Without a device it says so and ends with status 77. Rank 0 prints a checksum.
 */
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

/* x[i] = x[i] * a + b, again and again. */
static const char KERNEL[] = ".version 6.0\n.target sm_50\n.address_size 64\n"
			     ".visible .entry passes(.param .u64 p_x, .param .u32 p_n, .param .u32 p_passes)\n{\n"
			     " .reg .u64 %rd<4>; .reg .u32 %r<8>; .reg .pred %p<3>; .reg .f64 %f<4>;\n"
			     " ld.param.u64 %rd1, [p_x]; ld.param.u32 %r1, [p_n]; ld.param.u32 %r2, [p_passes];\n"
			     " mov.u32 %r3, %ctaid.x; mov.u32 %r4, %ntid.x; mov.u32 %r5, %tid.x;\n"
			     " mad.lo.u32 %r6, %r3, %r4, %r5; setp.ge.u32 %p1, %r6, %r1; @%p1 bra done;\n"
			     " cvta.to.global.u64 %rd1, %rd1; mul.wide.u32 %rd2, %r6, 8; add.u64 %rd3, %rd1, %rd2;\n"
			     " ld.global.f64 %f1, [%rd3]; mov.f64 %f2, 0d3FEFFFFFC0000000; mov.f64 %f3, 0d3E80000000000000;\n"
			     "again:\n fma.rn.f64 %f1, %f1, %f2, %f3; sub.u32 %r2, %r2, 1; setp.ne.u32 %p2, %r2, 0; @%p2 bra again;\n"
			     " st.global.f64 [%rd3], %f1;\ndone:\n ret;\n}\n";

typedef unsigned long long device_address;

/* As cuda.h declares them. They return 0 on success. */
static struct {
	int (*init)(unsigned int);
	int (*device)(int *, int);
	int (*context)(void **, unsigned int, int);
	int (*load)(void **, const void *);
	int (*function)(void **, void *, const char *);
	int (*allocate)(device_address *, size_t);
	int (*to_device)(device_address, const void *, size_t);
	int (*to_host)(void *, device_address, size_t);
	int (*launch)(void *, unsigned int, unsigned int, unsigned int, unsigned int, unsigned int, unsigned int, unsigned int, void *,
		      void **, void **);
	int (*wait)(void);
} cu;

static int open_driver(void)
{
	const struct {
		const char *name;
		void *to;
	} symbols[] = {{"cuInit", &cu.init},
		       {"cuDeviceGet", &cu.device},
		       {"cuCtxCreate_v2", &cu.context},
		       {"cuModuleLoadData", &cu.load},
		       {"cuModuleGetFunction", &cu.function},
		       {"cuMemAlloc_v2", &cu.allocate},
		       {"cuMemcpyHtoD_v2", &cu.to_device},
		       {"cuMemcpyDtoH_v2", &cu.to_host},
		       {"cuLaunchKernel", &cu.launch},
		       {"cuCtxSynchronize", &cu.wait}};
	void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);

	if (!library)
		return -1;
	for (size_t i = 0; i < sizeof(symbols) / sizeof(*symbols); i++) {
		*(void **)symbols[i].to = dlsym(library, symbols[i].name);
		if (!*(void **)symbols[i].to)
			return -1;
	}
	return cu.init(0);
}

static void check(int status, const char *what)
{
	if (!status)
		return;
	fprintf(stderr, "gpu: %s: error %d\n", what, status);
	MPI_Abort(MPI_COMM_WORLD, 1);
}

static void *kernel(void)
{
	void *context, *module, *function;
	int device;

	check(cu.device(&device, 0), "cuDeviceGet");
	check(cu.context(&context, 0, device), "cuCtxCreate");
	check(cu.load(&module, KERNEL), "cuModuleLoadData");
	check(cu.function(&function, module, "passes"), "cuModuleGetFunction");
	return function;
}

static double run(double *x, unsigned int n, int steps, unsigned int passes)
{
	void *function = kernel();
	device_address on_device;
	void *arguments[] = {&on_device, &n, &passes};
	const unsigned int threads = 256;
	double all = 0;

	check(cu.allocate(&on_device, n * sizeof(*x)), "cuMemAlloc");
	check(cu.to_device(on_device, x, n * sizeof(*x)), "cuMemcpyHtoD");
	for (int step = 0; step < steps; step++) {
		double sum = 0;

		check(cu.launch(function, (n + threads - 1) / threads, 1, 1, threads, 1, 1, 0, NULL, arguments, NULL), "cuLaunchKernel");
		check(cu.wait(), "cuCtxSynchronize");
		check(cu.to_host(x, on_device, n * sizeof(*x)), "cuMemcpyDtoH");
		for (unsigned int i = 0; i < n; i++)
			sum += x[i];
		MPI_Allreduce(&sum, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
	}
	return all;
}

int main(int argc, char **argv)
{
	int steps = argc > 1 ? atoi(argv[1]) : 200, numbers = argc > 2 ? atoi(argv[2]) : 1000000;
	int passes = argc > 3 ? atoi(argv[3]) : 2000, rank, there, all_there;
	double *x, sum;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	there = steps > 0 && numbers > 0 && passes > 0 && !open_driver();
	MPI_Allreduce(&there, &all_there, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
	x = malloc((size_t)(numbers > 0 ? numbers : 1) * sizeof(*x));
	if (!all_there || !x) {
		if (!rank)
			fprintf(stderr, "gpu: there is no device of NVIDIA here\n");
		MPI_Finalize();
		return 77;
	}
	for (int i = 0; i < numbers; i++)
		x[i] = rank + i % 10;
	sum = run(x, (unsigned int)numbers, steps, (unsigned int)passes);
	if (!rank)
		printf("%.10e\n", sum);
	free(x);
	MPI_Finalize();
	return 0;
}
