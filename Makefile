# traceloom: build, test, install. `make help` lists the targets.

PREFIX ?= /usr/local
DESTDIR ?=
BUILD ?= build
CC ?= cc
SANITIZE ?=
WERROR ?=
CFLAGS ?= -O2 -g
PKG_CONFIG ?= pkg-config
VERSION := $(shell sed -n 's/^.define TL_VERSION "\(.*\)"/\1/p' libanalysis/analysis.h)
SOVERSION := 0

PACKAGES := sqlite3 libtraceevent libelf libdw jansson zlib libzstd liblzma
PKG_CFLAGS = $(shell $(PKG_CONFIG) --cflags $(PACKAGES) 2>/dev/null)
PKG_LIBS = $(shell $(PKG_CONFIG) --libs $(PACKAGES) 2>/dev/null)
LIBS = $(PKG_LIBS) -l:libiberty.a -lbz2 -lm -pthread

ALL_CFLAGS = -std=c11 -D_GNU_SOURCE -Wall -Wextra -Wpedantic $(if $(WERROR),-Werror) \
	$(CFLAGS) -fPIC -pthread \
	$(if $(SANITIZE),-fsanitize=$(SANITIZE) -fno-omit-frame-pointer -fno-sanitize-recover=all) \
	-Ilibanalysis -Iformats -Icmd -I$(BUILD) $(PKG_CFLAGS)
ALL_LDFLAGS = $(LDFLAGS) $(if $(SANITIZE),-fsanitize=$(SANITIZE)) -pthread

sources = $(filter-out %_test.c %_fuzz.c,$(wildcard $(1)/*.c))
objects = $(patsubst %.c,$(BUILD)/%.o,$(call sources,$(1)))
LIB_OBJECTS := $(call objects,libanalysis) $(call objects,formats)
CMD_OBJECTS := $(call objects,cmd)
TESTS := $(patsubst %.c,$(BUILD)/%,$(wildcard libanalysis/*_test.c formats/*_test.c cmd/*_test.c))
FUZZERS := $(patsubst %.c,$(BUILD)/%,$(wildcard libanalysis/*_fuzz.c formats/*_fuzz.c cmd/*_fuzz.c))
STATIC := $(BUILD)/libtraceloom.a

all: $(BUILD)/traceloom

$(BUILD)/schema_sql.h: libanalysis/schema.sql scripts/embed_sql.sh
	@mkdir -p $(@D)
	sh scripts/embed_sql.sh $< > $@.tmp && mv $@.tmp $@

$(BUILD)/libanalysis/store.o: $(BUILD)/schema_sql.h

$(BUILD)/%.o: %.c
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) -MMD -MP -c -o $@ $<

$(STATIC): $(LIB_OBJECTS)
	@rm -f $@
	$(AR) rcs $@ $(LIB_OBJECTS)

$(BUILD)/traceloom: $(CMD_OBJECTS) $(STATIC)
	$(CC) $(ALL_LDFLAGS) -o $@ $(CMD_OBJECTS) $(STATIC) $(LIBS)

$(BUILD)/%_test: $(BUILD)/%_test.o $(STATIC)
	$(CC) $(ALL_LDFLAGS) -o $@ $< $(filter-out $(BUILD)/cmd/main.o,$(if $(filter cmd/%,$*),$(CMD_OBJECTS))) $(STATIC) $(LIBS) -lcmocka

-include $(LIB_OBJECTS:.o=.d) $(CMD_OBJECTS:.o=.d) $(TESTS:=.d)

clean:
	rm -rf build build-*

.PHONY: all clean
.SECONDARY:
