# SPDX-License-Identifier: GPL-2.0-or-later
#
# Packages, and the module's source for DKMS, which builds the module again for each kernel that
# the system installs.
#
#	deb		builds packages for Debian in $(B)/deb
#	install-dkms	installs the module's source for DKMS; without DESTDIR, also builds
#			and installs the module for the running kernel
#	uninstall-dkms	removes the modules that DKMS built, and the source

DKMS_NAME	:= asynctrace/$(AT_VERSION)
DKMS_SRC	:= $(DESTDIR)/usr/src/asynctrace-$(AT_VERSION)
DKMS_FILES	:= Kbuild Kconfig LICENSE $(shell find kmod uapi -name '*.[ch]' ! -name '*.mod.c') \
		   kmod/Kbuild
# Release of the kernel that install-dkms builds the module for.
DKMS_KERNEL	?= $(shell uname -r)

.PHONY: install-dkms uninstall-dkms
install-dkms:
	@test -n "$(DESTDIR)" || command -v dkms >/dev/null || \
		{ echo "dkms is not installed: apt-get install dkms" >&2; exit 1; }
	$(if $(DESTDIR),,! dkms status $(DKMS_NAME) | grep -q . || dkms remove $(DKMS_NAME) --all)
	rm -rf "$(DKMS_SRC)"
	install -d "$(DKMS_SRC)"
	cp --parents $(DKMS_FILES) "$(DKMS_SRC)"
	sed 's/@VERSION@/$(AT_VERSION)/' packaging/dkms.conf > "$(DKMS_SRC)/dkms.conf"
	$(if $(DESTDIR),,dkms install $(DKMS_NAME) -k "$(DKMS_KERNEL)")

uninstall-dkms:
	$(if $(DESTDIR),,! dkms status $(DKMS_NAME) | grep -q . || dkms remove $(DKMS_NAME) --all)
	rm -rf "$(DKMS_SRC)"

# The packages' files are those of install and install-dkms.
#? make deb           packages for Debian, in build/deb
.PHONY: deb
deb:
	packaging/deb $(AT_VERSION) $(B)/deb
