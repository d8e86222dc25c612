/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The text of emitted skeletons, and that a failure leaves nothing behind. That they compile and run is shown by
 * tests/cli/skeleton-build.t. */
#include <dirent.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "skelgen/emit/skeleton.h"
#include "skelgen/emit/data.h"
#include "skelgen/pipeline.h"
#include "skelgen/runtime/data.h"
#include "skelgen/emit/text.h"
#include "skelgen/simulate/mpi_sim.h"
#include "skelgen/simulate/plan_matched.h"
#include "tests/unit/synthetic.h"

static char dir[64];
static double scale = 5; /* of the program in its skeleton */

static int make_dir(void **arg)
{
	(void)arg;
	strcpy(dir, "/tmp/precedent-emit-XXXXXX");
	return mkdtemp(dir) != NULL ? 0 : -1;
}

static int entries(const char *path, bool remove_them)
{
	DIR *d = opendir(path);
	struct dirent *e;
	char name[400];
	int n = 0;

	assert_non_null(d);
	while ((e = readdir(d)) != NULL) {
		if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
			continue;
		n++;
		snprintf(name, sizeof name, "%s/%s", path, e->d_name);
		if (remove_them)
			unlink(name);
	}
	closedir(d);
	return n;
}

static int remove_dir(void **arg)
{
	(void)arg;
	entries(dir, true);
	return rmdir(dir);
}

static char *slurp(const char *name)
{
	char path[200];
	struct stat st;
	char *text;
	FILE *f;

	snprintf(path, sizeof path, "%s/%s", dir, name);
	f = fopen(path, "r");
	assert_non_null(f);
	assert_int_equal(fstat(fileno(f), &st), 0);
	text = calloc(1, (size_t)st.st_size + 1);
	assert_int_equal(fread(text, 1, (size_t)st.st_size, f), st.st_size);
	fclose(f);
	return text;
}

/* Emit the program, cut by `scale` where possible, into `to`. */
static int emit_to(struct syn *s, const char *to, double *confidence, struct errbuf *err)
{
	struct skel_emit_report report = {0};
	struct skel_emit_options opt = {.report = &report, .include_dir = "/inc", .lib_dir = "/lib", .trace_name = "x */ y"};
	struct skel_budget budget = {.scale = scale};
	struct trace *t = syn_open(s);
	struct skel_stages p = {0};
	int rv;

	if (skel_understand(t, &budget, &p, err) != 0)
		fail_msg("%s", err->text);
	rv = skel_write(&p, to, &opt, err);
	if (confidence != NULL)
		*confidence = report.confidence;
	skel_stages_free(&p);
	trace_close(t);
	syn_destroy(s);
	return rv;
}

static char *emitted(struct syn *s)
{
	struct errbuf err;
	double confidence;

	if (emit_to(s, dir, &confidence, &err) != 0)
		fail_msg("%s", err.text);
	assert_true(confidence >= 0 && confidence < 0.999); /* without samples nobody knows what is computed */
	assert_int_equal(entries(dir, false), 5);
	return slurp("skel.c");
}

static void has(const char *source, const char *text)
{
	if (strstr(source, text) == NULL)
		fail_msg("\"%s\" is not in:\n%s", text, source);
}

static void test_ring(void **arg)
{
	char *c = emitted(syn_ring(5, 200));

	(void)arg;
	has(c, "if (rank == 0) {");
	has(c, "(rank + 1) % size");
	has(c, "skel_loop(0, 200, ");
	has(c, "MPI_Finalize();");
	assert_null(strstr(c, "*/ y")); /* names of users stay inside comments */
	free(c);
}

static void test_chain_and_bounds(void **arg)
{
	char *c = emitted(syn_stencil(4, 1, 100, SYN_PROC_NULL));

	(void)arg;
	has(c, "rank >= 1 ? rank - 1 : MPI_PROC_NULL");
	has(c, "rank + 1 < size ? rank + 1 : MPI_PROC_NULL");
	has(c, "MPI_Waitall(8, &req[0], MPI_STATUSES_IGNORE)");
	free(c);
	c = emitted(syn_pipeline(5, 100));
	has(c, "if (rank != 0) {");
	has(c, "if (rank != 4) {");
	free(c);
}

static void test_varying_counts(void **arg)
{
	char *c = emitted(syn_reneighbour(4, 600, 20));

	(void)arg;
	has(c, "skel_values(");
	has(c, "(int)v[0], MPI_DOUBLE");
	free(c);
}

static void test_resolved_wildcards(void **arg)
{
	char *c = emitted(syn_master_worker(4, 60, 7));

	(void)arg;
	assert_null(strstr(c, "MPI_ANY_SOURCE"));
	has(c, "skel_peer(v[0])");
	free(c);
}

static void test_communicators(void **arg)
{
	char *c = emitted(syn_cg(4, 2, 50));

	(void)arg;
	has(c, "comm[2]");
	has(c, "skel_comm_split(MPI_COMM_WORLD, 2, ");
	free(c);
}

static void test_report(void **arg)
{
	char *c = emitted(syn_ring(3, 200)), *report = slurp("report.txt");

	(void)arg;
	has(report, "loop of 200 iterations");
	has(report, "reproduced 0.");
	free(c);
	free(report);
}

static void test_failure_leaves_nothing(void **arg)
{
	char file[100], below[120];
	struct errbuf err = {""};
	FILE *f;

	(void)arg;
	snprintf(file, sizeof file, "%s/file", dir);
	snprintf(below, sizeof below, "%s/file/skel", dir);
	f = fopen(file, "w");
	assert_non_null(f);
	fclose(f);
	entries(dir, true);
	f = fopen(file, "w");
	fclose(f);
	assert_int_equal(emit_to(syn_ring(3, 50), below, NULL, &err), -1);
	assert_non_null(strstr(err.text, below));
	assert_int_equal(entries(dir, false), 1);
	assert_int_equal(emit_to(syn_ring(3, 50), file, NULL, &err), -1);
	assert_int_equal(entries(dir, false), 1);
	/* A directory where a file should go: none of the others may appear. */
	entries(dir, true);
	snprintf(file, sizeof file, "%s/skel.c", dir);
	assert_int_equal(mkdir(file, 0700), 0);
	assert_int_equal(emit_to(syn_ring(3, 50), dir, NULL, &err), -1);
	assert_non_null(strstr(err.text, "skel.c"));
	assert_int_equal(rmdir(file), 0);
	assert_int_equal(entries(dir, false), 0);
}

static void test_data_layout(void **arg)
{
	struct emit_data *d = emit_data_create(2);
	const int64_t a[] = {1, -2, 3}, rows[] = {10, 11, 20, 21};
	const uint64_t end[] = {5, 9};
	const uint32_t row[] = {0, 1};
	const double ns[] = {1.5, 2.5};
	const uint32_t *at;
	uint64_t *w;
	size_t n;

	(void)arg;
	assert_int_equal(emit_data_new_gap(d), 0);
	assert_int_equal(emit_data_new_vary(d), 0);
	assert_int_equal(emit_data_array(d, a, 3), 0);
	assert_int_equal(emit_data_array(d, a, 2), 1);
	assert_int_equal(emit_data_array(d, a, 3), 0);
	emit_data_gap(d, 0, 1, &(struct emit_gap_values){.n_occ = 9, .n_stratum = 2, .n_slot = 1, .ns = ns});
	emit_data_vary(d, 0, 0, end, row, 2, rows, 2, 2);
	w = emit_data_finish(d, &n);
	assert_non_null(w);
	assert_int_equal(w[2], 2);
	assert_int_equal(w[6], n);
	assert_int_equal(w[8], 1); /* one mix */
	assert_int_equal(w[9], 0); /* no windows */
	at = (const uint32_t *)(w + DATA_HEADER);
	assert_int_equal(at[0], 0); /* rank 0 has no gap */
	assert_int_equal(w[at[1]], 9);
	assert_memory_equal(&w[at[1] + DATA_GAP], ns, sizeof ns);
	assert_int_equal(w[at[2]], 2);
	assert_int_equal(at[3], 0);
	assert_int_equal((int64_t)w[at[2] + 3 + 4 + 3], 21);
	assert_int_equal(w[at[4]], 3);
	assert_int_equal(((const int32_t *)&w[at[4] + 1])[1], -2);
	free(w);
	emit_data_destroy(d);
}

/* Ranks with the same values share a record. */
static void test_data_shared(void **arg)
{
	struct emit_data *d = emit_data_create(3);
	const int64_t rows[] = {10, 11};
	const uint64_t end[] = {5};
	const uint32_t row[] = {0};
	const double ns[] = {1.5, 2.5, 1.5};
	uint64_t *w, gap_bytes;
	size_t n;

	(void)arg;
	emit_data_new_gap(d);
	emit_data_new_vary(d);
	for (uint32_t r = 0; r < 3; r++) {
		emit_data_gap(d, 0, r, &(struct emit_gap_values){.n_occ = 9, .n_stratum = 1, .n_slot = 1,
								 .ns = &ns[r]});
		emit_data_vary(d, 0, r, end, row, 1, rows, 1, r == 1 ? 1 : 2);
	}
	gap_bytes = emit_data_gap_bytes(d);
	w = emit_data_finish(d, &n);
	assert_non_null(w);
	for (uint64_t k = 0; k < 2; k++) { /* three offsets take two words */
		const uint64_t *table = w + DATA_HEADER + 2 * k;

		assert_int_equal(data_offset(table, 0), data_offset(table, 2));
		assert_int_not_equal(data_offset(table, 0), data_offset(table, 1));
	}
	assert_int_equal(gap_bytes, (2 + 2 * (DATA_GAP + 1)) * sizeof *w);
	free(w);
	emit_data_destroy(d);
}

#define TURNS 100

/* The record of the gaps of a rank with the most values. */
static const uint64_t *longest_record(const uint64_t *w, uint64_t rank, uint64_t *n)
{
	const uint64_t *longest = NULL;

	*n = 0;
	for (uint64_t g = 0; g < w[3]; g++) {
		const uint64_t *r = w + data_offset(w + DATA_HEADER, rank * w[3] + g);
		uint64_t values = (r[1] & UINT32_MAX) * (r[1] >> 32);

		if (r != w && values > *n) {
			longest = r;
			*n = values;
		}
	}
	return longest;
}

static double value(const uint64_t *record, uint64_t i)
{
	double ns;

	memcpy(&ns, record + DATA_GAP + i, sizeof ns);
	return ns;
}

/* Are the values those gaps, in this order and with some left out, all times one factor? */
static bool is_part_of(const uint64_t *record, uint64_t n, const uint64_t *gap, double *factor)
{
	for (int first = 0; first < TURNS; first++) {
		uint64_t found = 0;

		*factor = value(record, 0) / (double)gap[first];
		for (int i = first; i < TURNS && found < n; i++)
			found += fabs(value(record, found) - *factor * (double)gap[i]) < 1e-3 * (double)gap[i];
		if (found == n)
			return true;
	}
	return false;
}

/* Each execution that runs has its own gap, in the order of the run. */
static void test_gaps_keep_their_order(void **arg)
{
	uint64_t random = 5, gap[TURNS], n;

	(void)arg;
	for (int i = 0; i < TURNS; i++)
		gap[i] = 10000 + syn_random(&random) % 20000;
	for (int cut = 0; cut < 2; cut++) {
		struct syn *s = syn_create(2);
		double factor;
		char *data;

		syn_begin(s);
		for (int i = 0; i < TURNS; i++)
			for (int rank = 0; rank < 2; rank++)
				syn_call(s, rank, "MPI_Allreduce", 1,
					 SYN(.count = 1, .gap_ns = gap[i] * (unsigned)(rank + 1), .dur_ns = 2000));
		syn_end(s);
		scale = cut ? 5 : 1;
		free(emitted(s));
		data = slurp("skel.c.data");
		for (uint64_t rank = 0; rank < 2; rank++) {
			const uint64_t *r = longest_record((const uint64_t *)(const void *)data, rank, &n);

			assert_non_null(r);
			assert_int_equal(r[0], TURNS);
			assert_in_range(n, cut ? 5 : TURNS, cut ? TURNS / 2 : TURNS);
			assert_true(is_part_of(r, n, gap, &factor));
			assert_true(fabs(factor / (double)(rank + 1) - 1) < (cut ? 0.3 : 1e-3));
		}
		if (cut) {
			const uint64_t *w = (const uint64_t *)(const void *)data;
			double traced, sum = 0;

			memcpy(&traced, w + w[9] + 1 + DATA_LOOP_TRACED, sizeof traced);
			for (int i = 1; i < TURNS; i++)
				sum += 1.5 * (double)gap[i] + 2000; /* the mean of both ranks */
			assert_true(fabs(traced - sum) < 1e-3 * sum);
		}
		free(data);
		entries(dir, true);
	}
	scale = 5;
}

static void test_statement_breaks(void **arg)
{
	struct text t = {.len = 0};

	(void)arg;
	text_put_statement(&t, 1, "f(a, b)");
	assert_string_equal(text_get(&t), "\tf(a, b);\n");
	text_reset(&t);
	for (int i = 0; i < 3; i++) {
		struct text s = {.len = 0};

		text_put(&s, "call(");
		for (int k = 0; k < 40; k++)
			text_put(&s, "argument%d%s", k, k < 39 ? ", " : ")");
		text_reset(&t);
		text_put_statement(&t, i, text_get(&s));
		text_free(&s);
		for (const char *line = text_get(&t); *line != '\0'; line = strchr(line, '\n') + 1)
			assert_true(strcspn(line, "\n") <= 100);
		assert_non_null(strstr(text_get(&t), "argument39);\n"));
	}
	text_free(&t);
}

/* Windows of another size and files of another name on each rank, accesses that move, a request of a file. */
static struct syn *objects_program(void)
{
	static const int64_t one[1] = {0};
	struct syn *s = syn_create(2);

	syn_begin(s);
	for (uint32_t r = 0; r < 2; r++) {
		const int64_t peer[1] = {1 - r};

		syn_win(s, r, 0, 4096 + 8 * r);
		syn_file(s, r, 0, r == 0 ? "/a" : "/b");
		syn_call(s, r, "MPI_Win_create", 1, SYN(.win = 0));
		syn_call(s, r, "MPI_File_open", 2, SYN(.file = 0));
		for (int i = 0; i < 100; i++) {
			syn_call(s, r, "MPI_Win_post", 3, SYN(.ints = peer, .n_ints = 1));
			syn_call(s, r, "MPI_Win_start", 4, SYN(.ints = peer, .n_ints = 1));
			syn_call(s, r, "MPI_Put", 5, SYN(.dst = 1 - r, .count = 4, .disp = i % 8));
			syn_call(s, r, "MPI_Win_complete", 6, SYN(.win = 0));
			syn_call(s, r, "MPI_Win_wait", 7, SYN(.win = 0));
			syn_call(s, r, "MPI_File_iwrite_at", 8, SYN(.count = 4, .disp = 8 * i, .req = 0));
			syn_call(s, r, "MPI_Wait", 9, SYN(.reqs = one, .n_reqs = 1, .dur_ns = 70000));
			syn_call(s, r, "MPI_File_write_all", 10, SYN(.count = 4, .dur_ns = 90000 + 10000 * r));
		}
		syn_call(s, r, "MPI_File_close", 11, SYN(.file = 0));
		syn_call(s, r, "MPI_Win_free", 12, SYN(.win = 0));
	}
	syn_end(s);
	return s;
}

static void test_windows_and_files(void **arg)
{
	char *c = emitted(objects_program());

	(void)arg;
	has(c, "skel_win_create(0, v[0], 8, MPI_COMM_WORLD);");
	has(c, ".n_wins = 1,");
	has(c, ".n_files = 1,");
	has(c, ".rma_bytes = 32,");
	has(c, "MPI_Win_post(skel_group(0, ");
	has(c, "MPI_Put(skel_rma(0, 4, MPI_DOUBLE), 4, MPI_DOUBLE, (rank + 1) % size,");
	has(c, "MPI_Win_free(&win[0]);");
	has(c, "\tif (!skel_file_open(0, MPI_COMM_WORLD)) {\n");
	has(c, "if (!skel_file_start(0, SKEL_IO_WRITE | SKEL_IO_AT, v[");
	/* the last to come did not wait */
	has(c, "if (!skel_file_access(0, SKEL_IO_WRITE | SKEL_IO_ALL, 0, 4, MPI_DOUBLE)) {\n\t\t\tskel_delay(90000.0);");
	has(c, "if (!skel_file_wait(1, array0)) {\n\t\t\tskel_delay(70000.0);");
	has(c, "Files are neither read nor written");
	has(c, "skel_loop(0, 100, ");
	assert_null(strstr(c, "MPI_Wait("));
	assert_null(strstr(c, "\"/a\""));
	free(c);
}

static void test_persistent_collective(void **arg)
{
	static const int64_t one[1] = {0};
	struct syn *s = syn_create(2);
	char *c;

	(void)arg;
	syn_begin(s);
	for (uint32_t r = 0; r < 2; r++) {
		syn_call(s, r, "MPI_Bcast_init", 1, SYN(.count = 3));
		syn_call(s, r, "MPI_Start", 2, SYN(.req = 0));
		syn_call(s, r, "MPI_Wait", 3, SYN(.reqs = one, .n_reqs = 1));
	}
	syn_end(s);
	c = emitted(s);
	has(c, "MPI_Bcast_init(skel_buf(SKEL_SLOT(0), 3, MPI_DOUBLE), 3, MPI_DOUBLE, 0, MPI_COMM_WORLD,");
	has(c, "MPI_INFO_NULL, &req[0]);");
	has(c, "#error \"the program calls MPI_Bcast_init, which this MPI library does not have\"");
	free(c);
}

/* The longest message decides how much of a receive's room is used, whichever rank sends it. */
static void test_room_that_is_used(void **arg)
{
	(void)arg;
	for (int64_t sender = 0; sender < 2; sender++) {
		struct syn *s = syn_create(2);
		char *c;

		syn_begin(s);
		for (int64_t r = 0; r < 2; r++) {
			syn_call(s, (uint32_t)r, "MPI_Send", 1, SYN(.dst = 1 - r, .count = r == sender ? 5000 : 1));
			syn_call(s, (uint32_t)r, "MPI_Recv", 2, SYN(.src = 1 - r, .count = 1 << 20));
		}
		syn_end(s);
		c = emitted(s);
		has(c, "skel_buf_part(1, 1048576, MPI_DOUBLE, 5000)");
		free(c);
		entries(dir, true);
	}
}

/* Rare long gaps hit either rank. Gaps at their place hold them. Spikes in calls are added. */
static void test_report_of_spikes(void **arg)
{
	(void)arg;
	for (int in_calls = 0; in_calls < 2; in_calls++) {
		struct syn *s = syn_create(2);
		uint64_t random = 3;
		char *report;

		syn_begin(s);
		for (int i = 0; i < 10 * TURNS; i++)
			for (int rank = 0; rank < 2; rank++) {
				uint64_t gap = 20000 + syn_random(&random) % 4000, dur = 2000;

				if (i % 100 == 37)
					*(i / 100 % 2 == rank && !in_calls ? &gap : &dur) += 300000;
				syn_call(s, rank, "MPI_Allreduce", 1, SYN(.count = 1, .gap_ns = gap, .dur_ns = dur));
			}
		syn_end(s);
		free(emitted(s));
		report = slurp("report.txt");
		has(report, in_calls ? "added by their rate and size" : "the compute blocks hold them");
		free(report);
		entries(dir, true);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_ring, make_dir, remove_dir),
		cmocka_unit_test_setup_teardown(test_chain_and_bounds, make_dir, remove_dir),
		cmocka_unit_test_setup_teardown(test_varying_counts, make_dir, remove_dir),
		cmocka_unit_test_setup_teardown(test_resolved_wildcards, make_dir, remove_dir),
		cmocka_unit_test_setup_teardown(test_communicators, make_dir, remove_dir),
		cmocka_unit_test_setup_teardown(test_windows_and_files, make_dir, remove_dir),
		cmocka_unit_test_setup_teardown(test_persistent_collective, make_dir, remove_dir),
		cmocka_unit_test_setup_teardown(test_room_that_is_used, make_dir, remove_dir),
		cmocka_unit_test_setup_teardown(test_report, make_dir, remove_dir),
		cmocka_unit_test_setup_teardown(test_failure_leaves_nothing, make_dir, remove_dir),
		cmocka_unit_test(test_data_layout), cmocka_unit_test(test_data_shared),
		cmocka_unit_test_setup_teardown(test_gaps_keep_their_order, make_dir, remove_dir),
		cmocka_unit_test_setup_teardown(test_report_of_spikes, make_dir, remove_dir),
		cmocka_unit_test(test_statement_breaks),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
