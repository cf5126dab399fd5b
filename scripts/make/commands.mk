# SPDX-License-Identifier: MIT
#
# Commands for users, and the suites of tests. The Makefile includes it.

# ---- Commands for users

# The Python that the distribution's packages are for, else the first on PATH. setup.sh sees to it
# that this one has what scripts and tests import.
PYTHON ?= $(or $(wildcard /usr/bin/python3),python3)
export PYTHON
# Isolated: of the current folder, no module is imported.
ISOLATED := "$$PYTHON" -IB

run: ## set up, build, measure the default plan into results/local/ (more options: ARGS=)
	@scripts/setup.sh build
	@{ $(MAKE) -n all; echo --; $(MAKE) all 2>&1 || echo --failed; } | scripts/progress.sh
	@mkdir -p results/local
	@echo 'run: the default plan, some seconds on a GPU'
	@$(PROGRAM) run --json results/local/ $(ARGS)

contribute: ## set up, build, measure the first GPU into DIR=results/chips/NAME (CREDIT='your name')
	@scripts/setup.sh contribute
	@$(MAKE) all
	@$(PROGRAM) contribute $${CREDIT:+"--credit=$$CREDIT"} -- "$${DIR:-results/local/chip}"

# Streams were measured later than the rest of the H200's record: only the limits are of them.
cards: $(PROGRAM) ## make results/cards/ of measured chips again, from their characterizations
	$(Q)for record in h100 h200-streams h200; do \
	    card=results/cards/$${record%-*}.json; \
	    $(PROGRAM) characterize --quiet --json $(BUILD)/again.json \
	        --replay results/characterizations/$$record.json \
	        --card $$card --new-card $(BUILD)/card.json && \
	    case $$record in \
	    *-streams) scripts/card_limits.py $(BUILD)/card.json $$card ;; \
	    *) mv $(BUILD)/card.json $$card ;; \
	    esac || exit 1; \
	done

schemas: $(PROGRAM) ## write the schemas in results/ that follow from the rows of the program
	@scripts/write_schemas.sh $(PROGRAM)

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

# BASE is a commit, or the folder of a tree that is built.
bench-against: ## measure what commands cost beside those of another commit: BASE=COMMIT (ARGS=)
	$(if $(BASE),,@echo 'make bench-against BASE=COMMIT names what to hold it against' >&2; exit 2)
	@scripts/setup.sh plots
	@mkdir -p results/local
	@$(ISOLATED) scripts/studies/bench_against.py --base '$(BASE)' \
	  --json results/local/speed.json $(ARGS)

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
