/* SPDX-License-Identifier: GPL-2.0-or-later */
/* precedent doctor: directories and files that daemons, nodes and users share. */
#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#include "cli/admin/doctor.h"
#include "cli/admin/doctor_limits.h"
#include "cli/admin/doctor_tracing.h"
#include "cli/admin/scratch_left.h"
#include "common/inject.h"
#include "predictor/spool/spool.h"
#include "predictor/store/store.h"

#define SCRATCH_OLD_S 86400 /* no probe runs as long */
#define GROUPS_MAX    256

/* Root, SlurmUser and the user of the doctor. */
static bool owner_is_trusted(const struct doctor *d, uid_t uid)
{
	return uid == 0 || uid == d->site.slurm_uid || uid == geteuid();
}

/* Daemons and nodes do what it says. */
static void check_conf_file(struct doctor *d)
{
	const char *file = d->conf.file;
	struct stat st;

	if (!file || stat(file, &st) < 0)
		return;
	if (!owner_is_trusted(d, st.st_uid))
		finding_add(d, FAIL, "conf_file", "%s belongs to uid %u, who can change what root does on nodes" TO_DO "chown root %s", file,
			    st.st_uid, file);
	else if (st.st_mode & 022)
		finding_add(d, FAIL, "conf_file", "others may write to %s (mode %04o), and change what root does on nodes" TO_DO "chmod 0644 %s",
			    file, st.st_mode & 07777, file);
	else
		finding_add(d, OK, "conf_file", "only its owner may write to %s", file);
}

/* Nodes load the tracer from there, and probes run the command. */
static void check_install_dir(struct doctor *d)
{
	char program[4200];
	struct errbuf err;

	snprintf(program, sizeof(program), "%s/bin/precedent", d->conf.install_dir);
	if (inject_check_library(d->tracer, &err) < 0)
		finding_add(d, FAIL, "install_dir", "InstallDir %s: no job is traced on this node: %s" TO_DO
			    "set InstallDir to the prefix of the installation on the nodes", d->conf.install_dir, err.text);
	else if (access(program, X_OK) < 0)
		finding_add(d, FAIL, "install_dir", "InstallDir %s: probes cannot run %s: %s" TO_DO
			    "set InstallDir to the prefix of the installation on the nodes", d->conf.install_dir, program, strerror(errno));
	else
		finding_add(d, OK, "install_dir", "%s", d->conf.install_dir);
}

/* Where ranks record. Other hosts need no such directory. */
static void check_local_dir(struct doctor *d)
{
	const char *dir = d->conf.local_dir;
	struct stat st;

	if (!*dir || !d->is_node)
		return;
	if (stat(dir, &st) < 0)
		finding_add(d, FAIL, "local_dir", "LocalDir %s: %s: jobs on this node are not traced" TO_DO "create it as root, mode 1777, on every node",
			    dir, strerror(errno));
	else if (!S_ISDIR(st.st_mode) || st.st_uid != 0 || ((st.st_mode & 022) && !(st.st_mode & S_ISVTX)))
		finding_add(d, FAIL, "local_dir", "LocalDir %s must be a directory of root, with the sticky bit if others may write "
			    "(is uid %u, mode %04o): jobs on this node are not traced" TO_DO "chown root and chmod 1777", dir, st.st_uid,
			    st.st_mode & 07777);
	else
		finding_add(d, OK, "local_dir", "%s", dir);
}

/* Where probes put the files of programs that use MPI-IO. */
static void check_scratch(struct doctor *d)
{
	const char *dir = d->conf.scratch_dir;
	struct stat st;
	double bytes;
	unsigned left;

	if (!*dir)
		return;
	if (stat(dir, &st) < 0)
		return finding_add(d, FAIL, "scratch", "ScratchDir %s: %s: in probes, calls on files are delays" TO_DO
				   "create it, mode 1777, or take ScratchDir out", dir, strerror(errno));
	if (!S_ISDIR(st.st_mode))
		return finding_add(d, FAIL, "scratch", "ScratchDir %s: not a directory: in probes, calls on files are delays" TO_DO
				   "name a directory", dir);
	if (!(st.st_mode & S_IWOTH))
		return finding_add(d, WARN, "scratch", "ScratchDir %s: users cannot make files there (mode %04o)" TO_DO "chmod 1777", dir,
				   st.st_mode & 07777);
	if (!(st.st_mode & S_ISVTX))
		return finding_add(d, WARN, "scratch", "ScratchDir %s: users can remove each other's files (mode %04o)" TO_DO "chmod +t", dir,
				   st.st_mode & 07777);
	left = scratch_left(dir, SCRATCH_OLD_S, &bytes);
	if (left)
		finding_add(d, WARN, "scratch", "%u files of probes that were killed, %.3g MiB" TO_DO
			    "find %s -name '" SCRATCH_PATTERN "' -mtime +0 -delete", left, bytes / 1048576, dir);
	else
		finding_add(d, OK, "scratch", "%s", dir);
}

/* precedentd reads the directories of users by the group that they inherit from the spool. */
static bool group_is_slurms(const struct doctor *d, gid_t gid)
{
	gid_t groups[GROUPS_MAX];
	int n = GROUPS_MAX;
	const struct passwd *pw = getpwuid(d->site.slurm_uid);

	if (!pw || d->site.slurm_uid == 0)
		return true;
	if (getgrouplist(pw->pw_name, pw->pw_gid, groups, &n) < 0)
		return true;
	for (int i = 0; i < n; i++)
		if (groups[i] == gid)
			return true;
	return false;
}

/* Returns whether owner and mode are right. */
static bool check_spool_mode(struct doctor *d, const char *dir, const struct stat *st)
{
	if (!S_ISDIR(st->st_mode) || st->st_uid != 0 || (st->st_mode & 022))
		finding_add(d, FAIL, "spool", "%s: must be a directory of root that only root can write to (is uid %u, mode %04o)" TO_DO
			    "chown root and chmod 0755", dir, st->st_uid, st->st_mode & 07777);
	else if ((st->st_mode & 011) != 011)
		finding_add(d, FAIL, "spool", "%s: users and precedentd cannot enter it (mode %04o)" TO_DO "chmod 0755 %s", dir, st->st_mode & 07777, dir);
	else if (!group_is_slurms(d, st->st_gid))
		finding_add(d, FAIL, "spool", "%s: precedentd (%s) cannot read traces there: the group is %u" TO_DO "give it a group of %s: chgrp",
			    dir, d->site.slurm_user, st->st_gid, d->site.slurm_user);
	else
		return true;
	return false;
}

static void check_spool(struct doctor *d)
{
	const char *dir = d->conf.spool_dir;
	struct statvfs vfs;
	struct errbuf why;
	struct stat st;

	if (stat(dir, &st) < 0)
		return finding_add(d, FAIL, "spool", "%s: %s" TO_DO "create it as root, group of SlurmUser, mode 0755, on a file system that all "
				   "nodes share", dir, strerror(errno));
	if (!check_spool_mode(d, dir, &st))
		return;
	if (spool_is_full(dir, &why))
		return finding_add(d, FAIL, "spool", "%s: no job can be traced" TO_DO "make room, or mount it for writing", why.text);
	if (statvfs(dir, &vfs) == 0 && vfs.f_bavail < vfs.f_blocks / 50)
		return finding_add(d, WARN, "spool", "%s: only %.1f %% of the file system is free: traces may be lost" TO_DO "make room", dir,
				   100.0 * (double)vfs.f_bavail / (double)vfs.f_blocks);
	finding_add(d, OK, "spool", "%s", dir);
}

/* Are there jobs that failed because they were traced? */
static void check_tracing(struct doctor *d, struct store *s)
{
	static const enum verdict verdicts[] = {[TRACING_FINE] = OK, [TRACING_DOUBT] = WARN, [TRACING_BROKEN] = FAIL};
	char text[1000];

	finding_add(d, verdicts[tracing_report(s, time(NULL), text, sizeof(text))], "tracing", "%s", text);
}

/* Do shortened jobs get what their users asked for? */
static void check_shortened(struct doctor *d, struct store *s)
{
	static const enum verdict verdicts[] = {[LIMITS_FINE] = OK, [LIMITS_DOUBT] = WARN, [LIMITS_BROKEN] = FAIL};
	enum limits_verdict v;
	char text[1500];

	finding_add(d, verdicts[limits_report(s, text, sizeof(text))], "shortened_jobs", "%s", text);
	if (!conf_limits(&d->conf))
		return;
	v = limits_report_rules(s, text, sizeof(text));
	if (*text)
		finding_add(d, verdicts[v], "limit_rules", "%s", text);
}

/* precedentd and slurmctld open the store as SlurmUser. Returns whether they can. */
static bool check_store_owner(struct doctor *d)
{
	static const char *const ends[] = {"", "-wal", "-shm"};
	char path[4096];
	struct stat st;

	if (d->site.slurm_uid == (uid_t)-1 || d->site.slurm_uid == 0)
		return true;
	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
		snprintf(path, sizeof(path), "%s%s", d->conf.store_file, ends[i]);
		if (stat(path, &st) < 0 || st.st_uid == d->site.slurm_uid)
			continue;
		finding_add(d, FAIL, "store", "%s belongs to uid %u: precedentd (%s) cannot write to it" TO_DO "chown -R %s: %s", path, st.st_uid,
			    d->site.slurm_user, d->site.slurm_user, d->conf.state_dir);
		return false;
	}
	return true;
}

static void check_store(struct doctor *d)
{
	struct store *s = NULL;
	struct errbuf err;

	if (access(d->conf.state_dir, R_OK | X_OK) < 0 && errno == EACCES)
		return finding_add(d, OK, "store", "%s is not readable by you, as it should be", d->conf.state_dir);
	if (!check_store_owner(d))
		return;
	if (store_open(d->conf.store_file, STORE_READ | STORE_WAIT, &s, &err) < 0)
		return finding_add(d, store_last_fault() == STORE_MISSING ? WARN : FAIL, "store", "%s" TO_DO
				   "on the host of precedentd: systemctl status precedentd; BACKUP in precedentd(8)", err.text);
	if (store_check(s, &err) < 0) {
		finding_add(d, FAIL, "store", "%s" TO_DO "restore a backup: BACKUP in precedentd(8)", err.text);
	} else {
		finding_add(d, OK, "store", "%s is sound", d->conf.store_file);
		check_tracing(d, s);
		check_shortened(d, s);
	}
	store_close(s);
}

void doctor_check_files(struct doctor *d)
{
	check_scratch(d);
	if (!d->slurm)
		return;
	check_conf_file(d);
	check_install_dir(d);
	check_local_dir(d);
	check_spool(d);
	check_store(d);
}
