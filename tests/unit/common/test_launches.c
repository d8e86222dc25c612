/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What scripts launch, in real directories. A generator of scripts knows what it launches: two scripts have
 * the same hash exactly if they launch the same.
 */
#include <signal.h>
#include <sys/wait.h>

#include "tests/unit/common/launches_world.h"
#include "tests/unit/rng.h"

static void test_text_around_does_not_count(void **state)
{
	char absolute[512], base[LAUNCHES_LEN];
	const char *const same[] = {
	    BASE,
	    absolute,
	    "#!/bin/bash\n#SBATCH -n 4\nmpirun -n 4 $SLURM_SUBMIT_DIR/prog in.dat 5\n",
	    "#!/bin/bash -l\n# a comment\nset -euo pipefail\ntime mpirun -n 4 ./prog in.dat 5\n",
	    "#!/bin/sh\nmodule purge\nmodule load gcc/12 openmpi\nmpirun -n 4 ./prog in.dat 5\necho done\n",
	    "#!/bin/sh\ndate\nmpirun -n 4 ./prog \\\n  in.dat 5\ndate > end\nexit $?\n",
	    "#!/bin/sh\ncd $SLURM_SUBMIT_DIR\nmpirun -n 4 ./prog in.dat 5",
	    "#!/bin/sh\ncd \"$SLURM_SUBMIT_DIR\" || exit 1\nmpirun -n 4 ./prog in.dat 5 > log 2>&1\n",
	    "#!/bin/sh\necho \"start $(date)\"; hostname; mpirun -n 4 ./prog in.dat 5 && echo ok\n",
	    "#!/bin/sh\nP=./prog\nN=5\nmpirun -n 4 $P in.dat ${N}\n",
	    "#!/bin/sh\nmpirun -n 4 ./prog $PWD/in.dat '5' 2>&1 | tee log\n",
	    "#!/bin/sh\n/usr/bin/time -v mpirun -n 4 ./prog in.dat 5 || echo failed\n",
	    "#!/bin/sh\nSTART=$(date +%s) # seconds\nmpirun -n 4 ./prog in.dat 5\nEND=$(date +%s); echo $END\n",
	    "#!/bin/sh\nUNSEEN=7\nmpirun -n 4 ./prog in.dat 5\nexit 0\nmpirun -n 4 ./tool\n",
	    "mpirun -n 4 ./prog in.dat 5", /* sbatch --wrap */
	};
	(void)state;
	snprintf(base, sizeof(base), "%s", of("here", BASE));
	snprintf(absolute, sizeof(absolute), "#!/bin/sh\nmpirun -n 4 %s/prog %s/in.dat 5\n", in("here"),
		 in("here"));
	assert_int_equal(strlen(base), 35);
	for (size_t i = 0; i < N(same); i++) {
		if (strcmp(of("here", same[i]), base))
			fail_msg("has another hash: %s", same[i]);
		if (strcmp(of("there", same[i]), base) && i != 1)
			fail_msg("has another hash there: %s", same[i]);
	}
	assert_int_equal(strlen(of("there", absolute)), 35);
	assert_string_not_equal(of("there", absolute), base); /* in.dat may name a file beside it */
}

static void test_different_launches(void **state)
{
	static const char *const bodies[] = {
	    "mpirun -n 4 ./prog in.dat 5",
	    "mpirun -n 4 ./prog in.dat 6",
	    "mpirun -n 4 ./prog in.dat",
	    "mpirun -n 4 ./prog 5 in.dat",
	    "mpirun -n 4 ./prog in.dat 5 5",
	    "mpirun -n 4 ./prog 'in.dat 5'",
	    "mpirun -n 4 ./prog more.dat 5",
	    "mpirun -n 4 ./tool in.dat 5",
	    "mpirun -n 8 ./prog in.dat 5",
	    "mpirun -n 4 --map-by socket ./prog in.dat 5",
	    "mpiexec -n 4 ./prog in.dat 5",
	    "srun -n 4 ./prog in.dat 5",
	    "srun ./prog in.dat 5",
	    "./prog in.dat 5",
	    "mpirun -n 4 ./prog in.dat 5\nmpirun -n 4 ./prog in.dat 5",
	    "mpirun -n 4 ./prog in.dat 5 && mpirun -n 4 ./prog in.dat 5",
	    "mpirun -n 4 ./prog in.dat 5\nmpirun -n 4 ./tool",
	    "mpirun -n 4 ./tool\nmpirun -n 4 ./prog in.dat 5",
	    "mpirun -n 4 ./prog in.dat 5 > a\nmpirun -n 4 ./tool a",
	    "mpirun -n 4 ./prog in.dat 5 > b\nmpirun -n 4 ./tool a",
	    "export OMP_NUM_THREADS=2\nmpirun -n 4 ./prog in.dat 5",
	    "export OMP_NUM_THREADS=4\nmpirun -n 4 ./prog in.dat 5",
	    "export OMP_NUM_THREADS=2\nOMP_NUM_THREADS=8\nmpirun -n 4 ./prog in.dat 5",
	    "export OMP_NUM_THREADS=$SLURM_CPUS_PER_TASK\nmpirun -n 4 ./prog in.dat 5",
	    "OMP_PLACES=cores mpirun -n 4 ./prog in.dat 5",
	    "mpirun -n $SLURM_NTASKS ./prog in.dat 5",
	    "mpirun -n $SLURM_NNODES ./prog in.dat 5",
	    "cd sub\nmpirun -n 4 ../prog ../in.dat 5",
	    "mpirun -n 4 ./prog --in=in.dat 5",
	    "mpirun -n 4 ./prog --in in.dat 5",
	    "mpirun -n 4 ./prog in.dat 5 sub",
	    "mpirun -n 4 ./prog in.dat 5 out.dat",
	    "mpirun -n 4 installed in.dat 5",
	    "mpirun -n 4 -x A=1 ./prog in.dat 5",
	    "ulimit -s unlimited\nmpirun -n 4 ./prog in.dat 5",
	    "cp more.dat in.dat\nmpirun -n 4 ./prog in.dat 5",
	    "sleep 100\nmpirun -n 4 ./prog in.dat 5",
	    "module load x\nOMP_NUM_THREADS=2\nmpirun -n 4 ./prog in.dat 5",
	    "mpirun -n 4 ./prog in.dat 5 >> a\nmpirun -n 4 ./tool a",
	    "mpirun -n 4 ./prog in.dat 5 2> a\nmpirun -n 4 ./tool a",
	    "mpirun -n 4 ./prog in.dat 5 &> a\nmpirun -n 4 ./tool a",
	    "mpirun -n 4 ./prog in.dat 5 &>> a\nmpirun -n 4 ./tool a",
	    "mpirun -n 4 ./prog in.dat 5 | tee a\nmpirun -n 4 ./tool a",
	    "mpirun -n 4 ./prog in.dat 5 | tee -a a\nmpirun -n 4 ./tool a",
	    "mpirun -n 4 ./prog in.dat 5\nmpirun -n 4 ./tool a > a",
	    "CUDA_VISIBLE_DEVICES=0\nmpirun -n 4 ./prog in.dat 5",
	    "CUDA_VISIBLE_DEVICES=0,1\nmpirun -n 4 ./prog in.dat 5",
	    "srun --multi-prog multi.conf",
	};
	static const char *const dirs[] = {"here", "other", "rebuilt"};
	char hash[N(dirs) * N(bodies)][LAUNCHES_LEN], script[1024];
	(void)state;
	for (size_t d = 0; d < N(dirs); d++)
		for (size_t i = 0; i < N(bodies); i++) {
			snprintf(script, sizeof(script), "#!/bin/sh\n%s\n", bodies[i]);
			snprintf(hash[d * N(bodies) + i], LAUNCHES_LEN, "%s", of(dirs[d], script));
			if (!hash[d * N(bodies) + i][0])
				fail_msg("no hash: %s", bodies[i]);
		}
	for (size_t a = 0; a < N(bodies); a++)
		for (size_t b = 0; b < a; b++)
			if (!strcmp(hash[a], hash[b]))
				fail_msg("the same hash: %s\nand: %s", bodies[a], bodies[b]);
	/* The same text with another input, and with another program: only what names neither is the same. */
	for (size_t i = 0; i < N(bodies); i++) {
		if (strstr(bodies[i], "in.dat") && !strcmp(hash[i], hash[N(bodies) + i]))
			fail_msg("another input has the same hash: %s", bodies[i]);
		if (strstr(bodies[i], "prog ") && !strcmp(hash[i], hash[2 * N(bodies) + i]))
			fail_msg("another program has the same hash: %s", bodies[i]);
	}
	assert_string_not_equal(hash[N(bodies) - 1], hash[2 * N(bodies) - 1]);
	assert_string_not_equal(hash[N(bodies) - 1], hash[3 * N(bodies) - 1]);
}

static void test_what_is_not_certain(void **state)
{
	static const char *const bodies[] = {
	    "N=$(nproc)\nmpirun -n 4 ./prog in.dat $N",
	    "N=`cat n`\nmpirun -n 4 ./prog in.dat $N",
	    "for i in 1 2; do mpirun ./prog in.dat $i; done",
	    "if test -f x; then mpirun ./prog in.dat; fi",
	    "[ -f x ] && mpirun ./prog in.dat",
	    "test -f x || mpirun ./prog in.dat",
	    "false || mpirun ./prog in.dat",
	    "eval mpirun ./prog in.dat",
	    "run() { mpirun ./prog in.dat; }\nrun",
	    ". ./setup.sh\nmpirun ./prog in.dat",
	    "source setup.sh\nmpirun ./prog in.dat",
	    "mpirun ./prog < in.dat",
	    "mpirun ./prog <<EOF\n5\nEOF\n",
	    "mpirun ./prog <<< 5",
	    "echo 5 | mpirun ./prog in.dat",
	    "cd $UNKNOWN\nmpirun ./prog in.dat",
	    "cd nowhere\nmpirun ./prog in.dat",
	    "cd\nmpirun ./prog in.dat",
	    "cd -\nmpirun ./prog in.dat",
	    "echo 5 > in.dat\nmpirun ./prog in.dat",
	    "date > in.dat; mpirun ./prog in.dat",
	    "mpirun ./prog *.dat",
	    "mpirun ./prog in.dat $1",
	    "mpirun ./prog in.dat \"$@\"",
	    "mpirun ./prog in.dat $RANDOM",
	    "mpirun ./prog in.dat $SLURM_JOB_NAME",
	    "export NAME=$SLURM_JOB_PARTITION\nmpirun ./prog in.dat",
	    "mpirun ./prog in.dat ${N:-5}",
	    "A='1 2'\nmpirun ./prog in.dat $A",
	    "A=\nmpirun ./prog in.dat $A 5",
	    "GIVEN=1 true\nmpirun ./prog in.dat $GIVEN",
	    "GIVEN=1 mpirun ./prog in.dat $GIVEN",
	    "GIVEN=1 mpirun ./tool\nmpirun ./prog in.dat",
	    "set -- 1 2\nmpirun ./prog in.dat",
	    "set -a\nmpirun ./prog in.dat",
	    "shift\nmpirun ./prog in.dat",
	    "IFS=,\nmpirun ./prog in.dat",
	    "export PATH=/opt/x:$PATH\nmpirun ./prog in.dat",
	    "export LD_PRELOAD=x.so\nmpirun ./prog in.dat",
	    "A=1\nexport A\nmpirun ./prog in.dat",
	    "unset OMP_NUM_THREADS\nmpirun ./prog in.dat",
	    "alias mpirun=true\nmpirun ./prog in.dat",
	    "trap 'mpirun ./tool' EXIT\nmpirun ./prog in.dat",
	    "mpirun ./prog in.dat &\nwait",
	    "(mpirun ./prog in.dat)",
	    "exec mpirun ./prog in.dat",
	    "mpirun -wdir sub ./prog in.dat",
	    "srun -D sub ./prog in.dat",
	    "srun --chdir=sub ./prog in.dat",
	    "mpirun --app apps",
	    "srun bash -c './prog in.dat'",
	    "mpirun ./wrapper in.dat",
	    "mpirun -n 4 not-installed in.dat",
	    "not-installed in.dat",
	    "module load x\nmpirun installed in.dat",
	    "xargs mpirun ./prog in.dat",
	    "printf -v N 5\nmpirun ./prog in.dat",
	    "export N=$(nproc)\nmpirun ./prog in.dat",
	    "mpirun ./prog in.dat && exit\nmpirun ./tool",
	    "mpirun ./prog ~someone/in.dat",
	    "echo \"$(cp more.dat in.dat)\"\nmpirun ./prog in.dat",
	    ": ${GIVEN:=3}\nmpirun ./prog in.dat $GIVEN",
	    "mpirun ./prog in.dat\r",
	    "S=$(date +%s) mpirun ./prog in.dat",
	    "S=$(date +%s)\tmpirun ./prog in.dat",
	    "CUDA_VISIBLE_DEVICES=$GIVEN$OTHER\nmpirun ./prog in.dat",
	    "make\nmpirun ./prog in.dat",
	    "make -j4 prog && mpirun ./prog in.dat",
	    "srun -n 1 make\nmpirun ./prog in.dat",
	    "nice make\nmpirun ./prog in.dat",
	    "/usr/bin/time /usr/bin/make\nmpirun ./prog in.dat",
	    "cp -r sub/ .\nmpirun ./prog in.dat",
	    "cp -rt. sub/.\nmpirun ./prog in.dat",
	    "cp -r --target-directory=. sub\nmpirun ./prog in.dat",
	    "installed -a sub/ .\nmpirun ./prog in.dat",
	    "srun -n 1 installed -r sub .\nmpirun ./prog in.dat",
	    "echo done",
	    "",
	};
	char script[1024];
	(void)state;
	snprintf(environment_value, sizeof(environment_value), "9");
	for (size_t i = 0; i < N(bodies); i++) {
		snprintf(script, sizeof(script), "#!/bin/bash\n%s\n", bodies[i]);
		if (of("here", script)[0])
			fail_msg("has a hash: %s", bodies[i]);
	}
	assert_string_equal(of("here", "#!/usr/bin/python3\nmpirun ./prog in.dat\n"), "");
	assert_string_equal(of("here", "#!/bin/zsh\nmpirun ./prog in.dat\n"), "");
	environment_value[0] = '\0';
}

/* A program that names no input may read any file of its directory. */
static void test_directory_counts_without_input(void **state)
{
	static const char SCRIPT[] = "#!/bin/sh\nmpirun -n 4 ./prog 5\n";
	char first[LAUNCHES_LEN];
	(void)state;
	snprintf(first, sizeof(first), "%s", of("flat", SCRIPT));
	assert_true(first[0] != '\0');
	assert_string_not_equal(of("here", SCRIPT), first); /* a folder: its path counts */
	assert_string_not_equal(of("there", SCRIPT), of("here", SCRIPT));
	assert_string_not_equal(of("rebuilt", SCRIPT), first);
	text("flat", "slurm-17.out", "result\n");
	text("flat", "job.sh", "#!/bin/bash\nmpirun -n 4 ./prog 5\n");
	assert_string_equal(of("flat", SCRIPT), first);
	text("flat", "more.dat", "8\n");
	assert_string_not_equal(of("flat", SCRIPT), first);
	text("flat", "more.dat", "7\n");
	assert_string_equal(of("flat", SCRIPT), first);
}

/* Files that are no inputs: whether the program reads another file of its directory is not known. */
static void test_files_that_are_no_inputs(void **state)
{
	static const char *const bodies[] = {
	    "touch file\nmpirun ./prog 5",   "rm -f file\nmpirun ./prog 5", "srun -o file ./prog 5",
	    "srun --output=file ./prog 5",   "srun ./prog -o file",	     "./prog --out=file",
	    "mpirun --hostfile file ./prog", "srun --multi-prog file",
	};
	char script[128];
	(void)state;
	program("loose", "prog", "/bin/true");
	text("loose", "file", "0-3 ./prog 5\n");
	for (size_t i = 0; i < N(bodies); i++) {
		const char *first;
		snprintf(script, sizeof(script), "#!/bin/sh\n%s\n", bodies[i]);
		text("loose", "in.dat", "1\n");
		first = of("loose", script);
		assert_int_equal(strlen(first), 35);
		text("loose", "in.dat", "2\n");
		if (strcmp(of("loose", script), first) == 0)
			fail_msg("the directory does not count: %s", bodies[i]);
	}
	snprintf(script, sizeof(script), "#!/bin/sh\nmpirun ./prog file -o out\n");
	text("loose", "in.dat", "1\n");
	const char *first = of("loose", script);
	text("loose", "in.dat", "2\n");
	assert_string_equal(of("loose", script), first);
}

static void is_same(const char *a, const char *b, bool same)
{
	assert_int_equal(strlen(a), 35);
	if ((strcmp(a, b) == 0) != same)
		fail_msg("%s and %s: not as meant", a, b);
}

/* An input may name files beside it. */
static void test_folders_of_inputs(void **state)
{
	static const char FIRST[] = "#!/bin/sh\nsrun ./prog case1/in.cfg\n", SECOND[] = "#!/bin/sh\nsrun ./prog case2/in.cfg\n";
	const char *first;
	char elsewhere[256];
	(void)state;
	assert_true(mkdir(in("loose/case1"), 0755) == 0 && mkdir(in("loose/case2"), 0755) == 0);
	program("loose", "prog", "/bin/true");
	text("loose/case1", "in.cfg", "mesh.dat\n");
	text("loose/case2", "in.cfg", "mesh.dat\n");
	is_same(of("loose", FIRST), of("loose", SECOND), false);
	is_same(of("loose", FIRST), of("loose", "#!/bin/sh\nsrun ./prog $PWD/case1/in.cfg\n"), true);
	/* elsewhere the files beside it count */
	snprintf(elsewhere, sizeof(elsewhere), "#!/bin/sh\nsrun ./prog %s/in.cfg\n", in("loose/case1"));
	first = of("flat", elsewhere);
	is_same(first, of("flat", elsewhere), true);
	text("loose/case1", "mesh.dat", "1 2\n");
	is_same(of("flat", elsewhere), first, false);
	snprintf(elsewhere, sizeof(elsewhere), "#!/bin/sh\nsrun ./prog %s/in.cfg\n", in("loose/case2"));
	is_same(of("flat", elsewhere), first, true); /* the same files */
}

static void test_multi_prog(void **state)
{
	static const char SCRIPT[] = "#!/bin/sh\nsrun -n 4 --multi-prog multi.conf\n";
	const char *first = of("here", SCRIPT);
	(void)state;
	assert_string_equal(of("there", SCRIPT), first);
	assert_string_not_equal(of("rebuilt", SCRIPT), first);
	assert_string_not_equal(of("other", SCRIPT), first);
}

/* Many lines of the same words are no matter. With more words than are looked up, an input may be missed. */
static void test_multi_prog_large(void **state)
{
	static const char SCRIPT[] = "#!/bin/sh\nsrun --multi-prog large.conf\n";
	static char lines[65536];
	char out[LAUNCHES_LEN];
	struct errbuf why;
	struct fingerprint_job job = {.script = SCRIPT, .script_len = sizeof(SCRIPT) - 1, .work_dir = in("here"), .lookup = lookup};
	size_t n = 0;
	(void)state;
	for (int i = 0; i < 2000; i++)
		n += (size_t)snprintf(lines + n, sizeof(lines) - n, "%d ./prog in.dat %d\n", i, i % 255 + 10);
	text("here", "large.conf", lines);
	assert_int_equal(launches_of(&job, out, &why), -1); /* 2 and 255 */
	assert_string_equal(why.text, "large.conf: names more than 256 programs and arguments");
	for (char *p = lines; (p = strstr(p, "in.dat 264\n")); p++)
		memcpy(p, "in.dat 10 \n", 11);
	text("here", "large.conf", lines);
	assert_int_equal(launches_of(&job, out, &why), 0);
	assert_int_equal(unlink(in("here/large.conf")), 0);
}

/* A pipe is not opened: who writes into it finds no reader. */
static void pipe_is_not_opened(const char *script)
{
	pid_t child;
	int status;
	assert_int_equal(mkfifo(in("here/pipe.conf"), 0600), 0);
	child = fork();
	if (child == 0) {
		alarm(30);
		int fd = open(in("here/pipe.conf"), O_WRONLY); /* until somebody reads */
		_exit(fd >= 0);
	}
	usleep(100000); /* the child most likely waits now; if not, the test sees less */
	assert_string_equal(of("here", script), "");
	usleep(100000);
	assert_int_equal(waitpid(child, &status, WNOHANG), 0);
	kill(child, SIGKILL);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(unlink(in("here/pipe.conf")), 0);
}

static void test_pipes(void **state)
{
	(void)state;
	pipe_is_not_opened("#!/bin/sh\nsrun --multi-prog pipe.conf\n");
	pipe_is_not_opened("#!/bin/sh\nbash pipe.conf\n");
	pipe_is_not_opened("#!/bin/sh\n./pipe.conf\n");
}

/* A file server that answers each search in PATH after 50 ms: five answers use up the time. */
static unsigned slow_asked;

static const char *slow_lookup(const char *name)
{
	if (strcmp(name, "PATH") == 0) {
		slow_asked++;
		clock_ns += 50000000;
	}
	return lookup(name);
}

static void test_no_time_is_left(void **state)
{
	static char script[4096] = "#!/bin/sh\n./prog in.dat";
	char out[LAUNCHES_LEN];
	struct errbuf why;
	struct fingerprint_job job = {.script = script, .work_dir = in("here"), .lookup = slow_lookup};
	(void)state;
	for (int i = 0; i < 500; i++)
		strcat(script, " word");
	job.script_len = strlen(script);
	assert_int_equal(launches_of(&job, out, &why), -1);
	assert_string_equal(why.text, "reading the files took longer than 200 ms");
	assert_in_range(slow_asked, 1, 5);
	/* the same in the file of srun --multi-prog, where a word counts once */
	slow_asked = 0;
	strcpy(script, "0 ./prog in.dat");
	for (int i = 0; i < 200; i++)
		snprintf(script + strlen(script), 16, " word%d", i);
	text("here", "long.conf", script);
	job.script = "#!/bin/sh\nsrun --multi-prog long.conf";
	job.script_len = strlen(job.script);
	assert_int_equal(launches_of(&job, out, &why), -1);
	assert_string_equal(why.text, "reading the files took longer than 200 ms");
	assert_in_range(slow_asked, 1, 5);
	assert_int_equal(unlink(in("here/long.conf")), 0);
}

/* Steps as workflow tools write them. Shell functions, other shells and substitutions are not understood. */
static void test_workflow_tools(void **state)
{
	static const char *const none[] = {
	    "#!/bin/bash\nnxf_launch() {\n/bin/bash -ue .command.sh\n}\ncd .\nnxf_launch\n",
	    "#!/bin/bash\ntmpDir=$(mkdir -p x && echo x)\nexport TMPDIR=\"$tmpDir\"\n(\n./prog in.dat\n) > stdout\n",
	    "#!/bin/bash\nparallel -j 4 ./prog in.dat ::: 1 2 3\n",
	    "#!/bin/sh\ncd . && ./prog in.dat && touch done || (touch failed; exit 1)\n",
	};
	const char *submitit = "#!/bin/bash\nexport SUBMITIT_EXECUTOR=slurm\nsrun --unbuffered ./prog -u -m submitit.core._submit sub\n";
	const char *wrapped = of("here", "./prog in.dat 5"); /* parallel sbatch --wrap './prog in.dat {}' ::: 5 6 */
	(void)state;
	for (size_t i = 0; i < N(none); i++)
		if (of("here", none[i])[0])
			fail_msg("has a hash: %s", none[i]);
	assert_int_equal(strlen(wrapped), 35);
	assert_string_equal(of("there", "./prog in.dat 5"), wrapped);
	assert_string_not_equal(of("here", "./prog in.dat 6"), wrapped);
	/* The function is in a file of the folder, whose name changes when sbatch has returned. */
	assert_string_equal(of("here", submitit), "");
}

/* ---- scripts with an oracle ---- */

struct writer {
	char script[4096], launches[1024]; /* launches: in one form */
	const char *dir;
};

static void say(char *to, size_t size, const char *format, ...)
{
	size_t n = strlen(to);
	va_list ap;
	va_start(ap, format);
	assert_true(n + (size_t)vsnprintf(to + n, size - n, format, ap) < size);
	va_end(ap);
}
#define SCRIPT(w, ...)	 say((w)->script, sizeof((w)->script), __VA_ARGS__)
#define LAUNCHES(w, ...) say((w)->launches, sizeof((w)->launches), __VA_ARGS__)

static void write_noise(struct writer *w)
{
	static const char *const NOISE[] = {
	    "",
	    "# comment $(rm x)\n",
	    "echo begin\n",
	    "date\n",
	    "module load gcc\n",
	    "set -e\n",
	    "hostname; pwd\n",
	    "echo \"now $(date +%s)\"\n",
	    "true\n",
	    "cd $SLURM_SUBMIT_DIR\n",
	    "cd . || exit 1\n",
	    "true && echo yes\n",
	    "\n",
	    "echo 'mpirun ./tool'\n",
	    "wait\n",
	};
	for (unsigned n = rng_below(4); n; n--)
		SCRIPT(w, "%s", NOISE[rng_below(N(NOISE))]);
}

/* A file in one of the ways to name it. */
static void write_file(struct writer *w, const char *name, bool program)
{
	switch (rng_below(program ? 4 : 5)) {
	case 0:
		SCRIPT(w, " ./%s", name);
		break;
	case 1:
		SCRIPT(w, " %s/%s", in(w->dir), name);
		break;
	case 2:
		SCRIPT(w, " \"$SLURM_SUBMIT_DIR/%s\"", name);
		break;
	case 3:
		SCRIPT(w, " ${PWD}/%s", name);
		break;
	default:
		SCRIPT(w, " %s", name);
	}
	LAUNCHES(w, " <%s>", name);
}

static void write_launch(struct writer *w)
{
	static const char *const LAUNCHER[] = {"mpirun -n 2", "mpirun -n 4", "srun"};
	static const char *const PROGRAM[] = {"prog", "tool"};
	static const char *const WORD[] = {"5", "6", "-v"};
	static const char *const DATA[] = {"in.dat", "more.dat"};
	static const char *const BEHIND[] = {"",	  "", " && echo ok", " | tee log", " 2>/dev/null",
					     " || exit 1"};
	unsigned launcher = rng_below(N(LAUNCHER)), n = rng_below(3);
	if (!rng_below(4))
		SCRIPT(w, "time ");
	SCRIPT(w, "%s", LAUNCHER[launcher]);
	LAUNCHES(w, "[%s", LAUNCHER[launcher]);
	write_file(w, PROGRAM[rng_below(2)], true);
	while (n--) {
		const char *word = WORD[rng_below(N(WORD))];
		SCRIPT(w, rng_below(2) ? " '%s'" : " %s", word);
		LAUNCHES(w, " %s", word);
	}
	write_file(w, DATA[rng_below(2)], false);
	LAUNCHES(w, "]");
	SCRIPT(w, "%s\n", BEHIND[rng_below(N(BEHIND))]);
}

static void write_script(struct writer *w)
{
	unsigned threads = rng_below(4), n = 1 + !rng_below(4);
	SCRIPT(w, "#!/bin/bash\n");
	write_noise(w);
	if (!threads) {
		unsigned value = 1 + rng_below(2);
		SCRIPT(w, "export OMP_NUM_THREADS=%u\n", value);
		LAUNCHES(w, "threads %u ", value);
	}
	write_noise(w);
	while (n--) {
		write_launch(w);
		write_noise(w);
	}
}

#define SCRIPTS 600

static void test_generated_scripts(void **state)
{
	static struct {
		char launches[1024], hash[LAUNCHES_LEN], script[4096];
	} made[SCRIPTS];
	unsigned same = 0;
	(void)state;
	for (unsigned i = 0; i < SCRIPTS; i++) {
		struct writer w = {.dir = i % 2 ? "here" : "there"};
		write_script(&w);
		snprintf(made[i].launches, sizeof(made[i].launches), "%s", w.launches);
		snprintf(made[i].script, sizeof(made[i].script), "%s", w.script);
		snprintf(made[i].hash, LAUNCHES_LEN, "%s", of(w.dir, w.script));
		if (!made[i].hash[0])
			fail_msg("no hash: %s", w.script);
	}
	for (unsigned a = 0; a < SCRIPTS; a++)
		for (unsigned b = 0; b < a; b++) {
			bool equal = !strcmp(made[a].hash, made[b].hash),
			     meant = !strcmp(made[a].launches, made[b].launches);
			bool two = strstr(made[a].launches, "][") != NULL; /* a file between them may count */
			if (equal && !meant)
				fail_msg("the same hash: %s\nand: %s", made[a].script, made[b].script);
			if (meant && !equal && !two)
				fail_msg("different hashes: %s\nand: %s", made[a].script, made[b].script);
			same += equal;
		}
	assert_true(same > SCRIPTS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_text_around_does_not_count),
	    cmocka_unit_test(test_different_launches),
	    cmocka_unit_test(test_what_is_not_certain),
	    cmocka_unit_test(test_directory_counts_without_input),
	    cmocka_unit_test(test_files_that_are_no_inputs),
	    cmocka_unit_test(test_folders_of_inputs),
	    cmocka_unit_test(test_multi_prog),
	    cmocka_unit_test(test_multi_prog_large),
	    cmocka_unit_test(test_pipes),
	    cmocka_unit_test(test_no_time_is_left),
	    cmocka_unit_test(test_workflow_tools),
	    cmocka_unit_test(test_generated_scripts),
	};
	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, setup, teardown);
}
