/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The mixes of a trace's compute blocks: see mix.h. */
#include "skelgen/mix.h"

#include <stdlib.h>
#include <string.h>

/* What codes of simulation do on average: the first guess, where nothing was sampled. */
const double skel_mix_default[CLASS_N] = {
	[CLASS_INTEGER] = 0.25, [CLASS_BRANCH] = 0.05, [CLASS_SCALAR] = 0.25, [CLASS_VECTOR] = 0.10,
	[CLASS_DIVIDE] = 0.03, [CLASS_LIBM] = 0.02, [CLASS_STREAM_L2] = 0.08, [CLASS_STREAM_L3] = 0.05,
	[CLASS_STREAM_MEM] = 0.10, [CLASS_RANDOM_L2] = 0.03, [CLASS_RANDOM_L3] = 0.02, [CLASS_RANDOM_MEM] = 0.02,
};

static void mix_default(struct skel_mix *m)
{
	*m = (struct skel_mix){.threads = 1, .doubt = 1};
	memcpy(m->share, skel_mix_default, sizeof(m->share));
}

int skel_mix_collect(const struct skel_tree *tree, const struct skel_times *times, struct skel_mixes *out,
		     struct errbuf *err)
{
	(void)times;
	memset(out, 0, sizeof(*out));
	out->source = "default";
	out->n_mix = 1;
	mix_default(&out->mix[0]);
	out->n_leaf = tree->n_leaf;
	out->of_leaf = calloc(tree->n_leaf + 1u, sizeof(*out->of_leaf));
	if (!out->of_leaf)
		return err_set(err, "no memory for the mixes of %u calls", tree->n_leaf);
	return 0;
}

void skel_mix_free(struct skel_mixes *m)
{
	free(m->of_leaf);
	m->of_leaf = NULL;
	m->n_leaf = 0;
}
