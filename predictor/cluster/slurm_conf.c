/* SPDX-License-Identifier: GPL-2.0-or-later */
/* SlurmUser and the MUNGE socket from slurm.conf: see slurm_conf.h. */
#include <ctype.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

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

void slurm_conf_load_file(const char *path, struct slurm_conf *conf)
{
	FILE *f = path ? fopen(path, "re") : NULL;
	char line[4096], copy[4096];
	const char *value;
	struct passwd *pw;

	memset(conf, 0, sizeof(*conf));
	snprintf(conf->slurm_user, sizeof(conf->slurm_user), f ? "root" : "slurm");
	while (f && fgets(line, sizeof(line), f)) {
		memcpy(copy, line, sizeof(copy));
		value = line_value(line, "SlurmUser");
		if (value && *value)
			snprintf(conf->slurm_user, sizeof(conf->slurm_user), "%.*s", (int)strcspn(value, "("), value);
		value = line_value(copy, "AuthInfo");
		if (value)
			auth_info(value, conf);
	}
	if (f)
		fclose(f);
	pw = getpwnam(conf->slurm_user);
	conf->slurm_uid = pw ? pw->pw_uid : (uid_t)-1;
	if (!pw && isdigit((unsigned char)conf->slurm_user[0]))
		conf->slurm_uid = (uid_t)strtoul(conf->slurm_user, NULL, 10);
}

void slurm_conf_load(struct slurm_conf *conf)
{
	static const char *const places[] = {"/etc/slurm/slurm.conf", "/etc/slurm-llnl/slurm.conf",
					     "/run/slurm/conf/slurm.conf", "/usr/local/etc/slurm.conf"};
	const char *path = getenv("SLURM_CONF");
	FILE *f;

	if (path && *path) {
		slurm_conf_load_file(path, conf);
		return;
	}
	path = NULL;
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]) && !path; i++) {
		f = fopen(places[i], "re");
		if (f) {
			fclose(f);
			path = places[i];
		}
	}
	slurm_conf_load_file(path, conf);
}
