#!/usr/bin/env bash
# pgbench, unmodified. $1: a directory for files.
set -eu
kept=$1
pgbench -i -q -s 2
for protocol in simple extended prepared; do
    for script in tpcb-like simple-update select-only; do
        echo "== $script, $protocol"
        pgbench -n -b $script -M $protocol -c 4 -j 2 -t 250 --max-tries=100 | tee "$kept/pgbench.out"
        grep -qE 'actually processed: 1000/1000' "$kept/pgbench.out"
    done
done
# What the scripts have added up is the same everywhere.
sums=$(psql -qAtX -c 'SELECT (SELECT sum(abalance) FROM pgbench_accounts) = (SELECT sum(delta) FROM pgbench_history)' \
    -c 'SELECT (SELECT sum(bbalance) FROM pgbench_branches) = (SELECT sum(tbalance) FROM pgbench_tellers)')
[ "$sums" = $'t\nt' ] || { echo "the sums differ: $sums"; exit 1; }
cat > "$kept/pipeline.sql" <<'SCRIPT'
\set aid random(1, 200000)
\startpipeline
UPDATE pgbench_accounts SET abalance = abalance + 1 WHERE aid = :aid;
SELECT abalance FROM pgbench_accounts WHERE aid = :aid;
\endpipeline
SCRIPT
pgbench -n -f "$kept/pipeline.sql" -M extended -c 4 -j 2 -t 250 --max-tries=100
pgbench -i -q -s 1 -I dtGvp
psql -qAtX -c 'DROP TABLE pgbench_accounts, pgbench_branches, pgbench_history, pgbench_tellers'
