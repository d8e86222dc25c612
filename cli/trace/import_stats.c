/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Statistics of an imported trace: see import_stats.h. Read from the summaries of tiles alone. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/trace/import_stats.h"
#include "cli/ui/json_out.h"
#include "cli/ui/util.h"
#include "trace/tiles/tiles.h"

#define ROWS 20

static const char *const state_name[TSTATE_N] = {"waiting", "working", "sending", "receiving"};

struct stats {
	struct tiles *tiles;
	uint32_t n;
	struct tile_totals *each, all;
	uint64_t known; /* marks x processors */
};

static int collect(const struct trace *t, const char *path, struct stats *s)
{
	struct errbuf err;

	*s = (struct stats){.n = trace_n_ranks(t)};
	s->tiles = tiles_open(t, &err);
	if (!s->tiles)
		return cli_fail("%s: %s", path, err.text);
	s->each = calloc(s->n, sizeof(*s->each));
	if (!s->each)
		return cli_fail("%s: no memory", path);
	if (tiles_totals(s->tiles, 0, s->n, s->each, &err) < 0)
		return cli_fail("%s: %s", path, err.text);
	for (uint32_t r = 0; r < s->n; r++)
		for (int k = 0; k < TSTATE_N; k++) {
			s->all.marks[k] += s->each[r].marks[k];
			s->all.spans[k] += s->each[r].spans[k];
			s->known += s->each[r].marks[k];
		}
	return 0;
}

static void free_stats(struct stats *s)
{
	tiles_close(s->tiles);
	free(s->each);
}

static void print_row(const char *name, const uint64_t v[TSTATE_N])
{
	char n[32];

	printf("%12s", name);
	for (int k = 0; k < TSTATE_N; k++)
		printf(" %17s", cli_thousands(n, sizeof(n), v[k]));
	putchar('\n');
}

static void print_table(const struct stats *s, bool all)
{
	uint32_t rows = all || s->n <= ROWS ? s->n : ROWS;
	char name[32];

	printf("\n%12s", "processor");
	for (int k = 0; k < TSTATE_N; k++)
		printf(" %17s", state_name[k]);
	putchar('\n');
	for (uint32_t r = 0; r < rows; r++) {
		snprintf(name, sizeof(name), "%u", r);
		print_row(name, s->each[r].marks);
	}
	if (rows < s->n)
		printf("%12s (%u more: --all)\n", "...", s->n - rows);
	print_row("all", s->all.marks);
	printf("%12s", "");
	for (int k = 0; k < TSTATE_N; k++)
		printf(" %15.2f %%", s->known ? 100.0 * (double)s->all.marks[k] / (double)s->known : 0);
	putchar('\n');
	print_row("times", s->all.spans);
}

static void print_damage(const struct trace *t, const struct stats *s)
{
	for (uint32_t i = 0; i < trace_n_damage(t); i++)
		printf("damaged: %s\n", trace_damage(t, i));
	for (uint32_t i = 0; i < tiles_n_damage(s->tiles); i++)
		printf("damaged: %s\n", tiles_damage(s->tiles, i));
}

static const char *job(const struct trace *t, const char *key, const char *missing)
{
	const char *v = trace_job_get(t, key);

	return v ? v : missing;
}

static const char *count(const struct trace *t, const char *key, char *buf, size_t size)
{
	return cli_thousands(buf, size, strtoull(job(t, key, "0"), NULL, 10));
}

int import_stats_print(const struct trace *t, const char *path, bool all)
{
	struct stats s;
	int rc = collect(t, path, &s);
	char a[32], b[32], c[32], size[32];

	if (rc == 0) {
		printf("%s: imported (%s) from %s, %s\n", path, job(t, "format", "?"), job(t, "source", "?"),
		       cli_bytes(size, sizeof(size), (double)trace_file_size(t)));
		printf("%s processors x %s marks, from %llu to %llu\n", cli_thousands(a, sizeof(a), s.n),
		       cli_thousands(b, sizeof(b), tiles_end(s.tiles) - tiles_first(s.tiles)),
		       (unsigned long long)tiles_first(s.tiles), (unsigned long long)tiles_end(s.tiles) - 1);
		printf("%s records, %s messages (%s never received)\n", count(t, "records", a, sizeof(a)),
		       count(t, "messages", b, sizeof(b)), count(t, "messages_unreceived", c, sizeof(c)));
		print_damage(t, &s);
		print_table(&s, all);
	}
	free_stats(&s);
	return rc;
}

static json_t *json_states(const uint64_t v[TSTATE_N])
{
	json_t *o = json_object();

	for (int k = 0; k < TSTATE_N; k++)
		json_object_set_new(o, state_name[k], json_integer((json_int_t)v[k]));
	return o;
}

static json_t *json_job_number(const struct trace *t, const char *key)
{
	return json_integer((json_int_t)strtoull(job(t, key, "0"), NULL, 10));
}

int import_stats_print_json(const struct trace *t, const char *path)
{
	static const char *const number[] = {"records", "messages", "messages_unsent", "messages_unreceived",
					     "record_updates", "subproblems_max"};
	json_t *o = json_object(), *each = json_array(), *damage = json_array();
	struct stats s;
	int rc = collect(t, path, &s);

	for (uint32_t r = 0; rc == 0 && r < s.n; r++)
		json_array_append_new(each, json_pack("{s:I,s:o,s:o}", "processor", (json_int_t)r, "marks",
						      json_states(s.each[r].marks), "spans", json_states(s.each[r].spans)));
	if (rc == 0) {
		for (uint32_t i = 0; i < trace_n_damage(t); i++)
			json_array_append_new(damage, json_string(trace_damage(t, i)));
		for (uint32_t i = 0; i < tiles_n_damage(s.tiles); i++)
			json_array_append_new(damage, json_string(tiles_damage(s.tiles, i)));
		json_object_update_new(o, json_pack("{s:s,s:b,s:s,s:s,s:I,s:I,s:I,s:f}", "file", path, "imported", 1, "format",
						    job(t, "format", "?"), "source", job(t, "source", "?"), "processors",
						    (json_int_t)s.n, "first", (json_int_t)tiles_first(s.tiles), "marks",
						    (json_int_t)(tiles_end(s.tiles) - tiles_first(s.tiles)), "mark_ns",
						    tiles_mark_ns(s.tiles)));
		for (size_t i = 0; i < sizeof(number) / sizeof(*number); i++)
			json_object_set_new(o, number[i], json_job_number(t, number[i]));
		json_object_set_new(o, "total", json_pack("{s:o,s:o}", "marks", json_states(s.all.marks), "spans",
							  json_states(s.all.spans)));
		json_object_set(o, "per_processor", each);
		json_object_set(o, "damage", damage);
		rc = cli_print_json(o);
		o = NULL;
	}
	json_decref(o);
	json_decref(each);
	json_decref(damage);
	free_stats(&s);
	return rc;
}
