/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Accelerators of a process: names of libraries and device files. MPI_Init opens some of them, the program others. Stand-ins
 * for device files lie in a directory of the test.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "spank/tracer/device.c"
#include "spank/tracer/device_needed.c"

#define BIT(d) (1ull << (d))

static char root[] = "/tmp/precedent-test-XXXXXX";

static int open_stand_in(const char *path)
{
	char file[128];
	int fd;

	snprintf(file, sizeof(file), "%s%s", root, path);
	fd = open(file, O_RDWR | O_CREAT, 0600);
	assert_true(fd >= 0);
	return fd;
}

static void test_libraries(void **state)
{
	static const struct {
		const char *path;
		uint64_t bit;
	} table[] = {
		{"/usr/lib/x86_64-linux-gnu/libcuda.so.1", BIT(TDEV_CUDA)},
		{"libcuda.so.525.147.05", BIT(TDEV_CUDA)},
		{"/opt/cuda/lib64/libcudart.so.12", BIT(TDEV_CUDA)},
		{"/opt/rocm/lib/libamdhip64.so.6", BIT(TDEV_HIP)},
		{"/opt/rocm/lib/libhsa-runtime64.so.1", BIT(TDEV_HIP)},
		{"libze_loader.so.1", BIT(TDEV_LEVEL_ZERO)},
		{"/usr/lib/libOpenCL.so.1", 0}, /* programs are linked to it that never use it */
		{"/home/libcuda.so.1/a.out", 0},
		{"/usr/lib/libcudadebugger.so.1", 0},
		{"/usr/lib/libopencl-clang.so", 0},
		{"/dev/nvidia0", 0},
		{"", 0},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++)
		assert_int_equal(trace_device_of_library(table[i].path), table[i].bit);
}

static void test_files(void **state)
{
	(void)state;
	assert_int_equal(trace_device_of_file("/dev/nvidia0"), BIT(TDEV_NVIDIA));
	assert_int_equal(trace_device_of_file("/dev/nvidiactl"), BIT(TDEV_NVIDIA));
	assert_int_equal(trace_device_of_file("/dev/kfd"), BIT(TDEV_KFD));
	assert_int_equal(trace_device_of_file("/dev/dri/renderD128"), BIT(TDEV_RENDER));
	assert_int_equal(trace_device_of_file("/dev/dri/card0"), 0);
	assert_int_equal(trace_device_of_file("/tmp/dev/nvidia0"), 0);
	assert_int_equal(trace_device_of_file("libcuda.so.1"), 0);
	assert_int_equal(trace_device_of_file(""), 0);
}

static void test_names(void **state)
{
	char out[128], small[8];

	(void)state;
	assert_string_equal(trace_device_names(0, out, sizeof(out)), "");
	assert_string_equal(trace_device_names(BIT(TDEV_HIP) | BIT(TDEV_KFD), out, sizeof(out)), "HIP, /dev/kfd");
	assert_string_equal(trace_device_names(BIT(TDEV_CUDA) | BIT(TDEV_N + 3), out, sizeof(out)), "CUDA, another device");
	assert_string_equal(trace_device_names(~0ull, small, sizeof(small)), "CUDA, H");
}

/* A file that the program has opened counts at any time, one that MPI_Init has opened does not. */
static void test_used(void **state)
{
	int early, mpi, late;

	(void)state;
	device_before_init();
	device_after_init();
	assert_int_equal(device_used(), 0);
	early = open_stand_in("/dev/kfd");
	device_before_init();
	mpi = open_stand_in("/dev/nvidiactl");
	device_after_init();
	assert_int_equal(device_used(), BIT(TDEV_KFD));
	late = open_stand_in("/dev/nvidia0");
	assert_int_equal(device_used(), BIT(TDEV_KFD) | BIT(TDEV_NVIDIA));
	close(late);
	close(early);
	assert_int_equal(device_used(), 0);
	late = open_stand_in("/dev/dri/renderD128");
	assert_int_equal(device_used(), BIT(TDEV_RENDER));
	close(late);
	close(mpi);
}

/* Loads a copy of cmocka's library that has the name of an accelerator's. */
static void *load_stand_in(void)
{
	char file[128], command[PATH_MAX + 160];
	Dl_info of;
	void *library;

	assert_true(dladdr((void *)(uintptr_t)_cmocka_run_group_tests, &of));
	snprintf(file, sizeof(file), "%s/libcuda.so.1", root);
	snprintf(command, sizeof(command), "cp '%s' '%s'", of.dli_fname, file);
	assert_int_equal(system(command), 0);
	library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
	assert_non_null(library);
	return library;
}

/* A library that MPI_Init loads does not count, though it stays. */
static void test_library_used(void **state)
{
	void *library;

	(void)state;
	device_before_init();
	device_after_init();
	library = load_stand_in();
	assert_int_equal(device_used(), BIT(TDEV_CUDA)); /* loaded after MPI_Init */
	device_before_init();
	device_after_init();
	assert_int_equal(device_used(), BIT(TDEV_CUDA)); /* loaded before */
	dlclose(library);
	device_before_init();
	library = load_stand_in();
	device_after_init();
	assert_int_equal(device_used(), 0);
	dlclose(library);
}

static int setup(void **state)
{
	static const char *const dirs[] = {"", "/dev", "/dev/dri"};
	char path[128];

	(void)state;
	if (!mkdtemp(root))
		return -1;
	for (size_t i = 1; i < 3; i++) {
		snprintf(path, sizeof(path), "%s%s", root, dirs[i]);
		if (mkdir(path, 0700))
			return -1;
	}
	device_root = root;
	return 0;
}

static int teardown(void **state)
{
	static const char *const made[] = {"/libcuda.so.1", "/dev/kfd", "/dev/nvidiactl", "/dev/nvidia0", "/dev/dri/renderD128", "/dev/dri", "/dev", ""};
	char path[128];

	(void)state;
	for (size_t i = 0; i < sizeof(made) / sizeof(*made); i++) {
		snprintf(path, sizeof(path), "%s%s", root, made[i]);
		remove(path);
	}
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_libraries), cmocka_unit_test(test_files), cmocka_unit_test(test_names),
		cmocka_unit_test(test_used), cmocka_unit_test(test_library_used),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("device", tests, setup, teardown);
}
