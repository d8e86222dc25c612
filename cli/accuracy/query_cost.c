/* SPDX-License-Identifier: GPL-2.0-or-later */
/* precedent accuracy --cost: the cost of probes, and the time freed by shorter limits. The fields of the answer are
 * described in predictor/query/answer_cost.c. */
#include <stdbool.h>
#include <stdio.h>

#include "cli/accuracy/accuracy.h"
#include "cli/jobs/query.h"
#include "cli/jobs/query_print.h"
#include "cli/ui/util.h"
#include "common/clean_json.h"

/* Did probes cost more than their share? Then the least allowance of a probe was more than the share of a short run. */
static bool is_above(const json_t *answer, const json_t *row)
{
	return jnum(answer, "budget") > 0 && jnum(row, "probe_node_h") > jnum(answer, "budget") * jnum(row, "used_node_h");
}

static void cost_line(const json_t *answer, const char *user, const char *partition, const json_t *row)
{
	char h[4][24], share[2][16] = {"-", "-"};

	if (jnum(row, "used_node_h") > 0)
		accuracy_percent(jnum(row, "probe_share"), share[0], sizeof(share[0]));
	if (jnum(row, "asked_node_h") > 0)
		accuracy_percent(jnum(row, "freed_share"), share[1], sizeof(share[1]));
	printf("%-12.12s %-12.12s %7.0f %10s%c%8.0f %10s %8s %8.0f %10s %10s %8s\n", user, partition, jnum(row, "probes"),
	       accuracy_hours(jnum(row, "probe_node_h"), h[0], sizeof(h[0])), is_above(answer, row) ? '*' : ' ', jnum(row, "jobs"),
	       accuracy_hours(jnum(row, "used_node_h"), h[1], sizeof(h[1])), share[0], jnum(row, "limited"),
	       accuracy_hours(jnum(row, "asked_node_h"), h[2], sizeof(h[2])),
	       accuracy_hours(jnum(row, "freed_node_h"), h[3], sizeof(h[3])), share[1]);
}

static void cost_print(const json_t *answer)
{
	const json_t *rows = json_object_get(answer, "rows"), *row;
	double n = jnum(answer, "rows_n"), days = jnum(answer, "days");
	bool above = false;
	char user[40];
	size_t i;

	if (n <= 0) {
		puts("no job and no probe has ended yet");
		return;
	}
	printf("Node-hours%s", json_is_true(json_object_get(answer, "everybody")) ? "" : " of yours");
	if (days > 0)
		printf(" of the last %.0f day%s", days, days == 1 ? "" : "s");
	printf("\n\n%-12s %-12s %7s %10s %8s %10s %8s %8s %10s %10s %8s\n", "USER", "PARTITION", "PROBES", "COST", "JOBS", "USED",
	       "SHARE", "LIMITED", "ASKED", "FREED", "SHARE");
	json_array_foreach(rows, i, row)
	{
		cost_line(answer, accuracy_user_name(jnum(row, "uid"), user, sizeof(user)), jstr(row, "partition"), row);
		above |= is_above(answer, row);
	}
	if (n > (double)json_array_size(rows))
		printf("... and %.0f more\n", n - (double)json_array_size(rows));
	if (n > 1)
		cost_line(answer, "all", "", json_object_get(answer, "total"));
	if (above)
		printf("\n* more than ProbeBudget (%.4g %% of use): the probes of a short run may take %.0f s on each candidate in any case\n",
		       100 * jnum(answer, "budget"), jnum(answer, "budget_least_s"));
}

static json_t *cost_ask(long days, bool mine)
{
	json_t *request = query_request("cost"), *answer;

	json_object_set_new(request, "days", json_integer(days));
	json_object_set_new(request, "mine", json_boolean(mine));
	answer = query_ask(request);
	json_decref(request);
	return answer;
}

int accuracy_cost(long days, bool mine, bool json, const char *from)
{
	json_t *answer = from ? query_load(from, "accuracy --cost", "total") : cost_ask(days, mine);
	int rc = 0;

	if (!answer)
		return 1;
	if (json)
		rc = query_print_json(answer);
	else
		cost_print(answer);
	json_decref(answer);
	return rc;
}
