/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Submissions that are the same job, the same family, or neither. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <cmocka.h>

#include "common/identity.h"
#include "common/made_up.h"

#define FP1 "v1:00112233445566778899aabbccddeeff:4"
#define FP2 "v1:00112233445566778899aabbccddeefe:4"

static struct identity_input base(const char *script)
{
	return (struct identity_input){
	    .uid = 1000,
	    .script = script,
	    .fingerprint = FP1,
	    .work_dir = "/home/u/a",
	    .layout = {.nodes_min = 2, .nodes_max = 2, .tasks = 4},
	};
}

static struct identity of(const struct identity_input *in)
{
	struct identity id;

	memset(&id, 0x5a, sizeof(id));
	identity_compute(in, &id);
	assert_true(identity_key_valid(id.key));
	assert_true(identity_key_valid(id.family));
	return id;
}

static struct identity of_script(const char *script)
{
	struct identity_input in = base(script);

	return of(&in);
}

static bool same_key(const char *a, const char *b)
{
	struct identity x = of_script(a), y = of_script(b);

	return !strcmp(x.key, y.key);
}

static bool same_family(const char *a, const char *b)
{
	struct identity x = of_script(a), y = of_script(b);

	return !strcmp(x.family, y.family);
}

#define SH "#!/bin/bash\n"

static void test_normalise_same(void **state)
{
	static const char *const pairs[][2] = {
	    {SH "srun ./a\n", SH "srun ./a"},
	    {SH "srun ./a\n", SH "#SBATCH -N 2\n#SBATCH -t 10\n\n# why\nsrun ./a   \n\n"},
	    {SH "srun ./a\n", SH "srun ./a   # run it\n"},
	    {SH "srun ./a\n", SH "  # indented comment\n\t\nsrun ./a\t \n"},
	    {SH "echo 'x'\n#c\nb\n", SH "echo 'x'\nb\n"},
	    {SH "cat <<A <<-B\n1\nA\n2\n\tB\nrun\n", SH "cat <<A <<-B\n1\nA\n2\n\tB\n# c\nrun\n"},
	    {SH "x=\"$(dirname \"$0\")\"\nrun # c\n", SH "x=\"$(dirname \"$0\")\"\n# c\nrun\n"},
	    {"#!/usr/bin/env bash\nrun\n", "#!/usr/bin/env bash\n#SBATCH -n 4\nrun # c\n"},
	    {"#!/usr/bin/python3\nprint(1)\n", "#!/usr/bin/python3\n#SBATCH -n 4\nprint(1)\n"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
		if (!same_key(pairs[i][0], pairs[i][1]))
			fail_msg("not the same:\n%s---\n%s", pairs[i][0], pairs[i][1]);
	}
}

static void test_normalise_different(void **state)
{
	static const char *const pairs[][2] = {
	    {SH "srun ./a\n", SH "srun ./b\n"},
	    {SH "srun ./a\n", "#!/bin/sh\nsrun ./a\n"},
	    {SH "srun ./a 1\n", SH "srun ./a 2\n"},
	    /* In here-documents and strings, '#' starts no comment. */
	    {SH "cat <<E\n# x\nE\n", SH "cat <<E\n# y\nE\n"},
	    {SH "cat <<E\n\nE\n", SH "cat <<E\nE\n"},
	    {SH "cat <<E\na \nE\n", SH "cat <<E\na\nE\n"},
	    {SH "cat <<'E'\n#SBATCH -N 2\nE\n", SH "cat <<'E'\nE\n"},
	    {SH "cat <<-\"E\"\n\t# x\n\tE\n", SH "cat <<-\"E\"\n\tE\n"},
	    {SH "cat <<\\E\n# x\nE\n", SH "cat <<\\E\nE\n"},
	    {SH "cat <<A <<B\nA\n# x\nB\n", SH "cat <<A <<B\nA\n# y\nB\n"},
	    {SH "echo '\n# x\n'\n", SH "echo '\n# y\n'\n"},
	    {SH "echo \"\n# x\n\"\n", SH "echo \"\n# y\n\"\n"},
	    {SH "echo $'\\'\n# x\n'\n", SH "echo $'\\'\n# y\n'\n"},
	    {SH "echo '\n\n'\n", SH "echo '\n'\n"},
	    {SH "x=\"$(cat <<E\n\"\n# x\nE\n)\"\n", SH "x=\"$(cat <<E\n\"\n# y\nE\n)\"\n"},
	    {SH "x=\"$(awk \"\n# x\n\")\"\n", SH "x=\"$(awk \"\n# y\n\")\"\n"},
	    {SH "echo a#b\n", SH "echo a#c\n"},
	    {SH "echo ${#a}\n", SH "echo ${#b}\n"},
	    {SH "echo \\# x\n", SH "echo \\# y\n"},
	    {SH "echo 'a # x'\n", SH "echo 'a # y'\n"},
	    {SH "a \\\n\nb\n", SH "a \\\nb\n"},
	    {SH "a \\\n# x\n", SH "a \\\n# y\n"},
	    {SH "a \\ \n", SH "a \\\n"},
	    {"#!/usr/bin/python3\ns = '''\n# x\n'''\n", "#!/usr/bin/python3\ns = '''\n# y\n'''\n"},
	    {"#!/usr/bin/python3\nx = 1\n#SBATCH a\n", "#!/usr/bin/python3\nx = 1\n#SBATCH b\n"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
		if (same_key(pairs[i][0], pairs[i][1]))
			fail_msg("taken for the same:\n%s---\n%s", pairs[i][0], pairs[i][1]);
	}
}

static void test_what_counts(void **state)
{
	char *args1[] = {"in.melt", "100"}, *args2[] = {"in.melt", "200"}, *args3[] = {"in.melt100", ""};
	struct identity_input a = base(SH "srun ./a\n"), b = a;
	struct identity x = of(&a), y;

	(void)state;
	y = of(&b);
	assert_string_equal(x.key, y.key);
	assert_string_equal(x.family, y.family);
	b.uid = 1001;
	y = of(&b);
	assert_string_not_equal(x.key, y.key);
	assert_string_not_equal(x.family, y.family);
	b = a;
	b.layout.tasks = 8;
	assert_string_not_equal(x.key, of(&b).key);
	b = a;
	b.layout = (struct identity_layout){.nodes_min = 2, .nodes_max = 2, .tasks_per_node = 4};
	assert_string_not_equal(x.key, of(&b).key);
	/* The boundaries of arguments count. */
	b = a;
	b.args = args1;
	b.n_args = 2;
	x = of(&b);
	assert_int_equal(x.n_vars, IDENTITY_OWN_VARS + 1);
	assert_true(x.vars[IDENTITY_OWN_VARS] == 100);
	b.args = args2;
	y = of(&b);
	assert_string_not_equal(x.key, y.key);
	assert_string_equal(x.family, y.family);
	b.args = args3;
	assert_string_not_equal(x.family, of(&b).family);
}

/* Workflow tools write other temporary names, hashes and orders of sets into each script. */
static void test_made_up_names(void **state)
{
	static const char *const same[][2] = {
	    {SH "cd '/d' && flow --wait '/d/.flow/tmp.oaacgy3n' --on 'time' 'code' && touch '/d/.flow/tmp.oaacgy3n/1.done'\n",
	     SH "cd '/d' && flow --wait '/d/.flow/tmp.exq_yi4w' --on 'code' 'time' && touch '/d/.flow/tmp.exq_yi4w/1.done'\n"},
	    {SH "python3 /home/u/tmpab1_xy9z/run.py\n", SH "python3 /home/u/tmpqqqqqqqq/run.py\n"},
	    {SH "cp in $(mktemp -d)/tmp.Yc3bOp0kPz\n", SH "cp in $(mktemp -d)/tmp.aaaaaaaaaa\n"},
	    {SH "/bin/bash -ue /w/3f/8a1bc0d2e4f6a8b0c2d4e6f8091a2b/.command.sh\n",
	     SH "/bin/bash -ue /w/00/0123456789abcdef0123456789abcd/.command.sh\n"},
	    {SH "sh /x/6f9619ff-8b86-d011-b42d-00cf4fc964ff/call/script\n",
	     SH "sh /x/00000000-1111-2222-3333-444444444444/call/script\n"},
	};
	static const char *const other[][2] = {
	    {SH "./a --n 'x' 'y'\n", SH "./a --n 'y' 'x'\n"}, /* no generator wrote this */
	    {SH "./a --n '1' '2' /tmp.aaaaaaaa\n", SH "./a --n '2' '1' /tmp.aaaaaaaa\n"},
	    {SH "./a --n 'x'  'y' /tmp.aaaaaaaa\n", SH "./a --n 'y'  'x' /tmp.aaaaaaaa\n"},
	    {SH "./a /deadbeef01234567\n", SH "./a /deadbeef01234568\n"}, /* a seed */
	    {SH "./a /0123456789abcdef0123456789abcdefg\n", SH "./a /1123456789abcdef0123456789abcdefg\n"},
	    {SH "./a /tmpfiles\n", SH "./a /tmpfilez\n"},
	    {SH "./a /tmp.solver\n", SH "./a /tmp.walker\n"},
	    {SH "./a /xtmp.aaaaaaaa\n", SH "./a /xtmp.bbbbbbbb\n"},
	    {SH "./a /tmp_Methane\n", SH "./a /tmp_Benzene\n"},
	    {SH "./a tmp_methane\n", SH "./a tmp_benzene\n"}, /* names of results, not of files */
	    {SH "./a --x 0.118000000000000000000001\n", SH "./a --x 0.218000000000000000000001\n"},
	    {SH "./a /010101010101010101010101\n", SH "./a /010101010101010101010102\n"},
	    {SH "run docker://s@sha256:0123456789abcdef01234567\n", SH "run docker://s@sha256:1123456789abcdef01234567\n"},
	    {SH "./a --id 6f9619ff-8b86-d011-b42d-00cf4fc964ff\n", SH "./a --id 7f9619ff-8b86-d011-b42d-00cf4fc964ff\n"},
	    {SH "./a out2026112a $out2026112ax\n", SH "./a out2026112b $out2026112ax\n"}, /* no variable of Cromwell */
	    {SH "./a $out2026112ax\n", SH "./a $out2026112bx\n"},
	    {SH "out20261128=5\n", SH "out20261129=5\n"}, /* dates */
	    {SH "cat $err20261128\n", SH "cat $err20261129\n"},
	    {SH "./a /tmp20261128\n", SH "./a /tmp20261129\n"},
	    {SH "./a /tmp.20261128\n", SH "./a /tmp.20261129\n"},
	    {SH "./a /tmp.2026112812\n", SH "./a /tmp.2026112813\n"},
	    {SH "xout2026112a=5\n", SH "xout2026112b=5\n"},
	    {SH "cd /w/tmp.oaacgy3n && ./a 'ocean' 'air'\n", SH "cd /w/tmp.oaacgy3n && ./a 'air' 'ocean'\n"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(same) / sizeof(same[0]); i++) {
		struct identity_input a = base(same[i][0]), b = base(same[i][1]);
		struct identity_room *room = identity_room_create();
		struct identity id;

		assert_true(same_key(same[i][0], same[i][1]));
		assert_true(same_family(same[i][0], same[i][1]));
		identity_compute_within(room, &b, &id);
		a.fingerprint = b.fingerprint = NULL; /* nothing says that the files are the same */
		assert_string_not_equal(of(&a).key, of(&b).key);
		assert_string_equal(of(&a).family, of(&b).family);
		identity_compute_within(room, &b, &id);
		assert_string_equal(of(&b).key, id.key);
		identity_room_destroy(room);
	}
	for (size_t i = 0; i < sizeof(other) / sizeof(other[0]); i++)
		assert_false(same_key(other[i][0], other[i][1]));
}

#define SNAKE(tmp, sets, input)                                                                                             \
	"#!/bin/sh\n# properties = {\"rule\": \"sim\", \"jobid\": 7, \"log\": [\"" tmp "\"]}\n"                          \
	"cd '/d/flow' && /usr/bin/python3 -m snakemake 'out/" input ".txt' --snakefile '/d/flow/Snakefile' --cores 'all' "  \
	"--wait-for-files '/d/flow/.snakemake/tmp." tmp "' 'in/" input ".dat' --rerun-triggers " sets " --force "           \
	"&& touch '/d/flow/.snakemake/tmp." tmp "/7.jobfinished' || (touch '/d/flow/.snakemake/tmp." tmp                  \
	"/7.jobfailed'; exit 1)\n"
#define NEXTFLOW(hash, command)                                                                                             \
	"#!/bin/bash\n#SBATCH -J nf-sim_(1)\n#SBATCH -o /w/" hash "/.command.log\nset -e\nset -u\n"                      \
	"NXF_DEBUG=${NXF_DEBUG:=0}\nnxf_launch() {\n    /bin/bash -ue /w/" hash "/.command.sh " command "\n}\n"          \
	"on_exit() { printf '%s' ${1:-0} > /w/" hash "/.exitcode; }\ntrap on_exit EXIT\ncd /w/" hash "\nnxf_launch\n"
#define CROMWELL(uuid, tmp, command)                                                                                       \
	"#!/bin/bash\ncd /x/flow/" uuid "/call-sim/execution\ntmpDir=$(mkdir -p \"/x/flow/" uuid "/call-sim/tmp." tmp       \
	"\" && echo \"/x/flow/" uuid "/call-sim/tmp." tmp "\")\nexport TMPDIR=\"$tmpDir\"\nout" tmp "=\"$tmpDir/out.$$\" err" tmp \
	"=\"$tmpDir/err.$$\"\nmkfifo \"$out" tmp "\" \"$err" tmp "\"\n(\n" command "\n) > \"$out" tmp "\" 2> \"$err" tmp "\"\n" \
	"echo $? > rc\n"
#define SUBMITIT(folder, mail)                                                                                             \
	"#!/bin/bash\n\n# Parameters\n#SBATCH --job-name=submitit\n#SBATCH --mail-user=" mail "\n#SBATCH --open-mode=append\n" \
	"#SBATCH --output=/logs/" folder "/%j_0_log.out\n\n# command\nexport SUBMITIT_EXECUTOR=slurm\n"                     \
	"srun --unbuffered --output /logs/" folder "/%j_%t_log.out /usr/bin/python3 -u -m submitit.core._submit /logs/" folder "\n"
#define PARALLEL(jobs, values) "#!/bin/bash\n# " jobs "\nparallel -j 4 --joblog log.txt ./sim {} in.dat ::: " values "\n"

/* Whole scripts in the form of workflow tools: the same step again, and other steps. */
static void test_workflow_tools(void **state)
{
	static const char *const same[][2] = {
	    {SNAKE("oaacgy3n", "'mtime' 'code' 'params'", "1"), SNAKE("exq_yi4w", "'params' 'mtime' 'code'", "1")},
	    {NEXTFLOW("3f/8a1bc0d2e4f6a8b0c2d4e6f8091a2b", "5"), NEXTFLOW("00/0123456789abcdef0123456789abcd", "5")},
	    {CROMWELL("6f9619ff-8b86-d011-b42d-00cf4fc964ff", "0a1b2c3d", "sim 5"),
	     CROMWELL("00000000-1111-2222-3333-44444444444f", "d3c2b1a0", "sim 5")},
	    {SUBMITIT("run", "a@b"), SUBMITIT("run", "c@d")},
	    {PARALLEL("monday", "1 2 3"), PARALLEL("tuesday", "1 2 3")},
	};
	static const char *const other[][2] = {
	    {SNAKE("oaacgy3n", "'mtime' 'code' 'params'", "1"), SNAKE("oaacgy3n", "'mtime' 'code' 'params'", "2")},
	    {SNAKE("oaacgy3n", "'mtime' 'code'", "1"), SNAKE("oaacgy3n", "'mtime' 'input'", "1")},
	    {NEXTFLOW("3f/8a1bc0d2e4f6a8b0c2d4e6f8091a2b", "5"), NEXTFLOW("3f/8a1bc0d2e4f6a8b0c2d4e6f8091a2b", "6")},
	    {CROMWELL("6f9619ff-8b86-d011-b42d-00cf4fc964ff", "0a1b2c3d", "sim 5"),
	     CROMWELL("6f9619ff-8b86-d011-b42d-00cf4fc964ff", "0a1b2c3d", "sim 6")},
	    {SUBMITIT("run", "a@b"), SUBMITIT("test", "a@b")},
	    {PARALLEL("monday", "1 2 3"), PARALLEL("monday", "1 2 4")},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(same) / sizeof(same[0]); i++) {
		if (!same_key(same[i][0], same[i][1]) || !same_family(same[i][0], same[i][1]))
			fail_msg("another job: %s", same[i][1]);
	}
	for (size_t i = 0; i < sizeof(other) / sizeof(other[0]); i++) {
		if (same_key(other[i][0], other[i][1]))
			fail_msg("the same job: %s", other[i][1]);
	}
}

/* Words that may be made up do not count in the pattern alone. */
static void test_pattern(void **state)
{
	static const char *const alike[][2] = {
	    {"./a --run-id x7f3k2pq", "./a --run-id 0zz9aa1b"},
	    {"./a --ckpt=ckpt-3f2a1b9.pt", "./a --ckpt=ckpt-00ff11a.pt"},
	    {"./a run_20261129_3f2a1b9", "./a run_20261130_9abcdef"},
	    {"./a --id=6f9619ff-8b86-d011-b42d-00cf4fc964ff", "./a --id=a0cdefab-cdef-abcd-efab-cdefabcdefab"},
	    {"./a -n100 -e 1e-5", "./a -n7 -e 0.25"},
	    {"./a 12h", "./a 3h30m"},
	};
	static const char *const unlike[][2] = {
	    {"./a mpi4py", "./a h5py"}, {"./solve lib64", "./solve lib32"}, {"./a forward", "./a reverse"}, {"./a -x100", "./a -y100"},
	};
	char script[2][256];

	(void)state;
	for (size_t i = 0; i < sizeof(alike) / sizeof(alike[0]); i++) {
		for (int k = 0; k < 2; k++)
			snprintf(script[k], sizeof(script[k]), SH "%s\n", alike[i][k]);
		if (of_script(script[0]).pattern != of_script(script[1]).pattern || same_key(script[0], script[1]))
			fail_msg("not alike, or the same: %s, %s", alike[i][0], alike[i][1]);
	}
	for (size_t i = 0; i < sizeof(unlike) / sizeof(unlike[0]); i++) {
		for (int k = 0; k < 2; k++)
			snprintf(script[k], sizeof(script[k]), SH "%s\n", unlike[i][k]);
		if (of_script(script[0]).pattern == of_script(script[1]).pattern)
			fail_msg("alike: %s, %s", unlike[i][0], unlike[i][1]);
	}
}

/* Text and pattern are known without files, directory and layout: as the accounting knows a job. */
static void test_text(void **state)
{
	struct identity_input a = base(SH "srun ./a -n 4 /w/tmpx8_w2k1q/in\n"), b = a;
	struct identity x = of(&a), y;
	char eight[] = "8", *args[] = {eight};

	(void)state;
	b.script = SH "#SBATCH -N 7\n# a comment\nsrun ./a -n 4 /w/tmpaaaaaaaa/in\n";
	b.fingerprint = NULL;
	b.work_dir = "/elsewhere";
	b.layout.nodes_min = 7;
	y = of(&b);
	assert_true(x.text == y.text && x.pattern == y.pattern && x.text != x.pattern);
	b.script = SH "srun ./a -n 5 /w/tmpx8_w2k1q/in\n"; /* another number */
	y = of(&b);
	assert_true(x.text != y.text && x.pattern == y.pattern);
	b.script = SH "srun ./b -n 4 /w/tmpx8_w2k1q/in\n"; /* another word */
	y = of(&b);
	assert_true(x.text != y.text && x.pattern != y.pattern);
	b = a;
	b.args = args;
	b.n_args = 1;
	y = of(&b);
	assert_true(x.text != y.text && x.pattern != y.pattern);
	b = a;
	b.uid++;
	y = of(&b);
	assert_true(x.text != y.text && x.pattern != y.pattern);
}

static void test_fingerprint(void **state)
{
	struct identity_input a = base(SH "srun ./a\n"), b = a;

	(void)state;
	/* With a fingerprint, the work directory does not count: it gives another job of the same family. */
	b.work_dir = "/home/u/b";
	assert_string_equal(of(&a).key, of(&b).key);
	b.fingerprint = FP2;
	assert_string_not_equal(of(&a).key, of(&b).key);
	assert_string_equal(of(&a).family, of(&b).family);
	/* Without a valid fingerprint, the work directory counts. */
	a.fingerprint = NULL;
	b.fingerprint = NULL;
	assert_string_not_equal(of(&a).key, of(&b).key);
	assert_string_not_equal(of(&a).family, of(&b).family);
	b.work_dir = a.work_dir;
	b.fingerprint = "v1:nonsense";
	assert_string_equal(of(&a).key, of(&b).key);
	a.work_dir = "/home/u/run-1";
	b.work_dir = "/home/u/run-2";
	assert_string_not_equal(of(&a).key, of(&b).key);
	assert_string_equal(of(&a).family, of(&b).family);
	assert_true(identity_fingerprint_valid(FP1));
	assert_false(identity_fingerprint_valid(NULL));
	assert_false(identity_fingerprint_valid("v1:"));
	assert_false(identity_fingerprint_valid("v2:00112233445566778899aabbccddeeff:4"));
	assert_false(identity_fingerprint_valid("v1:00112233445566778899aabbccddeefF:4"));
	assert_false(identity_fingerprint_valid("v1:00112233445566778899aabbccddeeff:"));
	assert_false(identity_fingerprint_valid("v1:00112233445566778899aabbccddeeff:4x"));
	assert_false(identity_fingerprint_valid("v1:00112233445566778899aabbccddeeff:1234567890"));
}

/* Other bulk data give another job of the same kin; their size is a number. */
static void test_bulk(void **state)
{
	static const char like[] = FP1 ":aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa:1000000", less[] = FP2 ":aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa:500000";
	static const char other[] = FP2 ":aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab:500000";
	static const char *const bad[] = {FP1 ":", FP1 ":aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", FP1 ":aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa:",
					  FP1 ":aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa:1x", FP1 ":aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa:-1",
					  FP1 ":aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa:123456789012345678901", FP1 ":aaaa:1"};
	struct identity_input in = base("#!/bin/sh\n./a big.dat\n");
	struct identity a, b, c, plain;

	(void)state;
	in.fingerprint = FP1;
	plain = of(&in);
	in.fingerprint = like;
	a = of(&in);
	in.fingerprint = less;
	b = of(&in);
	in.fingerprint = other;
	c = of(&in);
	assert_string_equal(a.key, plain.key); /* adds nothing to the job's identity */
	assert_string_not_equal(a.key, b.key);
	assert_string_equal(a.kin, b.kin);
	assert_string_not_equal(a.kin, c.kin);
	assert_true(a.vars[3] == 1000000 && b.vars[3] == 500000 && plain.vars[3] == 0);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		if (identity_fingerprint_valid(bad[i]))
			fail_msg("'%s' is taken", bad[i]);
	assert_true(identity_fingerprint_valid(like));
}

static void test_numbers(void **state)
{
	struct identity id;
	const double *v;

	(void)state;
	assert_true(same_family(SH "./a -n 100\n", SH "./a -n 2000\n"));
	assert_true(same_family(SH "./a -n100\n", SH "./a -n2000\n"));
	assert_true(same_family(SH "./a --dt=1.5e-3\n", SH "./a --dt=2\n"));
	assert_true(same_family(SH "run 10k\n", SH "run 20k\n"));
	assert_false(same_family(SH "run 10k\n", SH "run 20m\n"));
	assert_false(same_family(SH "./lib32/a\n", SH "./lib64/a\n"));
	assert_false(same_family(SH "./a2\n", SH "./a3\n"));
	assert_false(same_family(SH "./a 1\n", SH "./a 1 1\n"));
	assert_false(same_family(SH "./a\n", SH "./b\n"));
	id = of_script(SH "./a 3 -x 2.5 --dt=1e-3 x7 -n64 1e 5.\n");
	assert_int_equal(id.n_vars, IDENTITY_OWN_VARS + 6);
	v = id.vars + IDENTITY_OWN_VARS;
	assert_true(v[0] == 3 && v[1] == 2.5 && v[2] == 1e-3 && v[3] == 64);
	assert_true(v[4] == 1 && v[5] == 5);
}

static void has_layout(struct identity_layout layout, double ranks, double nodes, double threads)
{
	struct identity_input in = base("#!/bin/sh\n./a 7\n");
	struct identity id, plain = of(&in);

	in.layout = layout;
	id = of(&in);
	assert_int_equal(id.n_vars, IDENTITY_OWN_VARS + 1);
	assert_true(id.vars[0] == ranks && id.vars[1] == nodes && id.vars[2] == threads && id.vars[3] == 0 && id.vars[4] == 7);
	/* Members of a kin have the same input files; members of a family may not. */
	assert_string_equal(id.kin, plain.kin);
	assert_string_not_equal(id.family, plain.family);
}

/* Ranks, nodes and CPUs per rank are numbers too. */
static void test_layout(void **state)
{
	(void)state;
	has_layout((struct identity_layout){.tasks = 7}, 7, 1, 1);
	has_layout((struct identity_layout){.nodes_min = 3, .nodes_max = 3}, 3, 3, 1);
	has_layout((struct identity_layout){.nodes_min = 3, .tasks_per_node = 5, .cpus_per_task = 2}, 15, 3, 2);
	has_layout((struct identity_layout){.nodes_min = 2, .tasks = 8, .cpus_min = 8}, 8, 2, 1);
	has_layout((struct identity_layout){.cpus_min = 9}, 1, 1, 1);
}

static void test_many_numbers(void **state)
{
	char script[4096] = SH;
	struct identity id;

	(void)state;
	for (int i = 0; i < 200; i++)
		strcat(script, "echo 1234567890\n");
	id = of_script(script);
	assert_int_equal(id.n_vars, IDENTITY_VARS_MAX);
}

static void test_known_values(void **state)
{
	/* Keys are stored: they must not change between versions or machines. */
	struct identity id = of_script(SH "#SBATCH -N 2\nsrun ./a 100 # go\n");

	(void)state;
	assert_string_equal(id.key, "8654d3b70d42128aaf234aa91f355f93");
	assert_string_equal(id.family, "d10bc248ccf22deb822a2b903da2eddc");
}

static void test_odd_scripts(void **state)
{
	static const char *const odd[] = {"",
					  "#",
					  "#!",
					  "\n",
					  "#!/bin/sh",
					  SH "cat <<",
					  SH "<<-",
					  SH "cat <<<x",
					  SH "'",
					  SH "\\",
					  SH "cat << E1 <<E2 <<E3 <<E4 <<E5 <<E6 "
					     "<<E7 <<E8 <<E9\n# x\n",
					  SH "\r\n\r\n",
					  "no shebang\n# c\n",
					  SH "$(((((((((",
					  SH "\"$(\"$(\"$(",
					  SH "a \\"};

	(void)state;
	for (size_t i = 0; i < sizeof(odd) / sizeof(odd[0]); i++)
		of_script(odd[i]);
	of_script(NULL);
	assert_false(same_key(SH "'\n", SH "\"\n"));
}

/*
 * 4 MiB, and the longest script that is normalised: read within bounds (address sanitizer), same result twice.
 */
static void test_large(void **state)
{
	size_t size = 4 << 20;
	char *a = malloc(size + 1), *b;

	(void)state;
	assert_non_null(a);
	memcpy(a, SH, sizeof(SH));
	for (size_t n = sizeof(SH) - 1; n + 16 <= size; n += 16)
		memcpy(a + n, "echo 1234567 #x\n", 17);
	assert_true(strlen(a) > size - 32);
	b = strdup(a);
	assert_non_null(b);
	assert_true(same_key(a, b));
	b[size / 2] ^= 1;
	assert_false(same_key(a, b));
	a[IDENTITY_NORMALISE_MAX - 1] = '\0';
	b[IDENTITY_NORMALISE_MAX - 17] = '\0';
	assert_false(same_key(a, b));
	free(a);
	free(b);
}

/* Numbers in arguments stand apart from the text within the bound, and count as text beyond it. */
static void test_long_arguments(void **state)
{
	size_t size = IDENTITY_NORMALISE_MAX;
	char *pad = malloc(size + 1);
	char *a[] = {"-n1", pad, "-n1"}, *b[] = {"-n2", pad, "-n1"}, *c[] = {"-n1", pad, "-n2"};
	struct identity_input in[3] = {base(SH "srun ./a\n"), base(SH "srun ./a\n"), base(SH "srun ./a\n")};

	(void)state;
	assert_non_null(pad);
	memset(pad, 'x', size);
	in[0].args = a;
	in[1].args = b;
	in[2].args = c;
	for (size_t over = 0; over < 2; over++) {
		pad[size - 6 + over] = '\0'; /* with all the others the bound, and one byte more */
		in[0].n_args = in[1].n_args = in[2].n_args = 3;
		assert_string_equal(of(&in[0]).family, of(&in[1]).family);
		assert_int_equal(of(&in[0]).n_vars, IDENTITY_OWN_VARS + 2 - over);
		assert_int_equal(!strcmp(of(&in[0]).family, of(&in[2]).family), !over);
		assert_string_not_equal(of(&in[0]).key, of(&in[1]).key);
		assert_string_not_equal(of(&in[0]).key, of(&in[2]).key);
		pad[size - 6 + over] = 'x';
	}
	free(pad);
}

/* One name of many words, and parts of UUIDs. Work that grows with the square of the length takes a minute here. */
static void test_long_names(void **state)
{
	static const char *const words[] = {"12345678_", "12345678-", "12345678-1234_",
					     "12345678-1234-1234-1234-12345678901_"};
	static const size_t found[] = {1, 1, 2, 5};
	size_t size = 1 << 20;
	char *text = malloc(size);

	(void)state;
	assert_non_null(text);
	for (size_t w = 0; w < sizeof(words) / sizeof(words[0]); w++) {
		size_t len = strlen(words[w]), n = 0, at = 0, word;
		clock_t start = clock();

		for (size_t i = 0; i < size; i++)
			text[i] = words[w][i % len];
		for (; (word = made_up_word(text, size / len * len, &at)); at += word)
			n++;
		assert_int_equal(n, size / len * found[w]);
		assert_true(clock() - start < 10 * CLOCKS_PER_SEC);
	}
	free(text);
}

/* ---- with the results of earlier scripts ---- */

static void same_within(struct identity_room *room, const struct identity_input *in)
{
	struct identity a = of(in), b;

	memset(&b, 0xa5, sizeof(b));
	identity_compute_within(room, in, &b);
	assert_string_equal(a.key, b.key);
	assert_string_equal(a.family, b.family);
	assert_string_equal(a.kin, b.kin);
	assert_true(a.text == b.text && a.pattern == b.pattern);
	assert_int_equal(a.n_vars, b.n_vars);
	assert_memory_equal(a.vars, b.vars, a.n_vars * sizeof(a.vars[0]));
}

#define SCRIPTS 12

/* Scripts of many lengths around the limits. Some differ in the last byte only; one has too many numbers. */
static char *script_make(unsigned n)
{
	static const size_t lengths[SCRIPTS] = {0, 1, 30, 30, 900, 1100, 8000, 8191, 8192, 8193, 20000, 400};
	static const char line[] = "run 1 2.5 lib64 -n3 \"$x\" # c\ncat <<E\n7\nE\n";
	size_t len = lengths[n];
	char *s = malloc(len + 1);

	assert_non_null(s);
	for (size_t i = 0; i < len; i++)
		s[i] = i < strlen(SH) && n % 2 ? SH[i] : n == 11 ? "1 "[i % 2] : n == 8 ? '1' : line[i % (sizeof(line) - 1)];
	if (len)
		s[len - 1] = (char)('a' + n);
	s[len] = '\0';
	return s;
}

static void test_within_room(void **state)
{
	struct identity_room *room = identity_room_create();
	char *scripts[SCRIPTS], number[16], *args[] = {number, "3 4"};
	unsigned x = 1;

	(void)state;
	assert_non_null(room);
	for (unsigned n = 0; n < SCRIPTS; n++)
		scripts[n] = script_make(n);
	for (unsigned round = 0; round < 3000; round++) {
		struct identity_input in = base(scripts[(x >> 8) % SCRIPTS]);

		snprintf(number, sizeof(number), "%u", x >> 20);
		in.args = args;
		in.n_args = round % 3;
		in.fingerprint = round % 5 ? FP1 : NULL;
		in.layout.tasks = round % 7;
		same_within(room, &in);
		if (round % 4 == 0) /* otherwise other scripts come between */
			same_within(room, &in);
		if (round % 100 == 0) { /* the same address and length */
			char *s = scripts[4];

			s[500] = (char)('a' + x % 26);
		}
		x = x * 1103515245u + 12345u;
	}
	same_within(NULL, &(struct identity_input){.script = scripts[5]});
	same_within(room, &(struct identity_input){.script = NULL});
	for (unsigned n = 0; n < SCRIPTS; n++)
		free(scripts[n]);
	identity_room_destroy(room);
	identity_room_destroy(NULL);
}

static void test_key_valid(void **state)
{
	(void)state;
	assert_true(identity_key_valid("0123456789abcdef0123456789abcdef"));
	assert_false(identity_key_valid(NULL));
	assert_false(identity_key_valid(""));
	assert_false(identity_key_valid("0123456789abcdef0123456789abcde"));
	assert_false(identity_key_valid("0123456789abcdef0123456789abcdef0"));
	assert_false(identity_key_valid("0123456789ABCDEF0123456789abcdef"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_normalise_same), cmocka_unit_test(test_normalise_different),
	    cmocka_unit_test(test_what_counts),	   cmocka_unit_test(test_fingerprint), cmocka_unit_test(test_text), cmocka_unit_test(test_pattern), cmocka_unit_test(test_made_up_names),
	    cmocka_unit_test(test_workflow_tools),
	    cmocka_unit_test(test_numbers), cmocka_unit_test(test_layout), cmocka_unit_test(test_bulk),	   cmocka_unit_test(test_many_numbers),
	    cmocka_unit_test(test_known_values),   cmocka_unit_test(test_odd_scripts),
	    cmocka_unit_test(test_long_arguments), cmocka_unit_test(test_long_names),
	    cmocka_unit_test(test_large),	   cmocka_unit_test(test_key_valid), cmocka_unit_test(test_within_room),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("identity", tests, NULL, NULL);
}
