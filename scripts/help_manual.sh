#!/bin/sh
# help_manual.sh NAME SUMMARY VERSION - a manual page in roff from the help of a program that is no
# command of traceloom: its --help on standard input, as capture.sh and traceloom-clocks print it.
#
# Lines from the margin are paragraphs, or headings where they end in a colon; indented ones are options
# and what else has a name and, two blanks further right, an explanation that may go on in lines that are
# indented more. Below "Examples:" they are commands.
set -eu
name=$1 summary=$2 version=$3

awk -v name="$name" -v summary="$summary" -v version="$version" '
# Text that roff must not interpret: no escapes, no requests, minus signs that can be pasted.
function roff(text) {
	gsub(/\\/, "\\e", text)
	gsub(/-/, "\\-", text)
	gsub(/\047/, "\\(aq", text)
	gsub(/`/, "\\(ga", text)
	gsub(/\^/, "\\(ha", text)
	gsub(/~/, "\\(ti", text)
	if (text ~ /^[.]/)
		text = "\\&" text
	return text
}

function indent(text) {
	match(text, /^ */)
	return RLENGTH
}

function section(title) {
	print ".SH " title
	is_paragraph = 0
}

function heading(text) {
	sub(/:$/, "", text)
	if (text ~ /^(Exit status|Files in the folder|Examples)$/) {
		place = text
		text = text ~ /^Files/ ? "Files" : text
		section(toupper(text))
		is_example = place == "Examples"
	} else {
		print ".SS " roff(text)
	}
}

# "  -p, --pid PID         a process": a name, and from text_column on (counted from 0) its explanation
function entry(text,    left, what) {
	left = indent(text)
	# a name may reach up to the column of those before it
	if (!text_column || substr(text, text_column, 1) != " " || substr(text, text_column + 1, 1) == " ") {
		if (!match(substr(text, left + 1), /  +/))
			return 0
		text_column = left + RSTART + RLENGTH - 1
	}
	what = substr(text, left + 1, text_column - left)
	sub(/ +$/, "", what)
	print ".TP"
	print ".B " roff(what)
	print roff(substr(text, text_column + 1))
	return 1
}

BEGIN {
	title = toupper(name)
	print ".TH " roff(title) " 1 \"\" \"traceloom " version "\" \"traceloom manual\""
	section("NAME")
	print roff(name) " \\- " roff(summary)
}

/^usage: / || (in_usage && /^  /) {
	if (!in_usage)
		section("SYNOPSIS")
	else
		print ".br"
	in_usage = 1
	sub(/^usage: */, "")
	sub(/^ */, "")
	print ".B " roff($0)
	next
}

in_usage { # the line behind it
	in_usage = 0
	section("DESCRIPTION")
	next
}

/^$/ {
	is_paragraph = 0
	next
}

/^[^ ].*:$/ {
	text_column = 0
	if (!has_options && $0 !~ /^(Exit status|Files in|Examples)/) {
		section("OPTIONS")
		has_options = 1
	}
	heading($0)
	next
}

is_example {
	sub(/^ */, "")
	print ".PP\n.nf\n.RS 4"
	print roff($0)
	print ".RE\n.fi"
	next
}

# An option, or another name
/^ +/ && (!text_column || indent($0) < text_column) {
	if (!has_options && place == "") {
		section("OPTIONS")
		has_options = 1
	}
	if (place != "" && is_paragraph_of_list($0)) {
		if (!in_note)
			print ".PP"
		in_note = 1
		sub(/^ */, "")
		print roff($0)
		next
	}
	in_note = 0
	if (entry($0))
		next
}

/^ / { # goes on
	sub(/^ */, "")
	print roff($0)
	next
}

{
	if (!is_paragraph && is_behind)
		print ".PP"
	is_paragraph = is_behind = 1
	print roff($0)
}

# "  A COMMAND may itself end": words, no name before two blanks
function is_paragraph_of_list(text) {
	sub(/^ */, "", text)
	return text !~ /^[^ ]+  +/
}

END {
	section("SEE ALSO")
	print ".BR traceloom (1),"
	print ".BR traceloom\\-" (name ~ /capture/ ? "clocks" : "capture") " (1)"
}'
