/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * spank_precedent.so: entry points only. The submit side is in submit_side.c, the nodes' side in task_side.c. All
 * functions return 0, except for a wrong value of --predict where the user typed it.
 */
#include <slurm/spank.h>

#include "spank/submit_side.h"
#include "spank/task_side.h"

#pragma GCC visibility push(default)
SPANK_PLUGIN(precedent, 1)
#pragma GCC visibility pop

static int predict_option(int val, const char *optarg, int remote)
{
	(void)val;
	if (!remote)
		return submit_side_option(optarg);
	task_side_option(optarg);
	return 0;
}

static struct spank_option options[] = {
	{
		.name = "predict",
		.arginfo = "off|observe|limit|place",
		.usage = "what precedent does for this job: off, tell only, set the time limit, choose the partition",
		.has_arg = 1,
		.cb = predict_option,
	},
};

__attribute__((visibility("default"))) int slurm_spank_init(spank_t sp, int ac, char **av)
{
	if (spank_context() == S_CTX_SLURMD) {
		task_side_slurmd(ac, av);
	} else {
		submit_side_begin();
		spank_option_register(sp, &options[0]);
	}
	return 0;
}

__attribute__((visibility("default"))) int slurm_spank_init_post_opt(spank_t sp, int ac, char **av)
{
	switch (spank_context()) {
	case S_CTX_ALLOCATOR:
	case S_CTX_LOCAL:
		submit_side_options_done(sp);
		break;
	case S_CTX_REMOTE:
		task_side_step(sp, ac, av);
		break;
	default:
		break;
	}
	return 0;
}

__attribute__((visibility("default"))) int slurm_spank_task_init(spank_t sp, int ac, char **av)
{
	(void)ac;
	(void)av;
	if (spank_context() == S_CTX_REMOTE)
		task_side_task(sp);
	return 0;
}

__attribute__((visibility("default"))) int slurm_spank_task_exit(spank_t sp, int ac, char **av)
{
	(void)ac;
	(void)av;
	if (spank_context() == S_CTX_REMOTE)
		task_side_task_ended(sp);
	return 0;
}

__attribute__((visibility("default"))) int slurm_spank_exit(spank_t sp, int ac, char **av)
{
	(void)sp;
	(void)ac;
	(void)av;
	if (spank_context() == S_CTX_REMOTE)
		task_side_step_ended();
	return 0;
}
