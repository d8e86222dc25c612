/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Whatever ends a skeleton's process, its scratch files go, what an MPI library has put beside them too, and nothing else. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <cmocka.h>

#include "skelgen/runtime/scratch_path.c"

static char dir[] = "/tmp/precedent-scratch-path.XXXXXX";

static void touch(const char *path, const char *more)
{
	char name[SCRATCH_PATH_BYTES + 32];
	FILE *f;

	snprintf(name, sizeof name, "%s%s", path, more);
	f = fopen(name, "w");
	assert_non_null(f);
	fclose(f);
}

static int is_there(const char *path, const char *more)
{
	char name[SCRATCH_PATH_BYTES + 32];

	snprintf(name, sizeof name, "%s%s", path, more);
	return access(name, F_OK) == 0;
}

/* Files in the directory. */
static int count(void)
{
	DIR *d = opendir(dir);
	int n = 0;

	assert_non_null(d);
	for (const struct dirent *e; (e = readdir(d)) != NULL;)
		n += e->d_name[0] != '.';
	closedir(d);
	return n;
}

static int set_up(void **unused)
{
	(void)unused;
	return mkdtemp(dir) == NULL;
}

static int tear_down(void **unused)
{
	(void)unused;
	return rmdir(dir); /* it is empty */
}

static void test_make_and_forget(void **unused)
{
	char a[SCRATCH_PATH_BYTES], b[SCRATCH_PATH_BYTES];
	struct stat st;

	(void)unused;
	assert_int_equal(scratch_paths_begin(dir, 2), 0);
	assert_int_equal(scratch_path_make(0, a, 1, 12345), 0);
	assert_int_equal(scratch_path_make(1, b, 2, 0), 0);
	assert_string_not_equal(a, b);
	assert_int_equal(stat(a, &st), 0);
	assert_int_equal(st.st_size, 12345);
	assert_int_equal(st.st_mode & 0777, 0600);
	scratch_path_forget(0);
	scratch_path_forget(0);
	assert_false(is_there(a, ""));
	assert_true(is_there(b, ""));
	scratch_paths_end();
	assert_int_equal(count(), 0);
	scratch_paths_end(); /* as if there were none */
	scratch_paths_remove();
}

static void test_beside(void **unused)
{
	char a[SCRATCH_PATH_BYTES], b[SCRATCH_PATH_BYTES], other[SCRATCH_PATH_BYTES + 32];

	(void)unused;
	assert_int_equal(scratch_paths_begin(dir, 3), 0);
	assert_int_equal(scratch_path_make(1, a, 4, 0), 0);
	assert_int_equal(scratch_path_make(2, b, 5, 0), 0);
	touch(a, ".locktest.0");
	touch(b, "-3.lock");
	touch(a, "7"); /* that would be number 47 */
	touch(a, "7.locktest.0");
	touch(dir, "/precedent-scratch.of.another.1");
	scratch_paths_remove();
	assert_false(is_there(a, "") || is_there(b, ""));
	assert_false(is_there(a, ".locktest.0") || is_there(b, "-3.lock"));
	assert_true(is_there(a, "7") && is_there(a, "7.locktest.0") && is_there(dir, "/precedent-scratch.of.another.1"));
	assert_int_equal(count(), 3);
	for (int i = 0; i < 2000; i++) { /* more than one list of the directory holds */
		char more[32];

		snprintf(more, sizeof more, ".%d.locktest", i);
		touch(b, more);
	}
	scratch_paths_end();
	assert_int_equal(count(), 3);
	snprintf(other, sizeof other, "%s7", a);
	unlink(other);
	snprintf(other, sizeof other, "%s7.locktest.0", a);
	unlink(other);
	snprintf(other, sizeof other, "%s/precedent-scratch.of.another.1", dir);
	unlink(other);
}

static void test_failures(void **unused)
{
	char path[SCRATCH_PATH_BYTES], deep[SCRATCH_PATH_BYTES];

	(void)unused;
	memset(deep, 'x', sizeof deep - 1);
	deep[sizeof deep - 1] = '\0';
	assert_int_equal(scratch_paths_begin(deep, 1), 0);
	assert_int_equal(scratch_path_make(0, path, 1, 0), ENAMETOOLONG);
	scratch_paths_end();
	assert_int_equal(scratch_paths_begin("/no such directory", 1), 0);
	assert_int_equal(scratch_path_make(0, path, 1, 0), ENOENT);
	scratch_paths_end();
	assert_int_equal(scratch_paths_begin(dir, 1), 0);
	assert_int_equal(scratch_path_make(0, path, 1, -1), EINVAL); /* no length: it is not left there either */
	assert_int_equal(count(), 0);
	scratch_paths_end();
}

static void *another(void *number)
{
	raise(*(int *)number);
	return NULL;
}

/* A process with a file and one beside it gets a signal, in the thread that makes files or in another. */
static int ended_by(int number, int threaded)
{
	pid_t child = fork();
	int status = 0;

	assert_true(child >= 0);
	if (child == 0) {
		char path[SCRATCH_PATH_BYTES];
		pthread_t t;

		signal(number, SIG_DFL);
		if (scratch_paths_begin(dir, 1) != 0 || scratch_path_make(0, path, 1, 100) != 0)
			_exit(3);
		touch(path, ".locktest.0");
		if (count() != 2)
			_exit(4);
		if (!threaded)
			raise(number);
		else if (pthread_create(&t, NULL, another, &number) == 0)
			for (;;)
				pause();
		_exit(5);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	return WIFSIGNALED(status) ? WTERMSIG(status) : -WEXITSTATUS(status);
}

static void test_signals(void **unused)
{
	(void)unused;
	for (size_t i = 0; i < sizeof caught / sizeof *caught; i++) {
		for (int threaded = 0; threaded < 2; threaded++) {
			assert_int_equal(ended_by(caught[i], threaded), caught[i]);
			assert_int_equal(count(), 0);
		}
	}
}

/* A rank that has not got the signal yet makes one beside the file when this process has removed both: true when that went too. */
static int is_looked_at_again(void)
{
	char path[SCRATCH_PATH_BYTES] = "", beside[SCRATCH_PATH_BYTES + 32];
	int told[2], gone;
	pid_t child, ended = 0;

	assert_int_equal(pipe(told), 0);
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		if (scratch_paths_begin(dir, 1) != 0 || scratch_path_make(0, path, 1, 100) != 0 || write(told[1], path, sizeof path) != (ssize_t)sizeof path)
			_exit(3);
		raise(SIGTERM);
		_exit(4);
	}
	close(told[1]); /* or one that fails is waited for without end */
	assert_int_equal(read(told[0], path, sizeof path), sizeof path);
	while (is_there(path, "") && ended == 0)
		ended = waitpid(child, NULL, WNOHANG);
	assert_false(is_there(path, ""));
	touch(path, ".locktest.1");
	assert_int_equal(ended ? ended : waitpid(child, NULL, 0), child);
	gone = !is_there(path, ".locktest.1");
	snprintf(beside, sizeof beside, "%s.locktest.1", path);
	unlink(beside);
	close(told[0]);
	return gone;
}

/* This process may come too late for it where others have the processor, but not each time. */
static void test_others_go_on(void **unused)
{
	int again = 0;

	(void)unused;
	for (int k = 0; k < 20 && !again; k++)
		again = is_looked_at_again();
	assert_true(again);
	assert_int_equal(count(), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_make_and_forget),
		cmocka_unit_test(test_beside),
		cmocka_unit_test(test_failures),
		cmocka_unit_test(test_signals),
		cmocka_unit_test(test_others_go_on),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("scratch_path", tests, set_up, tear_down);
}
