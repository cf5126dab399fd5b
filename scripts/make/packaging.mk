# SPDX-License-Identifier: MIT
#
# What is installed, packed and published. The Makefile includes it.

install: $(PROGRAM) ## install into $(DESTDIR)$(PREFIX)
	@scripts/install.sh install '$(BUILD)'

uninstall: ## remove what install put there
	@scripts/install.sh uninstall

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
