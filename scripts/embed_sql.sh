#!/bin/sh
# embed_sql.sh FILE - prints a C header that holds the blocks of a schema file as char arrays.
#
# A line "-- ==== TABLES" (INDEXES, VIEWS) begins a block; text before the first one is for readers
# of the file alone. Character constants rather than literals: C promises only 4095 bytes of
# literal, and '\303' fits a char whether it is signed or not.
set -eu
LC_ALL=C
export LC_ALL

[ $# -eq 1 ] || { echo "usage: embed_sql.sh FILE" >&2; exit 2; }
file=$1
[ -r "$file" ] || { echo "embed_sql.sh: $file: cannot be read" >&2; exit 2; }

# Lines of one block; exit status 1 when the file has no such block.
block() {
	awk -v want="$1" '
		/^-- ==== / { inside = ($3 == want); found = found || inside; next }
		inside
		END { exit !found }' "$file"
}

array() {
	printf 'static const char %s[] = {\n' "$1"
	block "$2" | od -An -v -to1 | sed "s/  *\([0-7][0-7]*\)/'\\\\\\1',/g; s/^/\t/"
	printf '\t0 };\n\n'
}

for name in TABLES INDEXES VIEWS; do
	block "$name" >/dev/null || { echo "embed_sql.sh: $file: no line '-- ==== $name'" >&2; exit 2; }
done

printf '/* Made from %s by scripts/embed_sql.sh. */\n\n' "$(basename "$file")"
array schema_tables TABLES
array schema_indexes INDEXES
array schema_views VIEWS
