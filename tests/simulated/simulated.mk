# SPDX-License-Identifier: MIT
#
# The simulated GPU of the tests. The Makefile includes it.

# ---- The simulated GPU of the tests: a library in place of the vendor's, and the program's objects
# linked to it. It has links with the library names that the program opens, in a folder that it
# searches. Its own copy of what it needs of the program is not counted by coverage.

SIMULATED := $(BUILD)/tests/simulated
SIMULATED_LINKS := $(addprefix $(SIMULATED)/,libcuda.so.1 libnvidia-ml.so.1 libcupti.so.13 \
                     libnvperf_host.so)
SIMULATED_CORE := $(wildcard patterns/*.c kernels/*.c \
                    $(foreach room,base document cell code counts,harness/$(room)/*.c)) \
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
