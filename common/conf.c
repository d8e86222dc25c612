/* SPDX-License-Identifier: GPL-2.0-or-later */
/* precedent.conf: see conf.h. One table of keys, one parser per kind of value. */
#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/conf.h"
#include "common/duration.h"

#ifndef PRECEDENT_PREFIX
#define PRECEDENT_PREFIX "/usr/local"
#endif

#define PARTITION_MODE "PartitionMode."
#define PARTIAL	       "PartialExecution."
#define COST	       "Cost."
#define DAY_S	       86400

/* Place of a word among n others, without regard to case; -1: it is none of them. */
static int word_place(const char *const *words, int n, const char *text)
{
	for (int i = 0; text && i < n; i++)
		if (!strcasecmp(text, words[i]))
			return i;
	return -1;
}

#define WORD_PLACE(words, text) word_place((words), (int)(sizeof(words) / sizeof *(words)), (text))

static const char *const mode_names[] = {
    [MODE_OFF] = "off", [MODE_OBSERVE] = "observe", [MODE_LIMIT] = "limit", [MODE_PLACE] = "place"};

const char *mode_name(enum precedent_mode mode)
{
	return (unsigned)mode <= MODE_PLACE ? mode_names[mode] : "observe";
}

int mode_parse(const char *text, enum precedent_mode *mode)
{
	int i = WORD_PLACE(mode_names, text);

	if (i >= 0)
		*mode = (enum precedent_mode)i;
	return i < 0 ? -1 : 0;
}

/*
 * Copy a name for Slurm (partition, account). It must be printable, without blanks and without characters that
 * separate lists.
 */
static int copy_name(char *out, size_t size, const char *text, size_t len, const char *what,
		     struct errbuf *err)
{
	if (!len)
		return err_set(err, "%s is empty", what);
	if (len >= size)
		return err_set(err, "%s '%.40s...' is longer than %zu bytes", what, text, size - 1);
	for (size_t i = 0; i < len; i++) {
		if (!isgraph((unsigned char)text[i]) || strchr(",='\"\\`$", text[i]))
			return err_set(err, "%s '%.*s' has a character that does not belong there", what,
				       (int)len, text);
	}
	memcpy(out, text, len);
	out[len] = '\0';
	return 0;
}

static int parse_mode(const char *v, enum precedent_mode *mode, struct errbuf *err)
{
	if (mode_parse(v, mode) < 0 || *mode == MODE_OFF)
		return err_set(err, "'%.40s' is not a mode: write observe, limit or place", v);
	return 0;
}

static int set_mode(struct precedent_conf *c, const char *v, struct errbuf *err)
{
	return parse_mode(v, &c->mode, err);
}

static int set_partition_mode(struct precedent_conf *c, const char *partition, const char *v,
			      struct errbuf *err)
{
	struct conf_partition_mode *pm;

	for (size_t i = 0; i < c->n_partition_modes; i++) {
		if (!strcmp(c->partition_modes[i].partition, partition))
			return err_set(err, "is given twice: keep one");
	}
	if (c->n_partition_modes == CONF_PARTITIONS_MAX)
		return err_set(err, "more than %d partitions have a mode of their own", CONF_PARTITIONS_MAX);
	pm = &c->partition_modes[c->n_partition_modes];
	if (copy_name(pm->partition, sizeof(pm->partition), partition, strlen(partition), "partition", err) <
		0 ||
	    parse_mode(v, &pm->mode, err) < 0)
		return -1;
	c->n_partition_modes++;
	return 0;
}

static int add_candidate(struct precedent_conf *c, const char *text, size_t len, struct errbuf *err)
{
	struct conf_candidate *k = &c->candidates[c->n_candidates];
	const char *colon = memchr(text, ':', len);
	size_t plen = colon ? (size_t)(colon - text) : len;

	if (c->n_candidates == CONF_CANDIDATES_MAX)
		return err_set(err, "more than %d candidates", CONF_CANDIDATES_MAX);
	*k = (struct conf_candidate){0};
	if (copy_name(k->name, sizeof(k->name), text, len, "candidate", err) < 0 ||
	    copy_name(k->partition, sizeof(k->partition), text, plen, "partition", err) < 0)
		return -1;
	if (colon &&
	    copy_name(k->constraint, sizeof(k->constraint), colon + 1, len - plen - 1, "constraint", err) < 0)
		return -1;
	if (conf_candidate_find(c, k->name))
		return err_set(err, "candidate '%s' is given twice", k->name);
	c->n_candidates++;
	return 0;
}

static int set_candidates(struct precedent_conf *c, const char *v, struct errbuf *err)
{
	while (*v) {
		size_t n = strcspn(v, ",");
		size_t lead = strspn(v, " \t");
		size_t len = n;

		while (len > lead && isspace((unsigned char)v[len - 1]))
			len--;
		if (lead >= len)
			return err_set(err, "there is an empty name in the list");
		if (add_candidate(c, v + lead, len - lead, err) < 0)
			return -1;
		v += n;
		v += *v == ',';
	}
	return 0;
}

static int set_only(struct precedent_conf *c, const char *v, struct errbuf *err)
{
	return only_parse(c, v, err);
}

static int set_margin(struct precedent_conf *c, const char *v, struct errbuf *err)
{
	return duration_parse_share(v, 10, &c->margin, err);
}

static int set_probe_budget(struct precedent_conf *c, const char *v, struct errbuf *err)
{
	return duration_parse_share(v, 1, &c->probe_budget, err);
}

static int parse_uint(const char *v, unsigned long min, unsigned long max, unsigned long *out,
		      struct errbuf *err)
{
	char *end;

	errno = 0;
	*out = isdigit((unsigned char)*v) ? strtoul(v, &end, 10) : max;
	if (!isdigit((unsigned char)*v) || *end || errno || *out < min || *out > max)
		return err_set(err, "'%.40s' is not a whole number between %lu and %lu", v, min, max);
	return 0;
}

static int set_min_limit(struct precedent_conf *c, const char *v, struct errbuf *err)
{
	if (duration_parse_minutes(v, &c->min_limit_min, err) < 0)
		return -1;
	if (!c->min_limit_min || c->min_limit_min == DURATION_UNLIMITED)
		return err_set(err, "'%.40s' is no limit: write one minute or more", v);
	return 0;
}

static const char *const partial_names[] = {
    [PARTIAL_NEVER] = "never", [PARTIAL_OFF] = "off", [PARTIAL_ON] = "on"};

const char *partial_name(enum conf_partial partial)
{
	return (unsigned)partial <= PARTIAL_ON ? partial_names[partial] : "off";
}

static int parse_partial(const char *v, enum conf_partial *out, struct errbuf *err)
{
	int i = WORD_PLACE(partial_names, v);

	*out = i < 0 ? *out : (enum conf_partial)i;
	return i < 0 ? err_set(err, "'%.60s' is not a choice: say off, on or never", v) : 0;
}

static int set_partial(struct precedent_conf *c, const char *v, struct errbuf *err)
{
	return parse_partial(v, &c->partial, err);
}

static int set_candidate_partial(struct precedent_conf *c, const char *candidate, const char *v, struct errbuf *err)
{
	struct conf_candidate_partial *p = &c->partials[c->n_partials];

	for (size_t i = 0; i < c->n_partials; i++)
		if (!strcmp(c->partials[i].candidate, candidate))
			return err_set(err, "is given twice: keep one");
	if (c->n_partials == CONF_CANDIDATES_MAX)
		return err_set(err, "more than %d candidates have one", CONF_CANDIDATES_MAX);
	if (copy_name(p->candidate, sizeof(p->candidate), candidate, strlen(candidate), "the candidate's name", err) < 0 ||
	    parse_partial(v, &p->partial, err) < 0)
		return -1;
	c->n_partials++;
	return 0;
}

enum conf_partial conf_partial_for(const struct precedent_conf *conf, const char *candidate)
{
	size_t partition = strcspn(candidate, ":");
	const struct conf_candidate_partial *p = conf->partials, *end = p + conf->n_partials;

	for (; p < end; p++)
		if (!strcmp(p->candidate, candidate))
			return p->partial;
	for (p = conf->partials; p < end; p++)
		if (strlen(p->candidate) == partition && !strncmp(p->candidate, candidate, partition))
			return p->partial;
	return conf->partial;
}

static const char *const policy_names[] = {
    [POLICY_EARLIEST] = "earliest", [POLICY_FASTEST] = "fastest", [POLICY_CHEAPEST] = "cheapest"};

const char *policy_name(enum place_policy policy)
{
	return (unsigned)policy <= POLICY_CHEAPEST ? policy_names[policy] : "earliest";
}

static int set_policy(struct precedent_conf *c, const char *v, struct errbuf *err)
{
	int i = WORD_PLACE(policy_names, v);

	c->policy = i < 0 ? c->policy : (enum place_policy)i;
	return i < 0 ? err_set(err, "'%.40s' is not a policy: write earliest, fastest or cheapest", v) : 0;
}

static const char *const limit_guard_names[] = {"auto", "soft", "overtime", "raise"}; /* as enum limit_guard */

const char *limit_guard_name(enum limit_guard guard)
{
	return (unsigned)guard <= GUARD_RAISE ? limit_guard_names[guard] : "auto";
}

enum limit_guard conf_guard(const struct precedent_conf *c, bool soft_works)
{
	return c->limit_guard != GUARD_AUTO ? c->limit_guard : soft_works ? GUARD_SOFT : GUARD_OVERTIME;
}

static const char *const message_names[] = {"always", "terminal", "never"}; /* as enum conf_message */

const char *message_name(enum conf_message message)
{
	return (unsigned)message <= MESSAGE_NEVER ? message_names[message] : "always";
}

int message_parse(const char *text, enum conf_message *message)
{
	int i = WORD_PLACE(message_names, text);

	*message = i < 0 ? *message : (enum conf_message)i;
	return i < 0 ? -1 : 0;
}

static int set_message(struct precedent_conf *c, const char *v, struct errbuf *err)
{
	return message_parse(v, &c->message) < 0 ? err_set(err, "'%.40s' is not known: write always, terminal or never", v) : 0;
}

static int set_limit_guard(struct precedent_conf *c, const char *v, struct errbuf *err)
{
	int i = WORD_PLACE(limit_guard_names, v);

	c->limit_guard = i < 0 ? c->limit_guard : (enum limit_guard)i;
	return i < 0 ? err_set(err, "'%.40s' is not a limit guard: write auto, soft, overtime or raise", v) : 0;
}

static int set_end_at_asked(struct precedent_conf *c, const char *v, struct errbuf *err)
{
	c->end_at_asked = !strcasecmp(v, "yes");
	return c->end_at_asked || !strcasecmp(v, "no") ? 0 : err_set(err, "'%.40s' is not a choice: write yes or no", v);
}

static int set_cost(struct precedent_conf *c, const char *candidate, const char *v, struct errbuf *err)
{
	struct conf_cost *k = &c->costs[c->n_costs];
	char *end = NULL;

	for (size_t i = 0; i < c->n_costs; i++)
		if (!strcmp(c->costs[i].candidate, candidate))
			return err_set(err, "is given twice: keep one");
	if (c->n_costs == CONF_CANDIDATES_MAX)
		return err_set(err, "more than %d candidates have one", CONF_CANDIDATES_MAX);
	if (copy_name(k->candidate, sizeof(k->candidate), candidate, strlen(candidate), "the candidate's name", err) < 0)
		return -1;
	k->per_node_hour = isdigit((unsigned char)*v) ? strtod(v, &end) : 0;
	if (!end || *end || strpbrk(v, "xX") || !(k->per_node_hour > 0 && k->per_node_hour <= 1e6))
		return err_set(err, "'%.40s' is not a number above 0, at most 1000000", v);
	c->n_costs++;
	return 0;
}

double conf_cost_for(const struct precedent_conf *conf, const char *candidate)
{
	size_t partition = strcspn(candidate, ":");
	const struct conf_cost *k = conf->costs, *end = k + conf->n_costs;

	for (; k < end; k++)
		if (!strcmp(k->candidate, candidate))
			return k->per_node_hour;
	for (k = conf->costs; k < end; k++)
		if (strlen(k->candidate) == partition && !strncmp(k->candidate, candidate, partition))
			return k->per_node_hour;
	return 1;
}

bool conf_places(const struct precedent_conf *conf)
{
	for (size_t i = 0; i < conf->n_partition_modes; i++)
		if (conf->partition_modes[i].mode == MODE_PLACE)
			return true;
	return conf->mode == MODE_PLACE;
}

bool conf_limits(const struct precedent_conf *conf)
{
	for (size_t i = 0; i < conf->n_partition_modes; i++)
		if (conf->partition_modes[i].mode >= MODE_LIMIT)
			return true;
	return conf->mode >= MODE_LIMIT;
}

static int set_probe_seconds(struct precedent_conf *c, const char *v, struct errbuf *err)
{
	char *end = NULL;
	double s = isdigit((unsigned char)*v) ? strtod(v, &end) : 0;

	if (!end || *end || strpbrk(v, "xX") || !(s >= 0.1 && s <= 3600))
		return err_set(err, "'%.40s' is not a number of seconds between 0.1 and 3600", v);
	c->probe_seconds = s;
	return 0;
}

static int set_seconds(const char *v, uint64_t min, uint64_t max, uint64_t *out, struct errbuf *err)
{
	uint64_t s;

	if (duration_parse_span(v, &s, err) < 0)
		return -1;
	if (s < min || s > max)
		return err_set(err, "'%.40s' is not between %llu and %llu seconds", v,
			       (unsigned long long)min, (unsigned long long)max);
	*out = s;
	return 0;
}

static int set_retention(struct precedent_conf *c, const char *v, struct errbuf *err)
{
	return set_seconds(v, DAY_S, 36500ULL * DAY_S, &c->retention_s, err);
}

static int set_poll_interval(struct precedent_conf *c, const char *v, struct errbuf *err)
{
	uint64_t s = 0;
	int rv = set_seconds(v, 1, 3600, &s, err);

	c->poll_interval_s = (uint32_t)s;
	return rv;
}

static int set_heartbeat_timeout(struct precedent_conf *c, const char *v, struct errbuf *err)
{
	uint64_t s = 0;
	int rv = set_seconds(v, 1, DAY_S, &s, err);

	c->heartbeat_timeout_s = (uint32_t)s;
	return rv;
}

static int set_listen_port(struct precedent_conf *c, const char *v, struct errbuf *err)
{
	unsigned long port = 0;
	int rv = parse_uint(v, 1, 65535, &port, err);

	c->listen_port = (uint16_t)port;
	return rv;
}

static int replace_string(char **field, const char *v, struct errbuf *err)
{
	char *copy = strdup(v);

	if (!copy)
		return err_set(err, "out of memory");
	free(*field);
	*field = copy;
	return 0;
}

static int set_dir(char **field, const char *v, struct errbuf *err)
{
	size_t n = strlen(v);
	char tmp[4096];

	if (v[0] != '/')
		return err_set(err, "'%.200s' is not an absolute path", v);
	if (n >= 2048)
		return err_set(err, "the path is longer than 2047 bytes");
	while (n > 1 && v[n - 1] == '/')
		n--;
	snprintf(tmp, sizeof(tmp), "%.*s", (int)n, v);
	return replace_string(field, tmp, err);
}

static int set_spool_dir(struct precedent_conf *c, const char *v, struct errbuf *err)
{
	return set_dir(&c->spool_dir, v, err);
}

/* A size such as 500M, 20G or 1T; 0: none. */
static int set_spool_quota(struct precedent_conf *c, const char *v, struct errbuf *err)
{
	static const char units[] = "KMGT";
	const char *unit;
	char *end = NULL;
	uint64_t n;

	errno = 0;
	n = isdigit((unsigned char)*v) ? strtoull(v, &end, 10) : 0;
	unit = end && *end && !end[1] ? strchr(units, toupper((unsigned char)*end)) : NULL;
	if (!end || errno || n > 1000000 || (n && !unit) || (!n && *end))
		return err_set(err, "'%.40s' is not a size: write 500M, 20G or 1T, at most 1000000T, or 0 for no quota", v);
	c->spool_quota = n ? n << 10 * (unit - units + 1) : 0;
	return 0;
}

static int set_state_dir(struct precedent_conf *c, const char *v, struct errbuf *err)
{
	return set_dir(&c->state_dir, v, err);
}

static int set_local_dir(struct precedent_conf *c, const char *v, struct errbuf *err)
{
	return *v ? set_dir(&c->local_dir, v, err) : replace_string(&c->local_dir, "", err);
}

static int set_scratch_dir(struct precedent_conf *c, const char *v, struct errbuf *err)
{
	return *v ? set_dir(&c->scratch_dir, v, err) : replace_string(&c->scratch_dir, "", err);
}

static int set_install_dir(struct precedent_conf *c, const char *v, struct errbuf *err)
{
	return set_dir(&c->install_dir, v, err);
}

static int set_optional_name(char **field, const char *v, const char *what, struct errbuf *err)
{
	char name[CONF_NAME_MAX];

	if (*v && copy_name(name, sizeof(name), v, strlen(v), what, err) < 0)
		return -1;
	return replace_string(field, v, err);
}

static int set_probe_account(struct precedent_conf *c, const char *v, struct errbuf *err)
{
	return set_optional_name(&c->probe_account, v, "account", err);
}

static int set_probe_qos(struct precedent_conf *c, const char *v, struct errbuf *err)
{
	return set_optional_name(&c->probe_qos, v, "QOS", err);
}

static int set_listen_host(struct precedent_conf *c, const char *v, struct errbuf *err)
{
	char name[256];

	if (copy_name(name, sizeof(name), v, strlen(v), "host", err) < 0)
		return -1;
	return replace_string(&c->listen_host, v, err);
}

static int set_metrics_file(struct precedent_conf *c, const char *v, struct errbuf *err)
{
	size_t n = strlen(v);

	if (!*v)
		return replace_string(&c->metrics_file, "", err);
	if (n < 6 || strcmp(v + n - 5, ".prom") || v[n - 6] == '/')
		return err_set(err, "'%.200s' does not end in .prom: the node exporter reads no other files", v);
	return set_dir(&c->metrics_file, v, err);
}

/* Metrics tell how busy the cluster is, so they are served on a loopback address only. */
static bool is_loopback(const char *host)
{
	unsigned char a[sizeof(struct in6_addr)];
	struct in6_addr six = IN6ADDR_LOOPBACK_INIT;

	return (inet_pton(AF_INET, host, a) == 1 && a[0] == 127) ||
	       (inet_pton(AF_INET6, host, a) == 1 && !memcmp(a, &six, sizeof(six)));
}

static int set_metrics_listen(struct precedent_conf *c, const char *v, struct errbuf *err)
{
	const char *colon = strrchr(v, ':');
	unsigned long port = 0;
	char host[64];
	int n;

	if (!*v) {
		c->metrics_port = 0;
		return 0;
	}
	if (!colon)
		return err_set(err, "'%.60s' is not an address and a port: write 127.0.0.1:9833", v);
	if (*v == '[' && colon > v && colon[-1] == ']')
		n = snprintf(host, sizeof(host), "%.*s", (int)(colon - v - 2), v + 1);
	else
		n = snprintf(host, sizeof(host), "%.*s", (int)(colon - v), v);
	if (!strcmp(host, "localhost"))
		n = snprintf(host, sizeof(host), "127.0.0.1");
	if (n < 0 || (size_t)n >= sizeof(host) || !is_loopback(host))
		return err_set(err, "'%.60s' is not a loopback address: write 127.0.0.1:PORT or [::1]:PORT", v);
	if (parse_uint(colon + 1, 1, 65535, &port, err) < 0 || replace_string(&c->metrics_host, host, err) < 0)
		return -1;
	c->metrics_port = (uint16_t)port;
	return 0;
}

static const struct conf_key {
	const char *name;
	int (*set)(struct precedent_conf *c, const char *value, struct errbuf *err);
} keys[] = {
    {"Mode", set_mode},
    {"Candidates", set_candidates},
    {"Only", set_only},
    {"Policy", set_policy},
    {"Margin", set_margin},
    {"MinLimit", set_min_limit},
    {"LimitGuard", set_limit_guard},
    {"EndAtAsked", set_end_at_asked},
    {"Message", set_message},
    {"ProbeBudget", set_probe_budget},
    {"ProbeSeconds", set_probe_seconds},
    {"PartialExecution", set_partial},
    {"ProbeAccount", set_probe_account},
    {"ProbeQos", set_probe_qos},
    {"SpoolDir", set_spool_dir},
    {"SpoolQuota", set_spool_quota},
    {"LocalDir", set_local_dir},
    {"ScratchDir", set_scratch_dir},
    {"StateDir", set_state_dir},
    {"Retention", set_retention},
    {"PollInterval", set_poll_interval},
    {"HeartbeatTimeout", set_heartbeat_timeout},
    {"ListenPort", set_listen_port},
    {"ListenHost", set_listen_host},
    {"InstallDir", set_install_dir},
    {"MetricsFile", set_metrics_file},
    {"MetricsListen", set_metrics_listen},
};
#define N_KEYS (sizeof(keys) / sizeof(keys[0]))

static int set_defaults(struct precedent_conf *c, struct errbuf *err)
{
	*c = (struct precedent_conf){
	    .mode = MODE_OBSERVE,
	    .margin = 0.15,
	    .min_limit_min = 5,
	    .probe_budget = 0.01,
	    .probe_seconds = 5,
	    .partial = PARTIAL_OFF,
	    .retention_s = 90ULL * DAY_S,
	    .spool_quota = 20ULL << 30,
	    .poll_interval_s = 10,
	    .heartbeat_timeout_s = 120,
	    .listen_port = 6833,
	};
	if (replace_string(&c->probe_account, "", err) < 0 || replace_string(&c->probe_qos, "", err) < 0 ||
	    replace_string(&c->spool_dir, "/var/spool/precedent", err) < 0 ||
	    replace_string(&c->local_dir, "/tmp", err) < 0 || replace_string(&c->scratch_dir, "", err) < 0 ||
	    replace_string(&c->state_dir, "/var/lib/precedent", err) < 0 ||
	    replace_string(&c->listen_host, "", err) < 0 || replace_string(&c->metrics_file, "", err) < 0 ||
	    replace_string(&c->metrics_host, "127.0.0.1", err) < 0 ||
	    replace_string(&c->install_dir, PRECEDENT_PREFIX, err) < 0)
		return -1;
	return 0;
}

/*
 * Remove the comment and the blanks around the text, and return the text. A '#' inside a value starts a comment
 * only behind a blank.
 */
static char *trim_line(char *line)
{
	char *end;

	for (char *p = line; (p = strchr(p, '#')); p++) {
		if (p == line || isspace((unsigned char)p[-1])) {
			*p = '\0';
			break;
		}
	}
	line += strspn(line, " \t");
	end = line + strlen(line);
	while (end > line && isspace((unsigned char)end[-1]))
		*--end = '\0';
	return line;
}

static int set_key(struct precedent_conf *c, const char *name, const char *value, unsigned *seen,
		   struct errbuf *err)
{
	if (!strncasecmp(name, PARTITION_MODE, strlen(PARTITION_MODE))) {
		if (set_partition_mode(c, name + strlen(PARTITION_MODE), value, err) < 0)
			return err_prefix(err, "%.100s", name);
		return 0;
	}
	if (!strncasecmp(name, PARTIAL, strlen(PARTIAL)))
		return set_candidate_partial(c, name + strlen(PARTIAL), value, err) < 0 ? err_prefix(err, "%.100s", name) : 0;
	if (!strncasecmp(name, COST, strlen(COST)))
		return set_cost(c, name + strlen(COST), value, err) < 0 ? err_prefix(err, "%.100s", name) : 0;
	for (size_t i = 0; i < N_KEYS; i++) {
		if (strcasecmp(name, keys[i].name))
			continue;
		if (*seen & 1u << i)
			return err_set(err, "%s is given twice: keep one", keys[i].name);
		*seen |= 1u << i;
		if (keys[i].set(c, value, err) < 0)
			return err_prefix(err, "%s", keys[i].name);
		return 0;
	}
	return err_set(err, "unknown key '%.60s': correct or remove it, the keys are in precedent.conf(5)",
		       name);
}

static int parse_line(struct precedent_conf *c, char *line, unsigned *seen, struct errbuf *err)
{
	char *text = trim_line(line);
	char *eq;

	if (!*text)
		return 0;
	eq = strchr(text, '=');
	if (!eq || eq == text)
		return err_set(err, "'%.60s' is not key=value", text);
	*eq = '\0';
	return set_key(c, trim_line(text), trim_line(eq + 1), seen, err);
}

static int read_lines(struct precedent_conf *c, FILE *f, const char *path, struct errbuf *err)
{
	unsigned seen = 0, number = 0;
	char *line = NULL;
	size_t cap = 0;
	ssize_t n;
	int rv = -1;

	errno = 0;
	while ((n = getline(&line, &cap, f)) >= 0) {
		number++;
		if (memchr(line, '\0', (size_t)n)) {
			err_set(err, "%s:%u: not a text file", path, number);
			goto out;
		}
		if (parse_line(c, line, &seen, err) < 0) {
			err_prefix(err, "%s:%u", path, number);
			goto out;
		}
	}
	if (ferror(f)) {
		err_set(err, "%s: cannot read: %s", path, strerror(errno));
		goto out;
	}
	rv = 0;
out:
	free(line);
	return rv;
}

static int check_consistency(struct precedent_conf *c, struct errbuf *err)
{
	if (c->heartbeat_timeout_s < 2 * c->poll_interval_s)
		return err_set(err, "%s: HeartbeatTimeout (%u s) must be at least twice PollInterval (%u s)",
			       c->file ? c->file : "defaults", c->heartbeat_timeout_s, c->poll_interval_s);
	if (asprintf(&c->store_file, "%s/precedent.db", c->state_dir) < 0) {
		c->store_file = NULL;
		return err_set(err, "out of memory");
	}
	return 0;
}

const char *conf_path(const char *path)
{
	const char *env = getenv("PRECEDENT_CONF");

	if (path)
		return path;
	return env && *env ? env : CONF_DEFAULT_FILE;
}

int conf_load(const char *path, struct precedent_conf *conf, struct errbuf *err)
{
	const char *name = conf_path(path);
	FILE *f = NULL;

	if (set_defaults(conf, err) < 0)
		goto fail;
	f = fopen(name, "re");
	if (!f && (errno != ENOENT || strcmp(name, CONF_DEFAULT_FILE) || path)) {
		err_set(err, "%s: cannot open: %s", name, strerror(errno));
		goto fail;
	}
	if (f && (replace_string(&conf->file, name, err) < 0 || read_lines(conf, f, name, err) < 0))
		goto fail;
	if (check_consistency(conf, err) < 0)
		goto fail;
	if (f)
		fclose(f);
	return 0;
fail:
	if (f)
		fclose(f);
	conf_free(conf);
	return -1;
}

void conf_free(struct precedent_conf *c)
{
	free(c->file);
	free(c->probe_account);
	free(c->probe_qos);
	free(c->spool_dir);
	free(c->local_dir);
	free(c->scratch_dir);
	free(c->state_dir);
	free(c->store_file);
	free(c->listen_host);
	free(c->metrics_file);
	free(c->metrics_host);
	free(c->install_dir);
	*c = (struct precedent_conf){0};
}

enum precedent_mode conf_mode_for(const struct precedent_conf *c, const char *partition)
{
	for (size_t i = 0; partition && i < c->n_partition_modes; i++) {
		if (!strcmp(c->partition_modes[i].partition, partition))
			return c->partition_modes[i].mode;
	}
	return c->mode;
}

const struct conf_candidate *conf_candidate_find(const struct precedent_conf *c, const char *name)
{
	for (size_t i = 0; i < c->n_candidates; i++) {
		if (!strcmp(c->candidates[i].name, name))
			return &c->candidates[i];
	}
	return NULL;
}

const char *conf_place_at(const struct precedent_conf *c, size_t i, const char *traced)
{
	if (!c->n_candidates)
		return i ? NULL : traced;
	return i < c->n_candidates ? c->candidates[i].name : NULL;
}

const struct conf_candidate *conf_candidate_match(const struct precedent_conf *c, const char *partition,
						  const char *features)
{
	const struct conf_candidate *plain = NULL;
	const char *want = features ? features : "";

	for (size_t i = 0; partition && i < c->n_candidates; i++) {
		const struct conf_candidate *k = &c->candidates[i];

		if (strcmp(k->partition, partition))
			continue;
		if (!strcmp(k->constraint, want))
			return k;
		if (!k->constraint[0])
			plain = k;
	}
	return plain;
}
