# SPDX-License-Identifier: GPL-2.0
#
# A program that tests the account of each operation, for all suites that make traces

$(B)/selftests/account: selftests/analysis/account_holds.c selftests/analysis/account_main.c \
			$(filter $(B)/tools/fxt/% $(B)/tools/analysis/%,$(TOOLS_OBJ))
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(TOOLS_CFLAGS) -o $@ $^ -lz -lzstd -lm
