/*
 * ascend_db_test.c - databases made here row by row, and a public one, as events.
 */
#include "ascend_db.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <sqlite3.h>

#include "reader.h"

#define PID INT64_C(9000)
#define NS  INT64_C(1736410576386409710)

static const char schema[] =
	"PRAGMA page_size = 512;"
	"CREATE TABLE STRING_IDS (id INTEGER PRIMARY KEY, value TEXT);"
	"CREATE TABLE ENUM_API_TYPE (id INTEGER PRIMARY KEY, name TEXT);"
	"CREATE TABLE CONNECTION_IDS (id INTEGER, connectionId INTEGER);"
	"CREATE TABLE PYTORCH_API (startNs TEXT, endNs TEXT, globalTid INTEGER, connectionId INTEGER, "
	"name INTEGER, type INTEGER);"
	"CREATE TABLE CANN_API (startNs INTEGER, endNs INTEGER, type INTEGER, globalTid INTEGER, "
	"connectionId INTEGER PRIMARY KEY, name INTEGER);"
	"CREATE TABLE TASK (startNs INTEGER, endNs INTEGER, deviceId INTEGER, connectionId INTEGER, "
	"globalTaskId INTEGER, taskType INTEGER, streamId INTEGER);"
	"CREATE TABLE COMPUTE_TASK_INFO (name INTEGER, globalTaskId INTEGER PRIMARY KEY);"
	"CREATE TABLE OSRT_API (name INTEGER, globalTid INTEGER, startNs INTEGER, endNs INTEGER);"
	"CREATE TABLE STEP_TIME (id INTEGER, startNs INTEGER, endNs INTEGER);"
	"CREATE TABLE HBM (deviceId INTEGER, timestampNs INTEGER);"
	"CREATE TABLE RANK_DEVICE_MAP (rankId INTEGER, deviceId INTEGER);";

static const char rows[] =
	"INSERT INTO STRING_IDS VALUES (1, 'ProfilerStep#50'), (2, 'aten::mm'), (3, "
	"'aclnnMatmul'), (4, 'AI_CORE'), (5, 'MatMulV3'), (6, 'ioctl'), (7, 'pthread_mutex_lock');"
	"INSERT INTO ENUM_API_TYPE VALUES (50001, 'op'), (20000, 'acl');"
	"INSERT INTO CONNECTION_IDS VALUES (0, 936), (0, 938);"
	"INSERT INTO PYTORCH_API VALUES ('1736410576386409710', '1736410576538298460', (9000 << 32) | "
	"9000, NULL, 1, 50001), ('1736410576386409720', '1736410576386409730', (9000 << 32) | 9001, 0, "
	"2, 50001);"
	"INSERT INTO CANN_API VALUES (1736410576386409721, 1736410576386409725, 20000, (9000 << 32) | "
	"9001, 936, 3);"
	"INSERT INTO TASK VALUES (1736410576386409800, 1736410576386409900, 0, 936, 17, 4, 2);"
	"INSERT INTO COMPUTE_TASK_INFO VALUES (5, 17);"
	"INSERT INTO OSRT_API VALUES (6, (9000 << 32) | 9001, 1736410576386409000, "
	"1736410576386419000), (7, (9000 << 32) | 9001, 1736410576386409000, 1736410576386409001);"
	"INSERT INTO STEP_TIME VALUES (50, 1736410576386409710, 1736410576538298460);"
	"INSERT INTO RANK_DEVICE_MAP VALUES (3, 0);";

enum { EVENTS_MAX = 64 };

struct taken {
	struct tl_sink sink;
	struct tl_event events[EVENTS_MAX];
	char names[EVENTS_MAX][64];
	size_t count;
	bool is_counting;
	struct tl_import_result result;
	struct tl_error err;
	int ret;
};

static int take(struct tl_sink *sink, const struct tl_event *ev, struct tl_error *err)
{
	struct taken *t = (struct taken *)sink;

	if (t->is_counting)
		return TL_OK;
	if (t->count == EVENTS_MAX)
		return tl_fail(err, TL_USAGE, "more events than the test has room for");
	t->events[t->count] = *ev;
	if (ev->kind == TL_EVENT_SLICE)
		snprintf(t->names[t->count], sizeof(t->names[0]), "%.*s",
			 (int)ev->slice.name_length, ev->slice.name);
	if (ev->kind == TL_EVENT_SYSCALL)
		snprintf(t->names[t->count], sizeof(t->names[0]), "%.*s",
			 (int)ev->syscall.name_length, ev->syscall.name);
	if (ev->kind == TL_EVENT_META)
		snprintf(t->names[t->count], sizeof(t->names[0]), "%s=%s", ev->meta.key,
			 ev->meta.value);
	t->count++;
	return TL_OK;
}

static uint8_t *make_database(const char *more, size_t *len)
{
	sqlite3_int64 size = 0;
	uint8_t *serialized, *copy;
	sqlite3 *db;

	assert_int_equal(sqlite3_open(":memory:", &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, schema, NULL, NULL, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, rows, NULL, NULL, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, more, NULL, NULL, NULL), SQLITE_OK);
	serialized = sqlite3_serialize(db, "main", &size, 0);
	assert_non_null(serialized);
	copy = malloc((size_t)size);
	assert_non_null(copy);
	memcpy(copy, serialized, (size_t)size);
	sqlite3_free(serialized);
	sqlite3_close(db);
	*len = (size_t)size;
	return copy;
}

static void import(struct taken *t, const uint8_t *data, size_t len)
{
	struct tl_input *in;

	memset(t, 0, sizeof(*t));
	t->sink.emit = take;
	assert_int_equal(tl_input_open_memory(&in, "p.db", data, len, NULL), 0);
	t->ret = tl_import(&ascend_db_importer, in, NULL, &t->sink, &t->result, &t->err);
	tl_input_close(in);
}

static void import_made(struct taken *t, const char *more)
{
	size_t len;
	uint8_t *data = make_database(more, &len);

	import(t, data, len);
	free(data);
}

static const struct tl_event *named(const struct taken *t, enum tl_event_kind kind,
				    const char *name)
{
	for (size_t k = 0; k < t->count; k++)
		if (t->events[k].kind == kind && !strcmp(t->names[k], name))
			return &t->events[k];
	fail_msg("no %s", name);
	return NULL;
}

static void calls_of_both_layers_lie_on_their_threads(void **state)
{
	const struct tl_event *op, *call;
	struct taken t;

	(void)state;
	import_made(&t, "");
	assert_int_equal(t.ret, TL_OK);
	op = named(&t, TL_EVENT_SLICE, "aten::mm");
	assert_int_equal(op->ts, NS + 10);
	assert_int_equal(op->slice.duration_ns, 10);
	assert_int_equal(op->slice.class_, TL_SLICE_OPERATOR);
	call = named(&t, TL_EVENT_SLICE, "aclnnMatmul");
	assert_int_equal(call->slice.class_, TL_SLICE_RUNTIME);
	assert_int_not_equal(op->slice.track, call->slice.track);
	for (size_t k = 0; k < t.count; k++) {
		if (t.events[k].kind == TL_EVENT_TRACK &&
		    t.events[k].track.index == op->slice.track) {
			assert_int_equal(t.events[k].track.task.pid, PID);
			assert_int_equal(t.events[k].track.task.tid, PID + 1);
		}
	}
}

static void a_task_is_joined_with_what_launched_it(void **state)
{
	const struct tl_event *task;
	struct taken t;

	(void)state;
	import_made(&t, "");
	task = named(&t, TL_EVENT_SLICE, "MatMulV3");
	assert_int_equal(task->slice.class_, TL_SLICE_KERNEL);
	assert_int_equal(task->slice.stream, 2);
	assert_int_equal(task->slice.duration_ns, 100);
	assert_int_equal(task->slice.correlation, 936);
	assert_int_equal(named(&t, TL_EVENT_SLICE, "aclnnMatmul")->slice.correlation, 936);
	assert_int_equal(named(&t, TL_EVENT_SLICE, "aten::mm")->slice.external_id,
			 task->slice.external_id);
}

static void a_step_counts_once(void **state)
{
	struct taken t;

	(void)state;
	import_made(&t, "");
	assert_int_equal(named(&t, TL_EVENT_SLICE, "ProfilerStep#50")->slice.step, 50);
	assert_int_equal(t.result.events[TL_EVENT_STEP], 0);
	/* without the operators, STEP_TIME has it */
	import_made(&t, "DROP TABLE PYTORCH_API");
	assert_int_equal(t.result.events[TL_EVENT_STEP], 1);
}

static void operating_system_calls_are_calls(void **state)
{
	struct taken t;

	(void)state;
	import_made(&t, "");
	assert_int_equal(named(&t, TL_EVENT_SYSCALL, "ioctl")->syscall.kind, TL_CALL_SYSTEM);
	assert_int_equal(named(&t, TL_EVENT_SYSCALL, "ioctl")->syscall.duration_ns, 10000);
	assert_int_equal(named(&t, TL_EVENT_SYSCALL, "pthread_mutex_lock")->syscall.kind,
			 TL_CALL_LIBRARY);
}

static void rank_and_what_is_left_out_are_told(void **state)
{
	struct taken t;

	(void)state;
	import_made(&t, "");
	named(&t, TL_EVENT_META, "rank=3");
	assert_int_equal(t.result.events[TL_EVENT_DIAGNOSTIC], 1); /* HBM */
}

static void a_view_in_place_of_a_table_is_not_run(void **state)
{
	struct taken t;

	(void)state;
	import_made(&t,
		    "DROP TABLE TASK; CREATE VIEW TASK AS WITH RECURSIVE n(startNs) AS (SELECT 1 "
		    "UNION ALL SELECT startNs + 1 FROM n) SELECT startNs FROM n");
	assert_int_equal(t.ret, TL_OK);
}

static void other_databases_are_refused_in_words(void **state)
{
	struct taken t;

	(void)state;
	import_made(&t, "DROP TABLE PYTORCH_API; DROP TABLE CANN_API; DROP TABLE TASK; DROP TABLE "
			"OSRT_API; DROP TABLE STEP_TIME");
	assert_int_equal(t.ret, TL_NOTHING);
	assert_non_null(strstr(t.err.text, "neither a case nor an Ascend profile"));
}

static void rows_without_times_are_damaged(void **state)
{
	struct taken t;

	(void)state;
	import_made(&t, "UPDATE TASK SET startNs = 'x'");
	assert_int_equal(t.ret, TL_OK);
	assert_int_equal(t.result.damaged, 1);
	assert_non_null(strstr(t.result.first_damage.text, "table TASK"));
}

static void cut_or_flipped_it_ends_well(void **state)
{
	size_t len;
	uint8_t *data = make_database("", &len);
	struct taken t;

	(void)state;
	for (size_t cut = 0; cut < len; cut += 97)
		import(&t, data, cut);
	for (size_t at = 0; at < len; at += 23) {
		data[at] ^= 0xff;
		import(&t, data, len);
		data[at] ^= 0xff;
	}
	import(&t, data, len);
	assert_int_equal(t.ret, TL_OK);
	free(data);
}

static void a_public_profile_has_its_rows(void **state)
{
	const char *shared = getenv("TRACELOOM_SHARED");
	struct tl_input *in;
	struct taken t = { .sink.emit = take, .is_counting = true };
	char path[512];

	(void)state;
	snprintf(path, sizeof(path), "%s/corpus/profiler/ascend.level1-rank0.db",
		 shared ? shared : "../shared");
	if (tl_input_open(&in, path, NULL) < 0)
		skip();
	t.ret = tl_import(&ascend_db_importer, in, NULL, &t.sink, &t.result, &t.err);
	tl_input_close(in);
	assert_int_equal(t.ret, TL_OK);
	/* SELECT count(*) of PYTORCH_API, CANN_API, TASK and COMMUNICATION_OP with sqlite3 */
	assert_int_equal(t.result.events[TL_EVENT_SLICE], 2460 + 710 + 552 + 4);
	assert_int_equal(t.result.damaged, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(calls_of_both_layers_lie_on_their_threads),
		cmocka_unit_test(a_task_is_joined_with_what_launched_it),
		cmocka_unit_test(a_step_counts_once),
		cmocka_unit_test(operating_system_calls_are_calls),
		cmocka_unit_test(rank_and_what_is_left_out_are_told),
		cmocka_unit_test(a_view_in_place_of_a_table_is_not_run),
		cmocka_unit_test(other_databases_are_refused_in_words),
		cmocka_unit_test(rows_without_times_are_damaged),
		cmocka_unit_test(cut_or_flipped_it_ends_well),
		cmocka_unit_test(a_public_profile_has_its_rows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
