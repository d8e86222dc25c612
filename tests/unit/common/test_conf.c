/* SPDX-License-Identifier: GPL-2.0-or-later */
/* precedent.conf: defaults, every key, and one clear line for every error. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "common/conf.h"
#include "tests/unit/skip.h"

static char file_name[] = "/tmp/precedent-conf.XXXXXX";

static void write_conf(const char *text, size_t len)
{
	FILE *f = fopen(file_name, "w");

	assert_non_null(f);
	assert_int_equal(fwrite(text, 1, len, f), len);
	assert_int_equal(fclose(f), 0);
}

static int load(const char *text, struct precedent_conf *c, struct errbuf *err)
{
	write_conf(text, strlen(text));
	return conf_load(file_name, c, err);
}

static void test_defaults(void **state)
{
	struct precedent_conf c;
	struct errbuf err = {""};

	(void)state;
	assert_int_equal(load("", &c, &err), 0);
	assert_int_equal(c.mode, MODE_OBSERVE);
	assert_int_equal(c.n_candidates, 0);
	assert_int_equal(c.policy, POLICY_EARLIEST);
	assert_int_equal(c.message, MESSAGE_ALWAYS);
	assert_true(conf_cost_for(&c, "fast") == 1);
	assert_false(conf_places(&c));
	assert_true(c.margin > 0.1499 && c.margin < 0.1501);
	assert_int_equal(c.min_limit_min, 5);
	assert_true(c.probe_budget > 0.0099 && c.probe_budget < 0.0101);
	assert_string_equal(c.spool_dir, "/var/spool/precedent");
	assert_string_equal(c.store_file, "/var/lib/precedent/precedent.db");
	assert_int_equal(c.retention_s, 90 * 86400);
	assert_int_equal(c.listen_port, 6833);
	assert_string_equal(c.listen_host, "");
	assert_string_equal(c.probe_account, "");
	assert_string_equal(c.file, file_name);
	conf_free(&c);
	conf_free(&c);
	assert_null(c.spool_dir);
}

static void test_every_key(void **state)
{
	static const char text[] =
	    "# all of them\n"
	    "mode = LIMIT  # any case\n"
	    "PartitionMode.debug=observe\nPartitionMode.fast =place\n"
	    "Candidates = fast, slow:big&ssd ,gpu\n"
	    "Margin=0.25\nMinLimit = 00:01:30\nProbeBudget=2.5%\nProbeSeconds=2.5\n"
	    "ProbeAccount=probes\nProbeQos=low\nSpoolDir=/shared/spool/\nScratchDir=/scratch/\nStateDir=/var/lib/p//\n"
	    "Retention=4w\nPollInterval=2\nHeartbeatTimeout=1m\nListenPort=7000\nListenHost=ctl.example\n"
	    "InstallDir=/opt/precedent\nPolicy=Cheapest\nMessage=Terminal\nLimitGuard=Raise\nEndAtAsked=YES\nCost.slow=0.25\ncost.slow:big&ssd = 2";
	struct precedent_conf c;
	struct errbuf err = {""};

	(void)state;
	assert_int_equal(load(text, &c, &err), 0);
	assert_int_equal(c.mode, MODE_LIMIT);
	assert_int_equal(conf_mode_for(&c, "debug"), MODE_OBSERVE);
	assert_int_equal(conf_mode_for(&c, "fast"), MODE_PLACE);
	assert_int_equal(conf_mode_for(&c, "slow"), MODE_LIMIT);
	assert_int_equal(conf_mode_for(&c, NULL), MODE_LIMIT);
	assert_int_equal(c.n_candidates, 3);
	assert_string_equal(c.candidates[1].name, "slow:big&ssd");
	assert_string_equal(c.candidates[1].partition, "slow");
	assert_string_equal(c.candidates[1].constraint, "big&ssd");
	assert_string_equal(c.candidates[2].name, "gpu");
	assert_true(c.margin > 0.2499 && c.margin < 0.2501);
	assert_int_equal(c.min_limit_min, 2);
	assert_true(c.probe_budget > 0.02499 && c.probe_budget < 0.02501);
	assert_true(c.probe_seconds > 2.49 && c.probe_seconds < 2.51);
	assert_string_equal(c.probe_account, "probes");
	assert_string_equal(c.probe_qos, "low");
	assert_string_equal(c.spool_dir, "/shared/spool");
	assert_string_equal(c.scratch_dir, "/scratch");
	assert_string_equal(c.state_dir, "/var/lib/p");
	assert_string_equal(c.store_file, "/var/lib/p/precedent.db");
	assert_int_equal(c.retention_s, 28 * 86400);
	assert_int_equal(c.poll_interval_s, 2);
	assert_int_equal(c.heartbeat_timeout_s, 60);
	assert_int_equal(c.listen_port, 7000);
	assert_string_equal(c.listen_host, "ctl.example");
	assert_string_equal(c.install_dir, "/opt/precedent");
	assert_int_equal(c.policy, POLICY_CHEAPEST);
	assert_int_equal(c.limit_guard, GUARD_RAISE);
	assert_true(c.end_at_asked);
	assert_int_equal(c.message, MESSAGE_TERMINAL);
	assert_true(conf_cost_for(&c, "slow") == 0.25 && conf_cost_for(&c, "slow:other") == 0.25);
	assert_true(conf_cost_for(&c, "slow:big&ssd") == 2 && conf_cost_for(&c, "slower") == 1);
	assert_true(conf_places(&c)); /* on fast */
	conf_free(&c);
}

static void test_spool_quota(void **state)
{
	static const struct {
		const char *line;
		uint64_t bytes;
	} good[] = {{"", 20ULL << 30}, {"SpoolQuota=0", 0}, {"SpoolQuota=500M", 500ULL << 20}, {"SpoolQuota=7k", 7 << 10},
		    {"SpoolQuota=2T", 2ULL << 40}};
	static const char *const bad[] = {"20", "G", "-1G", "1.5G", "20GB", "20 G", "1X", "", "2000000T", "99999999999999999999G"};
	struct precedent_conf c;
	struct errbuf err;
	char line[64];

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		assert_int_equal(load(good[i].line, &c, &err), 0);
		assert_true(c.spool_quota == good[i].bytes);
		conf_free(&c);
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		snprintf(line, sizeof(line), "SpoolQuota=%s", bad[i]);
		if (load(line, &c, &err) == 0)
			fail_msg("%s was taken", line);
		assert_non_null(strstr(err.text, "is not a size: write 500M"));
	}
}

static void test_metrics(void **state)
{
	static const char *const bad[] = {"MetricsListen=9833", "MetricsListen=0.0.0.0:9833", "MetricsListen=10.0.0.1:9833",
					  "MetricsListen=[::]:9833", "MetricsListen=127.0.0.1:0", "MetricsListen=127.0.0.1:70000",
					  "MetricsListen=127.0.0.1:", "MetricsListen=controller:9833", "MetricsListen=:9833",
					  "MetricsListen=[::1:9833", "MetricsFile=precedent.prom", "MetricsFile=/tmp/metrics",
					  "MetricsFile=/tmp/.prom"};
	static const char *const good[][2] = {{"127.0.0.1:9833", "127.0.0.1"}, {"localhost:9833", "127.0.0.1"},
					      {"127.1.2.3:9833", "127.1.2.3"}, {"[::1]:9833", "::1"}};
	struct precedent_conf c;
	struct errbuf err;
	char line[64];

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		if (load(bad[i], &c, &err) == 0)
			fail_msg("%s was taken", bad[i]);
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		snprintf(line, sizeof(line), "MetricsListen = %s\nMetricsFile = /run/p.prom", good[i][0]);
		if (load(line, &c, &err) < 0)
			fail_msg("%s", err.text);
		assert_string_equal(c.metrics_host, good[i][1]);
		assert_int_equal(c.metrics_port, 9833);
		assert_string_equal(c.metrics_file, "/run/p.prom");
		conf_free(&c);
	}
	assert_int_equal(load("MetricsListen=\nMetricsFile=", &c, &err), 0);
	assert_int_equal(c.metrics_port, 0);
	assert_string_equal(c.metrics_file, "");
	conf_free(&c);
}

static void test_candidates_match(void **state)
{
	struct precedent_conf c;
	struct errbuf err = {""};

	(void)state;
	assert_int_equal(load("Candidates=fast,slow:big,slow\n", &c, &err), 0);
	assert_string_equal(conf_candidate_match(&c, "fast", NULL)->name, "fast");
	assert_string_equal(conf_candidate_match(&c, "slow", NULL)->name, "slow");
	assert_string_equal(conf_candidate_match(&c, "slow", "big")->name, "slow:big");
	assert_string_equal(conf_candidate_match(&c, "slow", "other")->name, "slow");
	assert_null(conf_candidate_match(&c, "gpu", NULL));
	assert_null(conf_candidate_match(&c, NULL, NULL));
	assert_null(conf_candidate_find(&c, "slow:other"));
	conf_free(&c);
	assert_int_equal(load("Candidates=slow:big\n", &c, &err), 0);
	/* A job without features may run on other nodes of the partition. */
	assert_null(conf_candidate_match(&c, "slow", NULL));
	conf_free(&c);
}

static void test_errors(void **state)
{
	static const struct {
		const char *text, *says;
	} bad[] = {
	    {"\n\nMod=limit\n", ":3: unknown key 'Mod': correct or remove it"},
	    {"nonsense\n", ":1: 'nonsense' is not key=value"},
	    {"=x\n", "is not key=value"},
	    {"Mode=off\n", "Mode: 'off' is not a mode"},
	    {"EndAtAsked=maybe\n", "EndAtAsked: 'maybe' is not a choice: write yes or no"},
	    {"LimitGuard=hard\n", "LimitGuard: 'hard' is not a limit guard: write auto, soft, overtime or raise"},
	    {"Message=no\n", "Message: 'no' is not known: write always, terminal or never"},
	    {"Policy=best\n", "Policy: 'best' is not a policy: write earliest, fastest or cheapest"},
	    {"Cost.fast=0\n", "Cost.fast: '0' is not a number above 0"},
	    {"Cost.fast=1x\n", "is not a number above 0"},
	    {"Cost.fast=\n", "is not a number above 0"},
	    {"Cost.=1\n", "the candidate's name is empty"},
	    {"Cost.fast=1\nCost.fast=1\n", ":2: Cost.fast: is given twice"},
	    {"Mode=\n", "is not a mode"},
	    {"Mode=limit\nMode=limit\n", ":2: Mode is given twice"},
	    {"PartitionMode.a=limit\nPartitionMode.a=place\n", ":2: PartitionMode.a: is given twice"},
	    {"PartitionMode.=limit\n", "partition is empty"},
	    {"Margin=-1\n", "Margin: '-1' is not a share"},
	    {"Margin=abc\n", "is not a share"},
	    {"Margin=nan\n", "is not a share"},
	    {"Margin=0x1\n", "is not a share"},
	    {"ProbeBudget=200%\n", "between 0 and 1"},
	    {"MinLimit=0\n", "is no limit"},
	    {"MinLimit=UNLIMITED\n", "is no limit"},
	    {"MinLimit=1:2:3:4\n", "is not a time"},
	    {"ProbeSeconds=0\n", "between 0.1 and 3600"},
	    {"ProbeSeconds=inf\n", "between 0.1 and 3600"},
	    {"SpoolDir=relative\n", "is not an absolute path"},
	    {"StateDir=\n", "is not an absolute path"},
	    {"Retention=1h\n", "is not between"},
	    {"Retention=90x\n", "is not a time span"},
	    {"ListenPort=0\n", "between 1 and 65535"},
	    {"ListenPort=70000\n", "between 1 and 65535"},
	    {"ListenPort=80 90\n", "between 1 and 65535"},
	    {"ListenHost=\n", "host is empty"},
	    {"Candidates=a,,b\n", "empty name in the list"},
	    {"Candidates=a,a\n", "candidate 'a' is given twice"},
	    {"Candidates=a:\n", "constraint is empty"},
	    {"Candidates=:b\n", "partition is empty"},
	    {"Candidates=a b\n", "does not belong there"},
	    {"Candidates=a;b,`id`\n", "does not belong there"},
	    {"Candidates=a,b,c,d,e,f,g,h,i,j,k,l,m,n,o,p,q\n", "more than 16 candidates"},
	    {"PollInterval=60\nHeartbeatTimeout=100\n", "at least twice PollInterval"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct precedent_conf c;
		struct errbuf err = {""};

		if (load(bad[i].text, &c, &err) == 0)
			fail_msg("accepted: %s", bad[i].text);
		if (!strstr(err.text, bad[i].says) || strncmp(err.text, file_name, strlen(file_name)))
			fail_msg("'%s' instead of '%s'", err.text, bad[i].says);
		assert_null(c.spool_dir);
	}
}

static void test_not_text(void **state)
{
	struct precedent_conf c;
	struct errbuf err = {""};

	(void)state;
	write_conf("Mode=limit\nMargin\0=1\n", 21);
	assert_int_equal(conf_load(file_name, &c, &err), -1);
	assert_non_null(strstr(err.text, ":2: not a text file"));
	assert_int_equal(conf_load("/tmp", &c, &err), -1);
	assert_non_null(strstr(err.text, "/tmp: "));
}

static void test_which_file(void **state)
{
	struct precedent_conf c;
	struct errbuf err = {""};

	(void)state;
	assert_int_equal(conf_load("/nonexistent/precedent.conf", &c, &err), -1);
	assert_non_null(strstr(err.text, "/nonexistent/precedent.conf: cannot open"));
	setenv("PRECEDENT_CONF", "/nonexistent/by-env.conf", 1);
	assert_string_equal(conf_path(NULL), "/nonexistent/by-env.conf");
	assert_int_equal(conf_load(NULL, &c, &err), -1);
	write_conf("Mode=place\n", 11);
	setenv("PRECEDENT_CONF", file_name, 1);
	assert_int_equal(conf_load(NULL, &c, &err), 0);
	assert_int_equal(c.mode, MODE_PLACE);
	conf_free(&c);
	unsetenv("PRECEDENT_CONF");
	assert_string_equal(conf_path(NULL), CONF_DEFAULT_FILE);
	assert_string_equal(conf_path("/x"), "/x");
}

static void test_example(void **state)
{
	struct precedent_conf c;
	struct errbuf err = {""};

	(void)state;
	if (access("conf/precedent.conf", R_OK) < 0)
		SKIP("not run from the top of the tree");
	assert_int_equal(conf_load("conf/precedent.conf", &c, &err), 0);
	assert_int_equal(c.mode, MODE_OBSERVE);
	assert_int_equal(c.n_candidates, 0);
	conf_free(&c);
}

static void test_modes(void **state)
{
	enum precedent_mode m;

	(void)state;
	for (int i = MODE_OFF; i <= MODE_PLACE; i++) {
		assert_int_equal(mode_parse(mode_name((enum precedent_mode)i), &m), 0);
		assert_int_equal(m, i);
	}
	assert_int_equal(mode_parse("", &m), -1);
	assert_int_equal(mode_parse(NULL, &m), -1);
	assert_int_equal(mode_parse("limits", &m), -1);
}

static void test_only(void **state)
{
	static const char *const bad[][2] = {{"Only=alice\n", "'alice' is not understood: write user:NAME"}, {"Only=user:\n", "not understood"},
					     {"Only=user:a,,qos:b\n", "not understood"}, {"Only=group:a\n", "not understood"},
					     {"Only=user:a b\n", "not understood"}};
	const struct only_uids none = {NULL, NULL}, some = {" 1000 17 ", " 1000 1001 "};
	struct precedent_conf c;
	struct errbuf e;
	char text[64];

	(void)state;
	assert_int_equal(load("Only = user:alice, Account:physics,qos:test\n", &c, &e), 0);
	only_text(&c, text, sizeof(text));
	assert_string_equal(text, "user:alice, account:physics, qos:test");
	assert_true(only_admits(&c, &some, 17, NULL, NULL));
	assert_false(only_admits(&c, &some, 7, NULL, NULL));
	assert_false(only_admits(&c, &none, 17, "", ""));
	assert_true(only_admits(&c, &none, 7, "Physics", NULL));
	assert_true(only_admits(&c, &some, 1001, NULL, NULL)); /* its default account */
	assert_false(only_admits(&c, &some, 1001, "chemistry", NULL));
	assert_true(only_admits(&c, &none, 7, "chemistry", "test"));
	conf_free(&c);
	assert_int_equal(load("Only =\n", &c, &e), 0);
	assert_true(only_admits(&c, &none, 7, NULL, NULL));
	conf_free(&c);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_int_equal(load(bad[i][0], &c, &e), -1);
		assert_non_null(strstr(e.text, bad[i][1]));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_defaults),	     cmocka_unit_test(test_every_key),
	    cmocka_unit_test(test_spool_quota), cmocka_unit_test(test_metrics), cmocka_unit_test(test_candidates_match), cmocka_unit_test(test_errors),
	    cmocka_unit_test(test_not_text),	     cmocka_unit_test(test_which_file),
	    cmocka_unit_test(test_only), cmocka_unit_test(test_example),	     cmocka_unit_test(test_modes),
	};
	int fd, rv;

	cmocka_set_message_output(CM_OUTPUT_TAP);
	unsetenv("PRECEDENT_CONF");
	fd = mkstemp(file_name);
	if (fd < 0)
		return 2;
	close(fd);
	rv = cmocka_run_group_tests_name("conf", tests, NULL, NULL);
	unlink(file_name);
	return rv;
}
