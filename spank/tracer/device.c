/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Accelerators of this process: see device.h. Three looks in a run, of some ten microseconds each. */
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <string.h>
#include <unistd.h>

#include "spank/tracer/device.h"
#include "spank/tracer/device_needed.h"
#include "trace/format/device.h"

#define FILES_MAX 4096 /* a look at more open files takes over a millisecond; the lowest come first */

/* What a look saw. files: number of open files, by the bit of their kind. */
struct look {
	uint64_t libraries;
	uint32_t files[TDEV_N];
};

static struct look before, after;
/* Device files lie in this directory; tests have another. */
static const char *device_root = "";

static int note_library(struct dl_phdr_info *info, size_t size, void *look)
{
	(void)size;
	if (info->dlpi_name)
		((struct look *)look)->libraries |= trace_device_of_library(info->dlpi_name);
	return 0;
}

static void note_file(int dir, const char *name, struct look *l)
{
	static char path[PATH_MAX]; /* static, since the stack may be small */
	size_t root = strlen(device_root);
	ssize_t n = readlinkat(dir, name, path, sizeof(path) - 1);
	uint64_t bit;

	path[n > 0 ? n : 0] = '\0';
	if (strncmp(path, device_root, root) || !(bit = trace_device_of_file(path + root)))
		return;
	l->files[__builtin_ctzll(bit)]++;
}

static void look_now(struct look *l)
{
	DIR *d = opendir("/proc/self/fd");
	struct dirent *e;

	memset(l, 0, sizeof(*l));
	dl_iterate_phdr(note_library, l);
	for (int i = 0; d && i < FILES_MAX && (e = readdir(d)); i++)
		note_file(dirfd(d), e->d_name, l);
	if (d)
		closedir(d);
}

void device_before_init(void)
{
	look_now(&before);
}

void device_after_init(void)
{
	look_now(&after);
}

uint64_t device_used(void)
{
	struct look now;
	uint64_t used;

	look_now(&now);
	used = now.libraries & ~(after.libraries & ~before.libraries);
	if (used)
		used &= ~device_needed_by_mpi();
	for (int d = 0; d < TDEV_N; d++) {
		uint32_t by_mpi = after.files[d] > before.files[d] ? after.files[d] - before.files[d] : 0;

		if (now.files[d] > by_mpi)
			used |= 1ull << d;
	}
	return used;
}
