/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The class of this node: see node_class.h. */
#include <hwloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <xxhash.h>

#include "cli/ui/node_class.h"

/* First line of `mpirun --version`, "" when there is none. */
static void mpi_version(char *out, size_t size)
{
	FILE *f = popen("mpirun --version 2>/dev/null </dev/null", "re");

	out[0] = '\0';
	if (!f)
		return;
	if (fgets(out, (int)size, f))
		out[strcspn(out, "\r\n")] = '\0';
	pclose(f);
}

static void cpu_model(hwloc_topology_t topo, char *out, size_t size)
{
	hwloc_obj_t o = hwloc_get_obj_by_type(topo, HWLOC_OBJ_PACKAGE, 0);
	const char *model = o ? hwloc_obj_get_info_by_name(o, "CPUModel") : NULL;

	snprintf(out, size, "%s", model && *model ? model : "unknown CPU");
}

static unsigned long cache_kib(hwloc_topology_t topo, hwloc_obj_type_t type)
{
	hwloc_obj_t o = hwloc_get_obj_by_type(topo, type, 0);

	return o && o->attr ? (unsigned long)(o->attr->cache.size / 1024) : 0;
}

/* The text after `key` and a colon, from the first line of a small file that starts with `key`. With key NULL, the
 * whole first line. "" if there is no such line. */
static void file_value(const char *path, const char *key, char *out, size_t size)
{
	FILE *f = fopen(path, "re");
	char line[256];

	out[0] = '\0';
	while (f && !out[0] && fgets(line, sizeof(line), f)) {
		const char *value = key ? strchr(line, ':') : line;

		line[strcspn(line, "\r\n")] = '\0';
		if (key && (strncmp(line, key, strlen(key)) || !value))
			continue;
		value += key ? 1 : 0;
		snprintf(out, size, "%s", value + strspn(value, " \t"));
		if (!key)
			break;
	}
	if (f)
		fclose(f);
}

/*
 * Installed memory. Kernels reserve a little memory, and the amount differs from boot to boot. So the size is rounded
 * up to the next of sixteen steps to the next power of two.
 */
static unsigned long long memory_mib(unsigned long long bytes)
{
	unsigned long long step = 1ULL << 26; /* a sixteenth of 1 GiB */

	while (step * 16 < bytes)
		step *= 2;
	return (bytes + step - 1) / step * step >> 20;
}

/* What does not change from boot to boot: kernel, firmware, microcode. */
static void software(char *out, size_t size)
{
	char bios[64], microcode[32];
	struct utsname u;

	if (uname(&u) < 0)
		memset(&u, 0, sizeof(u));
	file_value("/sys/class/dmi/id/bios_version", NULL, bios, sizeof(bios));
	file_value("/proc/cpuinfo", "microcode", microcode, sizeof(microcode));
	snprintf(out, size, "%.64s %.64s, firmware %s, microcode %s", u.machine, u.release, bios[0] ? bios : "unknown",
		 microcode[0] ? microcode : "unknown");
}

int node_class_here(struct node_class *out, struct errbuf *err)
{
	char cpu[96], mpi[64], system[256], all[768];
	hwloc_topology_t topo;
	hwloc_obj_t machine;

	if (hwloc_topology_init(&topo) < 0)
		return err_set(err, "hwloc cannot be initialised");
	hwloc_topology_set_flags(topo, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED);
	if (hwloc_topology_load(topo) < 0) {
		hwloc_topology_destroy(topo);
		return err_set(err, "hwloc cannot read the topology of this node");
	}
	machine = hwloc_get_root_obj(topo);
	cpu_model(topo, cpu, sizeof(cpu));
	mpi_version(mpi, sizeof(mpi));
	software(system, sizeof(system));
	snprintf(all, sizeof(all), "%s, %d packages, %d cores, %d threads, L2 %lu KiB, L3 %lu KiB, %s, %s, %llu MiB", cpu,
		 hwloc_get_nbobjs_by_type(topo, HWLOC_OBJ_PACKAGE), hwloc_get_nbobjs_by_type(topo, HWLOC_OBJ_CORE),
		 hwloc_get_nbobjs_by_type(topo, HWLOC_OBJ_PU), cache_kib(topo, HWLOC_OBJ_L2CACHE),
		 cache_kib(topo, HWLOC_OBJ_L3CACHE), mpi, system, machine ? memory_mib(machine->total_memory) : 0);
	snprintf(out->text, sizeof(out->text), "%.200s", all);
	snprintf(out->hex, sizeof(out->hex), "%016llx", (unsigned long long)XXH3_64bits(all, strlen(all)));
	hwloc_topology_destroy(topo);
	return 0;
}
