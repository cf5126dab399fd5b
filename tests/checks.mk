# SPDX-License-Identifier: MIT
#
# Checks of kernels, headers and sources, sanitizers, coverage and fuzzing. The Makefile includes
# it.

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

format: ## format C, CUDA, tables, Python and shell
	@scripts/lint.sh format

# Settings: .clang-format, .clang-tidy, tests/.clang-tidy, .shellcheckrc. Sources of the CUDA engine
# need the vendor's headers.
LINTED := $(PLAIN_SOURCES) $(if $(CUDA),$(CUDA_SOURCES)) $(CUDA_ABSENT) $(CUPTI_ABSENT) \
          $(filter-out $(if $(CUDA),,tests/simulated/%),$(wildcard tests/*/*.c))

lint: ## check formats, the shape of sources, and mistakes in C, Python and shell
	@scripts/lint.sh check $(LINTED) -- -std=c11 $(CPPFLAGS_ALL) $(EVERY_ROOM) -Itests/unit \
	    -Itests/simulated $(CUDA_CPPFLAGS)
