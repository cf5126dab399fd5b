# SPDX-License-Identifier: MIT
#
# What is built and how. Commands, tests and packages stand in the files that this one includes;
# `make help` lists the targets.
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

include scripts/make/toolkit.mk

# ---- Sources and flags

# A folder of harness/ is a room: it sees itself, patterns/ and kernels/ from cell/ on, and those
# rooms above it in this list that it names, and no other. An include that points up does not
# compile.
ROOMS := base document command cell code kernel counts result engine engine/cuda \
         engine/cuda/probe characterize compare explain divergence advise spaces report
CORE  := base document command cell code kernel counts result engine
SEES_base         :=
SEES_document     := base
SEES_command      := base document
SEES_cell         := base document command
SEES_code         := base document command cell
SEES_kernel       := base document command cell code
SEES_counts       := base document command cell
SEES_result       := base document command cell code
SEES_engine       := base document command cell code kernel counts result
SEES_engine/cuda  := $(CORE)
SEES_engine/cuda/probe := $(CORE) engine/cuda
SEES_characterize := $(CORE)
SEES_compare      := $(CORE)
SEES_explain      := $(CORE)
SEES_divergence   := base document command cell code
SEES_advise       := $(CORE) divergence compare
SEES_spaces       := $(CORE) compare divergence advise
SEES_report       := $(CORE) characterize compare explain advise spaces
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
DECODED := $(BUILD)/tests/sass/decoded
CARDS   := $(wildcard results/cards/*.json)

.PHONY: all tests test-tools simulated run contribute cards schemas setup test test-kernels \
        test-all test-long test-distributions test-fleet test-gpu coverage bench-gpu \
        bench-against plots reproduce gallery check-sass check-ptx check-headers sanitize fuzz \
        fuzzers install uninstall format lint dist deb release clean help FORCE

# What the program is built with, in words.
BUILT_ARCHS    := architectures $(ARCHS) and PTX of $(firstword $(ARCHS))$(if \
                  $(word 2,$(ARCHS)), and $(lastword $(ARCHS)))$(ARCHS_WHY)
BUILT_COUNTERS := $(if $(filter $(CUPTI_ABSENT),$(SOURCES)),$(COMMA) no counters: no CUPTI with \
                    the Range Profiler)
BUILT_WITH     := $(if $(CUDA),CUDA $(CUDA_VERSION)$(COMMA) $(BUILT_ARCHS)$(BUILT_COUNTERS),no \
                    CUDA toolkit: built without the CUDA engine (make CUDA=DIRECTORY names a \
                    toolkit))

all: $(PROGRAM) $(OBJ)/bytecode.stamp ## build the program (the default)
	@echo '$(PROGRAM): $(BUILT_WITH)'

tests: $(TESTS) test-tools ## build the unit tests

# What other tests use.
test-tools: $(FAULTS) $(DECODED)

# The bytecode of the analysis, beside its modules, where Python looks for it. Without it, Python
# compiles what it imports in every process. It holds the hash of its source, so that it is never
# older. Where nothing can be written there, all works without.
$(OBJ)/bytecode.stamp: $(wildcard scripts/cbank/*.py scripts/cbank/figures/*.py)
	$(call say,PYC,scripts/cbank)
	@mkdir -p $(@D)
	@$(ISOLATED) -m compileall -qq --invalidation-mode checked-hash scripts/cbank || true
	@touch $@

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
               scripts/make results/cards 2>/dev/null),1,0)
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
FUZZED := document command cell code kernel counts result engine characterize compare \
          divergence advise
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
$(OBJ)/harness/code/images.o: EXTRA = -DCBANK_IMAGES='"$(IMAGE_ARCHIVE)"'
$(OBJ)/harness/code/images.o: $(IMAGE_ARCHIVE) $(OBJ)/images.stamp
# The cards go into the program by .incbin, which dependency files do not see.
$(filter $(OBJ)/harness/counts/card%,$(OBJECTS)): $(CARDS)
# So do the headers of kernel files.
$(OBJ)/harness/kernel/kernel_headers.o: kernels/cbank.cuh kernels/cbank_shared.cuh \
        kernels/cbank_case.h
$(OBJ)/harness/spaces/first_kernel.o: harness/spaces/first_kernel.cu

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
          harness/base harness/cell harness/code harness/counts harness/characterize) \
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

# Prints what the decoder says, for tests that hold it against a disassembler.
$(DECODED): $(OBJ)/tests/sass/decoded.o $(OBJ)/tested.a
	$(call say,LINK,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(LDFLAGS_ALL) -o $@ $^ $(LIBS)

# Libraries that tests preload into the program, never with sanitizers: those bring an allocator of
# their own.
$(FAULTS): $(BUILD)/tests/%.so: tests/%.c $(OBJ)/flags.stamp
	$(call say,CC,$<)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS_ALL) -std=c11 -O1 -Wall -Wextra $(WERROR) -fPIC -shared -o $@ $< -ldl

include tests/fuzz/fuzz.mk
include tests/simulated/simulated.mk

-include $(SIMULATED_OBJECTS:.o=.d) $(SIMULATED_CORE_OBJECTS:.o=.d)
-include $(OBJECTS:.o=.d) $(patsubst $(BUILD)/%,$(OBJ)/%.d,$(TESTS) $(DECODED))
-include $(FUZZ_OBJECTS:.o=.d)

include kernels/images.mk
include scripts/make/commands.mk
include tests/checks.mk
include scripts/make/packaging.mk

# What BUILD names where `make clean` does not remove it.
NOT_CLEANED := $(filter-out build build/%,$(BUILD))$(findstring ..,$(BUILD))
CLEANS_BUILD = make clean removes build/ alone; look at '$(BUILD)', and remove it yourself

clean: ## remove everything that was built into build/
	$(if $(NOT_CLEANED),$(error $(CLEANS_BUILD)))rm -rf build
	@rm -rf scripts/cbank/__pycache__ scripts/cbank/figures/__pycache__

VARIABLES := CC BUILD CUDA CCBIN NO_CUDA ARCHS SANITIZE STATIC WERROR FAST ARGS FILES \
             FUZZ_SECONDS PREFIX DESTDIR V

help: ## this list
	@echo 'Targets:'
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' $(filter Makefile %.mk,$(MAKEFILE_LIST)) | \
	while IFS='	' read -r name text; do \
	    printf '  %-14s %s\n' "$$name" "$$text"; done
	@echo 'Variables: $(VARIABLES) (see the Makefile)'
