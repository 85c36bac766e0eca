/*
 * host_join.c - which machine each source is of, from what all of them say.
 *
 * Those that name a machine are of that one, in each boot of it. Those that name none are of the
 * machine of the source they were recorded with, or were matched with; else of the only one there is.
 * Where there are several, nothing says that they are of one of them.
 */
#include "lives.h"

#include <stdlib.h>
#include <string.h>

#include "memory.h"

struct source {
	int64_t source_id, host_id, reference_id;
	char *path, *name, *release, *boot, *with;
	bool is_matched;
	size_t group; /* SIZE_MAX: not known yet */
};

struct joining {
	struct tl_store *store;
	struct tl_arena arena;
	struct source *sources; /* by content */
	size_t count, capacity;
	size_t group_count;
};

#define META(key)                                                                                     \
	"(SELECT CAST(value AS TEXT) FROM source_meta m WHERE m.source_id = s.source_id AND m.key = " \
	"'" key "' AND m.value != '' ORDER BY m.rowid LIMIT 1)"
/* By what sources are, not by when they came. */
#define BY_CONTENT "s.size_bytes, s.fingerprint, s.path, s.source_id"

static int copy_text(struct joining *j, struct tl_statement *st, int column, char **out,
		     struct tl_error *err)
{
	size_t length;
	const char *text = tl_column_text(st, column, &length);

	*out = text ? tl_arena_copy(&j->arena, text, length, err) : NULL;
	return text && !*out ? TL_NOMEM : TL_OK;
}

static int add_source(struct joining *j, struct tl_statement *st, struct tl_error *err)
{
	struct source *s;
	int ret = tl_grow(&j->sources, &j->capacity, j->count + 1, err);

	if (ret < 0)
		return ret;
	s = &j->sources[j->count++];
	s->source_id = tl_column_i64(st, 0);
	s->host_id = tl_column_i64(st, 1);
	s->reference_id = tl_column_i64(st, 2);
	s->is_matched = tl_column_i64(st, 3) != 0;
	s->group = SIZE_MAX;
	ret = copy_text(j, st, 4, &s->path, err);
	if (ret == TL_OK)
		ret = copy_text(j, st, 5, &s->name, err);
	if (ret == TL_OK)
		ret = copy_text(j, st, 6, &s->release, err);
	if (ret == TL_OK)
		ret = copy_text(j, st, 7, &s->boot, err);
	return ret < 0 ? ret : copy_text(j, st, 8, &s->with, err);
}

static int load(struct joining *j, struct tl_error *err)
{
	struct tl_statement *st;
	int ret = tl_statement_open(
		&st, j->store,
		"SELECT s.source_id AS source, s.host_id AS host, s.clock_reference_id AS reference, "
		"s.clock_method = 'matched' AS matched, s.path AS path, " META("hostname") " AS name, " META(
			"os_release") " AS release, " META("boot_id") " AS "
								      "boot, " META(
									      "recorded_with") " AS "
											       "together "
											       "FROM source s ORDER BY " BY_CONTENT,
		"source host reference matched path name release boot together", err);

	while (ret >= 0 && (ret = tl_statement_step(st, err)) > 0) {
		int status = add_source(j, st, err);

		ret = status < 0 ? status : ret;
	}
	tl_statement_close(st);
	return ret;
}

/* ---- groups: one machine each ---- */

static bool agrees(const char *a, const char *b)
{
	return !a || !b || !strcmp(a, b);
}

/* A new group, or that of a source before it of the same machine, kernel and boot. */
static void group_named(struct joining *j, struct source *s)
{
	for (size_t i = 0; i < j->count; i++) {
		struct source *other = &j->sources[i];
		bool is_same = other->group != SIZE_MAX && !strcmp(other->name, s->name);

		/* all of a group must agree, though some say nothing */
		for (size_t k = 0; k < j->count && is_same; k++)
			if (j->sources[k].group == other->group)
				is_same = agrees(j->sources[k].release, s->release) &&
					  agrees(j->sources[k].boot, s->boot);
		if (is_same) {
			s->group = other->group;
			return;
		}
	}
	s->group = j->group_count++;
}

static bool follow(struct joining *j, struct source *s)
{
	for (size_t i = 0; i < j->count && s->group == SIZE_MAX; i++) {
		const struct source *other = &j->sources[i];
		bool is_together = s->with && !strcmp(s->with, other->path);
		bool is_matched = s->is_matched && s->reference_id == other->source_id;
		/* whoever was matched by it is of the same machine too */
		bool is_measure = other->is_matched && other->reference_id == s->source_id;

		if (other != s && (is_together || is_matched || is_measure))
			s->group = other->group;
	}
	return s->group != SIZE_MAX;
}

static void group_all(struct joining *j)
{
	size_t named_count;
	bool has_changed = true, has_nameless = false;

	for (size_t i = 0; i < j->count; i++)
		if (j->sources[i].name)
			group_named(j, &j->sources[i]);
	while (has_changed) {
		has_changed = false;
		for (size_t i = 0; i < j->count; i++)
			if (j->sources[i].group == SIZE_MAX)
				has_changed |= follow(j, &j->sources[i]);
	}
	named_count = j->group_count;
	for (size_t i = 0; i < j->count; i++)
		if (j->sources[i].group == SIZE_MAX) {
			has_nameless = true;
			j->sources[i].group = named_count == 1 ? 0 : named_count;
		}
	j->group_count += has_nameless && named_count != 1;
}

/* ---- rows ---- */

static int set_host(struct joining *j, const struct source *s, int64_t host_id,
		    struct tl_error *err)
{
	struct tl_statement *st;
	int ret = tl_statement_open(&st, j->store,
				    "UPDATE source SET host_id = ? WHERE source_id = ?", NULL, err);

	if (ret < 0)
		return ret;
	tl_bind_i64(st, 1, host_id);
	tl_bind_i64(st, 2, s->source_id);
	ret = tl_statement_run(st, err);
	tl_statement_close(st);
	return ret;
}

static int put_hosts(struct joining *j, struct tl_error *err)
{
	int64_t *rows = tl_alloc(j->group_count + 1, sizeof(*rows), err), next;
	int ret =
		rows ? tl_store_value(j->store, "SELECT max(host_id) + 1 FROM host", 1, &next, err)
		     : TL_NOMEM;

	for (size_t g = 0; g < j->group_count && ret == TL_OK; g++) {
		/* a row that one of them had, if no other group has taken it */
		for (size_t i = 0; i < j->count && !rows[g]; i++) {
			bool is_free = j->sources[i].group == g;

			for (size_t k = 0; k < g; k++)
				is_free &= rows[k] != j->sources[i].host_id;
			if (is_free)
				rows[g] = j->sources[i].host_id;
		}
		if (!rows[g])
			rows[g] = next++;
	}
	for (size_t i = 0; i < j->count && ret == TL_OK; i++)
		ret = set_host(j, &j->sources[i], rows[j->sources[i].group], err);
	free(rows);
	return ret;
}

#define OF_HOST(key)                                                                              \
	"(SELECT CAST(m.value AS TEXT) FROM source s JOIN source_meta m USING (source_id) WHERE " \
	"s.host_id = host.host_id AND m.key = '" key "' AND m.value != '' ORDER BY " BY_CONTENT   \
	", m.rowid LIMIT 1)"
/* Digits only, and not more than an integer holds. */
#define COUNT_OF_HOST(key, unit)                                                                            \
	"(SELECT CAST(m.value AS INTEGER) * " unit " FROM source s JOIN source_meta m USING "               \
	"(source_id) WHERE s.host_id = host.host_id AND m.key = '" key                                      \
	"' AND m.value != '' AND m.value NOT GLOB '*[^0-9]*' AND length(m.value) < 15 ORDER BY " BY_CONTENT \
	", m.rowid LIMIT 1)"

static const char describe[] =
	"INSERT INTO host(host_id) SELECT DISTINCT host_id FROM source WHERE host_id NOT IN "
	"(SELECT host_id FROM host);"
	"DELETE FROM host WHERE host_id NOT IN (SELECT host_id FROM source);"
	"UPDATE host SET name = " OF_HOST("hostname") ", os_release = " OF_HOST("os_release") ", boot_id = " OF_HOST(
		"boot_id") ", arch = " OF_HOST("arch") ", "
						       "cpu_description "
						       "= " OF_HOST("cpu_desc") ", cpu_count = " COUNT_OF_HOST(
							       "cpus_online",
							       "1") ", memory_bytes = " COUNT_OF_HOST("memory_kib",
												      "1024");

int tl_hosts_join(struct tl_store *store, struct tl_error *err)
{
	struct joining j = { .store = store };
	int ret = load(&j, err);

	if (ret == TL_OK) {
		group_all(&j);
		ret = put_hosts(&j, err);
	}
	if (ret == TL_OK)
		ret = tl_store_execute(store, describe, err);
	tl_arena_release(&j.arena);
	free(j.sources);
	return ret;
}
