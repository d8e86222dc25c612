/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Accelerators of a process, as bits. A bit says what the recorder saw: a runtime library in the process, or an open
 * device file. No skeleton repeats work on an accelerator.
 */
#ifndef PRECEDENT_TRACE_DEVICE_H
#define PRECEDENT_TRACE_DEVICE_H

#include <stddef.h>
#include <stdint.h>

/* The numbers are in traces: never change one. */
enum trace_device {
	TDEV_CUDA, TDEV_HIP, TDEV_LEVEL_ZERO, /* libraries */
	TDEV_NVIDIA, TDEV_KFD, TDEV_RENDER,   /* files */
	TDEV_N
};

/* The bit of the library with this path; 0: none. */
uint64_t trace_device_of_library(const char *path);
/* The bit of the device file with this path; 0: none. */
uint64_t trace_device_of_file(const char *path);
/* Name of one bit, as people know the device. */
const char *trace_device_name(enum trace_device device);
/* "CUDA, /dev/nvidia*": cut to size. Bits of newer versions are "another device". Returns out. */
const char *trace_device_names(uint64_t devices, char *out, size_t size);

#endif
