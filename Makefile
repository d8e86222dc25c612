# Precedent: build, test, install.
#
#   make                 build everything into build/
#   make check           every test, on a cluster that it boots itself (installs what is missing)
#   make unit            the unit tests alone
#   make check-systems   build, and main tests on other Debian releases (SYSTEMS="trixie sid"), or for arm64 (SYSTEMS=arm64)
#   make check SANITIZE=1   unit and command-line tests under address and undefined sanitizers
#   make check-headers SLURM_HEADERS=DIR   compiles against the headers of another Slurm, DIR/slurm/slurm.h
#   make demo            a real cluster, a real job twice, the prediction beside what happened
#   make bench           the figures of the documentation
#   make bench-accuracy  predictions on machines that skeletons have never seen: hours, on an idle machine; can be ended, and goes on
#   make bench-model-experiments   the experiments of doc/evaluation/models.md: minutes; can be ended, and goes on
#   make install DESTDIR= prefix=/usr/local plugindir=   and uninstall, with the same variables
#   make deb             Debian packages in build/packages; make check-debs tries them on fresh systems
#   make rpm             the same for RPM; make check-packages tries both kinds, these by Debian's rpm
#   make dist            the source as build/precedent-VERSION.tar.gz
#   make fuzz FUZZ_SECONDS=60   coverage-guided fuzzing of the parsers (needs clang)
#   make clean

# As many jobs as there are processors, unless the command line says how many, or has several goals: clean all.
ifeq ($(filter -j%,$(MAKEFLAGS))$(word 2,$(MAKECMDGOALS))$(MAKELEVEL),0)
MAKEFLAGS += -j$(shell nproc)
endif

VERSION  := 0.1.0
prefix   ?= /usr/local
libdir   ?= $(prefix)/lib
# InstallDir of precedent.conf is the prefix: the plugin and the commands look here whatever libdir is.
pkglibdir := $(prefix)/lib/precedent
plugindir ?= $(libdir)/slurm
unitdir  ?= $(prefix)/lib/systemd/system
mandir   ?= $(prefix)/share/man
includedir ?= $(prefix)/include
DESTDIR  ?=

ifdef SANITIZE
B        ?= build-sanitize
SAN      := -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer
else
B        ?= build
SAN      :=
endif

# One spelling of the build directory, whoever names it: dependency files name targets by it.
override B := $(patsubst $(CURDIR)/%,%,$(abspath $(B)))

CC       ?= gcc
MPICC    ?= mpicc
MPIFC    ?= mpifort
# make V=1 shows the commands.
Q         = $(if $(V),,@printf '  %s\n' '$@';)
WARN     := -Wall -Wextra -Wformat=2
HARDEN   := -fstack-protector-strong -D_FORTIFY_SOURCE=2
CFLAGS   ?= -O2 -g
BASE      = -std=gnu11 $(WARN) $(if $(SAN),,$(HARDEN)) $(CFLAGS) -fPIC -fvisibility=hidden -MMD -MP \
            -D_GNU_SOURCE -DPRECEDENT_VERSION='"$(VERSION)"' -I. -I$(B)/gen
LDHARD   := -Wl,-z,relro -Wl,-z,now

# A tracer for each MPI library that has a compiler wrapper here, whatever it is called.
mpicc_of = $(shell for c in $(2); do $$c -E -dM -include mpi.h -xc /dev/null 2>/dev/null | grep -q ' $(1) ' && echo $$c && break; done)
MPICC_openmpi := $(call mpicc_of,OPEN_MPI,mpicc.openmpi mpicc)
MPICC_mpich   := $(call mpicc_of,MPICH_VERSION,mpicc.mpich mpicc)
MPIS    := $(if $(MPICC_openmpi),openmpi) $(if $(MPICC_mpich),mpich)
RUNTIMES = $(B)/libprecedent_skel.a $(if $(MPICC_mpich),$(B)/libprecedent_skel_mpich.a)
REPLAYS  = $(B)/precedent-replay $(if $(MPICC_mpich),$(B)/precedent-replay-mpich)
TRACERS  = $(patsubst %,$(B)/libprecedent_trace_%.so,$(MPIS))

# sources, by what they become
LIB_SRC    := $(wildcard common/*.c common/*/*.c trace/*/*.c expert/*/*.c model/*/*.c) \
              $(filter-out skelgen/runtime/% skelgen/replay/%,$(wildcard skelgen/*.c skelgen/*/*.c)) \
              $(filter-out predictor/precedentd/%,$(wildcard predictor/*/*.c)) \
              $(wildcard plugin/decide*.c) \
              skelgen/replay/tables.c skelgen/replay/check.c skelgen/replay/check_data.c
CLI_SRC    := $(wildcard cli/*.c cli/*/*.c)
DAEMON_SRC := $(wildcard predictor/precedentd/*.c)
PLUGIN_SRC := $(wildcard plugin/job_submit_precedent.c)
SPANK_SRC  := $(wildcard spank/*.c)
TRACER_SRC := $(wildcard spank/tracer/*.c)
RT_SRC     := $(wildcard skelgen/runtime/*.c)
REPLAY_SRC := $(wildcard skelgen/replay/*.c)
GEN        := $(B)/gen/trace/functions.h $(B)/gen/trace/functions.c
LOADER_SRC := $(wildcard spank/loader/*.c)
# Arithmetic that the planner and the skeletons share.
LIB_SRC    += skelgen/runtime/sampled.c

obj = $(patsubst %.c,$(B)/obj/%.o,$(1))
LIB_OBJ := $(call obj,$(LIB_SRC)) $(B)/obj/gen/trace/functions.o
# Files that name the version are compiled again when it changes.
VERSIONED := $(call obj,$(shell grep -rl --include='*.c' PRECEDENT_VERSION cli plugin predictor trace))

LIBS_COMMON := -lzstd -lxxhash -lm
LIBS_STORE  := -lsqlite3
LIBS_GSL    := -lgsl -lgslcblas
LIBS_MODEL  := $(LIBS_GSL) -lhwloc -lxxhash -lm -lpthread
LIBS_CLI    := $(LIBS_STORE) $(LIBS_COMMON) -ljansson -lmunge -lhwloc -ldw -lelf -lotf2 -lZydis $(LIBS_GSL)
LIBS_SLURM  := -lslurm

MODEL_LIBS := $(addprefix $(B)/,libprecedent_model.so.0 libprecedent_model.so libprecedent_model.a libprecedent_model_load.a)
# What users read in their language.
CATALOGUES := $(patsubst po/%.po,$(B)/locale/%/LC_MESSAGES/precedent.mo,$(wildcard po/*.po))
TARGETS := $(if $(CLI_SRC),$(B)/precedent) $(if $(DAEMON_SRC),$(B)/precedentd) \
           $(if $(PLUGIN_SRC),$(B)/job_submit_precedent.so) $(if $(SPANK_SRC),$(B)/spank_precedent.so) $(B)/spank_precedent_option.so \
           $(B)/libprecedent_trace.so $(B)/precedent-agent $(TRACERS) $(RUNTIMES) $(REPLAYS) $(MODEL_LIBS) $(CATALOGUES)

UNIT_SRC  := $(wildcard tests/unit/*/test_*.c tests/unit/*/*/test_*.c)
UNIT_BIN  := $(patsubst tests/unit/%.c,$(B)/tests/unit/%,$(UNIT_SRC))
# The recorder without MPI, for tests that play calls into it.
RECORDER_SRC := $(addprefix spank/tracer/,record.c jumped.c pages.c spill.c quiet.c site.c python.c caller.c skew.c cost.c ends.c patience.c \
               patient_writer.c counters.c) $(wildcard spank/tracer/sample*.c)
# Options of verbs, the account of endings, the queue and the events of a rank, for their tests.
UNIT_CLI_SRC := $(wildcard cli/jobs/*.c cli/ui/*.c) cli/trace/own_rules.c cli/trace/info_events.c
UNIT_HELP := $(wildcard tests/unit/*.c)
BENCH_SRC := $(wildcard tests/bench/bench_*.c tests/bench/make_*.c)
# The simulation of backfill, a program of several files.
BACKFILL_SRC := $(filter-out %/main.c,$(wildcard tests/bench/backfill/*.c))
BENCH_BIN := $(patsubst tests/bench/%.c,$(B)/tests/bench/%,$(BENCH_SRC)) $(B)/tests/bench/backfill \
             $(B)/tests/bench/submit_jobs $(B)/tests/bench/processor_share $(B)/tests/bench/core_watch
# The experiments with models: what needs OpenMP or MPI is for the programs alone.
MODEL_EXP_SRC := $(filter-out %/main.c %/parallel.c %/halo.c,$(wildcard tests/bench/model/*.c))
PROG_C    := $(wildcard tests/programs/*.c)
PROG_F    := $(wildcard tests/programs/*.f90)
PROG_BIN  := $(patsubst tests/programs/%.c,$(B)/tests/programs/%,$(PROG_C)) \
             $(patsubst tests/programs/%.f90,$(B)/tests/programs/%,$(PROG_F)) \
             $(if $(MPICC_mpich),$(addprefix $(B)/tests/programs-mpich/,calls calls_f08 calls_h calls_mod endings hangs heat heatf \
               mprobe_threads poll onesided quirks ring spare_room stuck thread_order threads zero_counts))

.PHONY: FORCE fuzz all unit unit-systems check check-systems check-cli check-cluster demo bench bench-accuracy bench-accuracy-tools bench-model-experiments install uninstall clean bootstrap programs check-headers deb rpm dist check-debs check-packages
.DELETE_ON_ERROR:
.SECONDARY:

all: $(TARGETS)
programs: $(PROG_BIN)

# ---- generated from the tracing rules ----
$(B)/gen/.stamp: $(wildcard conf/trace*.rules) spank/tracer/generate $(wildcard spank/tracer/Generate/*.pm)
	@mkdir -p $(B)/gen/trace
	$(Q)perl spank/tracer/generate --rules conf/trace.rules --mpicc true --out $(B)/gen
	@touch $@
$(GEN): $(B)/gen/.stamp ;

$(B)/obj/gen/%.o: $(B)/gen/%.c
	@mkdir -p $(@D)
	$(Q)$(CC) $(BASE) $(SAN) -c -o $@ $<

$(VERSIONED): $(B)/gen/version
$(B)/gen/version: FORCE
	@mkdir -p $(@D)
	@echo $(VERSION) | cmp -s - $@ || echo $(VERSION) >$@

$(B)/obj/%.o: %.c | $(GEN)
	@mkdir -p $(@D)
	$(Q)$(CC) $(BASE) $(SAN) -c -o $@ $<

# The pages' files are inside the program.
$(B)/obj/trace/view/assets.o: $(wildcard trace/view/*.html trace/view/*.css trace/view/*.js)
$(B)/obj/cli/ui/page.o: cli/ui/page.css

$(B)/locale/%/LC_MESSAGES/precedent.mo: po/%.po
	@mkdir -p $(@D)
	$(Q)msgfmt --check-format -o $@ $<

# Models give the same bits interpreted and compiled, and on every architecture.
$(B)/obj/model/%.o $(B)/obj/tests/bench/model/%.o: CFLAGS += -ffp-contract=off
$(B)/obj/expert/%.o: CFLAGS += -O3

$(B)/libprecedent.a: $(LIB_OBJ)
	@rm -f $@
	$(Q)ar rcs $@ $^

# ---- what is installed ----
$(B)/precedent: $(call obj,$(CLI_SRC)) $(B)/libprecedent.a
	$(Q)$(CC) $(SAN) $(LDHARD) -o $@ $^ $(LIBS_CLI)

$(B)/precedentd: $(call obj,$(DAEMON_SRC)) $(B)/libprecedent.a
	$(Q)$(CC) $(SAN) $(LDHARD) -o $@ $^ $(LIBS_STORE) $(LIBS_SLURM) $(LIBS_GSL) $(LIBS_COMMON) -ljansson -lmunge

$(B)/job_submit_precedent.so: $(call obj,$(PLUGIN_SRC)) $(B)/libprecedent.a plugin/exports.map
	$(Q)$(CC) -shared $(LDHARD) -Wl,--exclude-libs,ALL -Wl,--version-script=plugin/exports.map -o $@ \
	  $(call obj,$(PLUGIN_SRC)) $(B)/libprecedent.a $(LIBS_STORE) -lxxhash

$(B)/spank_precedent.so: $(call obj,$(SPANK_SRC)) $(B)/libprecedent.a spank/exports.map
	$(Q)$(CC) -shared $(LDHARD) -Wl,--exclude-libs,ALL -Wl,--version-script=spank/exports.map -o $@ \
	  $(call obj,$(SPANK_SRC)) $(B)/libprecedent.a

$(B)/precedent-agent: $(call obj,spank/agent/agent.c) $(B)/libprecedent.a
	$(Q)$(CC) $(SAN) $(LDHARD) -o $@ $^

$(B)/spank_precedent_option.so: $(call obj,spank/option/spank_precedent_option.c)
	$(Q)$(CC) -shared $(LDHARD) -o $@ $^

# What programs predict themselves with. The shared object shows its own functions only, and stays once it is loaded, as it
# has threads; the archive is one object, so that nothing of ours meets a name of the program's.
MODEL_API_OBJ := $(call obj,$(wildcard model/api/*.c))
$(B)/libprecedent_model.so.0: $(MODEL_API_OBJ) $(B)/libprecedent.a model/api/exports.map
	$(Q)$(CC) -shared $(SAN) $(LDHARD) $(if $(SAN),,-Wl,-z,defs) -Wl,-z,nodelete -Wl,-soname,$(@F) -Wl,--exclude-libs,ALL \
	  -Wl,--version-script=model/api/exports.map -o $@ $(MODEL_API_OBJ) $(B)/libprecedent.a $(LIBS_MODEL)
$(B)/libprecedent_model.so: $(B)/libprecedent_model.so.0
	$(Q)ln -sf $(<F) $@
$(B)/libprecedent_model.a: $(MODEL_API_OBJ) $(B)/libprecedent.a
	@rm -f $@
	$(Q)$(LD) -r -o $(B)/obj/libprecedent_model.o $^ && objcopy --localize-hidden $(B)/obj/libprecedent_model.o && \
	  ar rcs $@ $(B)/obj/libprecedent_model.o
$(B)/libprecedent_model_load.a: $(call obj,model/api/load/load.c)
	@rm -f $@
	$(Q)ar rcs $@ $^

# Tracers, one per MPI library, of the same sources: TRACER_RULES(openmpi). They never depend on libmpi, carry their own
# zstd, hidden, and their own copies of what they share with the rest: never with a sanitizer, which a preloaded library
# cannot bring.
TRACER_SHARED := common/buf.o common/clean.o common/errbuf.o $(patsubst %,trace/format/%.o,defs defs_journal device ends fold hist levels page \
                   samples sigs sigtable stop times words writer)
# Wrappers have no canary: every call of a program goes through one, and they copy nothing into arrays on the stack.
define TRACER_RULES
TRACER_CC_$(1) := $(CC) $(BASE) -O2 -fno-omit-frame-pointer -I$(B)/tracer-$(1)/tracer \
  $(filter -I% -D%,$(shell $(MPICC_$(1)) -show 2>/dev/null))
$(B)/tracer-$(1)/.stamp: $(wildcard conf/trace*.rules) spank/tracer/generate $(wildcard spank/tracer/Generate/*.pm)
	@mkdir -p $$(@D)
	$$(Q)perl spank/tracer/generate --rules conf/trace.rules --mpicc $(MPICC_$(1)) --out $$(@D)
	@touch $$@
$(B)/tracer-$(1)/tracer/wrappers.c $(B)/tracer-$(1)/tracer/passthrough.S: $(B)/tracer-$(1)/.stamp ;
$(B)/obj/tracer-$(1)/%.o: %.c $(B)/tracer-$(1)/.stamp | $(GEN)
	@mkdir -p $$(@D)
	$$(Q)$$(TRACER_CC_$(1)) -c -o $$@ $$<
$(B)/obj/tracer-$(1)/functions.o: $(B)/gen/trace/functions.c
	@mkdir -p $$(@D)
	$$(Q)$$(TRACER_CC_$(1)) -c -o $$@ $$<
$(B)/obj/tracer-$(1)/wrappers.o: $(B)/tracer-$(1)/tracer/wrappers.c
	@mkdir -p $$(@D)
	$$(Q)$$(TRACER_CC_$(1)) -fno-stack-protector -Ispank/tracer -c -o $$@ $$<
$(B)/obj/tracer-$(1)/passthrough.o: $(B)/tracer-$(1)/tracer/passthrough.S
	@mkdir -p $$(@D)
	$$(Q)$(CC) -g -c -o $$@ $$<
$(B)/libprecedent_trace_$(1).so: $(addprefix $(B)/obj/tracer-$(1)/,$(TRACER_SRC:.c=.o) $(TRACER_SHARED) functions.o \
                                 wrappers.o passthrough.o) spank/tracer/exports.map
	$$(Q)$(CC) -shared $(LDHARD) -Wl,--exclude-libs,ALL -Wl,--version-script=spank/tracer/exports.map -o $$@ \
	  $$(filter %.o,$$^) -static-libgcc -l:libzstd.a -ldl -lpthread
endef
$(foreach m,$(MPIS),$(eval $(call TRACER_RULES,$(m))))

# The loader, which is what is preloaded: an entry for whatever one of the tracers defines. Without tail calls, as
# dlsym(RTLD_NEXT) must see who asks; without any library, see libc_free.h.
LOADER_FLAGS := -fno-optimize-sibling-calls -ffreestanding -fno-builtin -fno-stack-protector -U_FORTIFY_SOURCE
$(B)/obj/spank/loader/%.o: spank/loader/%.c
	@mkdir -p $(@D)
	$(Q)$(CC) $(BASE) $(LOADER_FLAGS) -c -o $@ $<
$(B)/gen/loader/symbols.S: spank/loader/generate $(TRACERS)
	@mkdir -p $(@D)
	$(Q)perl spank/loader/generate --out $@ $(TRACERS)
$(B)/obj/gen/loader/symbols.o: $(B)/gen/loader/symbols.S
	@mkdir -p $(@D)
	$(Q)$(CC) -g -c -o $@ $<
$(B)/libprecedent_trace.so: $(call obj,$(LOADER_SRC)) $(B)/obj/gen/loader/symbols.o spank/loader/exports.map
	$(Q)$(CC) -shared -nostdlib $(LDHARD) -Wl,--version-script=spank/loader/exports.map -o $@ $(filter %.o,$^)

# What a skeleton links: plain C for mpicc, no sanitizer, no product library. Where a short loop begins is worth a third of its time,
# and must not follow from the functions before it: a kernel has as many instructions in a nanosecond in every build.
ALIGNED := -falign-functions=64 -falign-loops=32
# Nor may a kernel lie across two pages: emulators that translate page by page look up what is next at each crossing. None has
# more than 512 bytes.
PAGED := -falign-functions=512
KERNEL_OBJ := $(foreach k,core memory vector,$(B)/obj/skelgen/runtime/kernel_$(k).o $(B)/obj/skel-mpich/skelgen/runtime/kernel_$(k).o)
$(KERNEL_OBJ): ALIGNED += $(PAGED)
$(B)/obj/skelgen/runtime/%.o: skelgen/runtime/%.c
	@mkdir -p $(@D)
	$(Q)$(MPICC) -std=gnu11 $(WARN) $(CFLAGS) $(ALIGNED) -fPIC -MMD -MP -D_GNU_SOURCE -I. -c -o $@ $<
$(B)/obj/skel-mpich/%.o: %.c
	@mkdir -p $(@D)
	$(Q)$(MPICC_mpich) -std=gnu11 $(WARN) -Wno-stringop-overflow $(CFLAGS) $(ALIGNED) -fPIC -MMD -MP -D_GNU_SOURCE -I. -c -o $@ $<
$(B)/libprecedent_skel_mpich.a: $(patsubst %.c,$(B)/obj/skel-mpich/%.o,$(RT_SRC)) | $(B)/include/skelgen/runtime/skel.h
	@rm -f $@
	$(Q)ar rcs $@ $^
$(B)/include/skelgen/runtime/%.h: skelgen/runtime/%.h
	@mkdir -p $(@D)
	@cp $< $@
$(B)/libprecedent_skel.a: $(call obj,$(RT_SRC)) | $(B)/include/skelgen/runtime/skel.h
	@rm -f $@
	$(Q)ar rcs $@ $^

# What runs a skeleton where there is no compiler: the same runtime, and the operations instead of the source.
$(B)/obj/replay/%.o: %.c
	@mkdir -p $(@D)
	$(Q)$(MPICC) -std=gnu11 $(WARN) $(CFLAGS) -fPIC -MMD -MP -D_GNU_SOURCE -I. -c -o $@ $<
$(B)/precedent-replay: $(patsubst %.c,$(B)/obj/replay/%.o,$(REPLAY_SRC)) $(B)/libprecedent_skel.a
	$(Q)$(MPICC) $(LDHARD) -o $@ $^ -lm
$(B)/precedent-replay-mpich: $(patsubst %.c,$(B)/obj/skel-mpich/%.o,$(REPLAY_SRC)) $(B)/libprecedent_skel_mpich.a
	$(Q)$(MPICC_mpich) $(LDHARD) -o $@ $^ -lm

# ---- tests ----
$(B)/tests/unit/libhelp.a: $(call obj,$(UNIT_HELP) $(RECORDER_SRC) $(UNIT_CLI_SRC) $(BACKFILL_SRC) $(MODEL_EXP_SRC))
	@mkdir -p $(@D)
	@rm -f $@
	$(Q)ar rcs $@ $^
$(B)/tests/unit/%: tests/unit/%.c $(B)/tests/unit/libhelp.a $(B)/libprecedent.a
	@mkdir -p $(@D)
	$(Q)$(CC) $(BASE) $(SAN) -o $@ $< $(B)/tests/unit/libhelp.a $(B)/libprecedent.a -lcmocka $(LIBS_CLI) -lpthread -ldl
# stands for slurmctld, whose variable the plugin looks at
$(B)/tests/unit/plugin/test_job_submit $(B)/tests/unit/plugin/test_submit_places: private BASE += -Wl,--export-dynamic-symbol=last_part_update
# stands for Python, whose functions and types the tracer looks up
$(B)/tests/unit/spank/tracer/test_python: private BASE += -Wl,--export-dynamic
# the same as test_job_submit
$(B)/tests/bench/bench_submit: private BASE += -Wl,--export-dynamic-symbol=last_part_update
$(B)/tests/bench/%: tests/bench/%.c $(B)/libprecedent.a $(B)/tests/unit/libhelp.a
	@mkdir -p $(@D)
	$(Q)$(CC) $(BASE) $(SAN) -o $@ $< $(B)/tests/unit/libhelp.a $(B)/libprecedent.a $(LIBS_CLI) -lpthread -ldl
$(B)/tests/bench/submit_jobs: tests/bench/submit_jobs.c
	@mkdir -p $(@D)
	$(Q)$(CC) $(BASE) -o $@ $< $(LIBS_SLURM)
$(B)/tests/bench/backfill: $(B)/obj/tests/bench/backfill/main.o $(B)/tests/unit/libhelp.a $(B)/libprecedent.a
	@mkdir -p $(@D)
	$(Q)$(CC) $(SAN) $(LDHARD) -o $@ $^ $(LIBS_CLI)
# The experiments with models: one process with OpenMP, and a real MPI program that asks the model core.
$(B)/tests/bench/bench_kernels: private CFLAGS += $(ALIGNED) $(PAGED)
$(B)/obj/tests/bench/model/parallel.o: CFLAGS += -fopenmp
MODEL_EXP_BIN := $(B)/tests/bench/model/experiments $(B)/tests/bench/model/halo
$(B)/tests/bench/model/experiments: $(call obj,tests/bench/model/main.c tests/bench/model/parallel.c) \
    $(B)/tests/unit/libhelp.a $(B)/libprecedent.a
	@mkdir -p $(@D)
	$(Q)$(CC) $(SAN) $(LDHARD) -fopenmp -o $@ $^ $(LIBS_CLI) -lpthread -ldl
$(B)/tests/bench/model/halo: tests/bench/model/halo.c $(B)/libprecedent.a
	@mkdir -p $(@D)
	$(Q)$(MPICC) -std=gnu11 -O2 -g $(WARN) -MMD -MP -D_GNU_SOURCE -I. -o $@ $< $(B)/libprecedent.a $(LIBS_CLI) -ldl
$(B)/tests/bench/libmpi_timer.so: tests/bench/mpi_timer.c
	@mkdir -p $(@D)
	$(Q)$(MPICC) -std=gnu11 -O2 -g $(WARN) -shared -fPIC -o $@ $<
$(B)/tests/programs/%: tests/programs/%.c
	@mkdir -p $(@D)
	$(Q)$(MPICC) -std=gnu11 -O2 -g $(WARN) -o $@ $< -lm
$(B)/tests/programs/%: tests/programs/%.f90
	@mkdir -p $(@D)/mod-$*
	$(Q)$(MPIFC) -O2 -g -J $(@D)/mod-$* -o $@ $<
$(B)/tests/programs/planted $(B)/tests/programs/planted_more $(B)/tests/programs/planted_place $(B)/tests/programs/planted_gain: tests/programs/planted.h
$(B)/tests/programs/planted_f08 $(B)/tests/programs/planted_mpi: tests/programs/planted_forms.inc
# The same with MPICH, whose mpi.h has gcc think that MPI_STATUSES_IGNORE is an array that is too small.
$(B)/tests/programs-mpich/%: tests/programs/%.c
	@mkdir -p $(@D)
	$(Q)$(MPICC_mpich) -std=gnu11 -O2 -g $(WARN) -Wno-stringop-overflow -o $@ $< -lm
$(B)/tests/programs-mpich/%: tests/programs/%.f90
	@mkdir -p $(@D)/mod-$*
	$(Q)$(subst mpicc,mpifort,$(MPICC_mpich)) -O2 -g -J $(@D)/mod-$* -o $@ $<

# Coverage-guided fuzzing of every parser of user data, FUZZ_SECONDS each; a crash ends it with the input's name.
FUZZ_SECONDS ?= 60
FUZZ_SRC := $(wildcard tests/fuzz/fuzz_*.c)
CLANG    ?= clang
FUZZ_CC   = $(CLANG) -std=gnu11 -O1 -g -fno-sanitize-recover=undefined -D_GNU_SOURCE -I. -I$(B)/gen \
            -DPRECEDENT_VERSION='"$(VERSION)"' -Wno-unused-command-line-argument -MMD -MP
# The library once for all targets.
FUZZ_OBJ := $(patsubst %.c,$(B)/fuzz/obj/%.o,$(LIB_SRC)) $(B)/fuzz/obj/gen/trace/functions.o
$(B)/fuzz/obj/gen/%.o: $(B)/gen/%.c
	@mkdir -p $(@D)
	$(Q)$(FUZZ_CC) -fsanitize=fuzzer-no-link,address,undefined -c -o $@ $<
$(B)/fuzz/obj/%.o: %.c | $(GEN)
	@mkdir -p $(@D)
	$(Q)$(FUZZ_CC) -fsanitize=fuzzer-no-link,address,undefined -c -o $@ $<
$(B)/fuzz/libprecedent.a: $(FUZZ_OBJ)
	@rm -f $@
	$(Q)ar rcs $@ $^
# What prints answers to people.
FUZZ_CLI := $(wildcard cli/jobs/*.c cli/ui/*.c) cli/trace/own_rules.c
$(B)/fuzz/libcli.a: $(patsubst %.c,$(B)/fuzz/obj/%.o,$(FUZZ_CLI))
	@rm -f $@
	$(Q)ar rcs $@ $^
$(B)/fuzz/fuzz_%: tests/fuzz/fuzz_%.c $(B)/fuzz/libcli.a $(B)/fuzz/libprecedent.a
	@mkdir -p $(B)/fuzz/corpus-fuzz_$*
	$(Q)$(FUZZ_CC) -fsanitize=fuzzer,address,undefined -o $@ $(filter %.c %.a,$^) $(LIBS_CLI)
fuzz: $(patsubst tests/fuzz/%.c,$(B)/fuzz/%,$(FUZZ_SRC))
	for f in $(patsubst tests/fuzz/%.c,%,$(FUZZ_SRC)); do \
	  $(B)/fuzz/$$f -max_total_time=$(FUZZ_SECONDS) -rss_limit_mb=2048 -timeout=10 -print_final_stats=1 \
	    -artifact_prefix=$(B)/fuzz/ $(B)/fuzz/corpus-$$f $$(ls -d tests/fuzz/corpus/$${f#fuzz_} 2>/dev/null) || exit 1; done
# The same targets without a fuzzer: each file of a corpus once (tests/cli/fuzz-corpora.t).
$(B)/tests/fuzz/libcli.a: $(call obj,$(FUZZ_CLI))
	@mkdir -p $(@D)
	@rm -f $@
	$(Q)ar rcs $@ $^
$(B)/tests/fuzz/%: tests/fuzz/fuzz_%.c tests/fuzz/once.c $(B)/tests/fuzz/libcli.a $(B)/libprecedent.a
	$(Q)$(CC) $(BASE) $(SAN) -o $@ $(filter %.c %.a,$^) $(LIBS_CLI)

bootstrap:
	@scripts/bootstrap

# The longest first.
TESTS_CLI     := tests/cli/skeleton-pieces.t $(filter-out tests/cli/skeleton-pieces.t,$(sort $(wildcard tests/cli/*.t)))
TESTS_CLUSTER := $(sort $(wildcard tests/cluster/*.t))
export PRECEDENT_BUILD := $(B)

# The sub-makes read the tree again after bootstrap has installed the compilers.
check: bootstrap
	+@MAKE='$(MAKE)' scripts/check-parts unit check-cli $(if $(SANITIZE),,check-cluster)
	@echo 'make check: all tests passed'

# What runs programs that were compiled for another architecture.
EMULATOR :=
unit: all $(UNIT_BIN)
	prove -j2 --timer --exec '$(EMULATOR)' $(UNIT_BIN)

# The unit tests of rooms that see Slurm's or MPI's headers.
UNIT_SYSTEMS = $(patsubst %.c,$(B)/%,$(wildcard $(patsubst %,tests/unit/%test_*.c,$(sort $(dir \
                 $(shell grep -lE '<(slurm/|mpi\.h)|slurm_compat\.h' */*.[ch] */*/*.[ch]))))))
unit-systems: all $(UNIT_SYSTEMS)
	prove -j2 --timer $(UNIT_SYSTEMS)

# Temporary files in memory, where that is permitted: a stall of the disk would count as time of traced programs.
IN_MEMORY = $(if $(shell unshare --mount true 2>/dev/null && echo yes),unshare --mount sh -c \
	      'mount -t tmpfs -o mode=1777 tests /mnt && TMPDIR=/mnt exec "$$@"' sh)
check-cli: all $(PROG_BIN) $(B)/tests/bench/make_history $(B)/tests/bench/make_trace # which several tests need at the same time
	$(IN_MEMORY) prove -j3 --timer $(TESTS_CLI)

check-cluster: all $(PROG_BIN)
	scripts/run-cluster-tests $(TESTS_CLUSTER)

# On other releases: the build, and the tests that show most of what depends on Slurm and MPI. For arm64, compiled on this machine and
# run by qemu-user: the build, the unit tests, and what users are told there.
SYSTEMS           ?= trixie
TESTS_SYSTEMS     := 20-spank 40-precedentd limits-soft limits-changed limits-controllers
TESTS_SYSTEMS_CLI := advise-languages trace-conformance trace-coverage trace-loader
check-systems:
	for s in $(filter-out arm64,$(SYSTEMS)); do scripts/system-tree $$s && \
	  scripts/system-tree $$s $(MAKE) all programs unit-systems && \
	  scripts/system-tree $$s prove -j3 --timer $(TESTS_SYSTEMS_CLI:%=tests/cli/%.t) && \
	  scripts/system-tree $$s scripts/run-cluster-tests $(TESTS_SYSTEMS:%=tests/cluster/%.t) || exit 1; done
	$(if $(filter arm64,$(SYSTEMS)),scripts/system-tree arm64 && \
	  scripts/system-tree arm64 $(MAKE) unit build-arm64/tests/programs/heat EMULATOR=qemu-aarch64 && \
	  scripts/system-tree arm64 prove --timer tests/systems/arm64.t)
	@echo 'make check-systems: all tests passed'

# Compiles what includes Slurm's headers against those of another version, in SLURM_HEADERS/slurm.
SLURM_USERS = $(shell grep -lE '[</](slurm|submit_world)(_compat|_errno|ctld)?\.h|slurm/spank.h' $(PLUGIN_SRC) $(SPANK_SRC) $(DAEMON_SRC) \
                predictor/*/*.c cli/*/*.c tests/unit/*/*.c tests/bench/*.c)
check-headers: $(GEN)
	@test -e '$(SLURM_HEADERS)/slurm/slurm_version.h' || { echo 'say SLURM_HEADERS=DIR, with DIR/slurm/slurm_version.h'; exit 2; }
	$(Q)for f in $(sort $(SLURM_USERS)); do \
	  $(CC) $(filter-out -MMD -MP,$(BASE)) -Werror -fsyntax-only -I'$(SLURM_HEADERS)' $$f || exit 1; done

# Debian packages on fresh systems: the release of this machine, and SYSTEMS.
HERE := $(shell . /etc/os-release && echo $$VERSION_CODENAME)
check-debs: bootstrap
	$(MAKE) deb programs
	PRECEDENT_SUITE=$(HERE) prove --timer tests/packages/packages.t
	for s in $(filter-out $(HERE) arm64,$(SYSTEMS)); do scripts/system-tree $$s $(MAKE) deb programs && \
	  PRECEDENT_SUITE=$$s PRECEDENT_BUILD=build-$$s prove --timer tests/packages/packages.t || exit 1; done
	@echo 'make check-debs: all tests passed'

check-packages: check-debs
	PRECEDENT_SUITE=$(HERE) prove --timer tests/packages/rpm.t
	@echo 'make check-packages: all tests passed'

demo: bootstrap
	$(MAKE) all programs
	scripts/demo

bench: bootstrap
	$(MAKE) all programs $(BENCH_BIN)
	scripts/bench

bench-accuracy-tools: bootstrap
	$(MAKE) all programs $(addprefix $(B)/tests/bench/,make_partial make_estimate processor_share core_watch libmpi_timer.so)

bench-accuracy: bench-accuracy-tools
	tests/bench/accuracy_machines.pl --fill

bench-model-experiments: bootstrap
	$(MAKE) all programs $(MODEL_EXP_BIN)
	tests/bench/model/run.pl

# The sample files name the places of this installation.
PLACES := sed -e 's|@prefix@|$(prefix)|' -e 's|^\#\?InstallDir = .*|InstallDir = $(prefix)|' \
            -e 's|^optional spank|optional $(plugindir)/spank|'
install: all
	install -d $(addprefix $(DESTDIR),$(prefix)/bin $(prefix)/sbin $(libdir)/pkgconfig $(pkglibdir)/include/skelgen/runtime $(plugindir) \
	  $(addprefix $(mandir)/man,1 3 5 7 8) $(prefix)/share/precedent/examples $(includedir) $(unitdir) $(prefix)/lib/sysusers.d \
	  $(prefix)/lib/tmpfiles.d)
	install -m 755 $(B)/precedent $(DESTDIR)$(prefix)/bin/
	install -m 755 $(B)/precedentd $(DESTDIR)$(prefix)/sbin/
	install -m 755 $(B)/job_submit_precedent.so $(B)/spank_precedent.so $(B)/spank_precedent_option.so $(DESTDIR)$(plugindir)/
	install -m 755 $(B)/libprecedent_trace.so $(B)/precedent-agent $(TRACERS) $(REPLAYS) $(DESTDIR)$(pkglibdir)/
	install -m 644 $(RUNTIMES) $(DESTDIR)$(pkglibdir)/
	install -m 711 $(B)/precedent $(DESTDIR)$(pkglibdir)/precedent-collect
	install -m 644 skelgen/runtime/skel.h $(DESTDIR)$(pkglibdir)/include/skelgen/runtime/
	install -m 755 $(B)/libprecedent_model.so.0 $(DESTDIR)$(libdir)/
	ln -sf libprecedent_model.so.0 $(DESTDIR)$(libdir)/libprecedent_model.so
	install -m 644 $(B)/libprecedent_model.a $(B)/libprecedent_model_load.a $(DESTDIR)$(libdir)/
	for f in precedent_model.h precedent_model_load.h precedent_model.f90; do \
	  install -m 644 model/api/$$f $(DESTDIR)$(includedir)/; done
	for f in precedent_model precedent_model_load; do \
	  sed -e 's|@prefix@|$(prefix)|; s|@libdir@|$(libdir)|; s|@includedir@|$(includedir)|; s|@version@|$(VERSION)|' \
	    model/api/$$f.pc.in | install -m 644 /dev/stdin $(DESTDIR)$(libdir)/pkgconfig/$$f.pc; done
	install -m 644 examples/* $(DESTDIR)$(prefix)/share/precedent/examples/
	install -m 644 conf/*.rules $(DESTDIR)$(prefix)/share/precedent/
	$(PLACES) conf/precedent.conf | install -m 644 /dev/stdin $(DESTDIR)$(prefix)/share/precedent/precedent.conf
	for f in precedent zz-precedent-option; do $(PLACES) conf/plugstack-$${f#zz-precedent-}.conf | \
	  install -D -m 644 /dev/stdin $(DESTDIR)$(prefix)/share/precedent/plugstack.conf.d/$$f.conf; done
	$(PLACES) conf/precedentd.service | install -m 644 /dev/stdin $(DESTDIR)$(unitdir)/precedentd.service
	install -m 644 conf/precedent.sysusers $(DESTDIR)$(prefix)/lib/sysusers.d/precedent.conf
	install -m 644 conf/precedent.tmpfiles $(DESTDIR)$(prefix)/lib/tmpfiles.d/precedent.conf
	for l in $(patsubst po/%.po,%,$(wildcard po/*.po)); do \
	  install -D -m 644 $(B)/locale/$$l/LC_MESSAGES/precedent.mo $(DESTDIR)$(prefix)/share/locale/$$l/LC_MESSAGES/precedent.mo; done
	$(B)/precedent completion bash | install -D -m 644 /dev/stdin $(DESTDIR)$(prefix)/share/bash-completion/completions/precedent
	$(B)/precedent completion zsh | install -D -m 644 /dev/stdin $(DESTDIR)$(prefix)/share/zsh/site-functions/_precedent
	$(B)/precedent completion fish | install -D -m 644 /dev/stdin $(DESTDIR)$(prefix)/share/fish/vendor_completions.d/precedent.fish
	for s in 1 3 5 7 8; do for f in man/*.$$s; do \
	  sed 's/^\(\.TH .*"Precedent \)[^"]*/\1$(VERSION)/' $$f | \
	  install -m 644 /dev/stdin $(DESTDIR)$(mandir)/man$$s/$${f#man/}; done; done

# What an installation with the same variables consists of, and the directories that it alone fills.
uninstall: all
	rm -rf $(B)/uninstall
	@$(MAKE) --silent install DESTDIR=$(CURDIR)/$(B)/uninstall
	cd $(B)/uninstall && find . ! -type d -printf '%P\n' | while read -r f; do rm -f "$(DESTDIR)/$$f"; done
	cd $(B)/uninstall && find . -depth -type d -path '*precedent*' -printf '%P\n' | while read -r d; do \
	  [ ! -d "$(DESTDIR)/$$d" ] || rmdir --ignore-fail-on-non-empty "$(DESTDIR)/$$d"; done
	rm -rf $(B)/uninstall

# ---- packages, for the system that they are built on ----
SOURCE_DATE_EPOCH ?= $(shell git log -1 --format=%ct 2>/dev/null || stat -c %Y NEWS.md)
debian/changelog: FORCE
	@printf 'precedent (%s) unstable; urgency=medium\n\n  * See NEWS.md.\n\n -- %s  %s\n' $(VERSION) \
	  "$$(sed -n 's/^Maintainer: //p' debian/control)" "$$(date -uRd @$(SOURCE_DATE_EPOCH))" >$@
dist:
	mkdir -p $(B)
	git archive --prefix=precedent-$(VERSION)/ HEAD | gzip -9n >$(B)/precedent-$(VERSION).tar.gz
deb: debian/changelog
	dpkg-checkbuilddeps -I
	rm -rf $(B)/packages debian/tmp debian/.debhelper debian/debhelper-build-stamp
	mkdir -p $(B)/packages
	MAKEFLAGS= debian/rules binary B=$(B) DEBS=$(B)/packages
	lintian --fail-on error,warning --allow-root $(B)/packages/*.deb
rpm: all
	rm -rf $(B)/rpm
	rpmbuild -bb --nodeps --build-in-place --define '_topdir $(CURDIR)/$(B)/rpm' --define 'precedent_version $(VERSION)' \
	  --define 'precedent_build $(B)' scripts/precedent.spec

clean:
	rm -rf build build-sanitize

-include $(shell find $(B)/obj $(B)/tests $(B)/fuzz -name '*.d' 2>/dev/null)
