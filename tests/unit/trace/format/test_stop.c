/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Stop files, marks and words in a line: written text is read back, any other text is rejected. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "tests/unit/synthetic.h"
#include "trace/format/stop.h"
#include "trace/format/words.h"

#define STOP  "precedent-stop 1\nranks 2 marks 2 patience 30\nrank 0 3:00000000000000ff 9:0123456789abcdef\n" \
	      "rank 1 4:0000000000000001 5:0000000000000002\nend\n"
#define MARKS "precedent-marks 3\nranks 2 marks 2\nrank 0 5 6 100:90 200:90\nrank 1 7 8 110:0 110:7\nend\n"

static void test_stop_file(void **state)
{
	struct stop_plan p;
	struct errbuf err;
	struct buf b = {0};

	(void)state;
	assert_int_equal(stop_plan_parse(STOP, strlen(STOP), UINT32_MAX, &p, &err), 0);
	assert_true(p.n_ranks == 2 && p.n_mark == 2 && p.patience_s == 30);
	assert_true(p.rank[0].event[1] == 9 && p.rank[0].hash[1] == 0x0123456789abcdefull && p.rank[1].event[0] == 4);
	stop_plan_format(&p, &b);
	assert_true(b.len == strlen(STOP) && !memcmp(b.data, STOP, b.len));
	stop_plan_free(&p);
	buf_free(&b);
	assert_int_equal(stop_plan_parse(STOP, strlen(STOP), 1, &p, &err), 0);
	assert_true(p.rank[0].event[1] == 5);
	stop_plan_free(&p);
	assert_int_equal(stop_plan_parse(STOP, strlen(STOP), 2, &p, &err), -1);
}

static void test_marks_file(void **state)
{
	struct stop_marks m;
	struct errbuf err;
	struct buf b = {0};

	(void)state;
	assert_int_equal(stop_marks_parse(MARKS, strlen(MARKS), &m, &err), 0);
	assert_true(m.rank[1].before_ns == 7 && m.rank[1].init_ns == 8 && m.rank[0].t_ns[1] == 200);
	stop_marks_format(&m, &b);
	assert_true(b.len == strlen(MARKS) && !memcmp(b.data, MARKS, b.len));
	stop_marks_free(&m);
	buf_free(&b);
}

/* On other nodes a program may use other colours, and still be the same. */
static void test_keys(void **state)
{
	struct syn *s = syn_create(1);
	const struct trace_defs *d = &s->rank[0].defs;
	const uint32_t *sym;
	uint32_t member = 0, comm;
	uint64_t key[5];

	(void)state;
	comm = syn_comm(s, 0, &member, 1);
	syn_call(s, 0, "MPI_Comm_split", 7, SYN(.newcomm = comm, .integer = 5861470));
	syn_call(s, 0, "MPI_Comm_split", 7, SYN(.newcomm = comm, .integer = 17));
	syn_call(s, 0, "MPI_Comm_split", 7, SYN(.newcomm = comm, .integer = -32766));
	syn_call(s, 0, "MPI_Bcast", 8, SYN(.comm = comm, .count = 5, .type = 1));
	syn_call(s, 0, "MPI_Bcast", 8, SYN(.comm = comm, .count = 6, .type = 1));
	sym = s->rank[0].sym;
	for (int i = 0; i < 5; i++)
		key[i] = stop_key(d, sym[i]);
	assert_true(sym[0] != sym[1] && key[0] == key[1]);
	assert_true(key[2] != key[0] && key[3] != key[4]);
	syn_destroy(s);
}

static void refuse_stop(const char *from, const char *to)
{
	char text[512];
	const char *at = strstr(STOP, from);
	struct stop_plan p;
	struct errbuf err;

	assert_non_null(at);
	snprintf(text, sizeof(text), "%.*s%s%s", (int)(at - STOP), STOP, to, at + strlen(from));
	assert_int_equal(stop_plan_parse(text, strlen(text), UINT32_MAX, &p, &err), -1);
}

static void refuse_marks(const char *from, const char *to)
{
	char text[512];
	const char *at = strstr(MARKS, from);
	struct stop_marks m;
	struct errbuf err;

	assert_non_null(at);
	snprintf(text, sizeof(text), "%.*s%s%s", (int)(at - MARKS), MARKS, to, at + strlen(from));
	assert_int_equal(stop_marks_parse(text, strlen(text), &m, &err), -1);
}

static void test_refused(void **state)
{
	struct stop_marks m;
	struct stop_plan p;
	struct errbuf err;

	(void)state;
	refuse_stop("stop 1", "stop 2");
	refuse_stop("ranks 2", "ranks 3");
	refuse_stop("ranks 2", "ranks 0");
	refuse_stop("ranks 2", "ranks 02");
	refuse_stop("ranks 2", "ranks 4000000");
	refuse_stop("marks 2", "marks 17");
	refuse_stop("marks 2", "marks 3");
	refuse_stop(" 9:", " 3:");
	refuse_stop("3:", "0:");
	refuse_stop("3:", "99999999999999999999:");
	refuse_stop("00ff", "00FF");
	refuse_stop("rank 1", "rank 0");
	refuse_stop("end\n", "end");
	refuse_stop("end\n", "end\n\n");
	refuse_marks("100:90 200:90", "200:90 100:90");
	refuse_marks("100:90 200:90", "100:90 200:89");
	refuse_marks("100:90 200:90", "100:90");
	refuse_marks("100:90 200:90", "100:90 200:90 300:90");
	refuse_marks("100:90 200:90", "100 200");
	refuse_marks("110:0", "-110:0");
	refuse_marks("110:0", "110:-0");
	refuse_marks("ranks 2", "ranks 4194304");
	for (size_t n = 0; n < strlen(MARKS); n++)
		assert_int_equal(stop_marks_parse(MARKS, n, &m, &err), -1);
	for (size_t n = 0; n < strlen(STOP); n++)
		assert_int_equal(stop_plan_parse(STOP, n, UINT32_MAX, &p, &err), -1);
}

static void test_words(void **state)
{
	static const char words[] = "./a.out\0-x\0two words\0\0per%cent\0caf\xc3\xa9\n";
	struct buf b = {0};
	char **list;
	const char *bad[] = {"", " ", "a ", " a", "a  b", "%2", "%zz", "%00", "a\tb", "%2f"};

	(void)state;
	words_put(&b, words, sizeof(words));
	buf_put_u8(&b, '\0');
	assert_string_equal((char *)b.data, "./a.out -x two%20words % per%25cent caf%C3%A9%0A");
	list = words_parse((char *)b.data);
	assert_non_null(list);
	assert_string_equal(list[2], "two words");
	assert_string_equal(list[3], "");
	assert_string_equal(list[5], "caf\xc3\xa9\n");
	assert_null(list[6]);
	free(list);
	buf_free(&b);
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		assert_null(words_parse(bad[i]));
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_keys), cmocka_unit_test(test_stop_file), cmocka_unit_test(test_marks_file),
					   cmocka_unit_test(test_refused), cmocka_unit_test(test_words)};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
