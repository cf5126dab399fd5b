# SPDX-License-Identifier: MIT
#
# cbank's one makefile. `make help` lists the targets.
#
# Variables:
# - BUILD (where to build), CUDA (toolkit directory; empty for none), NO_CUDA=1, ARCHS ("75 90", or
#   all)
# - CC, CCBIN (host compiler of nvcc), SANITIZE=1, WERROR=-Werror, FAST=-O0, FAST_TESTS=-O0, PYTHON
# - STATIC=1 (cJSON in the program), PREFIX, DESTDIR, V=1 (show the commands)
# - ARGS (for `make run`, `bench-gpu`, `plots`), FILES (for `make plots`), FUZZ_SECONDS (for `make
#   fuzz`)

MAKEFLAGS += --no-builtin-rules --no-print-directory
.DELETE_ON_ERROR:
.SECONDARY:

# All processors, unless the caller says how many: -j on the command line wins. A sub-make takes
# part in its parent's job server.
ifeq ($(MAKELEVEL),0)
ifeq ($(filter -j%,$(MAKEFLAGS)),)
MAKEFLAGS += -j$(shell nproc)
endif
endif

BUILD  ?= build
IMAGES ?= build/images
PREFIX ?= /usr/local
ifeq ($(origin CC),default)
CC := gcc
endif
COMMA := ,
Q := $(if $(V),,@)
say = $(if $(V),,@printf '  %-6s %s\n' $(1) '$(2)')

# Make and the shell take odd paths apart, so the paths of this build must be plain. Folders that no
# rule names go to scripts by the environment: they may have any character but the dollar, which
# make replaces.
DELICATE := ' " ` ( ) { } [ ] < > * ? ; & | \ ~ ! % : = \# $$
# $(call is_odd,NAME): something where the value of that variable is no plain path.
is_odd = $(or $(filter-out 1,$(words x$(value $(1))x)),$(filter -%,$(value $(1))),$(strip \
           $(foreach mark,$(DELICATE),$(findstring $(mark),$(value $(1))))))
BUILD_PATHS := BUILD IMAGES CUDA $(if $(NO_CUDA)$(CUDA),,CUDA_HOME CUDA_PATH)
$(foreach name,$(BUILD_PATHS),$(if $(call is_odd,$(name)),$(error $(name) is \
    '$(value $(name))': make cannot build with a path that has a space, a quote, a leading dash or \
    another sign of make or the shell; nothing was done)))
$(foreach name,PREFIX DESTDIR DIR CREDIT,$(if $(findstring $$,$(value $(name))),$(error $(name) is \
    '$(value $(name))': make would replace what follows the dollar; name it without one; \
    nothing was done)))
# No module is looked for in the folder that PYTHONPATH may stand for.
unexport PYTHONPATH
export PREFIX DESTDIR DIR CREDIT

PROGRAM := $(BUILD)/cbank
OBJ     := $(BUILD)/obj

# Goals that build nothing need no toolkit and no question to the driver.
BUILDS := $(filter-out help clean uninstall setup test-distributions check-headers format \
            lint dist release,$(or $(MAKECMDGOALS),all))

# ---- The CUDA toolkit: the first of CUDA, CUDA_HOME, CUDA_PATH, nvcc on PATH, /usr/local/cuda.

ifdef NO_CUDA
override CUDA :=
else ifeq ($(origin CUDA),undefined)
CUDA := $(patsubst %/bin/nvcc,%,$(firstword \
          $(foreach dir,$(CUDA_HOME) $(CUDA_PATH),$(wildcard $(dir)/bin/nvcc)) \
          $(realpath $(shell command -v nvcc 2>/dev/null)) $(wildcard /usr/local/cuda/bin/nvcc)))
else ifneq ($(CUDA),)
ifeq ($(wildcard $(CUDA)/bin/nvcc),)
$(error CUDA=$(CUDA) has no bin/nvcc; name a CUDA toolkit, or build without one: make NO_CUDA=1)
endif
endif

ifneq ($(CUDA),)
NVCC  := $(CUDA)/bin/nvcc
PTXAS := $(CUDA)/bin/ptxas
CUDART := $(firstword $(wildcard $(addsuffix /libcudart_static.a,$(CUDA)/lib64 \
            $(CUDA)/targets/*/lib $(CUDA)/lib $(CUDA)/lib/*-linux-gnu)))
CUPTI_INCLUDE := $(wildcard $(CUDA)/extras/CUPTI/include)
CUDA_CPPFLAGS := -isystem $(CUDA)/include $(addprefix -isystem ,$(CUPTI_INCLUDE)) \
                 -Iharness/engine/cuda/compat
CUDA_LIBS := $(CUDART) -ldl -lrt
endif

ifneq ($(and $(CUDA),$(BUILDS)),)
ifeq ($(CUDART),)
$(error the CUDA toolkit in $(CUDA) has no libcudart_static.a; install it, or build without: \
    make NO_CUDA=1)
endif
CUDA_VERSION := $(shell $(NVCC) --version | sed -n 's/.*, V//p')
CUDA_MAJOR := $(firstword $(subst ., ,$(CUDA_VERSION)))
# nvcc before 12 refuses gcc after 11.
ifeq ($(origin CCBIN)$(filter-out 1 2 3 4 5 6 7 8 9 10 11,$(CUDA_MAJOR)),undefined)
CCBIN := $(notdir $(firstword $(foreach version,11 10 9,$(shell command -v g++-$(version)))))
endif
NVCCFLAGS := $(if $(CCBIN),-ccbin $(CCBIN)) -rdc=true -std=c++17 -Wno-deprecated-gpu-targets
KNOWN_ARCHS := $(patsubst sm_%,%,$(shell $(NVCC) --list-gpu-code))
# The machine's GPUs that this toolkit knows. Where there are none, one: 90, the newest whose
# results are committed. Every toolkit since 11.8 knows it, and its PTX runs on every newer GPU. An
# older toolkit: its newest.
ifeq ($(origin ARCHS),undefined)
ARCHS := $(filter $(KNOWN_ARCHS),$(subst .,,$(shell \
           nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2>/dev/null)))
ifeq ($(ARCHS),)
ARCHS := $(lastword $(KNOWN_ARCHS) $(filter 90,$(KNOWN_ARCHS)))
ARCHS_WHY := , as there is no GPU here that it knows (ARCHS=all builds for all)
endif
else ifeq ($(ARCHS),all)
override ARCHS := $(KNOWN_ARCHS)
endif
override ARCHS := $(shell printf '%s\n' $(subst $(COMMA), ,$(ARCHS)) | sort -nu)
ifneq ($(filter-out $(KNOWN_ARCHS),$(ARCHS)),)
$(error ARCHS: $(NVCC) does not know $(filter-out $(KNOWN_ARCHS),$(ARCHS)); it knows $(KNOWN_ARCHS))
endif
endif

# ---- Sources and flags

# A folder of harness/ is a room: it sees itself, patterns/ and kernels/ from cell/ on, and those
# rooms above it in this list that it names, and no other. An include that points up does not
# compile.
ROOMS := base document command cell kernel counts result engine engine/cuda engine/cuda/probe \
         characterize compare explain sass advise report
CORE  := base document command cell kernel counts result engine
SEES_base         :=
SEES_document     := base
SEES_command      := base document
SEES_cell         := base document command
SEES_kernel       := base document command cell
SEES_counts       := base document command cell
SEES_result       := base document command cell
SEES_engine       := base document command cell kernel counts result
SEES_engine/cuda  := $(CORE)
SEES_engine/cuda/probe := $(CORE) engine/cuda
SEES_characterize := $(CORE)
SEES_compare      := $(CORE)
SEES_explain      := $(CORE)
SEES_sass         := base document command cell
SEES_advise       := $(CORE) sass
SEES_report       := $(CORE) characterize compare
TABLES_SEEN       := $(filter-out base document command,$(ROOMS))
TABLE_PATH        := -Ipatterns -Ikernels

# $(call room_flags,ROOM): its include path.
room_flags = $(if $(filter $(1),$(TABLES_SEEN)),$(TABLE_PATH)) \
             $(patsubst %,-Iharness/%,$(1) $(SEES_$(1)))
EVERY_ROOM := $(TABLE_PATH) $(ROOMS:%=-Iharness/%)

CPPFLAGS_ALL := -D_GNU_SOURCE $(CPPFLAGS)
# -Werror in tests: a compiler newer than these sources may warn of more, which must not stop who
# wants to measure. Files compiled without it stay, so that a build after tests, or tests after a
# build, compile nothing again.
WERROR ?=
SANITIZERS := -fsanitize=address$(COMMA)undefined -fno-sanitize-recover=all
OPTIMIZE := $(if $(SANITIZE),-O1 $(SANITIZERS) -fno-omit-frame-pointer \
              -DCBANK_SANITIZED,-O2 -Wframe-larger-than=65536)
STRICT := -std=c11 -Wall -Wextra -Wpedantic
CFLAGS_ALL := -std=c11 $(OPTIMIZE) -g -Wall -Wextra -Wpedantic $(CFLAGS)
LDFLAGS_ALL := $(filter -fsanitize=%,$(OPTIMIZE)) $(LDFLAGS)
# STATIC=1 puts cJSON into the program: from libcjson.a or, where the distribution has none, from
# its source package.
LIBCJSON_FOUND = $(filter /%,$(shell $(CC) -print-file-name=libcjson.a))
LIBCJSON ?= $(if $(STATIC),$(or $(LIBCJSON_FOUND),$(BUILD)/cjson/libcjson.a),-lcjson)
LIBS = $(CUDA_LIBS) $(LIBCJSON) -lpthread -lm

# The only rooms that see a vendor header. Where there is no toolkit, or its CUPTI has no Range
# Profiler, a stand-in says so, in the program.
VENDOR        := harness/engine/cuda
CUDA_ABSENT   := $(VENDOR)/engine_cuda_absent.c
CUPTI_ABSENT  := $(VENDOR)/cupti_reader_absent.c
CUPTI_SOURCES := $(filter-out $(CUPTI_ABSENT),$(wildcard $(VENDOR)/cupti_*.c))
CUPTI_FOUND   := $(wildcard $(addsuffix /cupti_range_profiler.h,$(CUDA)/include $(CUPTI_INCLUDE)))
CUPTI_UNUSED  := $(if $(CUPTI_FOUND),$(CUPTI_ABSENT),$(CUPTI_SOURCES))
CUDA_SOURCES  := $(filter-out $(CUDA_ABSENT) $(CUPTI_UNUSED),$(wildcard \
                   $(VENDOR)/*.c $(VENDOR)/probe/*.c))
PLAIN_SOURCES := $(filter-out $(VENDOR)/%,$(wildcard \
                   patterns/*.c kernels/*.c harness/*.c $(ROOMS:%=harness/%/*.c)))
SOURCES := $(PLAIN_SOURCES) $(if $(CUDA),$(CUDA_SOURCES),$(CUDA_ABSENT))
OBJECTS := $(SOURCES:%.c=$(OBJ)/%.o) $(patsubst %.S,$(OBJ)/%.o,$(wildcard $(ROOMS:%=harness/%/*.S)))
TESTS   := $(patsubst %.c,$(BUILD)/%,$(wildcard tests/unit/test_*.c))
FAULTS  := $(patsubst %.c,$(BUILD)/%.so,$(wildcard tests/faults/*.c))
FUZZER  := $(BUILD)/tests/fuzz/fuzz
CARDS   := $(wildcard results/cards/*.json)

.PHONY: all tests simulated run contribute cards setup test test-kernels test-all test-long \
        test-distributions test-fleet test-gpu coverage bench-gpu plots reproduce gallery \
        check-sass check-ptx check-headers sanitize fuzz fuzzers install uninstall format \
        lint dist deb release clean help FORCE

# What the program is built with, in words.
BUILT_ARCHS    := architectures $(ARCHS) and PTX of $(lastword $(ARCHS))$(ARCHS_WHY)
BUILT_COUNTERS := $(if $(filter $(CUPTI_ABSENT),$(SOURCES)),$(COMMA) no counters: no CUPTI with \
                    the Range Profiler)
BUILT_WITH     := $(if $(CUDA),CUDA $(CUDA_VERSION)$(COMMA) $(BUILT_ARCHS)$(BUILT_COUNTERS),no \
                    CUDA toolkit: built without the CUDA engine (make CUDA=DIRECTORY names a \
                    toolkit))

all: $(PROGRAM) ## build the program (the default)
	@echo '$(PROGRAM): $(BUILT_WITH)'

tests: $(TESTS) $(FAULTS) ## build the unit tests

# $(call stamp,FILE,TEXT): a file that is touched only when its text changes; what depends on TEXT
# depends on it.
define stamp
$(1): FORCE
	@mkdir -p $$(@D)
	@printf '%s\n' '$(subst ','\'',$(2))' | cmp -s - $$@ || printf '%s\n' '$(subst ','\'',$(2))' > $$@
endef

# A name of files and a word of the compiler's command line.
VERSION_TEXT := $(shell tr -cd 0-9A-Za-z.+~- <VERSION)
ifneq ($(BUILDS),)
# In a tarball .commit says what git says elsewhere.
ARCHIVED := $(filter-out $$Format:%,$(shell tr -cd '$$:0-9A-Za-z ' <.commit 2>/dev/null))
ifneq ($(ARCHIVED),)
GIT_COMMIT := $(firstword $(ARCHIVED))
COMMIT_TIME := $(lastword $(ARCHIVED))
else ifneq ($(wildcard .git),)
GIT_COMMIT := $(shell git rev-parse HEAD 2>/dev/null)
GIT_DIRTY := $(if $(shell git status --porcelain -- Makefile VERSION patterns kernels harness \
               results/cards 2>/dev/null),1,0)
COMMIT_TIME := $(shell git log -1 --format=%ct 2>/dev/null)
endif
ARCHITECTURES := $(if $(CUDA),$(ARCHS:%=sm_%) compute_$(lastword $(ARCHS)))
VERSION_DEFINES := -DCBANK_VERSION='"$(VERSION_TEXT)"' \
                   -DCBANK_GIT_COMMIT='"$(or $(GIT_COMMIT),unknown)"' \
                   -DCBANK_GIT_DIRTY=$(or $(GIT_DIRTY),0) -DCBANK_CUDA_TOOLKIT='"$(CUDA_VERSION)"' \
                   -DCBANK_ARCHITECTURES='"$(ARCHITECTURES)"'
endif
IMAGE_ARCHIVE := $(if $(CUDA),$(IMAGES)/images.a,$(OBJ)/no_images.a)

# A fuzzer is guided by what it reaches in the rooms that read; clang knows how to tell it. It sees
# what strings are compared with anyway; tracing every comparison of numbers takes half of the time.
FUZZED := document command cell kernel counts result engine characterize compare advise
GUIDED := $(if $(SANITIZE),$(if $(findstring clang,$(CC)),-fsanitize=fuzzer-no-link \
            -fno-sanitize-coverage=trace-cmp))

$(eval $(call stamp,$(OBJ)/flags.stamp,$(CC) $(CPPFLAGS_ALL) \
    $(foreach room,$(ROOMS),$(call room_flags,$(room))) $(CFLAGS_ALL) \
    $(if $(GUIDED),$(GUIDED) $(FUZZED))))
$(eval $(call stamp,$(OBJ)/cuda.stamp,$(CUDA_CPPFLAGS)))
$(eval $(call stamp,$(OBJ)/images.stamp,$(IMAGE_ARCHIVE)))
$(eval $(call stamp,$(OBJ)/link.stamp,$(LDFLAGS_ALL) $(OBJECTS) $(LIBS)))
$(eval $(call stamp,$(OBJ)/version.stamp,$(VERSION_DEFINES)))

$(CUDA_SOURCES:%.c=$(OBJ)/%.o): EXTRA = $(CUDA_CPPFLAGS)
$(CUDA_SOURCES:%.c=$(OBJ)/%.o): $(OBJ)/cuda.stamp
$(OBJ)/harness/command/version.o: EXTRA = $(VERSION_DEFINES)
$(OBJ)/harness/command/version.o: $(OBJ)/version.stamp
$(OBJ)/harness/cell/images.o: EXTRA = -DCBANK_IMAGES='"$(IMAGE_ARCHIVE)"'
$(OBJ)/harness/cell/images.o: $(IMAGE_ARCHIVE) $(OBJ)/images.stamp
# The cards go into the program by .incbin, which dependency files do not see.
$(filter $(OBJ)/harness/counts/card%,$(OBJECTS)): $(CARDS)
# So do the headers of kernel files.
$(OBJ)/harness/kernel/kernel_headers.o: kernels/cbank.cuh kernels/cbank_case.h

# The folders that an object may include, by its own folder.
# $(call objects_of,ROOM): those of its own folder, not of the rooms in it.
objects_of = $(strip $(foreach object,$(OBJECTS),$(if \
               $(filter $(OBJ)/harness/$(1)/,$(dir $(object))),$(object))))
# $(call house_of,ROOM): what they may include.
house_of = $(call objects_of,$(1)): HOUSE = $(call room_flags,$(1)) \
             $(if $(filter $(1),$(FUZZED)),$(GUIDED))
$(foreach room,$(ROOMS),$(eval $(call house_of,$(room))))
$(OBJ)/harness/main.o $(OBJ)/harness/commands.o $(OBJ)/tests/%.o: \
    HOUSE = $(EVERY_ROOM) -Itests/unit
$(OBJ)/patterns/%.o: HOUSE = -Ipatterns
$(OBJ)/kernels/%.o: HOUSE = -Ikernels -Ipatterns

# FAST=-O0: what does not compute much is compiled in half of the time; FAST_TESTS=-O0: of unit
# tests alone. Files compiled with other flags stay.
FAST ?=
FAST_TESTS ?=
BUSY := $(addsuffix /%,patterns kernels \
          harness/base harness/cell harness/counts harness/characterize) \
        $(foreach test,access cache geometry lookup workload,tests/unit/test_$(test).c)
FASTER = $(if $(filter $(BUSY),$<),,$(FAST) $(if $(filter tests/unit/%,$<),$(FAST_TESTS)))

$(OBJ)/%.o: %.c $(OBJ)/flags.stamp
	$(call say,CC,$<)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS_ALL) $(HOUSE) $(EXTRA) $(CFLAGS_ALL) $(WERROR) $(FASTER) -MMD -MP -c -o $@ $<

$(OBJ)/%.o: %.S $(OBJ)/flags.stamp
	$(call say,AS,$<)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS_ALL) $(HOUSE) $(EXTRA) -MMD -MP -c -o $@ $<

$(BUILD)/cjson/libcjson.a:
	$(call say,CJSON,$@)
	$(Q)CC='$(CC)' scripts/build_cjson.sh $@

ifdef STATIC
$(PROGRAM) $(TESTS) $(FUZZER): $(LIBCJSON)
endif

$(PROGRAM): $(OBJECTS) $(OBJ)/link.stamp
	$(call say,LINK,$@)
	$(Q)$(CC) $(LDFLAGS_ALL) -o $@ $(OBJECTS) $(LIBS)

# An archive, as each test needs a part; thin, as kernels are large.
$(OBJ)/tested.a: $(filter-out $(OBJ)/harness/main.o,$(OBJECTS)) $(OBJ)/link.stamp
	@rm -f $@
	$(Q)ar rcsT $@ $(filter %.o,$^)

$(TESTS): $(BUILD)/tests/%: $(OBJ)/tests/%.o $(OBJ)/tested.a
	$(call say,LINK,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(LDFLAGS_ALL) -o $@ $^ $(LIBS) -lcmocka

# Libraries that tests preload into the program, never with sanitizers: those bring an allocator of
# their own.
$(FAULTS): $(BUILD)/tests/%.so: tests/%.c $(OBJ)/flags.stamp
	$(call say,CC,$<)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS_ALL) -std=c11 -O1 -Wall -Wextra $(WERROR) -fPIC -shared -o $@ $< -ldl

# All targets are one program. libFuzzer brings its own main, and is clang's. It is C++, whose
# library goes into the program with STATIC=1: that runs on any machine with a libc as new as this
# one's.
FUZZ_OBJECTS := $(patsubst %.c,$(OBJ)/%.o,$(wildcard tests/fuzz/*.c))
FUZZER_CC = $(CC)$(if $(STATIC),++ -static-libstdc++ -static-libgcc)
$(FUZZER): $(FUZZ_OBJECTS) $(filter-out $(OBJ)/harness/main.o \
             $(OBJ)/harness/base/parallel.o,$(OBJECTS)) $(OBJ)/link.stamp
	$(call say,LINK,$@)
	@mkdir -p $(@D)
	$(Q)$(FUZZER_CC) $(LDFLAGS_ALL) -fsanitize=fuzzer -o $@ $(filter %.o,$^) $(LIBS)

# ---- The simulated GPU of the tests: a library in place of the vendor's, and the program's objects
# linked to it. It has links with the library names that the program opens, in a folder that it
# searches. Its own copy of what it needs of the program is not counted by coverage.

SIMULATED := $(BUILD)/tests/simulated
SIMULATED_LINKS := $(addprefix $(SIMULATED)/,libcuda.so.1 libnvidia-ml.so.1 libcupti.so.13 \
                     libnvperf_host.so)
SIMULATED_CORE := $(wildcard patterns/*.c kernels/*.c \
                    $(foreach room,base document cell counts,harness/$(room)/*.c)) \
                  harness/characterize/cache.c
SIMULATED_OBJECTS := $(patsubst %,$(OBJ)/simulated/%.o,$(basename $(wildcard tests/simulated/*.c)))
SIMULATED_CORE_OBJECTS := $(patsubst %,$(OBJ)/simulated/%.o,$(basename \
                            $(SIMULATED_CORE) harness/counts/card_texts.S))
SIMULATED_LDFLAGS := $(LDFLAGS_ALL) -Wl,--version-script=tests/simulated/exports
SIMULATED_LIBS = -L$(SIMULATED) -lsimulated $(filter-out $(CUDART),$(LIBS))

# It is of compute capability 9.0.
SIMULATED_WHY := $(if $(CUDA),$(if $(filter 90,$(ARCHS)),,the program has no kernels of sm_90: \
                   make ARCHS=90),it needs a CUDA toolkit)

simulated: $(if $(SIMULATED_WHY),,$(SIMULATED)/cbank) ## build the program for the simulated GPU
	@echo 'simulated GPU: $(or $(SIMULATED_WHY),$(SIMULATED)/cbank)'

$(SIMULATED_OBJECTS) $(SIMULATED_CORE_OBJECTS): \
    HOUSE = $(EVERY_ROOM) -Itests/simulated $(CUDA_CPPFLAGS) -fPIC
$(SIMULATED_OBJECTS) $(SIMULATED_CORE_OBJECTS): $(OBJ)/cuda.stamp
$(SIMULATED_OBJECTS) $(SIMULATED_CORE_OBJECTS): \
    CFLAGS_ALL := $(filter-out --coverage -O0,$(CFLAGS_ALL))

$(OBJ)/simulated/%.o: %.c $(OBJ)/flags.stamp
	$(call say,CC,$<)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS_ALL) $(HOUSE) $(CFLAGS_ALL) $(WERROR) -MMD -MP -c -o $@ $<

$(filter $(OBJ)/simulated/harness/counts/card%,$(SIMULATED_CORE_OBJECTS)): $(CARDS)

$(OBJ)/simulated/%.o: %.S $(OBJ)/flags.stamp
	$(call say,AS,$<)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS_ALL) $(HOUSE) -MMD -MP -c -o $@ $<

$(OBJ)/simulated/core.a: $(SIMULATED_CORE_OBJECTS)
	@rm -f $@
	$(Q)ar qcDS $@ $^ && ranlib $@

$(SIMULATED)/libsimulated.so: $(SIMULATED_OBJECTS) $(OBJ)/simulated/core.a tests/simulated/exports
	$(call say,LINK,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) -shared $(SIMULATED_LDFLAGS) -o $@ $(filter %.o %.a,$^) -lcjson -lpthread -lm

$(SIMULATED_LINKS): $(SIMULATED)/libsimulated.so
	@ln -sf libsimulated.so $@

$(SIMULATED)/cbank: $(OBJECTS) $(OBJ)/link.stamp $(SIMULATED)/libsimulated.so $(SIMULATED_LINKS)
	$(call say,LINK,$@)
	$(Q)$(CC) $(LDFLAGS_ALL) -Wl,-rpath,'$$ORIGIN' -o $@ $(OBJECTS) $(SIMULATED_LIBS)

-include $(SIMULATED_OBJECTS:.o=.d) $(SIMULATED_CORE_OBJECTS:.o=.d)
-include $(OBJECTS:.o=.d) $(patsubst $(BUILD)/%,$(OBJ)/%.d,$(TESTS)) $(FUZZ_OBJECTS:.o=.d)

# ---- Kernel images: one cubin for each module and architecture, and PTX of the newest
# architecture. Each workload is a module, kernels.cu compiled for it alone; the others are not
# measured. Two steps on purpose. -rdc=true keeps nvcc from removing or renaming what only the host
# refers to (cbank_values); ptxas without -c then optimizes the whole program as usual. The PTX
# between them is what check-ptx reads.

WORKLOADS := $(shell sed -n '/^WORKLOAD.$$/N;s/^WORKLOAD.[\n ]*\([a-z0-9_]*\),.*/\1/p' \
               kernels/workloads.def)
OTHER_MODULES := probes sharing tools
MODULES := $(WORKLOADS) $(OTHER_MODULES)
CUBINS := $(foreach module,$(MODULES),$(ARCHS:%=$(IMAGES)/$(module).sm_%.cubin))
WORKLOAD_PTX := $(foreach module,$(WORKLOADS),$(ARCHS:%=$(IMAGES)/$(module).compute_%.ptx))
PTX    := $(WORKLOAD_PTX) \
          $(foreach module,$(OTHER_MODULES),$(ARCHS:%=$(IMAGES)/$(module).compute_%.ptx))
MEMBERS := $(CUBINS) $(MODULES:%=$(IMAGES)/%.compute_$(lastword $(ARCHS)).ptx)

# $(call module_rules,MODULE,SOURCE,OPTIONS)
define module_rules
$$(IMAGES)/$(1).compute_%.ptx: kernels/$(2).cu $$(IMAGES)/nvcc.stamp
	$$(call say,PTX,$$@)
	$$(Q)$$(NVCC) $$(NVCCFLAGS) -arch=compute_$$* -ptx $(3) $(TABLE_PATH) -MMD -MP -MF $$@.d -o $$@ $$<

$$(IMAGES)/$(1).sm_%.cubin: $$(IMAGES)/$(1).compute_%.ptx
	$$(call say,PTXAS,$$@)
	$$(Q)$$(PTXAS) -arch=sm_$$* -o $$@ $$<
endef
$(foreach workload,$(WORKLOADS),$(eval \
    $(call module_rules,$(workload),kernels,-DCBANK_WORKLOAD=$(workload))))
$(foreach module,$(OTHER_MODULES),$(eval $(call module_rules,$(module),$(module))))

$(eval $(call stamp,$(IMAGES)/nvcc.stamp,$(NVCC) $(CUDA_VERSION) $(NVCCFLAGS)))
$(eval $(call stamp,$(IMAGES)/members.stamp,$(MEMBERS)))

# D: no times and owners; S: no symbol table.
$(IMAGES)/images.a: $(MEMBERS) $(IMAGES)/members.stamp
	$(call say,AR,$@)
	@rm -f $@
	$(Q)ar qcDS $@ $(MEMBERS)

$(OBJ)/no_images.a:
	@mkdir -p $(@D)
	@printf '!<arch>\n' > $@

ifneq ($(CUDA),)
-include $(PTX:%=%.d)
endif

# ---- The measurement in one plain program, without the harness

MINIMAL_ARCHS = $(foreach arch,$(ARCHS),-gencode arch=compute_$(arch),code=sm_$(arch))
$(BUILD)/minimal: examples/minimal/minimal.cu $(IMAGES)/nvcc.stamp
	$(call say,NVCC,$@)
	@mkdir -p $(@D)
	$(Q)$(NVCC) $(filter-out -rdc=true,$(NVCCFLAGS)) -O3 $(MINIMAL_ARCHS) -o $@ $<

minimal: $(if $(CUDA),$(BUILD)/minimal) ## build the measurement in 150 lines of examples/minimal
	@$(if $(CUDA),,echo 'minimal needs a CUDA toolkit: make minimal CUDA=DIRECTORY' >&2; exit 3)

# ---- Commands for users

# The Python that the distribution's packages are for, else the first on PATH. setup.sh sees to it
# that this one has what scripts and tests import.
PYTHON ?= $(or $(wildcard /usr/bin/python3),python3)
export PYTHON
# Isolated: of the current folder, no module is imported.
ISOLATED := "$$PYTHON" -IB

run: ## set up, build, measure the default plan into results/local/ (more options: ARGS=)
	@scripts/setup.sh build
	@{ $(MAKE) -n all; echo --; $(MAKE) all 2>&1 || echo --failed; } | awk -f scripts/progress.awk
	@mkdir -p results/local
	@echo 'run: the default plan, some seconds on a GPU'
	@$(PROGRAM) run --json results/local/ $(ARGS)

contribute: ## set up, build, measure the first GPU into DIR=results/chips/NAME (CREDIT='your name')
	@scripts/setup.sh contribute
	@$(MAKE) all
	@$(PROGRAM) contribute $${CREDIT:+"--credit=$$CREDIT"} -- "$${DIR:-results/local/chip}"

cards: $(PROGRAM) ## make results/cards/ of measured chips again, from their characterizations
	$(Q)for name in h100 h200; do \
	    $(PROGRAM) characterize --quiet --replay results/characterizations/$$name.json \
	        --json $(BUILD)/again.json \
	        --card results/cards/$$name.json --new-card $(BUILD)/card.json && \
	    mv $(BUILD)/card.json results/cards/$$name.json || exit 1; \
	done

setup: ## install the packages that building and testing need
	@scripts/setup.sh test

# tests/run.py builds by makes of its own, with the variables of this command line.
# $(call run_tests,SUITE,PURPOSES,OPTIONAL PURPOSES): those of scripts/setup.sh.
run_tests = @$(2:%=scripts/setup.sh % &&) { $(3:%=scripts/setup.sh % || true;) true; } && \
            CBANK_CUDA='$(CUDA)' $(ISOLATED) tests/run.py $(1)

test: ## set up, build and run the tests of every change: three minutes on two cores, no GPU needed
	$(call run_tests,test,test)

test-kernels: ## check the kernels of every architecture and of CUDA 11.8, find planted faults
	$(call run_tests,kernels,all)

test-fleet: ## try a fleet on a Slurm cluster: three nodes on this machine (as root; simulated GPUs)
	$(call run_tests,fleet,test fleet)

test-all: ## run the tests of a merge: 15 minutes on two cores, no GPU needed
	$(call run_tests,all,all,lint fleet)

test-long: ## run everything that needs no GPU: every repetition and architecture, gcc's sanitizers
	$(call run_tests,long,long,lint fleet)

test-distributions: ## try `make run` and `make test` on bare Debian 12 and 13, in chroots (as root)
	@scripts/test_distributions.sh

test-gpu: ## run every test that needs a GPU
	$(call run_tests,gpu,test)

bench-gpu: ## measure how far times repeat, on a GPU, into results/local/repeatability/ (ARGS=)
	@scripts/setup.sh build
	@$(MAKE) all
	@mkdir -p results/local/repeatability
	@$(ISOLATED) scripts/studies/process_trial.py --program $(PROGRAM) \
	  --json results/local/repeatability/trial.json --run 4 \
	  --folder results/local/repeatability/processes $(ARGS)

# Uses committed results if FILES names no others; with two, it compares one with the other.
FILES ?= results/h200/*.json results/characterizations/h200.json $(BUILD)/two-processes.json
TWO_PROCESSES := results/h200/core-matrix.json results/h200/second-process.json

plots: ## draw figures of FILES (default: the H200) into results/local/figures/ (all: ARGS=--all)
	@scripts/setup.sh plots
	@$(MAKE) all
	@$(PROGRAM) compare --quiet --json $(BUILD)/two-processes.json $(TWO_PROCESSES)
	@$(PROGRAM) plot $(ARGS) $(FILES)

reproduce: ## draw the figures of the README from the committed results into docs/figures/
	@scripts/setup.sh plots
	@$(MAKE) all
	@$(ISOLATED) scripts/reproduce.py --program $(PROGRAM)
	@$(ISOLATED) scripts/studies/model_error.py --program $(PROGRAM)

gallery: ## make static pages of all chips and kernels in results/, into $(BUILD)/gallery
	@scripts/setup.sh plots
	@$(MAKE) all
	@$(ISOLATED) scripts/gallery.py --program $(PROGRAM) -o $(BUILD)/gallery
	@echo '$(BUILD)/gallery/index.html'

check-sass: $(PROGRAM) ## disassemble the program's kernels, check their loads (options: CHECK=)
	@PATH="$(if $(CUDA),$(CUDA)/bin:)$$PATH" $(ISOLATED) scripts/check_sass.py $(CHECK) $(PROGRAM)

check-ptx: $(PROGRAM) $(PTX) ## check the loads of every kernel in the PTX
	@$(ISOLATED) scripts/check_ptx.py --program $(PROGRAM) $(WORKLOAD_PTX)

# Headers of the CUDA engine need the vendor's, which only its own rooms may see.
# $(call headers_of,FOLDER,FLAGS): one line for each header there and what it may see.
headers_of = $(foreach header,$(wildcard $(1)/*.h),'$(header) $(2)')
PLAIN_ROOMS := $(filter-out engine/cuda%,$(ROOMS))
HEADERS := $(call headers_of,patterns,-Ipatterns) $(call headers_of,kernels,-Ikernels -Ipatterns) \
    $(call headers_of,harness) \
    $(foreach room,$(PLAIN_ROOMS),$(call headers_of,harness/$(room),$(call room_flags,$(room))))

HEADER_COMPILERS ?= gcc clang

check-headers: ## compile each header alone, as its room sees it (HEADER_COMPILERS='gcc clang')
	@for compiler in $(HEADER_COMPILERS); do \
	    printf '%s\n' $(HEADERS) | while read -r header flags; do \
	        echo "#include \"$$header\"" | \
	        $$compiler $(CPPFLAGS_ALL) -I. $$flags $(STRICT) -Werror -fsyntax-only -x c - || \
	        { echo "$$header does not compile alone with $$compiler"; exit 1; }; \
	    done || exit 1; \
	done; echo "all headers compile alone with $(HEADER_COMPILERS)"

# One build by clang is that of the sanitizers, of its warnings and of the fuzzers.
SANITIZED := BUILD=build/asan CC=clang SANITIZE=1

sanitize: ## build program and unit tests by clang with ASan and UBSan under build/asan
	@$(MAKE) $(SANITIZED) all tests

# Unoptimized, so that lines are those of the sources. Tests of the CUDA engine run on the simulated
# GPU.
coverage: ## run the tests with gcov; print functions that never ran, and shares of lines by file
	@scripts/setup.sh test
	@$(MAKE) BUILD=build/coverage CFLAGS='--coverage -O0' LDFLAGS=--coverage all tests simulated
	@find build/coverage -name '*.gcda' -delete
	@export CBANK_TEST=small; for name in $(TESTS:$(BUILD)/%=build/coverage/%); do \
	    $$name >/dev/null 2>&1 || echo "FAILED: $$name"; done; \
	for name in characterize cards counters e2e formats gate lookup names terminal \
	    =simulated =kernel_file =faults =walk; do \
	    program=cbank; [ $$name = $${name#=} ] || program=tests/simulated/cbank; \
	    CBANK=build/coverage/$$program "$$PYTHON" tests/end_to_end/$${name#=}.py >/dev/null 2>&1 || \
	        echo "FAILED: $$name"; done
	@gcov -n -f -r $$(find build/coverage/obj -name '*.gcda') 2>/dev/null | awk '/^F/ { name = $$0 } \
	    /^Lines/ { if (/:0.00%/ || name ~ /^File/ || !name) print name, $$0; name = "" }'

FUZZ_SECONDS ?= 60

fuzzers: $(FUZZER) ## build the fuzz targets (CC=clang SANITIZE=1; STATIC=1: for another machine)

# Inputs that reach new code go into build/fuzz/corpus; tests/corpus stays as it is.
fuzz: ## feed wrong documents and command lines to what reads them (FUZZ_SECONDS=60 a target)
	@scripts/setup.sh all
	@$(MAKE) $(SANITIZED) fuzzers
	@scripts/fuzz.sh --seconds $(FUZZ_SECONDS)

install: $(PROGRAM) ## install into $(DESTDIR)$(PREFIX)
	@scripts/install.sh install '$(BUILD)'

uninstall: ## remove what install put there
	@scripts/install.sh uninstall

format: ## format C, CUDA, tables, Python and shell
	@scripts/lint.sh format

# Settings: .clang-format, .clang-tidy, tests/.clang-tidy, .shellcheckrc. Sources of the CUDA engine
# need the vendor's headers.
LINTED := $(PLAIN_SOURCES) $(if $(CUDA),$(CUDA_SOURCES)) $(CUDA_ABSENT) $(CUPTI_ABSENT) \
          $(filter-out $(if $(CUDA),,tests/simulated/%),$(wildcard tests/*/*.c))

lint: ## check formats, the shape of sources, and mistakes in C, Python and shell
	@scripts/lint.sh check $(LINTED) -- -std=c11 $(CPPFLAGS_ALL) $(EVERY_ROOM) -Itests/unit \
	    -Itests/simulated $(CUDA_CPPFLAGS)

# Both are made of HEAD or of what was installed, with its times, so that they are the same bytes
# every time.
DIST := cbank-$(VERSION_TEXT)

dist: ## make a tarball of what is committed, $(BUILD)/cbank-VERSION.tar.gz
	@[ -e .git ] || \
	    { echo 'make dist makes a tarball of the git repository, which this is not' >&2; exit 3; }
	@mkdir -p '$(BUILD)'
	@git -c tar.umask=022 archive --format=tar --prefix=$(DIST)/ --output='$(BUILD)/$(DIST).tar' HEAD
	@gzip -nf '$(BUILD)/$(DIST).tar'
	@echo '$(BUILD)/$(DIST).tar.gz'

deb: $(PROGRAM) ## make a Debian package in $(BUILD) (STATIC=1: cJSON inside)
	@SOURCE_DATE_EPOCH='$(or $(SOURCE_DATE_EPOCH),$(COMMIT_TIME),$(shell stat -c %Y VERSION))' \
	    CUDA_VERSION='$(CUDA_VERSION)' scripts/make_deb.sh '$(VERSION_TEXT)' '$(BUILD)'

RELEASE_TOOLKITS = $(strip $(CUDA) $(and $(CUDA),$(wildcard build/toolkits/cuda-11.8)))

release: ## make what a release publishes (source, programs, packages, ...) in $(BUILD)/release
	+@TOOLKITS='$(RELEASE_TOOLKITS)' scripts/make_release.sh '$(VERSION_TEXT)' '$(BUILD)'

# What BUILD names where `make clean` does not remove it.
NOT_CLEANED := $(filter-out build build/%,$(BUILD))$(findstring ..,$(BUILD))
CLEANS_BUILD = make clean removes build/ alone; look at '$(BUILD)', and remove it yourself

clean: ## remove everything that was built into build/
	$(if $(NOT_CLEANED),$(error $(CLEANS_BUILD)))rm -rf build

VARIABLES := CC BUILD CUDA CCBIN NO_CUDA ARCHS SANITIZE STATIC WERROR FAST ARGS FILES \
             FUZZ_SECONDS PREFIX DESTDIR V

help: ## this list
	@echo 'Targets:'
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' Makefile | while IFS='	' read -r name text; do \
	    printf '  %-14s %s\n' "$$name" "$$text"; done
	@echo 'Variables: $(VARIABLES) (see the Makefile)'
