/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Fuzzes precedent.conf, slurm.conf, and times as Slurm writes them. A configuration that is accepted has its values in
 * their ranges; a refusal names the file.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/conf.h"
#include "common/duration.h"
#include "predictor/cluster/slurm_conf.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void durations(const uint8_t *data, size_t size)
{
	char *text = strndup((const char *)data, size), back[DURATION_TEXT_MAX];
	uint64_t seconds;
	uint32_t minutes;
	double share;
	struct errbuf e;

	if (!text)
		return;
	duration_parse(text, &seconds, &e);
	if (duration_parse_minutes(text, &minutes, &e) == 0)
		duration_format_minutes(back, sizeof(back), minutes);
	duration_parse_span(text, &seconds, &e);
	if (duration_parse_share(text, 1, &share, &e) == 0 && !(share >= 0 && share <= 1))
		abort();
	free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct precedent_conf c = {0};
	struct slurm_conf slurm;
	struct errbuf e = {""};
	char path[32];
	int fd = memfd_create("conf", 0);

	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		abort();
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (conf_load(path, &c, &e) < 0) {
		if (strncmp(e.text, path, strlen(path)) != 0)
			abort();
	} else if (!isfinite(c.margin) || c.margin < 0 || !isfinite(c.probe_budget) || c.probe_budget < 0 ||
		   !(c.probe_seconds > 0) || !c.spool_dir || !c.listen_host) {
		abort();
	}
	conf_free(&c);
	slurm_conf_load_file(path, &slurm);
	close(fd);
	durations(data, size);
	return 0;
}
