/* SPDX-License-Identifier: GPL-2.0-or-later */
/* SlurmUser and the MUNGE socket from slurm.conf: see slurm_conf.h. */
#include <ctype.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "predictor/cluster/slurm_conf.h"

/* The value of `key` when the line sets it, up to a blank or comment; NULL otherwise. */
static const char *line_value(char *line, const char *key)
{
	size_t n = strlen(key);

	while (isspace((unsigned char)*line))
		line++;
	if (strncasecmp(line, key, n))
		return NULL;
	line += n;
	while (*line == ' ' || *line == '\t')
		line++;
	if (*line++ != '=')
		return NULL;
	while (*line == ' ' || *line == '\t')
		line++;
	line[strcspn(line, " \t\r\n#")] = '\0';
	return line;
}

static void auth_info(const char *value, struct slurm_conf *conf)
{
	const char *socket = strstr(value, "socket=");

	if (!socket)
		return;
	socket += strlen("socket=");
	snprintf(conf->munge_socket, sizeof(conf->munge_socket), "%.*s", (int)strcspn(socket, ","), socket);
}

/* "name" or "name(address)", and backup controllers behind a comma. */
static void ctld_host(const char *value, struct slurm_conf *conf)
{
	const char *open = strchr(value, '(');
	size_t n = strcspn(value, ",(");

	if (open && open == value + n) {
		value = open + 1;
		n = strcspn(value, ")");
	}
	if (n && !*conf->ctld_host)
		snprintf(conf->ctld_host, sizeof(conf->ctld_host), "%.*s", (int)n, value);
}

void slurm_conf_load_file(const char *path, struct slurm_conf *conf)
{
	FILE *f = path ? fopen(path, "re") : NULL;
	static const char *const hosts[] = {"SlurmctldHost", "ControlAddr", "ControlMachine"};
	char line[4096], copy[4096], third[4096];
	const char *value;
	struct passwd *pw;

	memset(conf, 0, sizeof(*conf));
	snprintf(conf->slurm_user, sizeof(conf->slurm_user), f ? "root" : "slurm");
	while (f && fgets(line, sizeof(line), f)) {
		memcpy(copy, line, sizeof(copy));
		for (size_t i = 0; i < sizeof(hosts) / sizeof(hosts[0]); i++) {
			memcpy(third, copy, sizeof(third));
			value = line_value(third, hosts[i]);
			if (value)
				ctld_host(value, conf);
		}
		value = line_value(line, "SlurmUser");
		if (value && *value)
			snprintf(conf->slurm_user, sizeof(conf->slurm_user), "%.*s", (int)strcspn(value, "("), value);
		value = line_value(copy, "AuthInfo");
		if (value)
			auth_info(value, conf);
	}
	if (f)
		fclose(f);
	if (!*conf->ctld_host)
		snprintf(conf->ctld_host, sizeof(conf->ctld_host), "localhost");
	pw = getpwnam(conf->slurm_user);
	conf->slurm_uid = pw ? pw->pw_uid : (uid_t)-1;
	if (!pw && isdigit((unsigned char)conf->slurm_user[0]))
		conf->slurm_uid = (uid_t)strtoul(conf->slurm_user, NULL, 10);
}

const char *slurm_conf_daemon_host(const struct slurm_conf *site, const struct precedent_conf *conf)
{
	return *conf->listen_host ? conf->listen_host : site->ctld_host;
}

const char *slurm_conf_path(void)
{
	static const char *const places[] = {"/etc/slurm/slurm.conf", "/etc/slurm-llnl/slurm.conf",
					     "/run/slurm/conf/slurm.conf", "/usr/local/etc/slurm.conf"};
	const char *path = getenv("SLURM_CONF");

	if (path && *path)
		return path;
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++)
		if (access(places[i], R_OK) == 0)
			return places[i];
	return NULL;
}

void slurm_conf_load(struct slurm_conf *conf)
{
	slurm_conf_load_file(slurm_conf_path(), conf);
}
