# SPDX-License-Identifier: GPL-2.0
#
# make help lists the targets.
#
# The kernel's build system reads Kbuild and kmod/Kbuild. This file builds everything
# else, and calls the kernel's build system for the module.

B       ?= build
CC      ?= gcc
CXX     ?= g++
PREFIX  ?= /usr/local
DESTDIR ?=
CFLAGS  ?= -O2 -g

.DELETE_ON_ERROR:
.SUFFIXES:
MAKEFLAGS += --no-builtin-rules

# Without kernel headers, builds all except the module. The module is not a
# prerequisite, so that the message about it is the last line.
.PHONY: all
all: user
	@if test -e $(KDIR)/Makefile; then \
		$(MAKE) --no-print-directory module; \
	else \
		echo "Left out: the kernel module, because $(KDIR) has no kernel headers."; \
		echo "To build it: apt-get install linux-headers-$$(uname -r), or make module KDIR=DIR"; \
	fi

.PHONY: user
user: userlib tools examples

include userlib/build.mk
include tools/build.mk
include packaging/build.mk
include selftests/build.mk

# --- the module -----------------------------------------------------------------

# The module is built for the running kernel, or for the kernel whose headers KDIR has.
KDIR ?= /lib/modules/$(shell uname -r)/build

.PHONY: module
module:
	@test -e $(KDIR)/Makefile || { echo "$(KDIR) has no kernel headers: apt-get install linux-headers-$$(uname -r), or give KDIR=DIR" >&2; exit 1; }
	selftests/kmod-build host $(KDIR)

# Debian's headers configure the build to sign modules, but do not contain the key. So
# install-module does not sign the module; README.md explains how to sign it. The
# headers also omit depmod, so install-module calls it.
#
# The module is installed uncompressed, even if the kernel's own modules are compressed,
# because a compressed file cannot be signed. install-module removes compressed files of
# earlier installations, because modprobe would prefer them.
UNPACKED := $(patsubst %,CONFIG_MODULE_COMPRESS_%=,ALL GZIP XZ ZSTD)

.PHONY: install-module
install-module: module
	$(MAKE) -C $(KDIR) M=$(CURDIR)/$(B)/kmod/host CONFIG_ASYNCTRACE=m CONFIG_MODULE_SIG_ALL= \
		$(UNPACKED) modules_install
	PATH=$$PATH:/usr/sbin:/sbin && \
		release=$$(modinfo -F vermagic $(B)/kmod/host/asynctrace.ko) && \
		release=$${release%% *} && \
		find "$(INSTALL_MOD_PATH)/lib/modules/$$release" -name asynctrace.ko \
			-exec rm -f {}.gz {}.xz {}.zst \; && \
		depmod -b "$(INSTALL_MOD_PATH)/" "$$release"

# Release of the kernel whose headers KDIR has. If these have been removed already: the
# release of the running kernel.
RELEASE = $(or $(shell sed -n 's/^.define UTS_RELEASE "\(.*\)"/\1/p' \
		 $(KDIR)/include/generated/utsrelease.h 2>/dev/null),$(shell uname -r))

# Searches only updates and extra: modules_install puts modules there that are not part
# of the kernel's package.
.PHONY: uninstall-module
uninstall-module:
	for d in updates extra; do \
		d="$(INSTALL_MOD_PATH)/lib/modules/$(RELEASE)/$$d"; \
		! test -d "$$d" || find "$$d" -name 'asynctrace.ko*' -exec rm {} + || exit; \
	done
	PATH=$$PATH:/usr/sbin:/sbin depmod -b "$(INSTALL_MOD_PATH)/" "$(RELEASE)"

# --- installation -----------------------------------------------------------------

# make cannot quote the names of a list. Installing would write to the parts of a name with spaces.
NAMES_WITH_SPACES := $(strip $(foreach d,DESTDIR PREFIX LIBDIR MANDIR COMPLETIONDIR UDEVDIR,\
		     $(if $(word 2,$($(d))),$(d))))

.PHONY: no-names-with-spaces
no-names-with-spaces:
	@test -z "$(NAMES_WITH_SPACES)" || \
		{ echo "$(firstword $(NAMES_WITH_SPACES)) must not have spaces" >&2; exit 1; }

userlib-install userlib-uninstall tools-install tools-uninstall install-udev uninstall-udev: \
	no-names-with-spaces

.PHONY: install
install: userlib-install tools-install

.PHONY: uninstall
uninstall: userlib-uninstall tools-uninstall

# --- other targets ----------------------------------------------------------------

.PHONY: deps
deps:
	@selftests/deps.sh

.PHONY: clean
clean:
	rm -rf $(B)

.PHONY: help
help:
	@sed -n 's/^#? //p' Makefile userlib/build.mk tools/build.mk packaging/build.mk \
		selftests/build.mk

#? make demo          everything on a stock Debian kernel in a VM: a server, load, a trace
#? make check         the tests on Debian's kernels; 15 to 40 minutes on two cores the first time
#? make check-full    the others, too: debug kernel, races, kills, fuzzing, as far as time allows
#? make soak          the long campaigns of which make check-full runs a share; hours
#? make bench         what an event costs, compared with other tracers
#? make bench-server  what tracing costs the example server, compared with LTTng-UST
#? make bench-analysis  how fast a trace is analysed, compared with Perfetto's reader
#? make bench-beside  instructions of an event that goes to a trace and to a session
#? make bench-icount  instructions added to a context switch
#? make               the library, the tools, the module for this kernel (KDIR=DIR for another);
#?                    the module only if there are headers for it
#? make user          the library, the tools and the examples, without the module
#? make module        only the module
#? make install       library, headers, tool, man pages below PREFIX=/usr/local
#? make install-module the module, where modprobe finds it
#? make install-dkms  the module's source for DKMS, which builds it for each kernel (DKMS_KERNEL=)
#? make uninstall     removes what make install installed, with the same PREFIX and DESTDIR
#? make uninstall-module  removes what make install-module installed
#? make uninstall-dkms  removes what make install-dkms installed
#? make deps          install the packages that the above need (Debian 12)
#? make clean         removes build/: all that was built, and the results of tests
