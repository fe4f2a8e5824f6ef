#!/usr/bin/env bash
# sysbench's scripts for databases, unmodified. What is refused, sysbench runs again itself.
set -eu
run() {
    local script=$1
    shift
    sysbench "$script" --db-driver=pgsql --pgsql-host="$PGHOST" --pgsql-port="$PGPORT" --pgsql-user="$PGUSER" \
        --pgsql-db="$PGDATABASE" --threads=4 --time=0 --events=400 "$@"
}
# ran SCRIPT OPTION..
ran() {
    local said
    echo "== $*"
    said=$(run "$@" run)
    echo "$said"
    grep -qE 'total number of events: +400$' <<< "$said"
}
for script in oltp_point_select oltp_read_only oltp_read_write oltp_write_only oltp_insert oltp_delete oltp_update_index \
    oltp_update_non_index select_random_points select_random_ranges; do
    tables=2
    [[ $script == oltp_* ]] || tables=1
    size=(--tables=$tables --table-size=2000)
    run $script "${size[@]}" cleanup
    run $script "${size[@]}" prepare
    # With prepared statements, and with strings.
    ran $script "${size[@]}"
    ran $script "${size[@]}" --db-ps-mode=disable
    run $script "${size[@]}" cleanup
done
run bulk_insert cleanup
run bulk_insert prepare
ran bulk_insert
run bulk_insert cleanup
