#!/usr/bin/env bash
# Runs PostgreSQL clients against a server: see README.md.
set -u
here=$(cd "$(dirname "$0")" && pwd)
kept=${CHILIAD_CLIENTS:-/tmp/chiliad-clients}
mkdir -p "$kept"
export PGHOST=127.0.0.1 PGUSER=ann PGDATABASE=test PGCONNECT_TIMEOUT=10
port= server= failed=0 wanted=()

while [ $# -gt 0 ]; do
    case $1 in
        --port) port=$2; shift ;;
        -*) echo "run.sh [--port PORT] [CLIENT..]" >&2; exit 2 ;;
        *) wanted+=("$1") ;;
    esac
    shift
done

# Starts a server of its own where none is given.
if [ -z "$port" ]; then
    program=$here/../../target/release/chiliad
    [ -x "$program" ] || { echo "no $program: cargo build --release, or --port" >&2; exit 2; }
    "$program" serve --memory --listen 127.0.0.1:0 > "$kept/server" &
    server=$!
    trap 'kill $server 2>/dev/null' EXIT
    for _ in $(seq 100); do
        port=$(sed -n 's/^listening on 127.0.0.1:\([0-9]*\).*/\1/p' "$kept/server")
        [ -n "$port" ] && break
        sleep 0.1
    done
fi
export PGPORT=$port

# skip CLIENT WHY
skip() { printf 'skipped  %-8s %s\n' "$1" "$2"; }

# run CLIENT COMMAND..: says whether it succeeds, and shows what it said if not.
run() {
    local client=$1 started=$SECONDS
    shift
    if timeout 600 "$@" > "$kept/$client.log" 2>&1; then
        printf 'ok       %-8s %ss\n' "$client" $((SECONDS - started))
    else
        printf 'FAILED   %-8s %s\n' "$client" "$kept/$client.log"
        tail -n 15 "$kept/$client.log" | sed 's/^/         /'
        failed=1
    fi
}

wants() {
    [ ${#wanted[@]} -eq 0 ] && return 0
    local one
    for one in "${wanted[@]}"; do [ "$one" = "$1" ] && return 0; done
    return 1
}

has() { command -v "$1" > /dev/null; }

# python PACKAGE..: an environment with these packages.
python() {
    [ -x "$kept/venv/bin/python" ] || python3 -m venv "$kept/venv" > "$kept/venv.log" 2>&1 || return 1
    "$kept/venv/bin/python" -m pip install -q "$@" >> "$kept/venv.log" 2>&1
}

if wants psql; then
    if has psql; then run psql bash "$here/psql.sh" "$kept"; else skip psql "not installed"; fi
fi
if wants pgbench; then
    if has pgbench; then run pgbench bash "$here/pgbench.sh" "$kept"; else skip pgbench "not installed"; fi
fi
for client in psycopg asyncpg; do
    wants $client || continue
    package=$client
    [ $client = psycopg ] && package='psycopg[binary]'
    if ! has python3; then skip $client "python3 is not installed"
    elif ! python "$package"; then skip $client "no package: $kept/venv.log"
    else run $client "$kept/venv/bin/python" "$here/${client}_client.py"; fi
done
if wants jdbc; then
    version=42.7.8 jar=$kept/postgresql.jar
    maven=https://repo1.maven.org/maven2/org/postgresql/postgresql
    if ! has java; then skip jdbc "java is not installed"
    elif ! [ -s "$jar" ] && ! curl -sfL -o "$jar" "$maven/$version/postgresql-$version.jar"; then
        rm -f "$jar"
        skip jdbc "no driver: $maven"
    else run jdbc java -cp "$jar" "$here/Jdbc.java"; fi
fi
if wants sysbench; then
    if has sysbench; then run sysbench bash "$here/sysbench.sh"; else skip sysbench "not installed"; fi
fi
if wants gotpc; then
    if ! has go; then skip gotpc "go is not installed"
    elif ! [ -x "$kept/go-tpc" ] && ! GOBIN=$kept go install github.com/pingcap/go-tpc/cmd/go-tpc@v1.0.12 > "$kept/go.log" 2>&1; then
        skip gotpc "no module: $kept/go.log"
    else run gotpc bash "$here/gotpc.sh" "$kept/go-tpc"; fi
fi
exit $failed
