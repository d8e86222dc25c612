/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Fingerprints of a real directory: changes that count, changes that do not count, and the job's own output, which
 * does not count. The directory is made here or in the home directory, since files below /tmp are never inputs.
 */
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

#include "common/fingerprint.h"
#include "common/identity.h"

static char dir[PATH_MAX], path_variable[PATH_MAX + 64];

static const char *lookup(const char *name)
{
	return strcmp(name, "PATH") == 0 ? path_variable : NULL;
}

static void write_bytes(const char *name, const void *data, size_t len, mode_t mode)
{
	char path[PATH_MAX + 64];
	snprintf(path, sizeof(path), "%s/%s", dir, name);
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, mode);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, data, len), (ssize_t)len);
	close(fd);
}

static void write_text(const char *name, const char *text)
{
	write_bytes(name, text, strlen(text), 0644);
}

static void remove_file(const char *name)
{
	char path[PATH_MAX + 64];
	snprintf(path, sizeof(path), "%s/%s", dir, name);
	assert_int_equal(unlink(path), 0);
}

static void copy_file(const char *from, const char *name)
{
	static char data[4 * 1024 * 1024];
	FILE *f = fopen(from, "r");
	assert_non_null(f);
	size_t n = fread(data, 1, sizeof(data), f);
	fclose(f);
	write_bytes(name, data, n, 0755);
}

static const char *of_job(const struct fingerprint_job *job)
{
	static char out[8][FINGERPRINT_LEN];
	static unsigned turn;
	struct errbuf err;
	char *fp = out[turn++ % 8];
	int n = fingerprint_job(job, fp, &err);
	const char *count = fp + 35;
	assert_true(n >= 0);
	assert_true(strncmp(fp, "v1:", 3) == 0 && strspn(fp + 3, "0123456789abcdef") == 32 && *count == ':');
	assert_true(identity_fingerprint_valid(fp));
	assert_int_equal(atoi(count + 1), n);
	return fp;
}

static const char *of(const char *script)
{
	const struct fingerprint_job job = {.script = script, .script_len = strlen(script), .work_dir = dir, .lookup = lookup};
	return of_job(&job);
}

static int files_of(const char *script)
{
	return atoi(of(script) + 36);
}

static int setup(void **state)
{
	char cwd[PATH_MAX / 2];
	const char *const places[] = {getcwd(cwd, sizeof(cwd)), getenv("HOME"), "/srv", "/opt"};
	bool made = false;
	(void)state;
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]) && !made; i++) {
		if (!places[i] || strncmp(places[i], "/tmp", 4) == 0 || strncmp(places[i], "/var/tmp", 8) == 0)
			continue;
		snprintf(dir, sizeof(dir), "%.2000s/.test_fingerprint.XXXXXX", places[i]);
		made = mkdtemp(dir) != NULL;
	}
	if (!made)
		return -1;
	snprintf(path_variable, sizeof(path_variable), "relative:%s/bin:/usr/bin:/bin", dir);
	write_text("in.dat", "1 2 3\n");
	return 0;
}

static int teardown(void **state)
{
	char command[PATH_MAX + 16];
	(void)state;
	snprintf(command, sizeof(command), "rm -rf '%s'", dir);
	return system(command);
}

static void test_content_counts(void **state)
{
	static const char SCRIPT[] = "#!/bin/sh\nmpirun ./app in.dat\n";
	char path[PATH_MAX + 64];
	const struct timespec times[2] = {{.tv_sec = 1}, {.tv_sec = 1}};
	const char *first = of(SCRIPT);
	(void)state;
	assert_int_equal(files_of(SCRIPT), 1);
	assert_string_equal(of(SCRIPT), first);
	snprintf(path, sizeof(path), "%s/in.dat", dir);
	assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
	assert_string_equal(of(SCRIPT), first);
	write_text("in.dat", "1 2 4\n");
	assert_string_not_equal(of(SCRIPT), first);
	write_text("in.dat", "1 2 3\n");
	assert_string_equal(of(SCRIPT), first);
	write_text("copy.dat", "1 2 3\n");
	assert_string_equal(of("#!/bin/sh\nmpirun ./app copy.dat\n"), first);
	write_text("app", "#!/bin/sh\n");
	assert_string_not_equal(of(SCRIPT), first);
	remove_file("app");
	remove_file("copy.dat");
	assert_string_equal(of(SCRIPT), first);
}

/* After the first run, the directory must give the same fingerprint. */
static void test_own_output_does_not_count(void **state)
{
	static const char *const SCRIPTS[] = {
		"mpirun ./app in.dat > new.out\n",
		"mpirun ./app in.dat 2>new.out >>other.out\n",
		"mpirun ./app in.dat -o new.out --output=other.out\n",
		"mpirun ./app in.dat -log new.out\n",
		"mpirun ./app in.dat | tee new.out\n",
		"OUT=new.out\nmpirun ./app in.dat >$OUT\n",
		"mpirun ./app in.dat\ngrep x new.out\ncat other.out > more.out\n",
		"touch new.out\nmpirun ./app in.dat new.out\n",
		"cp in.dat new.out\nmpirun ./app new.out in.dat\n",
		"cp /data/new.out other.out .\nmpirun ./app new.out in.dat other.out\n",
		"cp $X/new.out .\nmpirun ./app new.out in.dat\n",
		"mv new.out old\nmpirun ./app in.dat\n",
		"rm -f new.out\nsrun -o other.out -e new.out ./app in.dat\n",
		"./app in.dat >new.out; wc new.out\n",
		"dd if=in.dat of=new.out; mpirun ./app new.out\n",
		"mkdir -p run; cd run; mpirun ../app ../in.dat\n",
	};
	(void)state;
	for (size_t i = 0; i < sizeof(SCRIPTS) / sizeof(SCRIPTS[0]); i++) {
		char before[FINGERPRINT_LEN];
		snprintf(before, sizeof(before), "%s", of(SCRIPTS[i]));
		assert_string_equal(strrchr(before, ':'), ":1");
		write_text("new.out", "result\n");
		write_text("other.out", "other\n");
		assert_string_equal(of(SCRIPTS[i]), before);
		remove_file("new.out");
		remove_file("other.out");
	}
}

/* srun --multi-prog FILE runs the programs in FILE. */
static void test_multi_prog(void **state)
{
	static const char SCRIPT[] = "#!/bin/sh\nsrun -n 4 --multi-prog multi.conf\n";
	char before[FINGERPRINT_LEN], *args[] = {"-n", "4", "--multi-prog", "multi.conf"};
	struct fingerprint_job srun = {.args = args, .n_args = 4, .work_dir = dir, .lookup = lookup};
	const char *first;
	(void)state;
	write_text("multi.conf", "# ranks, program, arguments\n0 ./master in.dat %t\n1-3\t./worker # %o\n");
	copy_file("/bin/true", "master");
	copy_file("/bin/true", "worker");
	assert_int_equal(files_of(SCRIPT), 4);
	snprintf(before, sizeof(before), "%s", of(SCRIPT));
	first = of_job(&srun);
	copy_file("/bin/false", "worker"); /* built anew */
	assert_string_not_equal(of(SCRIPT), before);
	assert_string_not_equal(of_job(&srun), first);
	copy_file("/bin/true", "worker");
	assert_string_equal(of(SCRIPT), before);
	write_text("multi.conf", "0 'quoted'\n"); /* not understood: the file itself still counts */
	assert_int_equal(files_of(SCRIPT), 1);
	assert_int_equal(files_of("#!/bin/sh\nsrun --multi-prog absent.conf\n"), 0);
	remove_file("multi.conf");
	remove_file("master");
	remove_file("worker");
}

#define INNER(uuid) "#!/bin/bash\ncd sub\n./solve in.dat /w/" uuid "/log > out\n"
#define UUID1 "6f9619ff-8b86-d011-b42d-00cf4fc964ff"
#define UUID2 "00000000-1111-2222-3333-44444444444f"

#define TOOL_STEP "tmp.oaacgy3n/step.sh"

/* A script that is handed to a shell counts with the files that it names. In the folder of a tool, it counts without
 * names that the tool made up. */
static void test_inner_script(void **state)
{
	static const char SCRIPT[] = "#!/bin/sh\nbash -eo pipefail " TOOL_STEP "\n";
	static const char *const others[] = {"#!/bin/sh\ncat " TOOL_STEP "\n", "#!/bin/sh\nbash -c " TOOL_STEP "\n",
					     "#!/bin/sh\nbash -s " TOOL_STEP "\n"};
	char before[FINGERPRINT_LEN], sub[PATH_MAX + 64], tool[PATH_MAX + 64];
	(void)state;
	snprintf(sub, sizeof(sub), "%s/sub", dir);
	snprintf(tool, sizeof(tool), "%s/tmp.oaacgy3n", dir);
	assert_int_equal(mkdir(sub, 0755) | mkdir(tool, 0755), 0);
	write_text(TOOL_STEP, INNER(UUID1));
	write_text("sub/in.dat", "a");
	copy_file("/bin/true", "sub/solve");
	assert_int_equal(files_of(SCRIPT), 3);
	snprintf(before, sizeof(before), "%s", of(SCRIPT));
	write_text(TOOL_STEP, INNER(UUID2));
	assert_string_equal(of(SCRIPT), before);
	write_text("sub/in.dat", "b");
	assert_string_not_equal(of(SCRIPT), before);
	write_text("sub/in.dat", "a");
	copy_file("/bin/false", "sub/solve");
	assert_string_not_equal(of(SCRIPT), before);
	copy_file("/bin/true", "sub/solve");
	write_text(TOOL_STEP, INNER(UUID2) "# more\n");
	assert_string_not_equal(of(SCRIPT), before);
	/* a file that is no such script counts as it is, and alone */
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		write_text(TOOL_STEP, INNER(UUID1));
		assert_int_equal(files_of(others[i]), 1);
		snprintf(before, sizeof(before), "%s", of(others[i]));
		write_text(TOOL_STEP, INNER(UUID2));
		assert_string_not_equal(of(others[i]), before);
	}
	/* a user wrote it, for other results: of these no file is named */
	write_text("step.sh", "./solve /results/" UUID1 "/a\n");
	snprintf(before, sizeof(before), "%s", of("#!/bin/sh\nbash step.sh\n"));
	write_text("step.sh", "./solve /results/" UUID2 "/a\n");
	assert_string_not_equal(of("#!/bin/sh\nbash step.sh\n"), before);
	remove_file("step.sh");
	/* it runs itself */
	write_text(TOOL_STEP, "#!/bin/sh\nbash " TOOL_STEP "\n");
	assert_int_equal(files_of(SCRIPT), 1);
	remove_file(TOOL_STEP);
	remove_file("sub/in.dat");
	remove_file("sub/solve");
	assert_int_equal(rmdir(sub) | rmdir(tool), 0);
}

/* What a script with this command in front of mpirun says of a source. */
static void expect_source(const char *command, const char *name, bool counts)
{
	char script[256], before[FINGERPRINT_LEN];
	snprintf(script, sizeof(script), "#!/bin/sh\n%s\nmpirun ./prog in.dat\n", command);
	write_text(name, "a");
	snprintf(before, sizeof(before), "%s", of(script));
	write_text(name, "b");
	if (!strcmp(of(script), before) == counts)
		fail_msg("%s: %s %s", command, name, counts ? "does not count" : "counts");
	remove_file(name);
}

/* The sources of a program that the job builds count: the program is not yet built from them. */
static void test_built_in_the_job(void **state)
{
	static const char *const dirs[] = {"lib", "src", "lib/src"};
	char path[PATH_MAX + 64], name[32], before[FINGERPRINT_LEN];
	(void)state;
	copy_file("/bin/true", "prog");
	for (int i = 0; i < 3; i++) {
		snprintf(path, sizeof(path), "%s/%s", dir, dirs[i]);
		assert_int_equal(mkdir(path, 0755), 0);
	}
	expect_source("make", "prog.c", true);
	expect_source("make -j4 prog && true", "Makefile", true);
	expect_source("CFLAGS=-O3 gmake", "src/prog.F90", true);
	expect_source("cd lib; make; cd ..", "lib/prog.cpp", true);
	expect_source("make -C lib", "lib/src/prog.h", true);
	expect_source("ninja -C lib", "lib/build.ninja", true);
	expect_source("cmake --build=lib", "lib/Makefile", true);
	expect_source("make -C lib", "prog.c", false);
	expect_source("make", "lib/prog.c", false);
	expect_source("make", "result.dat", false);
	expect_source("make", "prog.o", false);
	expect_source("make -C $NOT_KNOWN", "prog.c", false);
	expect_source("make -C$NOT_KNOWN", "prog.c", false);
	expect_source("make -Clib", "lib/prog.c", true);
	expect_source("echo make", "prog.c", false);
	expect_source("srun -n 1 make -C lib", "lib/prog.c", true);
	expect_source("CC=mpicc nice -n 5 make", "prog.c", true);
	/* the job writes it, each time another one */
	expect_source("date > when.h; make", "when.h", false);
	expect_source("make; cp in.dat size.inc", "size.inc", false);
	/* with too many sources, the directory does not count */
	snprintf(before, sizeof(before), "%s", of("#!/bin/sh\nmake\nmpirun ./prog in.dat\n"));
	for (int i = 0; i <= 64; i++) {
		snprintf(name, sizeof(name), "src/%d.c", i);
		write_text(name, "a");
	}
	assert_string_equal(of("#!/bin/sh\nmake\nmpirun ./prog in.dat\n"), before);
	remove_file("src/7.c");
	assert_string_not_equal(of("#!/bin/sh\nmake\nmpirun ./prog in.dat\n"), before);
	for (int i = 0; i <= 64; i++) {
		snprintf(name, sizeof(name), "src/%d.c", i);
		if (i != 7)
			remove_file(name);
	}
	for (int i = 3; i-- > 0;) {
		snprintf(path, sizeof(path), "%s/%s", dir, dirs[i]);
		assert_int_equal(rmdir(path), 0);
	}
	remove_file("prog");
}

/* Ways to hand step.sh to a shell. */
static void test_inner_ways(void **state)
{
	static const char *const ways[] = {
		"bash -- step.sh", "bash -eu -- step.sh", "srun -n 2 --export ALL bash step.sh",
		"mpirun -np 2 sh ./step.sh", "timeout -k 5 600 bash step.sh", "env A=1 bash -e step.sh",
		"nice -n 5 dash step.sh",
		"exec nohup bash step.sh", ". ./step.sh", "source step.sh", "time bash step.sh",
		"bash --login step.sh", "bash -l step.sh", "bash --norc --rcfile deep.rc -O extglob step.sh",
		"./step.sh", "mpirun -np 2 ./step.sh 7", "timeout 600 ./step.sh", "env A=1 ./step.sh",
		"bash +e step.sh", "'time' -v ./step.sh", "numactl -N0 ./step.sh", "taskset -c 0 ./step.sh",
		"stdbuf -oL ./step.sh", "setsid ./step.sh", "command ./step.sh", "srun -n 2 step.sh", "srun nice bash step.sh",
		"ksh step.sh", "./outer.sh", "bash step.sh && bash step.sh",
	};
	static const char *const none[] = {
		"env bash -c step.sh", "timeout 600 cat step.sh", "env . step.sh", "echo bash step.sh",
		"bash --rcfile step.sh", "bash --unknown step.sh", "bash -O step.sh",
	};
	char command[256], below[PATH_MAX + 64];
	(void)state;
	write_text("step.sh", "#!/bin/bash\ncat deep.dat\n");
	snprintf(below, sizeof(below), "%s/step.sh", dir);
	assert_int_equal(chmod(below, 0755), 0);
	write_text("deep.dat", "a");
	write_bytes("outer.sh", "#!/bin/sh\n./step.sh\n", 21, 0755); /* counts itself */
	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		snprintf(command, sizeof(command), "#!/bin/bash\n%s\n", ways[i]);
		if (files_of(command) != 2 + (strcmp(ways[i], "./outer.sh") == 0))
			fail_msg("deep.dat does not count: %s", ways[i]);
	}
	for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++) {
		snprintf(command, sizeof(command), "#!/bin/bash\n%s\n", none[i]);
		if (files_of(command) != 1)
			fail_msg("deep.dat counts: %s", none[i]);
	}
	remove_file("outer.sh");
	/* a file without "#!" is run by a shell */
	write_bytes("step.sh", "cat deep.dat\n", 13, 0755);
	assert_int_equal(files_of("#!/bin/sh\n./step.sh\n"), 2);
	/* an environment, or a program, is elsewhere */
	snprintf(below, sizeof(below), "%s/below", dir);
	assert_int_equal(mkdir(below, 0755), 0);
	for (int how = 0; how < 3; how++) {
		static const char *const scripts[] = {"cd ..\nbash ./step.sh\n", "cd ..\nsource ./step.sh\n", "cd ..\n./step.sh\n"};
		const struct fingerprint_job job = {.script = scripts[how], .script_len = strlen(scripts[how]), .work_dir = below};
		assert_int_equal(atoi(of_job(&job) + 36), how ? 1 : 2);
	}
	assert_int_equal(rmdir(below), 0);
	/* what an inner script starts with srun */
	write_text("step.sh", "srun --multi-prog multi.conf\n");
	write_text("multi.conf", "0 cat deep.dat\n");
	assert_int_equal(files_of("#!/bin/bash\nbash step.sh\n"), 3);
	remove_file("multi.conf");
	remove_file("step.sh");
	remove_file("deep.dat");
}

/* The directory may have two names, and ".." behind a link is elsewhere. */
static void test_inner_by_links(void **state)
{
	char script[2 * PATH_MAX], path[PATH_MAX + 64], other[PATH_MAX + 64];
	const char *first;
	(void)state;
	write_bytes("step.sh", "#!/bin/sh\ncat deep.dat\n", 23, 0755);
	write_text("deep.dat", "a");
	snprintf(path, sizeof(path), "%s.link", dir);
	assert_int_equal(symlink(dir, path), 0);
	snprintf(script, sizeof(script), "#!/bin/sh\n%s/step.sh\n", path);
	first = of(script);
	assert_int_equal(atoi(first + 36), 2);
	write_text("deep.dat", "b");
	assert_string_not_equal(of(script), first);
	assert_int_equal(unlink(path), 0);
	/* link -> below/deeper: link/../step.sh is below/step.sh */
	snprintf(other, sizeof(other), "%s/below", dir);
	assert_int_equal(mkdir(other, 0755), 0);
	snprintf(other, sizeof(other), "%s/below/deeper", dir);
	assert_int_equal(mkdir(other, 0755), 0);
	snprintf(path, sizeof(path), "%s/link", dir);
	assert_int_equal(symlink(other, path), 0);
	write_text("below/step.sh", "cat 5\n");
	first = of("#!/bin/sh\nbash link/../step.sh\n");
	write_text("below/step.sh", "cat 500\n");
	assert_string_not_equal(of("#!/bin/sh\nbash link/../step.sh\n"), first);
	remove_file("below/step.sh");
	assert_int_equal(unlink(path) | rmdir(other), 0);
	*strrchr(other, '/') = '\0';
	assert_int_equal(rmdir(other), 0);
	remove_file("step.sh");
	remove_file("deep.dat");
}

static bool slow_stat;
static unsigned stats;
static long clock_ns; /* no load of the machine takes time from a search */

/* These take the place of the C library's. */
int clock_gettime(clockid_t id, struct timespec *t)
{
	(void)id;
	*t = (struct timespec){.tv_sec = clock_ns / 1000000000, .tv_nsec = clock_ns % 1000000000};
	return 0;
}

/* On a slow file server each call takes a millisecond. */
int stat(const char *restrict path, struct stat *restrict st)
{
	if (slow_stat) {
		stats++;
		clock_ns += 1000000;
	}
	return fstatat(AT_FDCWD, path, st, 0);
}

DIR *opendir(const char *path)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (slow_stat) {
		stats++;
		clock_ns += 1000000;
	}
	return fd < 0 ? NULL : fdopendir(fd);
}

static void expect_too_late(char *script)
{
	struct fingerprint_job job = {.script = script, .script_len = strlen(script), .work_dir = dir};
	char out[FINGERPRINT_LEN];
	struct errbuf err;
	slow_stat = true;
	stats = 0;
	assert_int_equal(fingerprint_job(&job, out, &err), -1);
	slow_stat = false;
	assert_string_equal(err.text, "fingerprint: looking up the files took longer than 200 ms");
	assert_in_range(stats, 1, 400);
}

/* Words behind a launcher may be scripts, also where no inputs are, and a script may build many times: to look ends in time. */
static void test_no_time_is_left(void **state)
{
	static char script[80000] = "#!/bin/sh\nsrun ./prog", builds[12000] = "#!/bin/sh\n";
	size_t n = strlen(script), m = strlen(builds);
	(void)state;
	for (int i = 0; i < 3000; i++)
		n += (size_t)snprintf(script + n, sizeof(script) - n, " /tmp/no-such/f%d", i);
	expect_too_late(script);
	for (int i = 0; i < 2000; i++)
		m += (size_t)snprintf(builds + m, sizeof(builds) - m, "make\n");
	expect_too_late(builds);
}

#define PENDING1 "00000000000000000000000000000001.pkl"
#define PENDING2 "abcdefabcdefabcdefabcdefabcdefab.pkl"

/* A job of submitit: functions are in files with random names until their jobs have numbers. */
static void test_submitit(void **state)
{
	static const char SCRIPT[] = "#!/bin/bash\nexport SUBMITIT_EXECUTOR=slurm\nsrun --unbuffered --output sub/%j_%t_log.out "
				     "python3 -u -m submitit.core._submit sub\n";
	static const char NUMBERED[] = "#!/bin/bash\nsrun python3 -u -m submitit.core._submit sub/%j/logs\n";
	char first[FINGERPRINT_LEN], numbered[FINGERPRINT_LEN], both[FINGERPRINT_LEN], sub[PATH_MAX + 64];
	(void)state;
	snprintf(sub, sizeof(sub), "%s/sub", dir);
	assert_int_equal(mkdir(sub, 0755), 0);
	write_text("sub/" PENDING1, "f(1)");
	snprintf(first, sizeof(first), "%s", of(SCRIPT));
	snprintf(numbered, sizeof(numbered), "%s", of(NUMBERED));
	remove_file("sub/" PENDING1);
	assert_string_not_equal(of(SCRIPT), first);
	write_text("sub/17_submitted.pkl", "f(1)"); /* of another job */
	write_text("sub/" PENDING2, "f(1)");
	assert_string_equal(of(SCRIPT), first);
	assert_string_equal(of(NUMBERED), numbered);
	write_text("sub/" PENDING2, "f(2)");
	assert_string_not_equal(of(SCRIPT), first);
	assert_string_not_equal(of(NUMBERED), numbered);
	/* from a script within the script */
	write_text("step.sh", SCRIPT);
	write_text("sub/" PENDING2, "f(1)");
	snprintf(first, sizeof(first), "%s", of("#!/bin/bash\nbash step.sh\n"));
	write_text("sub/" PENDING2, "f(2)");
	assert_string_not_equal(of("#!/bin/bash\nbash step.sh\n"), first);
	remove_file("step.sh");
	/* an array */
	write_text("sub/" PENDING1, "f(1)");
	snprintf(both, sizeof(both), "%s", of(SCRIPT));
	assert_string_not_equal(both, of("#!/bin/sh\n"));
	write_text("sub/" PENDING1, "f(2)");
	assert_string_not_equal(of(SCRIPT), both);
	write_text("sub/" PENDING2, "f(1)");
	assert_string_equal(of(SCRIPT), both);
	remove_file("sub/" PENDING1);
	remove_file("sub/" PENDING2);
	remove_file("sub/17_submitted.pkl");
	assert_int_equal(rmdir(sub), 0);
}

/* Long functions count with their last bytes. If not all functions can count, there is no fingerprint. */
static void test_submitit_large(void **state)
{
	static const char SCRIPT[] = "#!/bin/bash\nsrun python3 -u -m submitit.core._submit sub\n";
	static const struct fingerprint_job job = {.script = SCRIPT, .script_len = sizeof(SCRIPT) - 1, .work_dir = dir};
	static char data[3 * FINGERPRINT_SAMPLE];
	char before[FINGERPRINT_LEN], name[64], path[PATH_MAX + 64];
	struct errbuf err;
	(void)state;
	snprintf(path, sizeof(path), "%s/sub", dir);
	assert_int_equal(mkdir(path, 0755), 0);
	write_bytes("sub/" PENDING1, data, sizeof(data), 0644);
	snprintf(before, sizeof(before), "%s", of(SCRIPT));
	data[sizeof(data) - 1] = 1;
	write_bytes("sub/" PENDING1, data, sizeof(data), 0644);
	assert_string_not_equal(of(SCRIPT), before);
	remove_file("sub/" PENDING1);
	for (int i = 0; i <= FINGERPRINT_FILES_MAX; i++) {
		snprintf(name, sizeof(name), "sub/%032x.pkl", i);
		write_text(name, "");
	}
	assert_int_equal(fingerprint_job(&job, before, &err), -1);
	for (int i = 0; i <= FINGERPRINT_FILES_MAX; i++) {
		snprintf(name, sizeof(name), "sub/%032x.pkl", i);
		remove_file(name);
	}
	assert_int_equal(rmdir(path), 0);
}

/* A file with more words than are looked up: programs come first, then the arguments of the first lines. */
static void test_multi_prog_large(void **state)
{
	static const char SCRIPT[] = "#!/bin/sh\nsrun --multi-prog multi.conf\n";
	static char text[65536];
	char before[FINGERPRINT_LEN];
	size_t n = 0;
	(void)state;
	for (int i = 0; i < 2500; i++)
		n += (size_t)snprintf(text + n, sizeof(text) - n, "%d ./%s input%d\n", i, i < 2499 ? "worker" : "last", i);
	write_text("multi.conf", text);
	write_text("input0", "a");
	write_text("input2498", "a");
	copy_file("/bin/true", "worker");
	copy_file("/bin/true", "last");
	assert_int_equal(files_of(SCRIPT), 4); /* multi.conf, worker, last, input0 */
	snprintf(before, sizeof(before), "%s", of(SCRIPT));
	write_text("input2498", "b");
	assert_string_equal(of(SCRIPT), before); /* beyond the bound */
	write_text("input0", "b");
	assert_string_not_equal(of(SCRIPT), before);
	write_text("input0", "a");
	copy_file("/bin/false", "last");
	assert_string_not_equal(of(SCRIPT), before);
	copy_file("/bin/true", "last");
	assert_string_equal(of(SCRIPT), before);
	memcpy(strstr(text, "input2498"), "input2497", 9); /* the text counts as a whole */
	write_text("multi.conf", text);
	assert_string_not_equal(of(SCRIPT), before);
	remove_file("multi.conf");
	remove_file("input0");
	remove_file("input2498");
	remove_file("worker");
	remove_file("last");
}

static void test_slurm_files(void **state)
{
	static const char SCRIPT[] = "mpirun ./app in.dat job.out job.err\n";
	struct fingerprint_job job = {.script = SCRIPT, .script_len = strlen(SCRIPT), .work_dir = dir, .lookup = lookup,
				      .output = "job.out", .error = "job.err"};
	char before[FINGERPRINT_LEN];
	(void)state;
	snprintf(before, sizeof(before), "%s", of_job(&job));
	write_text("job.out", "x");
	write_text("job.err", "y");
	assert_string_equal(of_job(&job), before);
	job.output = NULL;
	assert_string_not_equal(of_job(&job), before);
	job.output = "job.out";
	write_text("stdin.txt", "z");
	job.input = "stdin.txt";
	assert_string_not_equal(of_job(&job), before);
	remove_file("job.out");
	remove_file("job.err");
	remove_file("stdin.txt");
}

static void write_bulk(const char *name, size_t n, char fill)
{
	char *data = malloc(n);
	assert_non_null(data);
	memset(data, fill, n);
	write_bytes(name, data, n, 0644);
	free(data);
}

/* With bulk data files, the fingerprint has their size, and a hash of everything else. */
static void test_bulk(void **state)
{
	static const char SCRIPT[] = "mpirun ./app in.dat big.dat more.dat\n";
	char fp[4][FINGERPRINT_LEN];
	(void)state;
	write_bulk("big.dat", FINGERPRINT_BULK - 1, 'a');
	snprintf(fp[0], FINGERPRINT_LEN, "%s", of(SCRIPT));
	assert_string_equal(fp[0] + 35, ":2"); /* still below the limit */
	write_bulk("big.dat", FINGERPRINT_BULK, 'a');
	snprintf(fp[0], FINGERPRINT_LEN, "%s", of(SCRIPT));
	assert_memory_equal(fp[0] + 35, ":2:", 3);
	assert_string_equal(fp[0] + 70, ":65536");
	write_bulk("big.dat", 3 * FINGERPRINT_BULK, 'b');
	snprintf(fp[1], FINGERPRINT_LEN, "%s", of(SCRIPT));
	assert_memory_not_equal(fp[1], fp[0], 35);
	assert_memory_equal(fp[1] + 35, fp[0] + 35, 35);
	assert_string_equal(fp[1] + 70, ":196608");
	/* Small files count by content; the number of bulk files counts. */
	write_text("in.dat", "3 2 1\n");
	assert_memory_not_equal(of(SCRIPT) + 38, fp[1] + 38, 32);
	write_text("in.dat", "1 2 3\n");
	write_bulk("more.dat", FINGERPRINT_BULK, 'c');
	snprintf(fp[2], FINGERPRINT_LEN, "%s", of(SCRIPT));
	assert_memory_not_equal(fp[2] + 38, fp[1] + 38, 32);
	assert_string_equal(fp[2] + 70, ":262144");
	remove_file("big.dat");
	remove_file("more.dat");
}

static void test_programs_by_build_id(void **state)
{
	char bin[PATH_MAX + 64], self[PATH_MAX];
	uint8_t id[64];
	(void)state;
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	assert_true(n > 0);
	self[n] = '\0';
	int fd = open(self, O_RDONLY);
	size_t len = fingerprint_build_id(fd, id, sizeof(id));
	close(fd);
	if (len == 0) { /* cmocka writes a skip as "not ok", which prove counts as a failure */
		print_message("# test_programs_by_build_id: this toolchain writes no build id\n");
		return;
	}
	copy_file(self, "app");
	const char *first = of("mpirun ./app in.dat\n");
	/* Bytes behind the end of the program do not count. */
	snprintf(bin, sizeof(bin), "%s/app", dir);
	fd = open(bin, O_WRONLY | O_APPEND);
	assert_int_equal(write(fd, "tail", 4), 4);
	close(fd);
	assert_string_equal(of("mpirun ./app in.dat\n"), first);
	snprintf(bin, sizeof(bin), "%s/bin", dir);
	assert_int_equal(mkdir(bin, 0755), 0);
	copy_file(self, "bin/named-app");
	assert_string_equal(of("mpirun named-app in.dat\n"), first);
	assert_string_equal(of("mpirun named-app in.dat # ls grep\n"), first);
	assert_string_equal(of("ls; mpirun -n 2 named-app in.dat 17 1e-3\n"), first);
	remove_file("app");
}

static void test_damaged_programs(void **state)
{
	static uint8_t elf[4096];
	char path[PATH_MAX + 64], self[PATH_MAX];
	uint8_t id[64];
	(void)state;
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	assert_true(n > 0);
	self[n] = '\0';
	int fd = open(self, O_RDONLY);
	assert_true(read(fd, elf, sizeof(elf)) > 64);
	close(fd);
	snprintf(path, sizeof(path), "%s/damaged", dir);
	for (size_t len = 0; len < 1200; len += 7) { /* cut anywhere */
		write_bytes("damaged", elf, len, 0755);
		fd = open(path, O_RDONLY);
		assert_true(fingerprint_build_id(fd, id, sizeof(id)) <= sizeof(id));
		close(fd);
	}
	for (size_t at = 4; at < 1200; at++) { /* any byte wrong */
		uint8_t old = elf[at];
		elf[at] = 0xff;
		write_bytes("damaged", elf, sizeof(elf), 0755);
		elf[at] = old;
		fd = open(path, O_RDONLY);
		assert_true(fingerprint_build_id(fd, id, sizeof(id)) <= sizeof(id));
		close(fd);
	}
	assert_int_equal(files_of("mpirun ./damaged\n"), 1);
	assert_int_equal(fingerprint_build_id(-1, id, sizeof(id)), 0);
	remove_file("damaged");
}

static void test_work_directory(void **state)
{
	struct fingerprint_job a = {.script = "mpirun x\n", .script_len = 9, .work_dir = dir}, b = a;
	(void)state;
	b.work_dir = "/";
	assert_string_not_equal(of_job(&a), of_job(&b));
	char script[PATH_MAX + 64];
	snprintf(script, sizeof(script), "mpirun x %s/in.dat\n", dir);
	a.script = b.script = script;
	a.script_len = b.script_len = strlen(script);
	assert_string_equal(of_job(&a), of_job(&b));
}

static void test_arguments(void **state)
{
	char *args[] = {"in.dat", "5", "--file=in.dat"};
	char *command[] = {"-n", "2", "-o", "new.out", "./app", "in.dat"};
	struct fingerprint_job job = {.script = "mpirun ./app $1\n", .script_len = 16, .args = args, .n_args = 3,
				      .work_dir = dir, .lookup = lookup};
	(void)state;
	assert_string_equal(of_job(&job), of("mpirun ./app in.dat\n"));
	job.script = "mpirun ./app\n";
	job.script_len = 13;
	assert_string_equal(of_job(&job), of("mpirun ./app in.dat\n"));
	job = (struct fingerprint_job){.args = command, .n_args = 6, .work_dir = dir, .lookup = lookup};
	write_text("new.out", "x");
	assert_string_equal(of_job(&job), of("mpirun ./app in.dat\n"));
	remove_file("new.out");
}

static void test_what_is_no_file(void **state)
{
	char path[PATH_MAX + 64], script[3 * PATH_MAX];
	(void)state;
	snprintf(path, sizeof(path), "%s/fifo", dir);
	assert_int_equal(mkfifo(path, 0644), 0);
	assert_int_equal(files_of("app fifo . .. / bin /dev/null /proc/self/maps /dev/zero ''\n"), 0);
	snprintf(script, sizeof(script), "app in.dat ./in.dat %s/in.dat x=in.dat --y=in.dat /tmp/../%s/in.dat\n", dir, dir);
	assert_int_equal(files_of(script), 1);
	remove_file("fifo");
}

static void test_large_files(void **state)
{
	const size_t size = 8 * 1024 * 1024;
	char *data = calloc(1, size), script[2048] = "app";
	const char *first;
	(void)state;
	assert_non_null(data);
	write_bytes("large", data, size, 0644);
	first = of("app large\n");
	data[0] = 1;
	write_bytes("large", data, size, 0644);
	assert_string_not_equal(of("app large\n"), first);
	data[0] = 0;
	data[size - 1] = 1;
	write_bytes("large", data, size, 0644);
	assert_string_not_equal(of("app large\n"), first);
	data[size - 1] = 0;
	write_bytes("large", data, size - 1, 0644);
	assert_string_not_equal(of("app large\n"), first);
	for (int i = 0; i < 40; i++) { /* more than the total limit */
		char name[32];
		snprintf(name, sizeof(name), "large%d", i);
		write_bytes(name, data, FINGERPRINT_SAMPLE * 2, 0644);
		strncat(script, " ", sizeof(script) - strlen(script) - 1);
		strncat(script, name, sizeof(script) - strlen(script) - 1);
	}
	struct errbuf err;
	char out[FINGERPRINT_LEN];
	const struct fingerprint_job job = {.script = script, .script_len = strlen(script), .work_dir = dir};
	assert_int_equal(fingerprint_job(&job, out, &err), 40);
	free(data);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_content_counts),	  cmocka_unit_test(test_own_output_does_not_count),
		cmocka_unit_test(test_slurm_files),	  cmocka_unit_test(test_bulk), cmocka_unit_test(test_programs_by_build_id),
		cmocka_unit_test(test_damaged_programs),  cmocka_unit_test(test_work_directory),
		cmocka_unit_test(test_arguments),	  cmocka_unit_test(test_what_is_no_file),
		cmocka_unit_test(test_large_files), cmocka_unit_test(test_multi_prog), cmocka_unit_test(test_multi_prog_large),
		cmocka_unit_test(test_built_in_the_job),
		cmocka_unit_test(test_inner_script), cmocka_unit_test(test_inner_ways), cmocka_unit_test(test_inner_by_links),
					   cmocka_unit_test(test_no_time_is_left), cmocka_unit_test(test_submitit),
		cmocka_unit_test(test_submitit_large),
	};
	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, setup, teardown);
}
