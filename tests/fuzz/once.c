/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Runs a fuzzer's input once for each file that is named, and each file cut in the middle: see tests/cli/fuzz-corpora.t. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerInitialize(int *argc, char ***argv) __attribute__((weak));
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void run(const uint8_t *data, size_t size)
{
	uint8_t *copy = malloc(size ? size : 1); /* as long as the input: tools see reads behind it */

	if (!copy)
		abort();
	for (size_t i = 0; i < size; i++)
		copy[i] = data[i];
	LLVMFuzzerTestOneInput(copy, size);
	free(copy);
}

int main(int argc, char **argv)
{
	static uint8_t data[1 << 20];

	if (LLVMFuzzerInitialize)
		LLVMFuzzerInitialize(&argc, &argv);
	run(data, 0);
	for (int i = 1; i < argc; i++) {
		FILE *f = fopen(argv[i], "re");
		size_t n = f ? fread(data, 1, sizeof(data), f) : 0;

		if (!f || !n) {
			fprintf(stderr, "%s: cannot be read\n", argv[i]);
			return 1;
		}
		fclose(f);
		run(data, n);
		run(data, n / 2);
	}
	printf("%d files\n", argc - 1);
	return 0;
}
