/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Submits many held batch jobs, one after the other, through slurmctld's own interface: what sbatch does without starting a
 * process for each, so that slurmctld is what is measured. Prints the microseconds of each, one a line, in order, and behind
 * "cpu" the microseconds of processor time that this program took for all of them.
 *
 *   submit_jobs COUNT [FIRST [NAME=VALUE [COMMENT]]]    jobs whose arguments are FIRST, FIRST + 1, ...
 *   submit_jobs - [FIRST [NAME=VALUE [COMMENT]]]        as many as each line of the input says, until it ends
 *
 * NAME=VALUE stands in the SPANK environment, COMMENT is the admin_comment (of root's jobs).
 */
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <slurm/slurm.h>
#include <slurm/slurm_errno.h>

extern char **environ;

#define BURST_MAX 100000 /* jobs that one line asks for */

/* A script of usual length. */
static char script[] = "#!/bin/bash\n"
		       "#SBATCH --job-name=melt\n#SBATCH -N 2\n#SBATCH -n 2\n#SBATCH -t 01:00:00\n"
		       "module purge\nmodule load gcc/12.2 openmpi/4.1.4 lammps/2023\n"
		       "set -euo pipefail\nexport OMP_NUM_THREADS=1   # no threads\n"
		       "cd \"$SLURM_SUBMIT_DIR\"\n"
		       "cat > in.melt <<EOF\nunits lj\natom_style atomic\nlattice fcc 0.8442\n"
		       "region box block 0 20 0 20 0 20\ncreate_box 1 box\ncreate_atoms 1 box\nmass 1 1.0\nrun 1000\nEOF\n"
		       "srun lmp -in in.melt -var steps \"$1\" -log none\n"
		       "echo \"done: $(date)\"\n";

static double now_us(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec * 1e6 + (double)ts.tv_nsec / 1e3;
}

static double cpu_us(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return (double)ts.tv_sec * 1e6 + (double)ts.tv_nsec / 1e3;
}

static int submit(unsigned long number, const char *fingerprint, char *comment, char *dir)
{
	char argument[32], variable[256], *argv[] = {"melt.sh", argument}, *spank[] = {variable};
	submit_response_msg_t *answer = NULL;
	job_desc_msg_t d;

	snprintf(argument, sizeof(argument), "%lu", number);
	slurm_init_job_desc_msg(&d);
	d.user_id = getuid();
	d.group_id = getgid();
	d.name = "melt";
	d.script = script;
	d.work_dir = dir;
	d.admin_comment = comment;
	d.std_in = d.std_out = d.std_err = "/dev/null";
	d.min_nodes = d.max_nodes = 2;
	d.num_tasks = d.min_cpus = 2;
	d.time_limit = 60;
	d.priority = 0;
	d.argc = 2;
	d.argv = argv;
	d.environment = environ;
	for (d.env_size = 0; environ[d.env_size]; d.env_size++)
		;
	if (fingerprint) {
		snprintf(variable, sizeof(variable), "%s", fingerprint);
		d.spank_job_env = spank;
		d.spank_job_env_size = 1;
	}
	if (slurm_submit_batch_job(&d, &answer) != SLURM_SUCCESS)
		return -1;
	slurm_free_submit_response_response_msg(answer);
	return 0;
}

/* 0, or -1 when a job was refused. took: room for count. */
static int burst(unsigned long count, unsigned long first, const char *fingerprint, char *comment, char *dir, double *took)
{
	double cpu = cpu_us();

	for (unsigned long i = 0; i < count; i++) {
		double begin = now_us();

		if (submit(first + i, fingerprint, comment, dir) < 0) {
			fprintf(stderr, "submit_jobs: job %lu: %s\n", i, slurm_strerror(errno));
			return -1;
		}
		took[i] = now_us() - begin;
	}
	cpu = cpu_us() - cpu;
	for (unsigned long i = 0; i < count; i++)
		printf("%.1f\n", took[i]);
	printf("cpu %.1f\n", cpu);
	fflush(stdout);
	return 0;
}

int main(int argc, char **argv)
{
	bool serve = argc > 1 && !strcmp(argv[1], "-");
	unsigned long count = argc > 1 ? strtoul(argv[1], NULL, 10) : 0, first = argc > 2 ? strtoul(argv[2], NULL, 10) : 0;
	const char *fingerprint = argc > 3 ? argv[3] : NULL;
	char dir[4096], line[32], *comment = argc > 4 ? argv[4] : NULL;
	double *took = calloc(serve ? BURST_MAX : count + 1, sizeof(*took));
	int rc = 0;

	if ((!count && !serve) || argc > 5 || !took || !getcwd(dir, sizeof(dir))) {
		fprintf(stderr, "usage: submit_jobs COUNT|- [FIRST [NAME=VALUE [COMMENT]]]\n");
		free(took);
		return 2;
	}
	slurm_init(NULL);
	if (!serve)
		rc = burst(count, first, fingerprint, comment, dir, took);
	while (serve && !rc && fgets(line, sizeof(line), stdin)) {
		count = strtoul(line, NULL, 10);
		rc = count > BURST_MAX ? -1 : burst(count, first, fingerprint, comment, dir, took);
		first += count;
	}
	slurm_fini();
	free(took);
	return rc ? 1 : 0;
}
