/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Accelerators by the names of their libraries and device files: see device.h. */
#include <stdio.h>
#include <string.h>

#include "trace/format/device.h"

/* prefix: of a library's file name, or of a device file's path. */
static const struct {
	const char *name, *prefix[2];
} device[TDEV_N] = {
	[TDEV_CUDA] = {"CUDA", {"libcuda.so", "libcudart.so"}},
	[TDEV_HIP] = {"HIP", {"libamdhip64.so", "libhsa-runtime64.so"}},
	[TDEV_LEVEL_ZERO] = {"Level Zero", {"libze_loader.so"}},
	[TDEV_NVIDIA] = {"/dev/nvidia*", {"/dev/nvidia"}},
	[TDEV_KFD] = {"/dev/kfd", {"/dev/kfd"}},
	[TDEV_RENDER] = {"/dev/dri/renderD*", {"/dev/dri/renderD"}},
};

static uint64_t find(const char *text, enum trace_device from, enum trace_device end)
{
	for (enum trace_device d = from; d < end; d++)
		for (size_t i = 0; i < 2 && device[d].prefix[i]; i++)
			if (!strncmp(text, device[d].prefix[i], strlen(device[d].prefix[i])))
				return 1ull << d;
	return 0;
}

uint64_t trace_device_of_library(const char *path)
{
	const char *slash = strrchr(path, '/');

	return find(slash ? slash + 1 : path, TDEV_CUDA, TDEV_NVIDIA);
}

uint64_t trace_device_of_file(const char *path)
{
	return find(path, TDEV_NVIDIA, TDEV_N);
}

const char *trace_device_name(enum trace_device d)
{
	return d < TDEV_N ? device[d].name : "another device";
}

const char *trace_device_names(uint64_t devices, char *out, size_t size)
{
	uint64_t later = devices >> TDEV_N;
	size_t len = 0;

	out[0] = '\0';
	for (enum trace_device d = 0; d <= TDEV_N && len < size; d++)
		if (d < TDEV_N ? devices >> d & 1 : later != 0)
			len += (size_t)snprintf(out + len, size - len, "%s%s", len ? ", " : "", trace_device_name(d));
	return out;
}
