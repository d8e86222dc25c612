/* SPDX-License-Identifier: GPL-2.0-or-later */
/* OverTimeLimit of the partitions of a job: see overtime.h. */
#include <string.h>

#include "common/duration.h"
#include "predictor/cluster/overtime.h"

bool soft_limit_works(unsigned major, unsigned minor, const char *scheduler_type, const char *scheduler_parameters)
{
	static const char name[] = "time_min_as_soft_limit";
	const char *p = scheduler_parameters ? scheduler_parameters : "";

	if (major < 23 || (major == 23 && minor < 11) || !scheduler_type || strcmp(scheduler_type, "sched/backfill"))
		return false;
	/* slurmctld itself looks for the name anywhere in the text. A word of its own is what is documented. */
	for (size_t n = strcspn(p, ","); *p; p += n + (p[n] == ','), n = strcspn(p, ","))
		if (n == sizeof(name) - 1 && !strncmp(p, name, n))
			return true;
	return false;
}

uint32_t overtime_least_min(uint32_t asked_min, uint32_t overtime_min)
{
	if (!overtime_min || asked_min == DURATION_UNSET || asked_min == DURATION_UNLIMITED)
		return asked_min;
	return asked_min > overtime_min ? asked_min - overtime_min : 1;
}

static const struct overtime_partition *partition_find(const struct overtime_table *t, const char *name, size_t len)
{
	for (size_t i = 0; i < t->n; i++)
		if (!strncmp(t->list[i].name, name, len) && !t->list[i].name[len])
			return &t->list[i];
	return NULL;
}

struct overtime overtime_of(const struct overtime_table *t, const char *partitions)
{
	struct overtime all = {0};
	const char *p = partitions;

	for (size_t n = strcspn(p, ","); n; p += n + (p[n] == ','), n = strcspn(p, ",")) {
		const struct overtime_partition *one = n < CONF_NAME_MAX ? partition_find(t, p, n) : NULL;
		uint32_t overtime_min = one ? one->o.overtime_min : 0;

		if (p == partitions || overtime_min < all.overtime_min)
			all.overtime_min = overtime_min;
		all.run_on |= one && one->o.run_on;
		if (one && one->o.reserved_at && (!all.reserved_at || one->o.reserved_at < all.reserved_at))
			all.reserved_at = one->o.reserved_at;
		if (one && one->o.longest_min && (!all.longest_min || one->o.longest_min < all.longest_min))
			all.longest_min = one->o.longest_min;
	}
	return all;
}
