/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Fuzzes the inputs of sbatch's plugin: command line, script, and an ELF file. The input is the script; its first
 * line, split at blanks, is also a command line. The same script must give the same fingerprint. A file is never
 * read beyond its end.
 *
 *   make build/fuzz/fuzz_fingerprint
 *   build/fuzz/fuzz_fingerprint -max_len=8192
 */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/fingerprint.h"
#include "common/inject.h"
#include "common/launches.h"
#include "common/sbatch_args.h"
#include "common/script_words.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool odd(const char *word)
{
	return word[0] & 1;
}

static void command_line(const char *text)
{
	char *line = strndup(text, strcspn(text, "\n")), *argv[64], *save = NULL, out[256];
	struct sbatch_args args = {0};
	size_t n = 0;
	if (!line)
		return;
	for (char *p = strtok_r(line, " ", &save); p && n < 64; p = strtok_r(NULL, " ", &save))
		argv[n++] = p;
	sbatch_args_read(argv, n, odd, &args);
	if (args.n_args > n)
		abort();
	if (inject_env_list(line, text, "/l/libprecedent_trace.so", "/s/1/2", "/l", out, sizeof(out)) == 0 && strlen(out) >= sizeof(out))
		abort();
	if (inject_env_list_strip(text, out, sizeof(out)) == 0 && strstr(out, ";PRECEDENT_TRACE_DIR="))
		abort();
	inject_preload_strip(text, out, sizeof(out));
	free(line);
}

static void elf_file(const uint8_t *data, size_t size)
{
	static int fd = -1;
	uint8_t id[64];
	if (fd < 0)
		fd = memfd_create("elf", MFD_CLOEXEC);
	if (ftruncate(fd, 0) == 0 && pwrite(fd, data, size, 0) == (ssize_t)size && fingerprint_build_id(fd, id, sizeof(id)) > 64)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char a[FINGERPRINT_LEN], b[FINGERPRINT_LEN], *text = malloc(size + 1);
	struct errbuf err;
	size_t n;
	if (!text)
		return 0;
	memcpy(text, data, size);
	text[size] = '\0';
	elf_file(data, size);
	command_line(text);
	free(sbatch_directives(text, size, &n));
	const struct fingerprint_job job = {.script = text, .script_len = size, .work_dir = "/usr/bin"};
	int first = fingerprint_job(&job, a, &err), second = fingerprint_job(&job, b, &err);
	if (first >= 0 && second >= 0 && strcmp(a, b) != 0)
		abort();
	char launches[2][LAUNCHES_LEN];
	first = launches_of(&job, launches[0], &err);
	if (launches_of(&job, launches[1], &err) == 0 && first == 0 && strcmp(launches[0], launches[1]) != 0)
		abort();
	free(text);
	return 0;
}
