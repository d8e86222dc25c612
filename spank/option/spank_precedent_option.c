/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * spank_precedent_option.so: accepts --predict and does nothing. It stays where Precedent was removed, since sbatch
 * refuses scripts with "#SBATCH --predict=off" if no plugin knows the option. Options of queued jobs name the plugin,
 * so it has the same name as spank_precedent.so.
 */
#include <link.h>
#include <string.h>
#include <slurm/spank.h>

#pragma GCC visibility push(default)
SPANK_PLUGIN(precedent, 1)
#pragma GCC visibility pop

static int is_precedent(struct dl_phdr_info *info, size_t size, void *arg)
{
	const char *base = strrchr(info->dlpi_name, '/');

	(void)size;
	(void)arg;
	return base && !strcmp(base, "/spank_precedent.so");
}

static int ignore_option(int val, const char *optarg, int remote)
{
	(void)val;
	(void)optarg;
	(void)remote;
	return 0;
}

__attribute__((visibility("default"))) int slurm_spank_init(spank_t sp, int ac, char **av)
{
	static struct spank_option option = {
		.name = "predict",
		.arginfo = "off|observe|limit|place",
		.usage = "ignored: precedent is not installed",
		.has_arg = 1,
		.cb = ignore_option,
	};

	(void)ac;
	(void)av;
	if (!dl_iterate_phdr(is_precedent, NULL))
		spank_option_register(sp, &option);
	return 0;
}
