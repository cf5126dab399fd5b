# SPDX-License-Identifier: MIT
#
# The program of the fuzz targets. The Makefile includes it.

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
