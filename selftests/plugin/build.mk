# SPDX-License-Identifier: GPL-2.0
#
# Plug-ins that trace, and hosts that load them: selftests/plugin/run

PLUG_DIR    := $(B)/selftests/plugin
PLUG_CFLAGS := -std=gnu11 -D_GNU_SOURCE -Wall -Wextra -Werror -pthread $(AT_INCLUDES)
PLUG_HOSTS  := host host-static host-exporting host-shared

.PHONY: selftests-plugin
selftests-plugin: $(PLUG_HOSTS:%=$(PLUG_DIR)/%) $(PLUG_DIR)/plug-static.so \
	$(PLUG_DIR)/plug-shared.so $(PLUG_DIR)/plug-symbolic.so

$(PLUG_DIR)/plug-static.so: selftests/plugin/plug.c $(B)/libasynctrace.a
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(PLUG_CFLAGS) -shared -fPIC -o $@ $^ $(LDFLAGS) $(AT_LIBS)

$(PLUG_DIR)/plug-symbolic.so: selftests/plugin/plug.c $(B)/libasynctrace.a
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(PLUG_CFLAGS) -shared -fPIC -Wl,-Bsymbolic-functions -o $@ $^ $(LDFLAGS) \
		$(AT_LIBS)

$(PLUG_DIR)/plug-shared.so: selftests/plugin/plug.c $(B)/libasynctrace.so
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(PLUG_CFLAGS) -shared -fPIC -o $@ $< $(LDFLAGS) -L$(B) -lasynctrace

$(PLUG_DIR)/host: selftests/plugin/host.c
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(PLUG_CFLAGS) -o $@ $< $(LDFLAGS) -ldl

# Hosts with a library of their own, which plug-ins do not see or do see
$(PLUG_DIR)/host-static: selftests/plugin/host.c $(B)/libasynctrace.a
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(PLUG_CFLAGS) -DHOST_TRACES -o $@ $^ $(LDFLAGS) $(AT_LIBS) -ldl

$(PLUG_DIR)/host-exporting: selftests/plugin/host.c $(B)/libasynctrace.a
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(PLUG_CFLAGS) -DHOST_TRACES -rdynamic -o $@ $^ $(LDFLAGS) $(AT_LIBS) -ldl

$(PLUG_DIR)/host-shared: selftests/plugin/host.c $(B)/libasynctrace.so
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(PLUG_CFLAGS) -DHOST_TRACES -o $@ $< $(LDFLAGS) -L$(B) -lasynctrace -ldl
