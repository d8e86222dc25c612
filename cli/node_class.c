/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The class of this node: see node_class.h. */
#include <hwloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <xxhash.h>

#include "cli/node_class.h"

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

int node_class_here(struct node_class *out, struct errbuf *err)
{
	hwloc_topology_t topo;
	struct utsname u;
	char cpu[96], mpi[64], all[512];
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
	if (uname(&u) < 0)
		memset(&u, 0, sizeof(u));
	snprintf(out->text, sizeof(out->text), "%s, %d packages, %d cores, %d threads, L2 %lu KiB, L3 %lu KiB, %s", cpu,
		 hwloc_get_nbobjs_by_type(topo, HWLOC_OBJ_PACKAGE), hwloc_get_nbobjs_by_type(topo, HWLOC_OBJ_CORE),
		 hwloc_get_nbobjs_by_type(topo, HWLOC_OBJ_PU), cache_kib(topo, HWLOC_OBJ_L2CACHE),
		 cache_kib(topo, HWLOC_OBJ_L3CACHE), mpi);
	/* Memory to whole GiB: kernels reserve a little more or less of it. */
	snprintf(all, sizeof(all), "%s|%llu|%s|%s", out->text,
		 machine ? (unsigned long long)(machine->total_memory >> 30) : 0, u.machine, u.release);
	snprintf(out->hex, sizeof(out->hex), "%016llx", (unsigned long long)XXH3_64bits(all, strlen(all)));
	hwloc_topology_destroy(topo);
	return 0;
}
