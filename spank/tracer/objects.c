/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Windows and files of the program, as indexes into the rank's definitions: see handles.h. The facts of a window
 * are read from the library, so it does not matter how the window was created.
 */
#include <stdlib.h>
#include <string.h>

#include "spank/tracer/handles.h"
#include "spank/tracer/mpilib.h"
#include "spank/tracer/record.h"
#include "trace/format/event.h"

#define NAME_MAX_BYTES 4095
/* different displacements that are stored per call site; further ones become TRACE_UNDEFINED */
#define SITE_DISPS     1024

static uint8_t *win_live, *file_live;

/* Make room for one more element in the definitions and in the array of live flags. */
static int grow_definitions(void **def, size_t size, uint8_t **live, uint32_t n)
{
	uint8_t *l;
	void *p;

	if (n & (n - 1)) /* the array is full only at powers of two */
		return 0;
	p = realloc(*def, (n ? 2 * (size_t)n : 1) * size);
	if (!p)
		return -1;
	*def = p;
	l = realloc(*live, n ? 2 * (size_t)n : 1);
	if (!l)
		return -1;
	*live = l;
	return 0;
}

/* ---- windows ---- */

static int win_flavour(MPI_Win w)
{
	int *flavour = NULL, found = 0;

	if (mpi.Win_get_attr(w, MPI_WIN_CREATE_FLAVOR, &flavour, &found) != MPI_SUCCESS || !found)
		return TWIN_CREATE;
	return *flavour == MPI_WIN_FLAVOR_ALLOCATE ? TWIN_ALLOCATE :
	       *flavour == MPI_WIN_FLAVOR_SHARED   ? TWIN_SHARED :
	       *flavour == MPI_WIN_FLAVOR_DYNAMIC  ? TWIN_DYNAMIC :
						     TWIN_CREATE;
}

static int64_t win_intern(const struct trace_win *w)
{
	struct trace_win want = *w;
	void *def = handles.win_def;

	want.ordinal = 0;
	for (uint32_t i = 0; i < handles.n_win; i++)
		if (win_live[i] && handles.win_def[i].comm == w->comm && handles.win_def[i].ordinal == want.ordinal) {
			want.ordinal++;
			i = UINT32_MAX; /* search from the start */
		}
	for (uint32_t i = 0; i < handles.n_win; i++) {
		const struct trace_win *d = &handles.win_def[i];

		if (!win_live[i] && d->kind == want.kind && d->comm == want.comm && d->ordinal == want.ordinal &&
		    d->size == want.size && d->disp_unit == want.disp_unit) {
			win_live[i] = 1;
			return i;
		}
	}
	if (grow_definitions(&def, sizeof(*handles.win_def), &win_live, handles.n_win) < 0)
		return TRACE_NULL;
	handles.win_def = def;
	handles.win_def[handles.n_win] = want;
	win_live[handles.n_win] = 1;
	return handles.n_win++;
}

int64_t win_define(MPI_Win h, int64_t comm)
{
	struct trace_win w = {.disp_unit = 1};
	MPI_Aint *size = NULL;
	MPI_Group g;
	int *unit = NULL, found = 0;
	int64_t index;

	if (h == MPI_WIN_NULL)
		return TRACE_NULL;
	if (comm < 0 && mpi.Win_get_group(h, &g) == MPI_SUCCESS)
		comm = comm_of_group(g);
	if (comm < 0)
		return TRACE_NULL;
	w.comm = (uint32_t)comm;
	w.kind = (uint8_t)win_flavour(h);
	if (mpi.Win_get_attr(h, MPI_WIN_SIZE, &size, &found) == MPI_SUCCESS && found && w.kind != TWIN_DYNAMIC)
		w.size = (uint64_t)*size;
	if (mpi.Win_get_attr(h, MPI_WIN_DISP_UNIT, &unit, &found) == MPI_SUCCESS && found && *unit > 0)
		w.disp_unit = (uint32_t)*unit;
	index = win_intern(&w);
	win_put_back(h, index);
	return index;
}

int64_t win_take(MPI_Win w)
{
	int64_t index = rec_known(&handles.win, HANDLE_KEY(w));

	hmap_take(&handles.win, HANDLE_KEY(w));
	return index;
}

void win_put_back(MPI_Win w, int64_t index)
{
	if (index >= 0)
		hmap_put(&handles.win, HANDLE_KEY(w), (int32_t)index);
	if (index >= 0 && index < SPILL_OBJECTS_MAX)
		rec.live->win[index] = HANDLE_KEY(w);
}

void win_release(int64_t index)
{
	if (index >= 0)
		win_live[index] = 0;
	if (index >= 0 && index < SPILL_OBJECTS_MAX)
		rec.live->win[index] = 0;
}

/* ---- files ---- */

static int32_t file_mode(MPI_File f)
{
	const struct {
		int mpi, ours;
	} bit[] = {{MPI_MODE_RDONLY, TFILE_RDONLY}, {MPI_MODE_WRONLY, TFILE_WRONLY}, {MPI_MODE_RDWR, TFILE_RDWR},
		   {MPI_MODE_CREATE, TFILE_CREATE}, {MPI_MODE_EXCL, TFILE_EXCL},
		   {MPI_MODE_DELETE_ON_CLOSE, TFILE_DELETE}, {MPI_MODE_UNIQUE_OPEN, TFILE_UNIQUE},
		   {MPI_MODE_SEQUENTIAL, TFILE_SEQUENTIAL}, {MPI_MODE_APPEND, TFILE_APPEND}};
	int mode = 0;
	int32_t m = 0;

	if (mpi.File_get_amode(f, &mode) != MPI_SUCCESS)
		return 0;
	for (size_t i = 0; i < sizeof(bit) / sizeof(*bit); i++)
		m |= mode & bit[i].mpi ? bit[i].ours : 0;
	return m;
}

/* Takes ownership of the name. */
static int64_t file_intern(struct trace_file *f)
{
	void *def = handles.file_def;

	for (uint32_t i = 0; i < handles.n_file; i++)
		if (file_live[i] && handles.file_def[i].comm == f->comm && handles.file_def[i].ordinal == f->ordinal) {
			f->ordinal++;
			i = UINT32_MAX; /* search from the start */
		}
	for (uint32_t i = 0; i < handles.n_file; i++) {
		const struct trace_file *d = &handles.file_def[i];

		if (!file_live[i] && d->comm == f->comm && d->ordinal == f->ordinal && d->amode == f->amode &&
		    !strcmp(d->name, f->name)) {
			free(f->name);
			file_live[i] = 1;
			return i;
		}
	}
	if (grow_definitions(&def, sizeof(*handles.file_def), &file_live, handles.n_file) < 0) {
		free(f->name);
		return TRACE_NULL;
	}
	handles.file_def = def;
	handles.file_def[handles.n_file] = *f;
	file_live[handles.n_file] = 1;
	return handles.n_file++;
}

int64_t file_define(MPI_File h, int64_t comm, const char *name, int64_t len)
{
	struct trace_file f = {0};
	MPI_Group g;
	int64_t index;

	if (h == MPI_FILE_NULL)
		return TRACE_NULL;
	if (comm < 0 && mpi.File_get_group(h, &g) == MPI_SUCCESS)
		comm = comm_of_group(g);
	if (comm < 0)
		return TRACE_NULL;
	len = len < 0 ? (int64_t)strnlen(name, NAME_MAX_BYTES) : len;
	while (len > 0 && name[len - 1] == ' ') /* Fortran pads with blanks */
		len--;
	f.comm = (uint32_t)comm;
	f.amode = file_mode(h);
	f.name = strndup(name, len > NAME_MAX_BYTES ? NAME_MAX_BYTES : (size_t)len);
	if (!f.name)
		return TRACE_NULL;
	index = file_intern(&f);
	file_put_back(h, index);
	return index;
}

int64_t file_take(MPI_File f)
{
	int64_t index = rec_known(&handles.file, HANDLE_KEY(f));

	hmap_take(&handles.file, HANDLE_KEY(f));
	return index;
}

void file_put_back(MPI_File f, int64_t index)
{
	if (index >= 0)
		hmap_put(&handles.file, HANDLE_KEY(f), (int32_t)index);
	if (index >= 0 && index < SPILL_OBJECTS_MAX)
		rec.live->file[index] = HANDLE_KEY(f);
}

void file_release(int64_t index)
{
	if (index >= 0)
		file_live[index] = 0;
	if (index >= 0 && index < SPILL_OBJECTS_MAX)
		rec.live->file[index] = 0;
}

/* ---- displacements ---- */

/* A program that always writes to new offsets would give each call its own signature. So a call site keeps its
 * first displacements, and TRACE_UNDEFINED stands for all others. */
int64_t disp_of_site(uint32_t site, int64_t disp)
{
	static struct hmap seen;
	static uint16_t *n_of;
	static uint32_t cap;
	uint64_t key = ((uint64_t)disp ^ ((uint64_t)site << 40)) * 0x9fb21c651e98df25ull;

	key = (key ^ (key >> 29)) | 1;
	if (hmap_get(&seen, key) >= 0)
		return disp;
	if (site >= cap) {
		uint32_t want = (site + 16) * 2;
		uint16_t *p = realloc(n_of, want * sizeof(*p));

		if (!p)
			return TRACE_UNDEFINED;
		memset(p + cap, 0, (want - cap) * sizeof(*p));
		n_of = p;
		cap = want;
	}
	if (n_of[site] >= SITE_DISPS || hmap_put(&seen, key, 0) < 0)
		return TRACE_UNDEFINED;
	n_of[site]++;
	return disp;
}

/* ---- groups ---- */

void win_group_find(struct rec_thread *t, MPI_Group g, MPI_Win w)
{
	int size = 0, *rank, *given;
	MPI_Group all;

	t->group = NULL;
	if (g == MPI_GROUP_NULL || mpi.Group_size(g, &size) != MPI_SUCCESS)
		return;
	rank = rec_scratch(t, 0, 2 * ((size_t)size + 1) * sizeof(*rank));
	if (!rank || mpi.Win_get_group(w, &all) != MPI_SUCCESS)
		return;
	given = rank + size;
	for (int i = 0; i < size; i++)
		given[i] = i;
	t->n_group = size;
	if (mpi.Group_translate_ranks(g, size, given, all, rank) == MPI_SUCCESS)
		t->group = rank;
	mpi.Group_free(&all);
}

/* Set the bits of all members. Returns false if the trace has no room for a member. */
static bool store_group(const int *rank, int size)
{
	const struct spill *s = &rec.pages.spill;

	memset(s->group, 0, (s->header->world_size + 7) / 8);
	for (int i = 0; i < size; i++) {
		if (rank[i] < 0 || rank[i] >= (int)s->header->world_size)
			return false;
		s->group[rank[i] / 8] |= (uint8_t)(1u << rank[i] % 8);
	}
	return true;
}

void win_group_before(struct rec_thread *t, MPI_Group g, MPI_Win w)
{
	struct spill_live *live = rec.live;
	bool known;

	live->n_group = 0;
	t->group = NULL;
	if (rec.locking)
		rec_lock();
	known = rec_known(&handles.win, HANDLE_KEY(w)) >= 0;
	if (rec.locking)
		rec_unlock();
	/* A wrong handle is for the program's own call to report: its window may have an error handler. */
	if (known)
		win_group_find(t, g, w);
	if (t->group && live == rec.pages.spill.live && store_group(t->group, t->n_group))
		live->n_group = (uint64_t)t->n_group;
}
