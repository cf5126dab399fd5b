# SPDX-License-Identifier: MIT
#
# Kernel images, and the measurement in one plain program. The Makefile includes it.

# ---- Kernel images: one cubin for each module and architecture. Each workload is a module,
# kernels.cu compiled for it alone, or launches.cu; the others are not measured. Two steps on
# purpose. -rdc=true keeps nvcc from removing or renaming what only the host refers to
# (cbank_values); ptxas without -c then optimizes the whole program as usual. The PTX between them
# is what check-ptx reads.
#
# The archive also has PTX of the newest architecture, which the driver compiles for GPUs that came
# later, and of workloads that of the oldest: run --jit needs a text for each GPU that has a cubin,
# and all of them take this one. A text costs as much as a cubin. Where there is one architecture,
# as on a GPU's own machine, its PTX is the text that its cubin was made of: another code is then
# another compiler's.

# $(call rows,SHAPE): the workloads of a shape, a regular expression
rows = $(shell sed -n '/^WORKLOAD.$$/N;s/^WORKLOAD.[\n ]*\([a-z0-9_]*\), $(1),.*/\1/p' \
           kernels/workloads.def)
WORKLOADS := $(call rows,[a-z]*)
LAUNCHES := $(call rows,launch)
OTHER_MODULES := probes sharing tools
MODULES := $(WORKLOADS) $(OTHER_MODULES)
CUBINS := $(foreach module,$(MODULES),$(ARCHS:%=$(IMAGES)/$(module).sm_%.cubin))
ptx_of = $(foreach module,$(1),$(ARCHS:%=$(IMAGES)/$(module).compute_%.ptx))
# of kernels that read a table: what check-ptx reads
WORKLOAD_PTX := $(call ptx_of,$(filter-out $(LAUNCHES),$(WORKLOADS)))
PTX    := $(call ptx_of,$(MODULES))
MEMBERS := $(CUBINS) $(sort $(MODULES:%=$(IMAGES)/%.compute_$(lastword $(ARCHS)).ptx) \
                            $(WORKLOADS:%=$(IMAGES)/%.compute_$(firstword $(ARCHS)).ptx))

# $(call module_rules,MODULE,SOURCE,OPTIONS)
define module_rules
$$(IMAGES)/$(1).compute_%.ptx: kernels/$(2).cu $$(IMAGES)/nvcc.stamp
	$$(call say,PTX,$$@)
	$$(Q)$$(NVCC) $$(NVCCFLAGS) -arch=compute_$$* -ptx $(3) $(TABLE_PATH) -MMD -MP -MF $$@.d -o $$@ $$<

$$(IMAGES)/$(1).sm_%.cubin: $$(IMAGES)/$(1).compute_%.ptx
	$$(call say,PTXAS,$$@)
	$$(Q)$$(PTXAS) -arch=sm_$$* -o $$@ $$<
endef
$(foreach workload,$(filter-out $(LAUNCHES),$(WORKLOADS)),$(eval \
    $(call module_rules,$(workload),kernels,-DCBANK_WORKLOAD=$(workload))))
$(foreach workload,$(LAUNCHES),$(eval $(call module_rules,$(workload),launches)))
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
