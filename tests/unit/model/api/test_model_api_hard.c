/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * libprecedent_model where the machine does not play along: exit, closing and fork while a model is fitted, no memory, files
 * that cannot be trusted, and which core is spare.
 */
#include <dirent.h>
#include <errno.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "model/api/place.h"
#include "tests/unit/model_subject.h"
#include "tests/unit/skip.h"

/* Exit status of a child if an emulator such as qemu-user makes its test impossible. */
#define EMULATED 77

/* ---- ends ---- */

static void closing_while_fitting(void **state)
{
	(void)state;
	for (int i = 0; i < 30; i++) {
		struct subject s = subject_default();

		for (int k = 0; k < 6; k++)
			subject_run(&s, 50 + 13 * k);
		if (i % 3)
			precedent_model_wait(s.m, 1e-4 * i);
		precedent_model_close(s.m);
	}
}

static int child_status(pid_t pid)
{
	int status = -1;

	return pid > 0 && waitpid(pid, &status, 0) == pid ? status : -1;
}

/* Run this program again. The kernel cannot start a program that it has an emulator for, and the emulator does not help. */
static int run_again(const char *argument)
{
	pid_t pid = fork();

	if (pid == 0) {
		execl("/proc/self/exe", "test_model_api_hard", argument, NULL);
		_exit(errno == ENOEXEC ? EMULATED : 1);
	}
	return child_status(pid);
}

/* A program of its own: ends without a close, as programs do. */
static int exit_main(int i)
{
	struct subject s = subject_default();

	for (int k = 0; k < 6; k++)
		subject_run(&s, 200 + 61 * k);
	precedent_model_wait(s.m, 5e-4 * i);
	return 0;
}

static void exit_while_fitting(void **state)
{
	(void)state;
	for (int i = 0; i < 10; i++) {
		char number[16];
		int status;

		snprintf(number, sizeof(number), "%d", i);
		status = run_again(number);
		if (WIFEXITED(status) && WEXITSTATUS(status) == EMULATED)
			SKIP("an emulator runs this program, and the kernel cannot start it");
		assert_int_equal(status, 0);
	}
}

/* 0 when all is as it should be; else the line. */
static int in_child(const struct subject *s)
{
	struct precedent_model_answer a = PRECEDENT_MODEL_ANSWER;
	struct subject own;
	double n = 20;

	if (status_of(s->m).state != PRECEDENT_MODEL_STATE_FORKED)
		return __LINE__;
	if (!precedent_model_data(s->m, &n, 1, "residue", s->sweep, 2, &a) || fabs(a.value - 0.25) > 1e-9)
		return __LINE__;
	subject_run(s, 5);
	if (precedent_model_wait(s->m, PATIENT) || precedent_model_point(s->m, "new", NULL, 0) != -1)
		return __LINE__;
	if (precedent_model_point(s->m, "check", NULL, 0) != s->check)
		return __LINE__;
	own = subject_default();
	for (int i = 0; i < 5; i++)
		subject_run(&own, 5 + 3 * i);
	if (!precedent_model_wait(own.m, PATIENT) || status_of(own.m).runs != 5)
		return __LINE__;
	precedent_model_close(own.m);
	precedent_model_close(s->m);
	return 0;
}

static void fork_is_survived(void **state)
{
	struct subject s = subject_default();

	(void)state;
	subject_learn(&s);
	for (int i = 0; i < 5; i++) {
		pid_t pid;

		/* So that the child is made while a model is being fitted, now and then. */
		for (int k = 0; k < 4; k++)
			subject_run(&s, 100 + 17 * k + i);
		precedent_model_wait(s.m, 1e-3 * i);
		pid = fork();
		if (pid == 0) {
			int line = in_child(&s);

			if (line)
				fprintf(stderr, "# child: line %d\n", line);
			_exit(line != 0);
		}
		assert_true(pid > 0);
		assert_int_equal(child_status(pid), 0);
	}
	assert_int_equal(precedent_model_wait(s.m, PATIENT), 1);
	assert_int_equal(status_of(s.m).runs, 25);
	precedent_model_close(s.m);
}

/* Returns 0, -1 if an emulator ignores the limit, or the line that failed. */
static int without_memory(void)
{
	struct rlimit all, none = {4096, 4096};
	struct subject s = subject_default();
	struct precedent_model_status st;
	char why[PRECEDENT_MODEL_LINE];
	precedent_model *other;
	double n = 3;

	if (getrlimit(RLIMIT_AS, &all) || (none.rlim_max = all.rlim_max, setrlimit(RLIMIT_AS, &none)))
		return __LINE__;
	if (mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED)
		return -1;
	subject_run(&s, 9);
	subject_run(&s, 9);
	/* What was freed before may do for a session. */
	other = precedent_model_open(NULL, why, sizeof(why));
	if (!other && !*why)
		return __LINE__;
	precedent_model_close(other);
	precedent_model_time(s.m, &n, 1, NULL);
	precedent_model_wait(s.m, PATIENT);
	st = status_of(s.m);
	if (st.dropped + st.outside < 2 * 9 || st.runs)
		return __LINE__;
	setrlimit(RLIMIT_AS, &all);
	precedent_model_close(s.m);
	return 0;
}

static void no_memory(void **state)
{
	pid_t pid;
	int status;

	(void)state;
	if (SANITIZED)
		SKIP("sanitizers take more address space than can be left");
	pid = fork();
	if (pid == 0) {
		int line = without_memory();

		if (line > 0)
			fprintf(stderr, "# child: line %d\n", line);
		_exit(line < 0 ? EMULATED : line != 0);
	}
	status = child_status(pid);
	if (WIFEXITED(status) && WEXITSTATUS(status) == EMULATED)
		SKIP("an emulator runs this program, and ignores limits of address space");
	assert_int_equal(status, 0);
}

/* ---- files ---- */

static void file_write(const char *path, const char *text, size_t n)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	assert_int_equal(fwrite(text, 1, n, f), n);
	assert_int_equal(fclose(f), 0);
}

static size_t file_read(const char *path, char *text, size_t max)
{
	FILE *f = fopen(path, "r");
	size_t n;

	assert_non_null(f);
	n = fread(text, 1, max, f);
	fclose(f);
	return n;
}

static char dir[] = "/tmp/precedent-test-model-api-XXXXXX";
static char path[128];

static void a_saved_model_is_loaded(void **state)
{
	struct precedent_model_answer a = PRECEDENT_MODEL_ANSWER;
	struct precedent_model_options o = PRECEDENT_MODEL_OPTIONS;
	struct subject s;
	char why[PRECEDENT_MODEL_LINE];
	double n = 50;

	(void)state;
	unlink(path);
	o.path = path;
	s = subject_open(o);
	assert_int_equal(status_of(s.m).loaded, 0);
	assert_int_equal(precedent_model_save(s.m, NULL, why, sizeof(why)), -1);
	assert_string_equal(why, "no model was fitted yet");
	subject_learn(&s);
	assert_int_equal(precedent_model_save(s.m, "/nowhere/at/all", why, sizeof(why)), -1);
	assert_non_null(strstr(why, "/nowhere/at/all"));
	assert_int_equal(precedent_model_save(s.m, NULL, why, sizeof(why)), 0);
	precedent_model_close(s.m);

	s = subject_open(o);
	assert_int_equal(status_of(s.m).loaded, 1);
	for (int row = 0; subject_row(&s, 50, row) >= 0; row++) {
		assert_int_equal(precedent_model_state(s.m, &n, 1, (uint64_t)row, &a), 1);
		assert_int_equal(a.point, subject_row(&s, 50, row));
		assert_int_equal(a.fit, 0);
	}
	precedent_model_close(s.m);
}

/* A model of another behaviour answers only until there is a better one. */
static void a_loaded_model_is_replaced(void **state)
{
	struct precedent_model_answer a = PRECEDENT_MODEL_ANSWER;
	struct precedent_model_options o = PRECEDENT_MODEL_OPTIONS;
	struct subject s;
	double n = 50;

	(void)state;
	s = subject_open(o);
	for (int k = 0; k < 5; k++) {
		subject_begin(&s, 5 + 4 * k);
		for (int i = 0; i < 3 * (5 + 4 * k); i++)
			precedent_model_mark(s.m, s.check, NULL, 0);
		precedent_model_end(s.m);
	}
	assert_int_equal(precedent_model_wait(s.m, PATIENT), 1);
	assert_int_equal(precedent_model_save(s.m, path, NULL, 0), 0);
	precedent_model_close(s.m);
	o.path = path;
	s = subject_open(o);
	assert_int_equal(precedent_model_state(s.m, &n, 1, 0, &a), 1);
	assert_int_equal(a.point, s.check);
	subject_learn(&s);
	assert_int_equal(precedent_model_state(s.m, &n, 1, 0, &a), 1);
	assert_int_equal(a.point, s.sweep);
	assert_true(a.fit > 0);
	assert_int_equal(status_of(s.m).loaded, 0);
	precedent_model_close(s.m);
}

static void files_are_not_trusted(void **state)
{
	static const char *const inputs[] = {"m"};
	struct precedent_model_options o = PRECEDENT_MODEL_OPTIONS;
	static char text[1 << 16];
	struct subject s;
	size_t n;

	(void)state;
	a_saved_model_is_loaded(state);
	n = file_read(path, text, sizeof(text));
	o.path = path;
	for (size_t at = 0; at < n; at += 97) {
		text[at] ^= 1;
		file_write(path, text, n);
		text[at] ^= 1;
		s = subject_open(o);
		assert_int_equal(status_of(s.m).loaded, 0);
		assert_non_null(strstr(status_of(s.m).text, path));
		precedent_model_close(s.m);
	}
	file_write(path, text, n);
	o.inputs = inputs;
	o.n_inputs = 1;
	s.m = precedent_model_open(&o, NULL, 0);
	assert_non_null(s.m);
	assert_int_equal(status_of(s.m).loaded, 0);
	assert_non_null(strstr(status_of(s.m).text, "has input n where the program has m"));
	precedent_model_close(s.m);
	o.path = "/dev/zero";
	s = subject_open(o);
	assert_int_equal(status_of(s.m).loaded, 0);
	precedent_model_close(s.m);
}

/* ---- the spare core ---- */

static void set_of(hwloc_bitmap_t set, const char *list)
{
	assert_int_equal(hwloc_bitmap_list_sscanf(set, list), 0);
}

/* Two packages of two cores of two processors: 0-1, 2-3; 4-5, 6-7. */
static void the_spare_core(void **state)
{
	static const struct {
		const char *allowed, *own, *used;
		unsigned turn;
		const char *core; /* NULL: none */
	} row[] = {
	    {"0-7", "0-1", "0-1", 0, "2-3"},	  /* the same package first */
	    {"0-7", "4", "4", 0, "6-7"},
	    {"0-7", "0", "0", 0, "2-3"},	  /* not the other processor of the same core */
	    {"0-7", "0-1", "0-3", 0, "4-5"},	  /* another package where this one is full */
	    {"0-7", "0-1", "0-3", 1, "6-7"},	  /* ranks take turns */
	    {"0-7", "0-1", "0-3", 2, "4-5"},
	    {"0-7", "0-7", "0-7", 0, NULL},	  /* not bound: none is known to be spare */
	    {"0-1", "0-1", "0-1", 0, NULL},
	    {"0-2", "0-1", "0-1", 0, NULL},	  /* half a core is none */
	    {"0-7", "0-1", "0-1,2,4,6", 0, NULL}, /* somebody else is on each */
	    {"0-3,6-7", "0-1", "0-3", 5, "6-7"},
	};
	hwloc_bitmap_t allowed = hwloc_bitmap_alloc(), own = hwloc_bitmap_alloc(), used = hwloc_bitmap_alloc();
	hwloc_bitmap_t out = hwloc_bitmap_alloc(), wanted = hwloc_bitmap_alloc();
	hwloc_topology_t t;

	(void)state;
	assert_int_equal(hwloc_topology_init(&t), 0);
	assert_int_equal(hwloc_topology_set_synthetic(t, "package:2 core:2 pu:2"), 0);
	assert_int_equal(hwloc_topology_load(t), 0);
	for (size_t i = 0; i < N(row); i++) {
		int rc;

		set_of(allowed, row[i].allowed);
		set_of(own, row[i].own);
		set_of(used, row[i].used);
		rc = place_choose(t, allowed, own, used, row[i].turn, out);
		assert_int_equal(rc, row[i].core ? 0 : -1);
		if (!row[i].core)
			continue;
		set_of(wanted, row[i].core);
		assert_true(hwloc_bitmap_isequal(out, wanted));
	}
	hwloc_topology_destroy(t);
	hwloc_bitmap_free(allowed);
	hwloc_bitmap_free(own);
	hwloc_bitmap_free(used);
	hwloc_bitmap_free(out);
	hwloc_bitmap_free(wanted);
}

/* Of the threads of this process but this one: how many there are, and how many are where they should be. */
static void threads_look(int own, int core, int *n, int *right)
{
	const struct dirent *e;
	DIR *d = opendir("/proc/self/task");

	assert_non_null(d);
	*n = *right = 0;
	while ((e = readdir(d))) {
		pid_t tid = atoi(e->d_name);
		cpu_set_t mask;

		if (!tid || tid == getpid() || sched_getaffinity(tid, sizeof(mask), &mask))
			continue;
		(*n)++;
		*right += sched_getscheduler(tid) == SCHED_IDLE && CPU_COUNT(&mask) >= 1 &&
			  (core < 0 ? CPU_ISSET(own, &mask) && CPU_COUNT(&mask) == 1
				    : CPU_ISSET(core, &mask) && !CPU_ISSET(own, &mask));
	}
	closedir(d);
}

/* A program that is bound to one processor: the threads are on another core, or on its own at the lowest priority. */
static int place_main(void)
{
	precedent_model *m;
	int own = 0, n = 0, right = 0;
	cpu_set_t mask;

	assert_int_equal(sched_getaffinity(0, sizeof(mask), &mask), 0);
	while (!CPU_ISSET(own, &mask))
		own++;
	CPU_ZERO(&mask);
	CPU_SET(own, &mask);
	assert_int_equal(sched_setaffinity(0, sizeof(mask), &mask), 0);
	m = precedent_model_open(NULL, NULL, 0);
	for (int i = 0; m && i < 1200 && (n != 2 || right != 2); i++) {
		nanosleep(&(struct timespec){0, 100000000}, NULL);
		threads_look(own, status_of(m).core, &n, &right);
	}
	return right != 2;
}

static void a_bound_program(void **state)
{
	int status;

	(void)state;
	if (SANITIZED)
		SKIP("sanitizers have threads of their own");
	status = run_again("place");
	if (WIFEXITED(status) && WEXITSTATUS(status) == EMULATED)
		SKIP("an emulator runs this program, and the kernel cannot start it");
	assert_int_equal(status, 0);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(closing_while_fitting),
	    cmocka_unit_test(exit_while_fitting),
	    cmocka_unit_test(fork_is_survived),
	    cmocka_unit_test(no_memory),
	    cmocka_unit_test(a_saved_model_is_loaded),
	    cmocka_unit_test(a_loaded_model_is_replaced),
	    cmocka_unit_test(files_are_not_trusted),
	    cmocka_unit_test(the_spare_core),
	    cmocka_unit_test(a_bound_program),
	};
	int rc;

	cmocka_set_message_output(CM_OUTPUT_TAP);
	unsetenv("PRECEDENT_MODEL");
	if (argc > 1 && !strcmp(argv[1], "place"))
		return place_main();
	if (argc > 1)
		return exit_main(atoi(argv[1]));
	if (!mkdtemp(dir))
		return 1;
	snprintf(path, sizeof(path), "%s/model", dir);
	rc = cmocka_run_group_tests(tests, NULL, NULL);
	unlink(path);
	rmdir(dir);
	return rc;
}
