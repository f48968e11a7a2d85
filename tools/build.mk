# SPDX-License-Identifier: GPL-2.0-or-later
#
# The command: $(B)/asynctrace. It is linked with the static library, so that it works
# in any directory. tools-install also installs its manual pages and the completion for bash.

TOOLS_DIRS	:= analysis cputime doctor fxt proc quota record report session tail
TOOLS_SRC	:= $(wildcard tools/*.c $(TOOLS_DIRS:%=tools/%/*.c))

# asynctrace top needs ncurses with wide characters. Without it, the rest is built.
NCURSES_CFLAGS	:= $(shell pkg-config --cflags ncursesw 2>/dev/null)
NCURSES_LIBS	:= $(shell pkg-config --libs ncursesw 2>/dev/null)
ifneq ($(NCURSES_LIBS),)
TOOLS_SRC	+= $(wildcard tools/top/*.c)
else
TOOLS_SRC	:= $(filter-out tools/top.c,$(TOOLS_SRC))
endif

# asynctrace record -e and -k need libtracefs. Without it, the rest is built.
TRACEFS_CFLAGS	:= $(shell pkg-config --cflags libtracefs libtraceevent 2>/dev/null)
TRACEFS_LIBS	:= $(shell pkg-config --libs libtracefs libtraceevent 2>/dev/null)
TOOLS_SRC	+= $(if $(TRACEFS_LIBS),$(wildcard tools/ftrace/*.c),tools/ftrace/lists.c)

TOOLS_OBJ	:= $(TOOLS_SRC:%.c=$(B)/%.o)
TOOLS_CFLAGS	:= -std=gnu11 -D_GNU_SOURCE -Wall -Wextra -Werror -pthread $(AT_INCLUDES) \
		   -Itools -DASYNCTRACE_VERSION='"$(AT_VERSION)"' \
		   $(if $(NCURSES_LIBS),-DHAVE_NCURSES $(NCURSES_CFLAGS)) \
		   $(if $(TRACEFS_LIBS),-DHAVE_TRACEFS $(TRACEFS_CFLAGS))
TOOLS_LIBS	:= $(AT_LIBS) -lz -lzstd -ljansson -lm $(NCURSES_LIBS) $(TRACEFS_LIBS)
COMPLETIONDIR	?= $(PREFIX)/share/bash-completion/completions
UDEVDIR		?= /etc/udev/rules.d

# The libraries that the objects were compiled for. If one comes or goes, all are compiled again.
TOOLS_OPTIONS	:= $(strip $(if $(NCURSES_LIBS),ncurses) $(if $(TRACEFS_LIBS),tracefs))
TOOLS_COMPILED	:= $(B)/tools/options
ifneq ($(TOOLS_OPTIONS),$(shell cat $(TOOLS_COMPILED) 2>/dev/null))
.PHONY: $(TOOLS_COMPILED)
endif

$(TOOLS_COMPILED):
	@mkdir -p $(@D)
	@echo $(TOOLS_OPTIONS) > $@

.PHONY: tools tools-install tools-uninstall install-udev uninstall-udev
tools: $(B)/asynctrace

$(B)/tools/%.o: tools/%.c $(TOOLS_COMPILED)
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(TOOLS_CFLAGS) -MMD -MP -c -o $@ $<

$(B)/asynctrace: $(TOOLS_OBJ) $(B)/libasynctrace.a
	$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(TOOLS_LIBS)
ifeq ($(NCURSES_LIBS),)
	@echo "Left out: asynctrace top, because pkg-config does not find ncurses. To build it:"
	@echo "apt-get install pkg-config libncurses-dev"
endif
ifeq ($(TRACEFS_LIBS),)
	@echo "Left out: asynctrace record -e and -k, because pkg-config does not find libtracefs."
	@echo "To build them: apt-get install pkg-config libtracefs-dev libtraceevent-dev"
endif

-include $(TOOLS_OBJ:.o=.d)

tools-install: tools
	install -d $(DESTDIR)$(PREFIX)/bin
	install -m 755 $(B)/asynctrace $(DESTDIR)$(PREFIX)/bin
	for section in 1 5 7; do \
		install -d $(DESTDIR)$(MANDIR)/man$$section && \
		install -m 644 tools/man/*.$$section $(DESTDIR)$(MANDIR)/man$$section && \
		userlib/man/link $(DESTDIR)$(MANDIR)/man$$section tools/man/*.$$section || exit; \
	done
	install -d $(DESTDIR)$(COMPLETIONDIR)
	install -m 644 tools/completion/asynctrace.bash $(DESTDIR)$(COMPLETIONDIR)/asynctrace
	install -d $(DESTDIR)$(PREFIX)/share/asynctrace
	install -m 644 tools/udev/60-asynctrace.rules $(DESTDIR)$(PREFIX)/share/asynctrace

tools-uninstall:
	rm -f $(DESTDIR)$(PREFIX)/bin/asynctrace $(DESTDIR)$(COMPLETIONDIR)/asynctrace \
		$(DESTDIR)$(PREFIX)/share/asynctrace/60-asynctrace.rules
	for section in 1 5 7; do \
		userlib/man/link --remove $(DESTDIR)$(MANDIR)/man$$section \
			tools/man/*.$$section || exit; \
	done
	! test -d $(DESTDIR)$(PREFIX)/share/asynctrace || \
		rmdir --ignore-fail-on-non-empty $(DESTDIR)$(PREFIX)/share/asynctrace

# Not part of tools-install, because users outside of the group lose access to the device.
# With DESTDIR, only the rule is installed: the package makes the group and reloads udev.
#? make install-udev  let only the group asynctrace open /dev/asynctrace
install-udev:
	install -d $(DESTDIR)$(UDEVDIR)
	install -m 644 tools/udev/60-asynctrace.rules $(DESTDIR)$(UDEVDIR)
ifeq ($(DESTDIR),)
	getent group asynctrace > /dev/null || groupadd --system asynctrace
	udevadm control --reload
	! test -e /dev/asynctrace || udevadm trigger --settle /dev/asynctrace
endif

# The group stays, because it may have members; groupdel removes it.
#? make uninstall-udev  let every user open /dev/asynctrace again
uninstall-udev:
	rm -f $(DESTDIR)$(UDEVDIR)/60-asynctrace.rules
ifeq ($(DESTDIR),)
	udevadm control --reload
	! test -e /dev/asynctrace || udevadm trigger --settle /dev/asynctrace
endif
