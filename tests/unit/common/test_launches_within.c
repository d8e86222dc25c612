/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Scripts within scripts: their launches count. A command before such a script may have changed it. */
#include "tests/unit/common/launches_world.h"

/* Bodies of scripts in `here`: all have the hash of this script, or none has a hash. */
static void all_are_as(const char *const *bodies, size_t n, const char *as)
{
	char hash[LAUNCHES_LEN], script[1024];
	snprintf(hash, sizeof(hash), "%s", of("here", as));
	for (size_t i = 0; i < n; i++) {
		snprintf(script, sizeof(script), "#!/bin/sh\n%s\n", bodies[i]);
		if (strcmp(of("here", script), hash))
			fail_msg("has another hash: %s", bodies[i]);
	}
}

static void none_has_a_hash(const char *const *bodies, size_t n)
{
	char script[1024];
	for (size_t i = 0; i < n; i++) {
		snprintf(script, sizeof(script), "#!/bin/sh\n%s\n", bodies[i]);
		if (of("here", script)[0])
			fail_msg("has a hash: %s", bodies[i]);
	}
}

static void runnable(const char *name, const char *data)
{
	put("here", name, data, strlen(data), 0755);
}

#define STEP "#!/bin/bash -l\nmodule load x\nmpirun -n 4 ./prog in.dat $1\necho done\n"

/* A script within the script: its launches count, and nothing else of it. */
static void test_scripts_within(void **state)
{
	static const char *const same[] = {
	    "bash step.sh 5", "bash --login step.sh 5", "sh -eu -- ./step.sh 5 > log",
	    "/bin/bash -o pipefail step.sh 5 2>&1",
	    "./step.sh 5", "module load x\n\"$SLURM_SUBMIT_DIR/step.sh\" '5' && echo ok", "N=5\ndate\nbash step.sh $N",
	};
	static const char *const twice[] = {
	    "bash step.sh 5\nmpirun -n 4 ./tool", "mpirun -n 4 ./prog in.dat 5; bash last.sh; echo done",
	    "./step.sh 5\nbash last.sh",
	};
	static const char *const none[] = {
	    "srun ./step.sh 5", "mpirun bash step.sh 5", "bash -c ./step.sh", "bash -s step.sh", "bash --posix step.sh 5",
	    "bash step.sh", "bash step.sh \"$@\"", "bash step.sh $SLURM_NTASKS", "bash < step.sh", "bash step.sh 5 &",
	    "N=7 bash step.sh 5", "export N=7\nbash step.sh 5", "cd sub\nbash ../step.sh 5", "cd sub\n../step.sh 5",
	    "mpirun ./tool && bash step.sh 5", "false || bash step.sh 5", "echo 5 | bash step.sh 5", "source step.sh 5",
	    "echo > step.sh\nbash step.sh 5", "mpirun ./tool > step.sh\nbash step.sh 5",
	    "mpirun ./tool | tee step.sh\nbash step.sh 5",
	    "cp more.dat step.sh\nbash step.sh 5", "bash last.sh | tee log", "bash nested.sh", "bash loop.sh",
	    "bash moves.sh", "bash fails.sh\nmpirun ./tool",
	    "bash nowhere.sh", "exec bash step.sh 5", "bash step.sh* 5", "./moves.sh",
	};
	char base[LAUNCHES_LEN];
	(void)state;
	runnable("step.sh", STEP);
	text("here", "last.sh", "mpirun -n 4 ./tool\nexit 0\n");
	text("here", "nested.sh", "bash step.sh 5\n");
	text("here", "loop.sh", "for i in 1; do mpirun ./prog in.dat; done\n");
	text("here", "moves.sh", "cd sub\nmpirun ../prog ../in.dat\n");
	text("here", "fails.sh", "mpirun ./prog in.dat\nexit 1\n");
	all_are_as(same, N(same), BASE);
	all_are_as(twice, N(twice), "#!/bin/sh\nmpirun -n 4 ./prog in.dat 5\nmpirun -n 4 ./tool\n");
	none_has_a_hash(none, N(none));
	/* a variable of the script counts for its own launches alone */
	text("here", "sets.sh", "export OMP_NUM_THREADS=2\nmpirun -n 4 ./prog in.dat 5\n");
	snprintf(base, sizeof(base), "%s", of("here", "#!/bin/sh\nexport OMP_NUM_THREADS=2\nmpirun -n 4 ./prog in.dat 5\n"));
	assert_string_equal(of("here", "#!/bin/sh\nbash sets.sh\n"), base);
	snprintf(base, sizeof(base), "%s",
		 of("here", "#!/bin/sh\nOMP_NUM_THREADS=2 mpirun -n 4 ./prog in.dat 5\nmpirun -n 4 ./tool\n"));
	assert_string_equal(base, "");
	assert_int_equal(strlen(of("here", "#!/bin/sh\nbash sets.sh\nmpirun -n 4 ./tool\n")), 35);
	assert_string_not_equal(of("here", "#!/bin/sh\nbash sets.sh\nmpirun -n 4 ./tool\n"),
				of("here", "#!/bin/sh\nexport OMP_NUM_THREADS=2\nmpirun -n 4 ./prog in.dat 5\nmpirun -n 4 ./tool\n"));
	/* all launches write the file, or the last one does */
	text("here", "both.sh", "mpirun -n 4 ./prog in.dat 5\nmpirun -n 4 ./tool\n");
	assert_string_equal(of("here", "#!/bin/sh\nbash both.sh\n"),
			    of("here", "#!/bin/sh\nmpirun -n 4 ./prog in.dat 5\nmpirun -n 4 ./tool\n"));
	assert_string_not_equal(of("here", "#!/bin/sh\nbash both.sh > a\n"),
				of("here", "#!/bin/sh\nmpirun -n 4 ./prog in.dat 5 > a\nmpirun -n 4 ./tool\n"));
	assert_string_not_equal(of("here", "#!/bin/sh\nbash both.sh > a\n"), of("here", "#!/bin/sh\nbash both.sh 2> a\n"));
	/* another program, another input */
	snprintf(base, sizeof(base), "%s", of("here", "#!/bin/sh\nbash step.sh 5\n"));
	text("here", "step.sh", "mpirun -n 4 ./tool in.dat $1\n");
	assert_string_not_equal(of("here", "#!/bin/sh\nbash step.sh 5\n"), base);
	text("here", "step.sh", "mpirun -n 4 ./prog more.dat $1\n");
	assert_string_not_equal(of("here", "#!/bin/sh\nbash step.sh 5\n"), base);
}

#define PLAIN_STEP "#!/bin/bash\nmpirun -n 4 ./prog in.dat $1\n"

/* Any command but a harmless one or an MPI program may write the script that runs next. */
static void test_commands_before_a_script(void **state)
{
	static const char *const none[] = {
	    "installed -a sub ./\nbash step.sh 5", "./tool -a sub\nbash step.sh 5", "srun -n 1 installed sub\n./step.sh 5",
	    "mpirun ./python3.11 more.dat\nbash step.sh 5", "mpirun ./linked more.dat\nbash step.sh 5",
	    "mpirun ./tool step.sh2\nbash step.sh 5", "mpirun ./tool .\nbash step.sh 5", "mpirun ./tool --out=.\n./step.sh 5",
	    "mpirun /bin/true\nbash step.sh 5", "bash copies.sh\nbash step.sh 5", "bash echo.sh", "bash limits.sh\nmpirun ./tool",
	    "bash limits.sh\nbash step.sh 5",
	};
	static const char *const same[] = {"bash echo.sh\nmpirun -n 4 ./prog in.dat 5", "date\nbash echo.sh; ./step.sh 5"};
	static const char *const some[] = {
	    "mkdir -p new\nbash step.sh 5", "touch new\nulimit -s unlimited\n./step.sh 5", "mpirun ./tool more.dat\nbash step.sh 5",
	    "cp more.dat in.dat\nmpirun ./prog in.dat", "bash limits.sh", "cp more.dat sub\ncd sub\nmpirun ../prog ../in.dat",
	    "mkdir -p sub new\nmpirun ./prog in.dat", "rm -rf sub\nmpirun ./prog in.dat", "mpirun ./tool sub\nmpirun ./prog in.dat",
	};
	(void)state;
	runnable("step.sh", PLAIN_STEP);
	text("here", "echo.sh", "echo start\n");
	text("here", "copies.sh", "./tool -a sub\n");
	text("here", "limits.sh", "ulimit -v 100000\nmpirun ./prog in.dat\n");
	program("here", "python3.11", "/bin/true");
	assert_int_equal(symlink("/bin/true", in("here/linked")) | link(in("here/step.sh"), in("here/step.sh2")), 0);
	none_has_a_hash(none, N(none));
	all_are_as(same, N(same), BASE);
	for (size_t i = 0; i < N(some); i++)
		if (!of("here", some[i])[0])
			fail_msg("has no hash: %s", some[i]);
	assert_int_equal(unlink(in("here/linked")) | unlink(in("here/step.sh2")) | unlink(in("here/python3.11")), 0);
}

/* An option of the first line can export variables, or read the text in another way. */
static void test_first_lines(void **state)
{
	static const char *const same[] = {
	    "#!/bin/sh", "#! /bin/bash -l ", "#!/bin/bash -eu", "#!/usr/bin/env bash", "#!/usr/bin/bash --login", "#!/bin/dash -x",
	};
	static const char *const none[] = {
	    "#!/bin/bash -a", "#!/bin/bash -ka", "#!/bin/bash -O", "#!/bin/bash -e -a", "#!/bin/bash --posix", "#!/opt/own/bash",
	    "#!/usr/bin/env -S bash -a", "#!/usr/bin/env -S A=1 bash", "#!/bin/sh -c", "#!/bin/bash -", "#!bash", "#!/bin/sh +e",
	};
	char script[256], base[LAUNCHES_LEN];
	(void)state;
	snprintf(base, sizeof(base), "%s", of("here", BASE));
	for (size_t i = 0; i < N(same) + N(none); i++) {
		bool is_same = i < N(same);
		const char *line = is_same ? same[i] : none[i - N(same)];
		snprintf(script, sizeof(script), "%s\nmpirun -n 4 ./prog in.dat 5\n", line);
		runnable("step.sh", script);
		if (strcmp(of("here", script), is_same ? base : "") ||
		    strcmp(of("here", "#!/bin/sh\n./step.sh\n"), is_same ? base : ""))
			fail_msg("not as meant: %s", line);
		assert_string_equal(of("here", "#!/bin/sh\nbash step.sh\n"), base); /* there it is a comment */
	}
	/* a file without "#!" is run by a shell */
	runnable("step.sh", "./prog in.dat 5\n");
	none_has_a_hash((const char *const[]){"./step.sh", "timeout 60 ./step.sh", "mpirun ./step.sh"}, 3);
}

/* A module, or a profile, may set any variable and PATH. */
static void test_modules_change_variables(void **state)
{
	static const char *const none[] = {
	    "module load x/2\nmpirun -n 4 $GIVEN/prog in.dat 5", "ml x/2\nmpirun -n 4 ./prog $GIVEN/in.dat 5",
	    "module load x\nP=$GIVEN/prog\nmpirun $P in.dat", "N=5\nmodule load x\nmpirun ./prog in.dat $N",
	    "module load x\ncd $GIVEN\nmpirun ./prog in.dat", "module load x\nexport P=$GIVEN\nmpirun ./prog in.dat",
	    "module load x\nmpirun ./prog in.dat > $GIVEN/a\nmpirun ./tool", "bash modules.sh", "bash -l given.sh", "./login.sh",
	    "module load x\nbash given.sh", "module load x\nbash step.sh $GIVEN", "bash --login installs.sh",
	};
	static const char *const same[] = {
	    "mpirun -n 4 $GIVEN/prog in.dat 5", "module load x\nmpirun -n 4 \"$SLURM_SUBMIT_DIR/prog\" $PWD/in.dat '5'",
	    "P=$GIVEN/prog\nmpirun -n 4 $P in.dat 5\nmodule load x", "bash given.sh", "bash modules2.sh\necho $GIVEN",
	};
	(void)state;
	snprintf(environment_value, sizeof(environment_value), "%s", in("here"));
	text("here", "modules.sh", "module load x/2\nmpirun -n 4 $GIVEN/prog in.dat 5\n");
	text("here", "modules2.sh", "mpirun -n 4 $GIVEN/prog in.dat 5\nmodule load x/2\n");
	text("here", "given.sh", "mpirun -n 4 $GIVEN/prog in.dat 5\n");
	text("here", "installs.sh", "mpirun installed in.dat 5\n");
	text("here", "step.sh", PLAIN_STEP);
	runnable("login.sh", "#!/bin/bash -l\nmpirun -n 4 $GIVEN/prog in.dat 5\n");
	none_has_a_hash(none, N(none));
	assert_string_equal(of("here", "#!/bin/bash -l\nmpirun -n 4 $GIVEN/prog in.dat 5\n"), "");
	assert_string_equal(of("here", "#!/bin/bash -l\nmpirun installed in.dat 5\n"), "");
	all_are_as(same, N(same), BASE);
	assert_int_equal(strlen(of("here", "#!/bin/sh\nmodule load x\nN=5\nmpirun ./prog in.dat $N\n")), 35);
	environment_value[0] = '\0';
}

/* Behind a link, ".." is elsewhere for the kernel, and a file has another name. */
static void test_links(void **state)
{
	static const char *const none[] = {
	    "bash link/../step.sh 5", "link/../step.sh 5", "mpirun -n 4 ./prog link/../in.dat 5", "cd link\nmpirun ../prog in.dat",
	    "cd link\nmpirun prog --in=../in.dat", "mpirun ./tool > alias.sh\nbash step.sh 5",
	    "mpirun ./tool > self/step.sh\n./step.sh 5",
	    "mpirun ./tool > link/../a\nmpirun ./prog in.dat", "mpirun ./tool | tee alias.sh\n./step.sh 5",
	};
	static const char *const same[] = {"cd link/..\nmpirun -n 4 ./prog in.dat 5", "mpirun -n 4 ./prog sub/../in.dat 5",
					     "./sub/../step.sh 5"};
	(void)state;
	runnable("step.sh", PLAIN_STEP);
	assert_int_equal(symlink(in("other/sub"), in("here/link")) | symlink("step.sh", in("here/alias.sh")) |
			 symlink(".", in("here/self")), 0);
	none_has_a_hash(none, N(none));
	all_are_as(same, N(same), BASE);
	assert_int_equal(unlink(in("here/link")) | unlink(in("here/alias.sh")) | unlink(in("here/self")), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_scripts_within),
	    cmocka_unit_test(test_commands_before_a_script),
	    cmocka_unit_test(test_first_lines),
	    cmocka_unit_test(test_modules_change_variables),
	    cmocka_unit_test(test_links),
	};
	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, setup, teardown);
}
