#!/bin/sh
# update_readme.sh PROGRAM - renews what README.md shows of the program: the text between lines
# "<!-- NAME:begin -->" and "<!-- NAME:end -->".
#
# NAME is help (what 'traceloom help' prints), demo (what make demo prints), steps (a log of
# testdata asked which steps were slow), or a table that make bench left beside the
# program (bench, scale). What there is nothing new for stays as it is.
set -eu
program=$(realpath "${1:?usage: update_readme.sh PROGRAM}")
cd "$(dirname "$0")/.."
LC_ALL=C
export LC_ALL
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fenced() {
	printf '```\n'
	cat
	printf '```\n'
}

"$program" help | fenced >"$work/help"
if sh scripts/demo.sh "$program" >"$work/output" 2>&1; then
	sed "s|$(dirname "$program")|build|g" "$work/output" | sed '1{/^$/d;}' | fenced >"$work/demo"
else
	echo "update_readme.sh: the demo failed; its output stays as it was" >&2
fi
{
	echo '$ traceloom steps train.log'
	(cd testdata/training_log/checkpoint && "$program" steps train.log)
} 2>&1 | fenced >"$work/steps"
for table in bench scale; do
	file=$(dirname "$program")/bench/$table.md
	[ ! -s "$file" ] || cp "$file" "$work/$table"
done

awk -v work="$work" '
	/^<!-- [a-z]+:end -->$/ { skipping = 0 }
	!skipping
	/^<!-- [a-z]+:begin -->$/ {
		file = work "/" substr($2, 1, length($2) - 6)
		if ((getline line < file) > 0) {
			print line
			while ((getline line < file) > 0)
				print line
			skipping = 1
		}
	}' README.md >"$work/README.md"
cmp -s "$work/README.md" README.md || cat "$work/README.md" >README.md
