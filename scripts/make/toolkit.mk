# SPDX-License-Identifier: MIT
#
# The CUDA toolkit, and the architectures to build for. The Makefile includes it.

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
