# SPDX-License-Identifier: GPL-2.0
#
# Shared by the Makefiles of fxt, analysis and top, which test sources of tools/ as units
#
# A Makefile sets dirs, directories below tools/ of which all sources are tested, and sources, other
# sources. Then $(eval $(call objects,FLAVOUR)) makes the rules for the objects and lib.a in
# $(out)/FLAVOUR. FLAVOUR is plain, asan or libfuzzer.

top := $(abspath ../..)
out ?= $(top)/build/selftests/$(notdir $(CURDIR))

CC ?= gcc
cflags := -std=gnu11 -D_GNU_SOURCE -g -Wall -Wextra -Werror -Wno-unused-parameter \
	-I$(top)/tools -I$(top)/uapi -I$(top)/userlib/include -I$(top)/userlib/src -I$(out) -MMD -MP
plain := -O2
asan := -O1 -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
libfuzzer := $(asan) -fsanitize=fuzzer-no-link
plain_cc = $(CC)
asan_cc = $(CC)
libfuzzer_cc = clang

composer := $(notdir $(wildcard $(top)/userlib/src/compose/*.c))
tested = $(notdir $(wildcard $(dirs:%=$(top)/tools/%/*.c))) $(sources) $(composer:%=compose/%)
tests := $(patsubst %.c,%,$(wildcard test_*.c))

vpath %.c $(dirs:%=$(top)/tools/%) $(top)/tools $(top)/tools/record ../fxt ../analysis

.PHONY: all check clean
.SECONDARY:

all:

$(out)/syscall_names.h: $(top)/userlib/src/compose/syscall-names
	mkdir -p $(@D)
	$< $(CC) > $@

define objects
$(out)/$(1)/%.o: %.c Makefile ../unit.mk | $(out)/$(1)
	$$($(1)_cc) $$(cflags) $$($(1)) -c -o $$@ $$<
$(out)/$(1)/compose/%.o: $(top)/userlib/src/compose/%.c Makefile ../unit.mk | $(out)/$(1)
	$$($(1)_cc) $$(cflags) $$($(1)) -c -o $$@ $$<
$(out)/$(1)/compose/syscalls.o: $(out)/syscall_names.h
$(out)/$(1)/lib.a: $(tested:%.c=$(out)/$(1)/%.o)
	rm -f $$@
	$$(AR) rcs $$@ $$^
$(out)/$(1):
	mkdir -p $$@/compose
endef

clean:
	rm -rf $(out)

-include $(wildcard $(out)/*/*.d $(out)/*/*/*.d)
