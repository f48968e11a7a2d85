# SPDX-License-Identifier: GPL-2.0-or-later
#
# libasynctrace. The top-level Makefile includes this file, and sets B (the build directory),
# CC and CFLAGS. Installing also uses PREFIX, LIBDIR and DESTDIR.
#
#	$(B)/libasynctrace.a	the static library, which programs of this tree use
#	$(B)/libasynctrace.so	the shared library and its links
#	userlib			both libraries and the .pc files
#	$(B)/examples/hello	the example of README.md
#	$(B)/examples/crash	a program that writes its last second when it crashes
#	$(B)/examples/tutorial, tutorial-cxx	Fuchsia's tutorial, in C and in C++
#	$(B)/examples/coffee, pool, twoproc
#				programs with operations
#	$(B)/examples/loop	an event loop with contexts, listeners and local storage
#	$(B)/examples/uid	probes and unique ids
#	userlib-install		installs library, headers and manual pages
#	userlib-uninstall	removes the installed files

AT_VERSION	:= 0.2.0
AT_SONAME	:= libasynctrace.so.0

PREFIX		?= /usr/local
LIBDIR		?= $(PREFIX)/lib
MANDIR		?= $(PREFIX)/share/man

AT_ARCH		:= $(firstword $(subst -, ,$(shell $(CC) -dumpmachine)))
AT_SRC		:= $(wildcard userlib/src/*/*.c userlib/src/*/*_$(AT_ARCH).S)
AT_OBJ		:= $(addsuffix .o,$(basename $(AT_SRC:userlib/src/%=%)))
AT_HEADERS	:= $(wildcard userlib/include/asynctrace/*.h)
AT_DETAIL	:= $(wildcard userlib/include/asynctrace/detail/*)
AT_UAPI_HEADERS	:= $(wildcard uapi/linux/*.h)
AT_SYSCALLS	:= $(B)/generated/syscall_names.h
AT_INCLUDES	:= -Iuapi -Iuserlib/include
AT_MAN		:= $(wildcard userlib/man/*.3)

# Rings are accessed as words and as structures, so aliasing rules must not apply.
AT_CFLAGS	:= -std=gnu11 -D_GNU_SOURCE -Wall -Wextra -Werror -fPIC -fno-strict-aliasing \
		   -pthread $(AT_INCLUDES) -Iuserlib/src -I$(dir $(AT_SYSCALLS))
AT_LIBS		:= -lmnl -lpthread

$(AT_SYSCALLS): userlib/src/compose/syscall-names
	@mkdir -p $(@D)
	userlib/src/compose/syscall-names $(CC) > $@

# at_variant NAME, OBJECT-DIR, EXTRA-FLAGS: a variant of the static library, compiled with
# EXTRA-FLAGS. NAME is made of the objects below OBJECT-DIR.
define at_variant
$(2)/%.o: userlib/src/%.c
	@mkdir -p $$(@D)
	$$(CC) $$(CFLAGS) $$(AT_CFLAGS) $(3) -MMD -MP -c -o $$@ $$<
$(2)/%.o: userlib/src/%.S
	@mkdir -p $$(@D)
	$$(CC) $$(CFLAGS) $(3) -MMD -MP -c -o $$@ $$<
$(1): $$(AT_OBJ:%=$(2)/%)
	@mkdir -p $$(@D)
	@rm -f $$@
	$$(AR) rcs $$@ $$^
$(2)/compose/syscalls.o: $$(AT_SYSCALLS)
-include $$(AT_OBJ:%.o=$(2)/%.d)
endef

$(eval $(call at_variant,$(B)/libasynctrace.a,$(B)/userlib,))
# This variant has delays in the critical sections, for race tests.
$(eval $(call at_variant,$(B)/race/libasynctrace.a,$(B)/race/userlib,-DAT_TEST_HOOKS))
AT_ASAN		:= -fsanitize=address -fsanitize=undefined -fno-omit-frame-pointer
$(eval $(call at_variant,$(B)/asan/libasynctrace.a,$(B)/asan/userlib,$(AT_ASAN)))
# ThreadSanitizer does not support fences. The fences here order only words of the rings, which
# ThreadSanitizer does not check.
AT_TSAN		:= -fsanitize=thread -Wno-tsan
$(eval $(call at_variant,$(B)/tsan/libasynctrace.a,$(B)/tsan/userlib,$(AT_TSAN)))

# nodelete: threads and the kernel keep pointers into the library.
$(B)/libasynctrace.so.$(AT_VERSION): $(AT_OBJ:%=$(B)/userlib/%) userlib/libasynctrace.map
	$(CC) $(CFLAGS) $(LDFLAGS) -shared -o $@ $(filter %.o,$^) \
		-Wl,-soname,$(AT_SONAME) -Wl,--version-script,userlib/libasynctrace.map \
		-Wl,-z,nodelete -Wl,-z,defs $(AT_LIBS)

$(B)/$(AT_SONAME): $(B)/libasynctrace.so.$(AT_VERSION)
	ln -sf $(<F) $@

$(B)/libasynctrace.so: $(B)/$(AT_SONAME)
	ln -sf $(<F) $@

# Two pkg-config files for one library. They differ only for static linking. A program that only
# writes events needs no libmnl, because the linker takes no member that calls it. A program that
# uses asynctrace/session.h needs libmnl, and must use the second file. The first file must not
# have -lmnl, because Debian has no libmnl.a, and no program could be linked with -static.
AT_PC		:= $(B)/libasynctrace.pc $(B)/libasynctrace-control.pc
$(B)/libasynctrace.pc.new: AT_PC_LIBS := -lpthread
$(B)/libasynctrace.pc.new: AT_PC_ABOUT := Tell why an asynchronous operation was slow
$(B)/libasynctrace-control.pc.new: AT_PC_LIBS := $(AT_LIBS)
$(B)/libasynctrace-control.pc.new: AT_PC_ABOUT := Control sessions of asynctrace

# Write new files each time, because PREFIX may have changed. An unchanged file keeps its time.
.PHONY: $(AT_PC:%=%.new)
$(AT_PC:%=%.new):
	@mkdir -p $(@D)
	@printf '%s\n' 'prefix=$(PREFIX)' 'libdir=$(patsubst $(PREFIX)/%,$${prefix}/%,$(LIBDIR))' \
		'includedir=$${prefix}/include' '' \
		'Name: $(@F:.pc.new=)' 'Description: $(AT_PC_ABOUT)' \
		'Version: $(AT_VERSION)' 'Libs: -L$${libdir} -lasynctrace' \
		'Libs.private: $(AT_PC_LIBS)' 'Cflags: -I$${includedir}' > $@

$(AT_PC): %: %.new
	@cmp -s $< $@ || cp $< $@

.PHONY: userlib userlib-install userlib-uninstall
userlib: $(B)/libasynctrace.a $(B)/libasynctrace.so $(AT_PC)

userlib-install: userlib
	install -d $(DESTDIR)$(LIBDIR)/pkgconfig $(DESTDIR)$(PREFIX)/include/asynctrace/detail \
		$(DESTDIR)$(PREFIX)/include/linux
	install -m 644 $(B)/libasynctrace.a $(DESTDIR)$(LIBDIR)
	install -m 755 $(B)/libasynctrace.so.$(AT_VERSION) $(DESTDIR)$(LIBDIR)
	ln -sf libasynctrace.so.$(AT_VERSION) $(DESTDIR)$(LIBDIR)/$(AT_SONAME)
	ln -sf $(AT_SONAME) $(DESTDIR)$(LIBDIR)/libasynctrace.so
	install -m 644 $(AT_PC) $(DESTDIR)$(LIBDIR)/pkgconfig
	install -m 644 $(AT_HEADERS) $(DESTDIR)$(PREFIX)/include/asynctrace
	install -m 644 $(AT_DETAIL) $(DESTDIR)$(PREFIX)/include/asynctrace/detail
	install -m 644 $(AT_UAPI_HEADERS) $(DESTDIR)$(PREFIX)/include/linux
	install -d $(DESTDIR)$(MANDIR)/man3
	install -m 644 $(AT_MAN) $(DESTDIR)$(MANDIR)/man3
	userlib/man/link $(DESTDIR)$(MANDIR)/man3 $(AT_MAN)

# Directories may have files of other packages: remove only empty ones.
userlib-uninstall:
	rm -f $(addprefix $(DESTDIR)$(LIBDIR)/,libasynctrace.a libasynctrace.so \
		$(AT_SONAME) libasynctrace.so.$(AT_VERSION)) \
		$(AT_PC:$(B)/%=$(DESTDIR)$(LIBDIR)/pkgconfig/%) \
		$(patsubst userlib/include/%,$(DESTDIR)$(PREFIX)/include/%,\
			$(AT_HEADERS) $(AT_DETAIL)) \
		$(AT_UAPI_HEADERS:uapi/%=$(DESTDIR)$(PREFIX)/include/%)
	userlib/man/link --remove $(DESTDIR)$(MANDIR)/man3 $(AT_MAN)
	for d in asynctrace/detail asynctrace linux; do \
		d=$(DESTDIR)$(PREFIX)/include/$$d; \
		! test -d $$d || rmdir --ignore-fail-on-non-empty $$d; \
	done

AT_EXAMPLES	:= hello crash coffee pool twoproc tutorial uid

# The example in C++ needs a C++ compiler. Without it, the rest is built.
AT_HAVE_CXX	:= $(shell command -v $(firstword $(CXX)) 2>/dev/null)

examples: $(AT_EXAMPLES:%=$(B)/examples/%) $(if $(AT_HAVE_CXX),$(B)/examples/tutorial-cxx) \
		$(B)/examples/loop
ifeq ($(AT_HAVE_CXX),)
	@echo "Left out: $(B)/examples/tutorial-cxx, because there is no $(firstword $(CXX))."
	@echo "To build it: apt-get install g++, or make CXX=COMPILER"
endif

define at_example
$(B)/examples/$(1): userlib/examples/$(1)/$(1).c $(B)/libasynctrace.a
	@mkdir -p $$(@D)
	$$(CC) $$(CFLAGS) -Wall -Wextra -Werror -pthread $$(AT_INCLUDES) -MMD -MP -o $$@ $$< \
		$(B)/libasynctrace.a $$(LDFLAGS) $$(AT_LIBS)
-include $(B)/examples/$(1).d
endef
$(foreach e,$(AT_EXAMPLES),$(eval $(call at_example,$(e))))

$(B)/examples/tutorial-cxx: userlib/examples/tutorial/tutorial.cc $(B)/libasynctrace.a
	@mkdir -p $(@D)
	$(CXX) $(CFLAGS) -std=c++17 -Wall -Wextra -Werror $(AT_INCLUDES) -MMD -MP -o $@ $< \
		$(B)/libasynctrace.a $(LDFLAGS) $(AT_LIBS)

-include $(B)/examples/tutorial-cxx.d

AT_LOOP_SRC	:= $(wildcard userlib/examples/loop/*.c)
$(B)/examples/loop: $(AT_LOOP_SRC) $(wildcard userlib/examples/loop/*.h) $(B)/libasynctrace.a
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) -std=gnu11 -D_GNU_SOURCE -Wall -Wextra -Werror -pthread $(AT_INCLUDES) \
		-o $@ $(AT_LOOP_SRC) $(B)/libasynctrace.a $(LDFLAGS) $(AT_LIBS)
