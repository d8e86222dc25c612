/* SPDX-License-Identifier: GPL-2.0-or-later */
/* OTF2 archives, through libotf2: see export.h. Ranks are written one after the other, definitions at the end. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "trace/export/export_otf2_writer.h"

#define CHUNK_EVENTS (1u << 20)
#define CHUNK_DEFS   (4u << 20)

int otf2_check(OTF2_ErrorCode rc, const char *what, struct errbuf *err)
{
	return rc == OTF2_SUCCESS ? 0 : err_set(err, "OTF2: %s: %s", what, OTF2_Error_GetDescription(rc));
}

/* Keeps the library from printing: errors are returned. */
static OTF2_ErrorCode silent(void *arg, const char *file, uint64_t line, const char *function, OTF2_ErrorCode code,
			     const char *format, va_list ap)
{
	(void)arg, (void)file, (void)line, (void)function, (void)format, (void)ap;
	return code;
}

static OTF2_FlushType pre_flush(void *arg, OTF2_FileType type, OTF2_LocationRef location, void *caller, bool final)
{
	(void)arg, (void)type, (void)location, (void)caller, (void)final;
	return OTF2_FLUSH;
}

/* Is this the name of a file of an archive of ours, below its directory or below `traces` in it? */
static bool is_ours(const char *name, bool below)
{
	const char *dot = strrchr(name, '.');

	if (below)
		return dot && (!strcmp(dot, ".evt") || !strcmp(dot, ".def")) && strspn(name, "0123456789") == (size_t)(dot - name);
	return !strcmp(name, "traces.otf2") || !strcmp(name, "traces.def") || !strcmp(name, "traces");
}

/* Count the entries of the directory, and of `traces` in it, that are no part of an archive. to_remove: remove the archive, and
 * also count what could not be removed. Returns -1 if the directory cannot be opened. */
static int look_at(int at, const char *dir, bool below, bool to_remove)
{
	int fd = openat(at, dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC | (below ? O_NOFOLLOW : 0)), n = 0;
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *e;

	if (!d) {
		if (fd >= 0)
			close(fd);
		return -1;
	}
	while ((e = readdir(d))) {
		if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, ".."))
			continue;
		if (!is_ours(e->d_name, below))
			n++;
		else if (!below && !strcmp(e->d_name, "traces"))
			n += look_at(fd, e->d_name, true, to_remove) != 0 || (to_remove && unlinkat(fd, e->d_name, AT_REMOVEDIR) < 0);
		else if (to_remove)
			n += unlinkat(fd, e->d_name, 0) < 0;
	}
	closedir(d);
	return n;
}

/* Make the directory. An archive of an earlier export in it is replaced, as files of the other formats are. */
static int make_dir(const char *dir, struct errbuf *err)
{
	int n;

	if (mkdir(dir, 0777) == 0)
		return 0;
	if (errno != EEXIST)
		return err_set(err, "%s: cannot create: %s", dir, strerror(errno));
	n = look_at(AT_FDCWD, dir, false, false);
	if (n < 0)
		return err_set(err, "%s: cannot open: %s", dir, strerror(errno));
	if (n > 0)
		return err_set(err, "%s: is not empty; only an empty directory or an OTF2 archive of an export is replaced", dir);
	return look_at(AT_FDCWD, dir, false, true) ? err_set(err, "%s: the archive there cannot be removed", dir) : 0;
}

static int open_archive(struct otf2 *o, const char *dir, struct errbuf *err)
{
	static const OTF2_FlushCallbacks flush = {.otf2_pre_flush = pre_flush};

	o->archive = OTF2_Archive_Open(dir, "traces", OTF2_FILEMODE_WRITE, CHUNK_EVENTS, CHUNK_DEFS, OTF2_SUBSTRATE_POSIX,
				       OTF2_COMPRESSION_NONE);
	if (!o->archive)
		return err_set(err, "%s: OTF2 cannot create the archive", dir);
	if (otf2_check(OTF2_Archive_SetFlushCallbacks(o->archive, &flush, NULL), dir, err) < 0 ||
	    otf2_check(OTF2_Archive_SetSerialCollectiveCallbacks(o->archive), dir, err) < 0 ||
	    otf2_check(OTF2_Archive_SetCreator(o->archive, "precedent " PRECEDENT_VERSION), dir, err) < 0)
		return -1;
	return 0;
}

static int write_events(struct otf2 *o, struct errbuf *err)
{
	if (otf2_check(OTF2_Archive_OpenEvtFiles(o->archive), "event files", err) < 0)
		return -1;
	if (trace_is_imported(o->x.t) && otf2_write_imported(o, err) < 0)
		return -1;
	for (uint32_t r = 0; !trace_is_imported(o->x.t) && r < trace_n_ranks(o->x.t); r++)
		if (otf2_write_rank(o, r, err) < 0)
			return -1;
	return otf2_check(OTF2_Archive_CloseEvtFiles(o->archive), "event files", err);
}

/* Every location needs a file of local definitions; all our definitions are global. */
static int write_local_definitions(struct otf2 *o, struct errbuf *err)
{
	if (otf2_check(OTF2_Archive_OpenDefFiles(o->archive), "definition files", err) < 0)
		return -1;
	for (uint32_t r = 0; r < trace_n_ranks(o->x.t); r++) {
		OTF2_DefWriter *w = OTF2_Archive_GetDefWriter(o->archive, r);

		if (!w)
			return err_set(err, "OTF2: no definition writer for rank %u", r);
		if (otf2_check(OTF2_Archive_CloseDefWriter(o->archive, w), "definition writer", err) < 0)
			return -1;
	}
	return otf2_check(OTF2_Archive_CloseDefFiles(o->archive), "definition files", err);
}

int export_otf2(const struct trace *t, const char *dir, const struct export_options *opts, struct export_report *report,
		struct errbuf *err)
{
	struct otf2 o = {0};
	int rv = -1;

	OTF2_Error_RegisterCallback(silent, NULL);
	if (export_begin(&o.x, t, opts, report, err) < 0)
		goto out;
	o.n_events = calloc(trace_n_ranks(t), sizeof(*o.n_events));
	if (!o.n_events) {
		err_set(err, "no memory");
		goto out;
	}
	if (make_dir(dir, err) < 0 || (!trace_is_imported(t) && otf2_received_collect(&o, err) < 0) ||
	    open_archive(&o, dir, err) < 0 || write_events(&o, err) < 0 || write_local_definitions(&o, err) < 0 ||
	    otf2_write_definitions(&o, err) < 0)
		goto out;
	rv = 0;
out:
	if (o.archive && OTF2_Archive_Close(o.archive) != OTF2_SUCCESS && rv == 0)
		rv = err_set(err, "%s: the archive cannot be completed; is the disk full?", dir);
	otf2_definitions_free(&o);
	otf2_received_free(&o);
	free(o.n_events);
	export_end(&o.x);
	return rv;
}
