/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Programs that start containers. This library does not exist inside a container, so the dynamic loader of every
 * program there would print an error. A program that starts containers therefore removes the library from its
 * LD_PRELOAD first.
 */
#include <fcntl.h>

#include "spank/loader/libc_free.h"

#define PRELOAD "LD_PRELOAD="
#define OURS    "libprecedent_trace.so"

static bool starts_containers(const char *program)
{
	/* enroot and udocker are scripts: the programs that they end in are listed */
	static const char name[][20] = {"apptainer", "singularity", "starter", "starter-suid", "podman", "docker",
					"ch-run", "enroot", "enroot-nsenter", "enroot-mount", "enroot-switchroot",
					"shifter", "shifterimg", "sarus", "udocker", "crun", "runc", "nerdctl",
					"proot", "bwrap"};

	for (size_t i = 0; i < sizeof(name) / sizeof(*name); i++)
		if (free_equal(program, name[i]))
			return true;
	return false;
}

/* Remove this library, by its file name, from a value of LD_PRELOAD, in place. */
static void strip_preload(char *value)
{
	char *out = value;

	for (const char *p = value; *p;) {
		size_t n = 0, base = 0;

		for (; p[n] && p[n] != ':' && p[n] != ' '; n++)
			if (p[n] == '/')
				base = n + 1;
		if (n && !(n - base == sizeof(OURS) - 1 && free_begins(p + base, OURS))) {
			if (out != value)
				*out++ = ':';
			for (size_t i = 0; i < n; i++)
				*out++ = p[i];
		}
		p += n + (p[n] != '\0');
	}
	*out = '\0';
}

/*
 * The text is changed where the kernel put it, since a Go program reads its environment there. musl calls
 * constructors without arguments.
 */
__attribute__((constructor)) static void leave_containers(int argc, char **argv, char **envp)
{
	char exe[PATH_MAX];
	long n;

	(void)argc;
	(void)argv;
	n = arch_syscall(SYS_readlinkat, AT_FDCWD, (long)"/proc/self/exe", (long)exe, sizeof(exe) - 1);
	if (n <= 0)
		return;
	exe[n] = '\0';
	if (!starts_containers(free_base_name(exe)))
		return;
	if (!gnu_get_libc_version)
		envp = &environ ? environ : NULL;
	for (; envp && *envp; envp++)
		if (free_begins(*envp, PRELOAD))
			strip_preload(*envp + sizeof(PRELOAD) - 1);
}
