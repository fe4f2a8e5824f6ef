#!/usr/bin/env bash
# psql, unmodified. $1: a directory for files.
set -eu
kept=$1
fail() { echo "FAILED: $*"; exit 1; }
# same WHAT EXPECTED GIVEN
same() { [ "$2" = "$3" ] || fail "$1: expected <$2>, got <$3>"; echo "ok: $1"; }
ask() { psql -qAtX -v ON_ERROR_STOP=1 "$@"; }

ask -c 'DROP TABLE IF EXISTS c_psql, c_psql_2'
ask -c 'CREATE TABLE c_psql (id int PRIMARY KEY, name text, at timestamptz DEFAULT now())'
same "a string of statements" $'1|ann\n2' "$(ask -c "INSERT INTO c_psql VALUES (1, 'ann'); SELECT id, name FROM c_psql; SELECT 1 + 1")"
if psql --version | grep -qE ' (1[6-9]|[2-9][0-9])'; then
    same '\bind' 'ann' "$(printf 'SELECT name FROM c_psql WHERE id = $1 \\bind 1 \\g\n' | ask)"
fi
printf '2\tbob\n3\t\\N\n' > "$kept/rows"
ask -c "\\copy c_psql (id, name) FROM '$kept/rows'"
ask -c "\\copy c_psql (id, name) TO '$kept/back' WITH (FORMAT csv, HEADER)"
same '\copy' $'id,name\n1,ann\n2,bob\n3,' "$(cat "$kept/back")"
printf 'SELECT 1;\n' | psql -qAtX -c '\timing on' -f - > "$kept/timing"
grep -q 'Time:' "$kept/timing" || psql -X -c '\timing on' -c 'SELECT 1' | grep -q 'Time:' || fail '\timing'
echo 'ok: \timing'
same "the position of an error" 'LINE 1: SELECT nosuch FROM c_psql' "$(psql -qAtX -c 'SELECT nosuch FROM c_psql' 2>&1 | sed -n 2p)"
same "a failed transaction" '3' "$(printf 'BEGIN;\nSAVEPOINT s;\nDELETE FROM c_psql;\nSELECT 1/0;\nROLLBACK TO s;\nCOMMIT;\nSELECT count(*) FROM c_psql;\n' | psql -qAtX 2> /dev/null | tail -1)"
same "tables in a transaction" '42P01' "$(printf 'BEGIN;\nCREATE TABLE c_psql_2 (id int);\nROLLBACK;\n\\set VERBOSITY verbose\nSELECT * FROM c_psql_2;\n' | psql -qAtX 2>&1 | sed -n 's/.*ERROR:  \([0-9A-Z]*\):.*/\1/p')"
same "a cursor" $'1\n2\n3' "$(printf 'BEGIN;\nDECLARE c CURSOR FOR SELECT id FROM c_psql ORDER BY id;\nFETCH 2 FROM c;\nFETCH ALL IN c;\nFETCH c;\nCLOSE c;\nCOMMIT;\n' | ask)"
same 'FETCH_COUNT' '1000' "$(printf '\\set FETCH_COUNT 100\nSELECT i FROM generate_series(1, 1000) i;\n' | ask | wc -l | tr -d ' ')"
# Ctrl-C ends the statement, and psql goes on.
printf "SELECT count(*) FROM generate_series(1, 100000000) a, generate_series(1, 100000) b;\nSELECT 'still here';\n" \
    | timeout -s INT 2 psql -qAtX > "$kept/cancel" 2>&1 || true
grep -q 'canceling statement' "$kept/cancel" || fail "Ctrl-C: $(cat "$kept/cancel")"
echo 'ok: Ctrl-C'
ask -c 'DROP TABLE c_psql'
