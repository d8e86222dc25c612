/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Fuzzes model files and the interpreter. The input is the text before the last line, which is added with the right
 * hash. An accepted model must be written back the same, printed, and interpreted within bounds.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "model/induce/compile.h"
#include "model/induce/file.h"
#include "model/induce/interpret.h"
#include "model/induce/text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerInitialize(int *argc, char ***argv);

static FILE *null;

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	null = fopen("/dev/null", "w");
	return null ? 0 : -1;
}

static int event(void *arg, uint32_t point, double time_s, const double *var)
{
	const struct model *m = arg;

	(void)var;
	if (point >= m->n_points || !(time_s >= 0))
		__builtin_trap();
	return 0;
}

static void interpret(const struct model *m)
{
	const struct model_limits limits = {.steps = 200, .events = 150};
	struct model_sink sink = {event, (void *)m};
	double in[MODEL_MAX_NAMES], var[MODEL_MAX_NAMES];
	uint64_t passages[MODEL_MAX_POINTS];
	struct model_result r = {.var = var, .passages = passages};
	struct errbuf err = {""};

	for (uint32_t i = 0; i < m->n_inputs; i++)
		in[i] = m->input[i].lo;
	if (model_interpret(m, in, 1, &limits, &sink, &r, &err) < 0 && !*err.text)
		__builtin_trap();
	if (r.steps > 200 || r.events > 150)
		__builtin_trap();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 64);
	struct errbuf err = {""};
	struct buf back = {0};
	struct model *m;
	size_t len;

	if (!text)
		return 0;
	memcpy(text, data, size);
	len = size + (size_t)sprintf(text + size, "end %016llx\n", (unsigned long long)XXH3_64bits(data, size));
	m = model_parse(text, len, &err);
	if (!m && !*err.text)
		__builtin_trap();
	if (m) {
		if (model_format(m, &back, &err) < 0 || back.len != len || memcmp(back.data, text, len))
			__builtin_trap();
		if (model_print(m, null) < 0 || model_print_dot(m, null) < 0 || model_emit_c(m, null, &err) < 0)
			__builtin_trap();
		interpret(m);
	}
	buf_free(&back);
	model_destroy(m);
	free(text);
	return 0;
}
