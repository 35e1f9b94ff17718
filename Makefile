# SPDX-License-Identifier: Apache-2.0
# HPDSL.  `make help` lists what can be made; everything goes to build/.
# Sources, tests, pages and completions are found by their names: a new file
# needs no line here.

ifeq ($(origin CC),default)
CC = gcc
endif
CFLAGS ?= -O2 -g
# A checkout is strict; a release is not, whatever a later compiler says.
WERROR ?= $(if $(wildcard .git),-Werror)
# hpdsl-stage alone needs MPI.  MPICC=mpicc.mpich: another one than the default.
MPICC ?= mpicc
# SAN=address,undefined or SAN=thread
SAN ?=
PREFIX ?= /usr/local
# Whatever shell it comes from, and wherever it is seen from.
override PREFIX := $(abspath $(patsubst ~/%,$(HOME)/%,$(PREFIX)))
BINDIR ?= $(PREFIX)/bin
LIBDIR ?= $(PREFIX)/lib
INCLUDEDIR ?= $(PREFIX)/include
MANDIR ?= $(PREFIX)/share/man
SHAREDIR ?= $(PREFIX)/share
# Whose folder for modules below PREFIX is taken, if it looks for them there.
PYTHON ?= $(firstword $(wildcard /usr/bin/python3) python3)
PYTHONDIR ?= $(call once,PYTHONDIR,$(PYTHON) -c 'import site; import sys; \
	p = sys.argv[1] + "/lib/"; print(([d for d in site.getsitepackages() \
	if d.startswith(p)] + [p + "python3/site-packages"])[0])' '$(PREFIX)' \
	2> /dev/null || echo '$(PREFIX)/lib/python3/site-packages')
MODULEDIR ?= $(SHAREDIR)/modulefiles
# Where uninstall reads which folders install has made; RECORD=: nowhere.
RECORD ?= $(SHAREDIR)/hpdsl/folders
PKG_CONFIG ?= pkg-config
# Where programs and library look for other libraries that are not the system's,
# so that these are found without the module they are of.  RPATH=: nowhere.
RPATH ?= $(call once,RPATH,$(call found,rpath))

comma = ,
empty =
space = $(empty) $(empty)
# Each compiler, each MPI and each sanitizer has an object tree of its own.
TREE = $(subst $(space),-,$(strip $(filter-out gcc,$(notdir $(CC))) \
	$(filter-out mpicc,$(notdir $(MPICC))) \
	$(if $(SAN),san-$(subst $(comma),-,$(SAN)))))
BUILD := build$(if $(TREE),/$(TREE))

WARN = -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes \
	-Wpointer-arith -Wwrite-strings -Wvla
SANFLAGS = $(if $(SAN),-fsanitize=$(SAN) -fno-sanitize-recover=all \
	-fno-omit-frame-pointer)
# Asked for when first needed: `make deps all` installs pkg-config itself.
once = $(if $(filter simple,$(flavor $(1))),,$(eval $(1) := $$(shell $(2))))$($(1))
# What tests/needed has found, CPPFLAGS first.
DEP_CFLAGS = $(call once,DEP_CFLAGS,$(call found,cflags))
DEP_LIBS = $(call once,DEP_LIBS,$(call found,libs))
found = sed -n 's/^$(1) //p' $(BUILD)/needed 2> /dev/null
VERSION = $(call once,VERSION,sed -n \
	's/^.define HPDSL_VERSION "\(.*\)"/\1/p' lib/hpdsl.h)
SONAME = libhpdsl.so.0

# What makes a mistake of ours harder to use.  CFLAGS and LDFLAGS come behind
# it, and so win.  Sanitizers see more without.
HARDEN = $(if $(SAN),,-fstack-protector-strong -fPIE $(FORTIFY))
HARDEN_LINK = $(if $(SAN),,-Wl$(comma)-z$(comma)relro$(comma)-z$(comma)now \
	-Wl$(comma)-z$(comma)noexecstack)
PIE = $(if $(SAN)$(filter -static% -no-pie,$(CFLAGS) $(LDFLAGS)),,-pie)
# The highest level that compiler and C library have; none at -O0.
FORTIFY = $(if $(findstring _FORTIFY_SOURCE,$(CPPFLAGS) $(CFLAGS)),,$(call \
	once,FORTIFY_IS,$(call fortify,3) || $(call fortify,2)))
fortify = { echo 'int x[__OPTIMIZE__ && __USE_FORTIFY_LEVEL == $(1) ? 1 : -1];' | \
	$(CC) $(CFLAGS) $(level) -include string.h -x c -c -o /dev/null - \
	2> /dev/null && echo '$(level)'; }
level = -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=$(1)

ALL_CFLAGS = -std=c11 -D_GNU_SOURCE $(HARDEN) $(CFLAGS) $(WARN) $(WERROR) \
	$(SANFLAGS) -pthread -MMD -MP
LINK_FLAGS = $(HARDEN_LINK) $(CFLAGS) $(SANFLAGS) $(LDFLAGS) -pthread
LINK = $(CC) $(PIE) $(LINK_FLAGS) $(LINK_RPATH)
LINK_RPATH = $(if $(RPATH),-Wl$(comma)--enable-new-dtags$(comma)-rpath$(comma)$(RPATH))
# Programs of tests alone, which are many, with a linker that takes a third of the time.
FAST_LD = $(if $(findstring -fuse-ld,$(CFLAGS) $(LDFLAGS)),,$(call once,FAST_LD_IS, \
	for l in lld gold; do echo 'int main(void) { return 0; }' | $(LINK) \
	-fuse-ld=$$l -x c -o $(BUILD)/linked - 2> /dev/null && \
	echo -fuse-ld=$$l && break; done))
# From the sources at once.
COMPILE_LINK = $(PIE) $(filter-out -MMD -MP,$(ALL_CFLAGS)) $(CPPFLAGS) \
	$(HARDEN_LINK) $(LDFLAGS)
# A wrapper around the same compiler; empty where there is none.
MPI = $(if $(call once,MPICC_PATH,command -v $(MPICC)),OMPI_CC='$(CC)' \
	MPICH_CC='$(CC)' $(MPICC))

# What is made, in short; V=1 shows the whole commands.
say = $(if $(V),,@echo '  $(1)  $@' && )

# The public header, and the sheets that it is made of.
HEADERS := lib/hpdsl.h $(wildcard lib/hpdsl/*.h)
PUBLIC := $(patsubst lib/%,$(BUILD)/include/%,$(HEADERS))
# A name in build/ for each source: objects, programs, tests.
objs = $(patsubst %.c,$(BUILD)/%.o,$(1))
LIB_OBJS := $(call objs,$(wildcard lib/*.c lib/*/*.c))
# A program is what the folder of its main and common/ hold.
MAINS := $(wildcard cmd/*/hpdsl.c cmd/*/hpdsl-*.c)
PROGRAMS := $(patsubst %.c,$(BUILD)/%,$(notdir $(MAINS)))
COMMON := $(call objs,$(wildcard cmd/common/*.c))
STAGE := $(BUILD)/hpdsl-stage
STAGE_OBJS := $(call objs,$(wildcard cmd/stage/*.c))
# hpdsl-serve alone needs libmicrohttpd, which pkg-config has to know.
SERVE := $(BUILD)/hpdsl-serve
SERVE_OBJS := $(call objs,$(wildcard cmd/serve/*.c))
HTTPD_LIBS = $(call once,HTTPD_LIBS,$(PKG_CONFIG) --libs libmicrohttpd 2> /dev/null)
HTTPD_CFLAGS = $(call once,HTTPD_CFLAGS,$(PKG_CONFIG) --cflags libmicrohttpd 2> /dev/null)
# These with faults from HPDSL_FAULT, for the tests; the library with their clock, too.
BED := $(BUILD)/tests/bed
FAULTY := $(addprefix $(BED)/hpdsl-,index mount pack serve snapshot stage unpack verify)
# The file system that plays a shared one in tests, where there is fuse3.
ORIGIN := $(BUILD)/tests/bed/origin
FUSE_LIBS = $(call once,FUSE_LIBS,$(PKG_CONFIG) --libs fuse3 2> /dev/null)
# What commands put in front of a command's libraries, and where they look for it.
PRELOADS := $(patsubst %.c,$(BUILD)/preload/%.so,$(notdir $(wildcard cmd/*/preload/*.c))) \
	$(BUILD)/preload/guard.so
PRELOADDIR = $(abspath $(BINDIR)/../libexec/hpdsl)
LIBS := $(BUILD)/libhpdsl.a $(BUILD)/$(SONAME)
UNIT := $(wildcard tests/unit/*/test_*.c)
UNIT_SHARED := $(call objs,$(wildcard tests/unit/kit/*.c))
FUZZ := $(wildcard tests/fuzz/fuzz_*.c)
EXAMPLES := $(patsubst %.c,$(BUILD)/%,$(wildcard examples/*.c))
prog = $(patsubst %.c,$(BUILD)/%,$(1))
# with_NAME.c, with_NAME-x.c need the package NAME: bench does without where
# there is none.
WITH := $(wildcard tests/bench/with_*.c)
MPI_BENCH := $(wildcard tests/bench/mpi_*.c)
BENCH_PROGRAMS := $(call prog,$(filter-out $(WITH) $(MPI_BENCH),$(wildcard \
	tests/bench/*.c)))
BENCH_MORE = $(if $(filter bench,$(MAKECMDGOALS)),$(call prog,$(foreach \
	w,$(WITH),$(if $(shell $(PKG_CONFIG) --modversion \
	$(call with,$(w)) 2> /dev/null),$(w)))))
with = $(firstword $(subst -, ,$(patsubst with_%,%,$(basename $(notdir $(1))))))

.PHONY: all deps demo check quick check-more check-time check-long check-build \
	check-libraries libraries lint fuzz \
	fuzz-programs fuzz-run bench install \
	uninstall dist deb wheel help clean
.DELETE_ON_ERROR:
.SECONDARY:
.DEFAULT_GOAL := all

all: $(LIBS) $(PROGRAMS) $(PRELOADS) ## the library and the commands

deps: ## install what building and testing need
	tests/deps

# Is all there that building needs?  Looked for again when what is given is another:
# paths may come with a module, but go with it after that, or with sudo, in vain.
$(BUILD)/given: FORCE | $(filter deps,$(MAKECMDGOALS))
	@mkdir -p $(@D)
	@echo '$(GIVEN)' | cmp -s - $@ || echo '$(GIVEN)' > $@
GIVEN = $(CC) $(CPPFLAGS) $(ALL_CFLAGS) $(PIE) $(LINK_FLAGS) $(or $(PATHS), \
	$(call once,PATHS_THEN,sed -n 's/.* \(PATHS=[^ ]*\).*/\1/p' $(BUILD)/given 2> /dev/null))
PATHS = $(patsubst %,PATHS=%,$(subst $(space),:,$(strip $(PKG_CONFIG_PATH) \
	$(CPATH) $(C_INCLUDE_PATH) $(LIBRARY_PATH))))
$(BUILD)/needed: tests/needed $(BUILD)/given
	@CC='$(CC)' CPPFLAGS='$(CPPFLAGS)' PKG_CONFIG='$(PKG_CONFIG)' \
		tests/needed $@ $(COMPILE_LINK)

# A change of compiler or flags rebuilds.
$(BUILD)/flags: $(BUILD)/needed FORCE
	@echo '$(FLAGS)' | cmp -s - $@ || echo '$(FLAGS)' > $@
FLAGS = $(CC) $(MPICC) $(ALL_CFLAGS) $(DEP_CFLAGS) $(PIE) $(LINK_FLAGS) $(DEP_LIBS) \
	$(LINK_RPATH)
# Phony, because .SECONDARY takes what is not there for done.
.PHONY: FORCE
FORCE:

$(BUILD)/lib/%.o: lib/%.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(call say,CC)$(CC) $(ALL_CFLAGS) -fPIC -fvisibility=hidden \
		-iquote lib $(DEP_CFLAGS) -c -o $@ $<

# Commands see the public header and their own, nothing private.
$(BUILD)/cmd/%.o: cmd/%.c $(BUILD)/flags $(PUBLIC)
	@mkdir -p $(@D)
	$(call say,CC)$(CC) $(ALL_CFLAGS) -I$(BUILD)/include -Icmd $(DEP_CFLAGS) \
		-c -o $@ $<

# Without MPI nothing is made of these, and hpdsl-stage is left out.
$(STAGE_OBJS): $(BUILD)/%.o: %.c $(BUILD)/flags $(PUBLIC)
	@mkdir -p $(@D)
	$(if $(MPI),$(call say,CC)$(MPI) $(ALL_CFLAGS) -I$(BUILD)/include -Icmd \
		$(DEP_CFLAGS) -c -o $@ $<,@:)

# The same, without libmicrohttpd, of these and hpdsl-serve.
$(SERVE_OBJS): $(BUILD)/%.o: %.c $(BUILD)/flags $(PUBLIC)
	@mkdir -p $(@D)
	$(if $(HTTPD_LIBS),$(call say,CC)$(CC) $(ALL_CFLAGS) -I$(BUILD)/include -Icmd \
		$(HTTPD_CFLAGS) $(DEP_CFLAGS) -c -o $@ $<,@:)

$(BUILD)/examples/%.o: examples/%.c $(BUILD)/flags $(PUBLIC)
	@mkdir -p $(@D)
	$(call say,CC)$(CC) $(ALL_CFLAGS) -I$(BUILD)/include $(CPPFLAGS) -c -o $@ $<

$(BUILD)/tests/%.o: tests/%.c $(BUILD)/flags | $(PUBLIC)
	@mkdir -p $(@D)
	$(call say,CC)$(CC) $(ALL_CFLAGS) -iquote lib -iquote . -iquote cmd \
		$(if $(filter test_%,$(*F)),-include tests/unit/kit/unit_file.h \
			-DUNIT_NAME='"$(*F)"') \
		-iquote tests/unit/kit -I$(BUILD)/include $(DEP_CFLAGS) $(OWN) -c -o $@ $< \
		$(if $(OWN),&& objcopy -G main $@)

# A test of a command includes its files, which are in others, too.
OWN = $(if $(filter unit/cmd/%,$*),-fno-lto)

$(PUBLIC): $(BUILD)/include/%: lib/%
	@mkdir -p $(@D)
	@cp $< $@

# q: files of different folders may have one name.  P would keep the folders, which
# strip cannot make.
$(BUILD)/libhpdsl.a: $(LIB_OBJS)
	$(call say,AR)rm -f $@ && $(AR) qcs $@ $^

$(BUILD)/$(SONAME) $(BED)/$(SONAME): $(LIB_OBJS)
	@mkdir -p $(@D)
	$(call say,LD)$(CC) $(LINK_FLAGS) -shared -Wl,-soname,$(SONAME) \
		$(if $(SAN),,-Wl$(comma)-z,defs) $(LINK_RPATH) -o $@ $^ $(DEP_LIBS)

# Without a sanitizer: the command has none.
vpath %.c cmd/mount/preload cmd/stall/preload
$(filter-out %/guard.so,$(PRELOADS)): $(BUILD)/preload/%.so: %.c
# One rule for all that watch hpdsl-stall.
$(BUILD)/preload/guard.so: $(sort $(wildcard cmd/stall/preload/guard/*.[ch])) \
	lib/measure/alive.c lib/measure/alive.h
$(BUILD)/preload/guard.so: private ALL_CFLAGS += -fvisibility=hidden -iquote lib
$(PRELOADS): $(BUILD)/flags
	@mkdir -p $(@D)
	$(call say,LD)$(CC) $(filter-out $(SANFLAGS) -MMD -MP,$(ALL_CFLAGS)) $(CPPFLAGS) \
		$(HARDEN_LINK) $(LDFLAGS) -fPIC -shared -o $@ $(filter %.c,$^)

# tests/bed/faults.c stands between the library and the system's file operations.
wrap = $(patsubst %,-Wl$(comma)--wrap=%,$(1))
CLOCKS = hp_now hp_monotonic pthread_cond_timedwait setitimer
$(FAULTY): private LINK_FLAGS += $(call wrap, \
	hp_io_or_system stage_io stage_version stage_now write writev $(CLOCKS))
$(FAULTY): $(BED)/faults.o $(BED)/faults_clock.o
$(BED)/$(SONAME): private LINK_FLAGS += $(call wrap,$(CLOCKS))
$(BED)/$(SONAME): $(BED)/faults_clock.o
$(BED)/faults_clock.o: private ALL_CFLAGS += -fPIC
define program
$(addsuffix /$(basename $(notdir $(1))),$(BUILD) $(BED)): $(call objs, \
	$(wildcard $(dir $(1))*.c)) $(COMMON) $(BUILD)/libhpdsl.a
endef
$(foreach m,$(MAINS),$(eval $(call program,$(m))))
$(filter-out %/hpdsl-stage %/hpdsl-serve,$(PROGRAMS) $(FAULTY)):
	$(call say,LD)$(LINK) -o $@ $^ $(DEP_LIBS)

$(SERVE) $(BED)/hpdsl-serve:
	@mkdir -p $(@D)
	$(if $(HTTPD_LIBS),$(call say,LD)$(LINK) -o $@ $^ $(HTTPD_LIBS) $(DEP_LIBS),@echo \
		'  --      $@ is left out: no libmicrohttpd here (libmicrohttpd-dev on' \
		'Debian, libmicrohttpd-devel elsewhere)')

$(STAGE) $(BED)/hpdsl-stage: $(if $(findstring address,$(SAN)),$(call objs, \
	tests/bed/beside_asan.c))
	@mkdir -p $(@D)
	$(if $(MPI),$(call say,LD)$(MPI) $(PIE) $(LINK_FLAGS) \
		$(LINK_RPATH) -o $@ $(filter %.o,$^) $(filter %.a,$^) $(DEP_LIBS),@echo \
		'  --      $@ is left out: no $(MPICC) here (libopenmpi-dev on' \
		'Debian, elsewhere often module load openmpi)')

# What tests/run runs each of them through.
REAP := $(BUILD)/tests/kit/reap
$(REAP): tests/kit/reap.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(call say,LD)$(CC) -O2 -D_GNU_SOURCE $(WARN) $(WERROR) -o $@ $<

$(ORIGIN): $(wildcard tests/bed/origin*.c tests/bed/*.h) $(BUILD)/flags
	@mkdir -p $(@D)
	$(if $(FUSE_LIBS),$(call say,LD)$(CC) $(COMPILE_LINK) \
		-o $@ $(filter %.c,$^) $(FUSE_LIBS) -lm,@echo \
		'  --      $@ is left out: there is no fuse3 here')

$(EXAMPLES) $(BENCH_PROGRAMS): %: %.o $(BUILD)/libhpdsl.a
	$(call say,LD)$(LINK) $(FAST_LD) -o $@ $^ $(DEP_LIBS) -lm

$(call prog,$(MPI_BENCH)): $(BUILD)/%: %.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(if $(MPI),$(call say,LD)$(MPI) $(COMPILE_LINK) -o $@ $<)

$(call prog,$(WITH)): $(BUILD)/tests/bench/with_%: $(BUILD)/tests/bench/with_%.o
	$(call say,LD)$(LINK) -o $@ $< $$($(PKG_CONFIG) --libs $(call with,$@)) -lpthread

# tests/unit/kit/wrap.c stands between the library and these.
WRAPPED = malloc calloc realloc reallocarray aligned_alloc strdup strndup \
	ZSTD_compressStream2
WRAP = $(call wrap,$(WRAPPED))
# One program a folder: linking costs as much as compiling.  A test file is a
# link to it, and runs by its name (tests/unit/kit/unit.c).
$(call objs,$(UNIT)): tests/unit/kit/unit_file.h
UNIT_PROGRAMS := $(patsubst %,$(BUILD)/%units,$(sort $(dir $(UNIT))))
$(UNIT_PROGRAMS): $(UNIT_SHARED) $(BUILD)/libhpdsl.a
	$(call say,LD)$(LINK) $(FAST_LD) $(WRAP) -o $@ $(filter %.o,$^) $(filter %.a,$^) \
		$(DEP_LIBS) -lcmocka -lm
define unit_program
$(BUILD)/$(1)units: $(call objs,$(wildcard $(1)test_*.c))
$(call prog,$(wildcard $(1)test_*.c)): $(BUILD)/$(1)units
	@ln -sf units $$@
endef
$(foreach d,$(sort $(dir $(UNIT))),$(eval $(call unit_program,$(d))))

# The replay twin of each fuzz target: feeds it its corpus, with any compiler.
$(call prog,$(FUZZ)): %: %.o $(BUILD)/tests/fuzz/replay.o $(BUILD)/libhpdsl.a
	$(call say,LD)$(LINK) $(FAST_LD) -o $@ $^ $(DEP_LIBS)

# What prove runs: programs and bats files, each through tests/run.
BATS := $(filter-out tests/long/%,$(wildcard tests/*/*.bats))
TESTS_HERE := $(UNIT) $(FUZZ) $(BATS)
# What tests/run leaves goes by their names.
NAMES := $(notdir $(TESTS_HERE) $(wildcard tests/long/*.bats))
ifneq ($(words $(NAMES)),$(words $(sort $(NAMES))))
$(error two test files have one name)
endif
# All, or those of AREA=FOLDER, or TESTS=FILE.
CHOSEN := $(if $(and $(filter check check-more check-time check-libraries,$(MAKECMDGOALS)),$(TESTS)$(AREA)),$(sort $(foreach t,$(TESTS),$(or $(filter \
	$(TESTS_HERE) tests/long/%,$(wildcard $(t))),$(error $(t) is no test))) \
	$(foreach a,$(AREA),$(or $(filter tests/unit/$(a)/% tests/$(a)/%,\
	$(TESTS_HERE)),$(error AREA=$(a): no tests in tests/$(a) or tests/unit/$(a))))),\
	$(TESTS_HERE))
# Some wait for disks and for each other.
TEST_JOBS ?= $(shell echo $$(($$(nproc) + 2)))
TEST_ENV = SRC='$(CURDIR)' BUILD='$(abspath $(BUILD))' CC='$(CC)' SAN='$(SAN)' \
	CPPFLAGS='$(CPPFLAGS)' CFLAGS='$(CFLAGS)' LDFLAGS='$(LDFLAGS)' \
	WERROR='$(WERROR)' MPICC='$(MPICC)' \
	$(if $(filter-out file,$(origin RPATH)),RPATH='$(RPATH)')

# What tests/again looks at is of this run, even where something fails before it.
$(if $(filter check check-more check-time check-libraries quick,$(MAKECMDGOALS)),$(shell \
	rm -f $(BUILD)/tests/chosen))

SIM := $(BUILD)/tests/bench/sim_stage
SPARSE := $(BUILD)/tests/bench/gen_sparse
# A bats file may call whatever there is; a program is what it needs.
FOR_BATS := all $(EXAMPLES) $(FAULTY) $(BED)/$(SONAME) $(ORIGIN) $(SIM) $(SPARSE)
needs = $(REAP) $(call prog,$(filter %.c,$(1))) $(if $(filter %.bats,$(1)),$(FOR_BATS))
prove = @$(TEST_ENV) tests/all $(1) $(2) $(or $(call prog,$(3)),$(error no tests))

check-build: $(call needs,$(TESTS_HERE))

check: $(call needs,$(CHOSEN)) ## run the tests (AREA=stage, TESTS=tests/read/ls.bats: just those)
	$(call prove,check,$(TEST_JOBS),$(CHOSEN))

check-more: $(call needs,$(CHOSEN)) ## what check leaves out or does only in part
	$(call prove,more,$(TEST_JOBS),$(CHOSEN))

check-time: $(call needs,$(CHOSEN)) ## what measures time; wants the machine for itself
	$(call prove,time,1,$(CHOSEN))

# Libraries of others, from PyPI, in a virtual environment.  LIBRARIES=: one elsewhere.
LIBRARIES ?= build/libraries
libraries: $(LIBRARIES)/made ## a virtual environment of others' libraries, from PyPI
$(LIBRARIES)/made: tests/libraries/requirements.txt
	@tests/libraries/environment $(PYTHON) $(@D)

check-libraries: $(LIBRARIES)/made $(call needs,$(CHOSEN)) ## what needs those libraries
	@PYTHON='$(abspath $(LIBRARIES))/bin/python' $(TEST_ENV) \
		tests/all libraries $(TEST_JOBS) $(call prog,$(CHOSEN))
	@BUILD='$(BUILD)' tests/libraries/tried $(LIBRARIES) $(if $(TESTS)$(AREA),,keep)

quick: $(call needs,$(TESTS_HERE)) ## all unit tests and the quickest of commands: two minutes
	$(call prove,quick,$(TEST_JOBS),$(TESTS_HERE))

# Built before the time counts.
LONG ?= 1h
check-long: check-build ## run the loops of tests/long, for about LONG=1h in all
	@! command -v clang > /dev/null || $(FUZZ_MAKE) fuzz-programs
	@$(TEST_ENV) LONG='$(LONG)' tests/long/run $(LOOPS)

demo: all $(BUILD)/tests/bench/gen ## a tour on real images (INPUT=dir: yours)
	BUILD='$(abspath $(BUILD))' tests/demo.sh $(if $(INPUT),'$(INPUT)')

bench: $(if $(filter libraries,$(BENCH)),$(LIBRARIES)/made)
bench: all $(BENCH_PROGRAMS) $(call prog,$(MPI_BENCH)) $(BENCH_MORE) $(ORIGIN) ## measure against tar, bsdtar, mksquashfs (BENCH=...)
	BUILD='$(abspath $(BUILD))' LIBRARIES='$(abspath $(LIBRARIES))' \
		tests/bench/bench.py $(BENCH)

lint: ## check layout, scripts, manual pages, and run static checks
	tests/lint

FUZZ_SECONDS ?= 300
fuzz: ## fuzz each decoder for FUZZ_SECONDS, from its corpus (clang)
	$(FUZZ_MAKE) fuzz-run
FUZZ_MAKE = $(MAKE) CC=clang SAN=fuzzer-no-link,address,undefined
FUZZ_PROGRAMS = $(patsubst tests/fuzz/%.c,$(BUILD)/fuzz/%,$(FUZZ))
fuzz-programs: $(FUZZ_PROGRAMS)
fuzz-run: $(FUZZ_PROGRAMS)
	FUZZ_SECONDS=$(FUZZ_SECONDS) tests/fuzz/run $^
$(BUILD)/fuzz/%: $(BUILD)/tests/fuzz/%.o $(BUILD)/libhpdsl.a
	@mkdir -p $(@D)
	$(call say,LD)$(LINK) -fsanitize=fuzzer -o $@ $^ $(DEP_LIBS)

# What is installed, as MODE:SOURCE:PLACE; uninstall takes away just that.
into = $(foreach f,$(2),$(1):$(f):$(3)/$(notdir $(f)))
completions = $(call into,644,$(wildcard completions/$(1)/*),$(SHAREDIR)/$(2))
INSTALLED = $(call into,755,$(filter-out $(STAGE) $(SERVE),$(PROGRAMS)),$(BINDIR)) \
	$(call into,755?,$(STAGE) $(SERVE),$(BINDIR)) \
	$(call into,755,$(PRELOADS),$(PRELOADDIR)) \
	$(foreach h,$(HEADERS),644:$(h):$(INCLUDEDIR)/$(h:lib/%=%)) \
	$(call into,644,$(BUILD)/libhpdsl.a,$(LIBDIR)) \
	755:$(BUILD)/$(SONAME):$(LIBDIR)/libhpdsl.so.$(VERSION) \
	$(foreach l,$(SONAME) libhpdsl.so,link:libhpdsl.so.$(VERSION):$(LIBDIR)/$(l)) \
	$(call into,644,$(BUILD)/hpdsl.pc,$(LIBDIR)/pkgconfig) \
	$(call into,644,$(filter-out %/_where.py,$(wildcard $(addprefix \
		lib/python/hpdsl/,*.py py.typed))) $(BUILD)/python/_where.py,$(PYTHONDIR)/hpdsl) \
	$(call into,644,lib/python/hpdsl/_hook/sitecustomize.py,$(PYTHONDIR)/hpdsl/_hook) \
	$(call into,644,$(wildcard \
		lib/python/hpdsl.dist-info/*),$(PYTHONDIR)/hpdsl-$(VERSION).dist-info) \
	$(foreach s,1 3 5 7,$(call \
		into,644,$(wildcard man/*.$(s)),$(MANDIR)/man$(s))) \
	$(call completions,bash,bash-completion/completions) \
	$(call completions,zsh,zsh/site-functions) \
	$(call completions,fish,fish/vendor_completions.d) \
	644:$(BUILD)/hpdsl.lua:$(MODULEDIR)/hpdsl/$(VERSION).lua \
	644:$(BUILD)/hpdsl.tcl:$(MODULEDIR)/hpdsl/$(VERSION)
PUT = '$(DESTDIR)' '$(PREFIX)' '$(RECORD)' $(INSTALLED)

# Files that say where the others are, but from where they lie themselves, so that
# all may be moved together; only what is in /usr stays there.
below = $(patsubst $(PREFIX)/%,%,$(1))
from = $(if $(filter $(PREFIX)/%,$(1)),$(shell realpath -ms --relative-to='$(1)' '$(2)'))
pc = $(patsubst $(PREFIX)/%,$${prefix}/%,$(1))
PLACED := $(addprefix $(BUILD)/,hpdsl.pc hpdsl.lua hpdsl.tcl)
$(PLACED): $(BUILD)/%: lib/%.in $(BUILD)/needed FORCE
	@sed -e 's|@VERSION@|$(VERSION)|' -e 's|@PREFIX@|$(PREFIX)|' \
		-e 's|@PCPREFIX@|$(addprefix $${pcfiledir}/,$(if $(filter-out \
			/usr,$(PREFIX)),$(call from,$(LIBDIR)/pkgconfig,$(PREFIX))))|' \
		-e 's|^prefix=$$|prefix=$(PREFIX)|' \
		-e 's|@LIBS@|$(strip $(DEP_LIBS))|' \
		-e 's|@PCLIBDIR@|$(call pc,$(LIBDIR))|' \
		-e 's|@PCINCLUDEDIR@|$(call pc,$(INCLUDEDIR))|' \
		-e 's|@UP@|$(call from,$(MODULEDIR)/hpdsl,$(PREFIX))|' \
		-e 's|@BINDIR@|$(call below,$(BINDIR))|' \
		-e 's|@LIBDIR@|$(call below,$(LIBDIR))|' \
		-e 's|@MANDIR@|$(call below,$(MANDIR))|' \
		-e 's|@PYTHONDIR@|$(call below,$(PYTHONDIR))|' $< > $@

# The library's place, seen from the module's.
$(BUILD)/python/_where.py: lib/python/_where.py.in FORCE
	@mkdir -p $(@D)
	@sed "s|@LIBDIR@|$$(realpath -ms --relative-to='$(PYTHONDIR)/hpdsl' \
		'$(LIBDIR)')|" $< > $@

install: all $(PLACED) $(BUILD)/python/_where.py ## into $(DESTDIR)$(PREFIX)
	@tests/put in $(PUT)
	$(if $(DESTDIR)$(filter /usr /usr/local,$(PREFIX)),,@printf '%s\n' $(TO_USE))

# For a shell that does not look there by itself.  MANPATH ends with a colon, or
# else man has no other pages.
TO_USE = 'To use it, here and in ~/.bashrc:' \
	'  export PATH="$(BINDIR):$$PATH"' \
	'  export MANPATH="$(MANDIR):$${MANPATH-}"' \
	'  export PYTHONPATH="$(PYTHONDIR)$${PYTHONPATH:+:$$PYTHONPATH}"' \
	'Or, where there is a module command:' \
	'  module use "$(MODULEDIR)" && module load hpdsl'

uninstall: ## remove what install put there
	@rm -rf '$(DESTDIR)$(PYTHONDIR)/hpdsl'/__pycache__ \
		'$(DESTDIR)$(PYTHONDIR)/hpdsl'/_hook/__pycache__
	@tests/put out $(PUT)

TARBALL = dist/hpdsl-$(VERSION).tar
dist: ## a tarball of the last commit
	@mkdir -p dist
	git archive --prefix=hpdsl-$(VERSION)/ -o $(TARBALL) HEAD
	gzip -nf9 $(TARBALL)

# Packages, of what is in examples/packaging.
deb: ## packages for Debian and Ubuntu, into dist/
	examples/packaging/make_deb $(BUILD)/deb dist
wheel: $(BUILD)/$(SONAME) ## a Python wheel with the library in it, into dist/
	$(PYTHON) examples/packaging/make_wheel.py $< dist

help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  \1 \2/p' Makefile | \
		awk '{ n = $$1; $$1 = ""; printf "  %-11s%s\n", n, $$0 }'
	@echo 'Variables: CC CFLAGS WERROR= SAN=address,undefined|thread' \
		'MPICC=mpicc.mpich CPPFLAGS LDFLAGS'
	@echo '  RPATH= DESTDIR PREFIX PYTHONDIR MODULEDIR V=1'

clean: ## remove build/ and dist/
	rm -rf build dist

-include $(wildcard $(BUILD)/*/*.d $(BUILD)/*/*/*.d $(BUILD)/*/*/*/*.d)
