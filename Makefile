# SPDX-License-Identifier: GPL-2.0
#
# make help tells what there is.
#
# Kernel build files are Kbuild and kmod/Kbuild; this is for everything around.

B       ?= build
CC      ?= gcc
CXX     ?= g++
PREFIX  ?= /usr/local
DESTDIR ?=
CFLAGS  ?= -O2 -g

.DELETE_ON_ERROR:
.SUFFIXES:
MAKEFLAGS += --no-builtin-rules

# Without kernel headers, everything but the module. The recipe comes after the user
# part, so that its message is the last line.
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

# For the kernel that runs here, or that KDIR belongs to.
KDIR ?= /lib/modules/$(shell uname -r)/build

.PHONY: module
module:
	@test -e $(KDIR)/Makefile || { echo "$(KDIR) has no kernel headers: apt-get install linux-headers-$$(uname -r), or give KDIR=DIR" >&2; exit 1; }
	selftests/kmod-build host $(KDIR)

# Debian's headers have the build sign modules with a key that they do not have,
# and leave depmod out: so no signature (README.md tells how to make one), and depmod.
# Unpacked, whatever the kernel's own are: a file that is packed cannot be signed. One
# that an earlier installation has left packed would be taken before it.
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

# The release that KDIR belongs to; if its headers are gone already, the running one.
RELEASE = $(or $(shell sed -n 's/^.define UTS_RELEASE "\(.*\)"/\1/p' \
		 $(KDIR)/include/generated/utsrelease.h 2>/dev/null),$(shell uname -r))

# Only below updates and extra, where modules_install puts modules of others than the
# kernel's own package.
.PHONY: uninstall-module
uninstall-module:
	for d in updates extra; do \
		d="$(INSTALL_MOD_PATH)/lib/modules/$(RELEASE)/$$d"; \
		! test -d "$$d" || find "$$d" -name 'asynctrace.ko*' -exec rm {} + || exit; \
	done
	PATH=$$PATH:/usr/sbin:/sbin depmod -b "$(INSTALL_MOD_PATH)/" "$(RELEASE)"

# --- to install -------------------------------------------------------------------

.PHONY: install
install: userlib-install tools-install

.PHONY: uninstall
uninstall: userlib-uninstall tools-uninstall

# --- for everybody ----------------------------------------------------------------

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
#? make check         the tests on Debian's kernels; 15 minutes on two cores the first time
#? make check-full    the others, too: debug kernel, races, kills, fuzzing; 40 minutes more
#? make soak          the long campaigns of which make check-full runs a share; hours
#? make bench         what an event costs, beside others' tracers
#? make bench-server  what tracing costs the example server, beside LTTng-UST
#? make bench-analysis  how fast a trace is analysed, beside Perfetto's reader
#? make bench-beside  instructions of an event that goes to a trace and to a session
#? make bench-icount  instructions added to a context switch
#? make               the library, the tools, the module for this kernel (KDIR=DIR for another);
#?                    the module only if there are headers for it
#? make install       library, headers, tool, man pages below PREFIX=/usr/local
#? make install-module the module, where modprobe finds it
#? make install-dkms  the module's source for DKMS, which builds it for each kernel (DKMS_KERNEL=)
#? make uninstall     removes what make install installed, with the same PREFIX and DESTDIR
#? make uninstall-module  removes what make install-module installed
#? make uninstall-dkms  removes what make install-dkms installed
#? make deps          install the packages that the above need (Debian 12)
#? make clean
