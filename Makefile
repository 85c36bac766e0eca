# traceloom: build, test, install. `make help` lists the targets.

PREFIX ?= /usr/local
BINDIR ?= $(PREFIX)/bin
LIBDIR ?= $(PREFIX)/lib
INCLUDEDIR ?= $(PREFIX)/include
MANDIR ?= $(PREFIX)/share/man
DATADIR ?= $(PREFIX)/share
DESTDIR ?=
BUILD ?= build
CC ?= cc
SANITIZE ?=
WERROR ?=
CFLAGS ?= -O2 -g
PKG_CONFIG ?= pkg-config
INSTALL ?= install
OBJCOPY ?= objcopy
FUZZ_SECONDS ?= 60
# V=1 shows the commands, -s nothing.
Q := $(if $(V),,@)
say = $(if $(V)$(findstring s,$(firstword $(MAKEFLAGS))),,@echo '  $(1)  $(2)')
VERSION := $(shell sed -n 's/^.define TL_VERSION "\(.*\)"/\1/p' libanalysis/analysis.h)
SOVERSION := 0

PACKAGES := sqlite3 libtraceevent libelf libdw jansson zlib libzstd liblzma libpcre2-8 libpcre2-posix
PKG_CFLAGS = $(shell $(PKG_CONFIG) --cflags $(PACKAGES) 2>/dev/null)
PKG_LIBS = $(shell $(PKG_CONFIG) --libs $(PACKAGES) 2>/dev/null)
LIBS = $(PKG_LIBS) -l:libiberty.a -lbz2 -lm -pthread

# FUZZING=1 (with a clang that has libFuzzer) instruments everything and gives the fuzzers its main.
ALL_CFLAGS = -std=c11 -D_GNU_SOURCE -Wall -Wextra -Wpedantic $(if $(WERROR),-Werror) \
	$(CFLAGS) -fPIC -pthread \
	$(if $(SANITIZE),-fsanitize=$(SANITIZE) -fno-omit-frame-pointer -fno-sanitize-recover=all) \
	$(if $(FUZZING),-fsanitize=fuzzer-no-link) \
	-Ilibanalysis -Iformats -Icmd -I$(BUILD) $(PKG_CFLAGS)
ALL_LDFLAGS = $(LDFLAGS) $(if $(SANITIZE),-fsanitize=$(SANITIZE)) -pthread

sources = $(filter-out %_test.c %_fuzz.c,$(wildcard $(1)/*.c))
objects = $(patsubst %.c,$(BUILD)/%.o,$(call sources,$(1)))
LIB_OBJECTS := $(call objects,libanalysis) $(call objects,formats)
CMD_OBJECTS := $(call objects,cmd)
TESTS := $(patsubst %.c,$(BUILD)/%,$(wildcard libanalysis/*_test.c formats/*_test.c cmd/*_test.c))
FUZZERS := $(patsubst %.c,$(BUILD)/%,$(wildcard libanalysis/*_fuzz.c formats/*_fuzz.c cmd/*_fuzz.c))
STATIC := $(BUILD)/libtraceloom.a
SHARED := $(BUILD)/libtraceloom.so.$(VERSION)
PUBLIC_HEADERS := $(wildcard libanalysis/analysis*.h) libanalysis/reader.h formats/formats.h

all: $(BUILD)/traceloom $(BUILD)/traceloom-clocks $(STATIC) $(if $(SANITIZE)$(FUZZING),,$(SHARED))

$(BUILD)/schema_sql.h: libanalysis/schema.sql scripts/embed_sql.sh
	@mkdir -p $(@D)
	$(Q)sh scripts/embed_sql.sh $< > $@.tmp && mv $@.tmp $@

$(BUILD)/libanalysis/store.o: $(BUILD)/schema_sql.h

# Objects made with other flags are no good.
$(BUILD)/flags: FORCE
	@mkdir -p $(@D)
	@echo '$(CC) $(ALL_CFLAGS)' | cmp -s - $@ || echo '$(CC) $(ALL_CFLAGS)' > $@

$(BUILD)/%.o: %.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(call say,CC,$<)
	$(Q)$(CC) $(ALL_CFLAGS) -MMD -MP -c -o $@ $<

$(STATIC): $(LIB_OBJECTS)
	@rm -f $@
	$(call say,AR,$@)
	$(Q)$(AR) rcs $@ $(LIB_OBJECTS)

# The archive that is installed is one object that keeps private what only its parts may know.
$(BUILD)/stage/libtraceloom.a: $(LIB_OBJECTS)
	@mkdir -p $(@D)
	@rm -f $@
	$(call say,AR,$@)
	$(Q)$(LD) -r -o $(@D)/traceloom.o $(LIB_OBJECTS)
	$(Q)$(OBJCOPY) --wildcard --keep-global-symbol='tl_*' $(@D)/traceloom.o
	$(Q)$(AR) rcs $@ $(@D)/traceloom.o

$(BUILD)/exports.map:
	@mkdir -p $(@D)
	@echo '{ global: tl_*; local: *; };' > $@

$(SHARED): $(LIB_OBJECTS) $(BUILD)/exports.map
	$(call say,LINK,$@)
	$(Q)$(CC) $(ALL_LDFLAGS) -shared -Wl,-soname,libtraceloom.so.$(SOVERSION) -Wl,-z,defs \
		-Wl,--version-script=$(BUILD)/exports.map -o $@ $(LIB_OBJECTS) $(LIBS)

$(BUILD)/traceloom: $(CMD_OBJECTS) $(STATIC)
	$(call say,LINK,$@)
	$(Q)$(CC) $(ALL_LDFLAGS) -o $@ $(CMD_OBJECTS) $(STATIC) $(LIBS)

# Tests of commands may use everything in cmd/ but main().
$(BUILD)/cmd/%_test: $(BUILD)/cmd/%_test.o $(CMD_OBJECTS) $(STATIC)
	$(call say,LINK,$@)
	$(Q)$(CC) $(ALL_LDFLAGS) -o $@ $< $(filter-out $(BUILD)/cmd/main.o,$(CMD_OBJECTS)) $(STATIC) \
		$(LIBS) -lcmocka

$(BUILD)/%_test: $(BUILD)/%_test.o $(STATIC)
	$(call say,LINK,$@)
	$(Q)$(CC) $(ALL_LDFLAGS) -o $@ $< $(STATIC) $(LIBS) -lcmocka

# Without libFuzzer a small main() feeds the files of the corpus to the same function.
$(BUILD)/%_fuzz: $(BUILD)/%_fuzz.o $(STATIC) $(if $(FUZZING),,$(BUILD)/scripts/fuzz_replay.o)
	$(call say,LINK,$@)
	$(Q)$(CC) $(ALL_LDFLAGS) $(if $(FUZZING),-fsanitize=fuzzer) -o $@ $(filter %.o,$^) $(STATIC) $(LIBS)

tests: $(TESTS)

fuzzers: $(FUZZERS)

# What scripts/capture.sh takes to the machines that are recorded: needs nothing but the C library.
$(BUILD)/traceloom-clocks: $(BUILD)/scripts/capture_clocks.o
	$(call say,LINK,$@)
	$(Q)$(CC) $(ALL_LDFLAGS) -o $@ $<

# ---- what people run ---------------------------------------------------------------------------

demo:
	@scripts/install_deps.sh --build
	@$(MAKE) --no-print-directory -s BUILD=$(BUILD) all
	@sh scripts/demo.sh $(BUILD)/traceloom

check:
	@scripts/install_deps.sh --build --test
	@scripts/run_tests.sh

bench:
	@scripts/install_deps.sh --build --bench
	@$(MAKE) --no-print-directory -s BUILD=$(BUILD) all
	@scripts/bench.sh $(BUILD)/traceloom
	@scripts/bench_trace.sh $(BUILD)/traceloom
	@scripts/bench_logs.sh $(BUILD)/traceloom

fuzz:
	@scripts/install_deps.sh --build --test
	@FUZZ_SECONDS=$(FUZZ_SECONDS) scripts/fuzz.sh

# ---- installation -------------------------------------------------------------------------------

COMMANDS = $(shell $(BUILD)/traceloom generate commands)

$(BUILD)/traceloom.pc: Makefile libanalysis/analysis.h
	@mkdir -p $(@D)
	@printf '%s\n' 'prefix=$(PREFIX)' 'libdir=$(LIBDIR)' 'includedir=$(INCLUDEDIR)' '' \
		'Name: traceloom' 'Description: recordings of perf and friends on one timeline' \
		'Version: $(VERSION)' 'Cflags: -I$${includedir}' \
		'Libs: -L$${libdir} -ltraceloom' 'Libs.private: $(strip $(LIBS))' \
		| sed 's,^\(libdir\|includedir\)=$(PREFIX)/,\1=$${prefix}/,' > $@

install: all $(BUILD)/stage/libtraceloom.a
	@rm -f $(BUILD)/traceloom.pc
	@$(MAKE) --no-print-directory -s $(BUILD)/traceloom.pc
	$(INSTALL) -d $(DESTDIR)$(BINDIR) $(DESTDIR)$(LIBDIR)/pkgconfig \
		$(DESTDIR)$(INCLUDEDIR)/traceloom $(DESTDIR)$(MANDIR)/man1 \
		$(DESTDIR)$(DATADIR)/bash-completion/completions \
		$(DESTDIR)$(DATADIR)/zsh/site-functions $(DESTDIR)$(DATADIR)/fish/vendor_completions.d
	$(INSTALL) -m 755 $(BUILD)/traceloom $(DESTDIR)$(BINDIR)/traceloom
	$(INSTALL) -m 755 scripts/capture.sh $(DESTDIR)$(BINDIR)/traceloom-capture
	$(INSTALL) -m 755 $(BUILD)/traceloom-clocks $(DESTDIR)$(BINDIR)/traceloom-clocks
	$(INSTALL) -m 644 $(BUILD)/stage/libtraceloom.a $(DESTDIR)$(LIBDIR)/libtraceloom.a
	$(INSTALL) -m 755 $(SHARED) $(DESTDIR)$(LIBDIR)/libtraceloom.so.$(VERSION)
	ln -sf libtraceloom.so.$(VERSION) $(DESTDIR)$(LIBDIR)/libtraceloom.so.$(SOVERSION)
	ln -sf libtraceloom.so.$(SOVERSION) $(DESTDIR)$(LIBDIR)/libtraceloom.so
	$(INSTALL) -m 644 $(PUBLIC_HEADERS) $(DESTDIR)$(INCLUDEDIR)/traceloom
	$(INSTALL) -m 644 $(BUILD)/traceloom.pc $(DESTDIR)$(LIBDIR)/pkgconfig/traceloom.pc
	$(BUILD)/traceloom generate man > $(DESTDIR)$(MANDIR)/man1/traceloom.1
	for command in $(COMMANDS); do $(BUILD)/traceloom generate man $$command \
		> $(DESTDIR)$(MANDIR)/man1/traceloom-$$command.1 || exit 1; done
	sh scripts/capture.sh --help | sed 's/capture\.sh/traceloom-capture/g' | sh scripts/help_manual.sh \
		traceloom-capture 'record a job so that traceloom can explain it' $(VERSION) \
		> $(DESTDIR)$(MANDIR)/man1/traceloom-capture.1
	$(BUILD)/traceloom-clocks --help | sh scripts/help_manual.sh traceloom-clocks \
		'read every clock of this machine at one moment' $(VERSION) \
		> $(DESTDIR)$(MANDIR)/man1/traceloom-clocks.1
	$(BUILD)/traceloom generate completion bash \
		> $(DESTDIR)$(DATADIR)/bash-completion/completions/traceloom
	$(BUILD)/traceloom generate completion zsh > $(DESTDIR)$(DATADIR)/zsh/site-functions/_traceloom
	$(BUILD)/traceloom generate completion fish \
		> $(DESTDIR)$(DATADIR)/fish/vendor_completions.d/traceloom.fish

uninstall:
	rm -f $(DESTDIR)$(BINDIR)/traceloom $(DESTDIR)$(BINDIR)/traceloom-capture \
		$(DESTDIR)$(BINDIR)/traceloom-clocks $(DESTDIR)$(LIBDIR)/libtraceloom.a \
		$(DESTDIR)$(LIBDIR)/libtraceloom.so $(DESTDIR)$(LIBDIR)/libtraceloom.so.$(SOVERSION) \
		$(DESTDIR)$(LIBDIR)/libtraceloom.so.$(VERSION) \
		$(DESTDIR)$(LIBDIR)/pkgconfig/traceloom.pc $(DESTDIR)$(MANDIR)/man1/traceloom.1 \
		$(DESTDIR)$(MANDIR)/man1/traceloom-*.1 \
		$(DESTDIR)$(DATADIR)/bash-completion/completions/traceloom \
		$(DESTDIR)$(DATADIR)/zsh/site-functions/_traceloom \
		$(DESTDIR)$(DATADIR)/fish/vendor_completions.d/traceloom.fish
	rm -f $(patsubst %,$(DESTDIR)$(INCLUDEDIR)/traceloom/%,$(notdir $(PUBLIC_HEADERS)))
	-rmdir $(DESTDIR)$(INCLUDEDIR)/traceloom

help:
	@printf '%s\n' \
		'make              build/traceloom, build/traceloom-clocks, build/libtraceloom.a, build/libtraceloom.so.*' \
		'make demo         install what is missing, build, import a recording, fold it' \
		'make check        install what is missing, run every test' \
		'make bench        measure against the tools that people use today' \
		'make fuzz         fuzz each importer; FUZZ_SECONDS=60 each' \
		'make install      PREFIX=/usr/local DESTDIR=' \
		'make uninstall' \
		'make clean' \
		'' \
		'variables: CC CFLAGS LDFLAGS BUILD=build WERROR=1 SANITIZE=address,undefined V=1'

clean:
	rm -rf build build-*

-include $(LIB_OBJECTS:.o=.d) $(CMD_OBJECTS:.o=.d) $(TESTS:=.d) $(FUZZERS:=.d)

FORCE:

.PHONY: FORCE all tests fuzzers demo check bench fuzz install uninstall help clean
.SECONDARY:
