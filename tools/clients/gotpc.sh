#!/usr/bin/env bash
# go-tpc's TPC-C, unmodified. $1: its program.
set -eu
tpcc() { "$program" tpcc -d postgres -H 127.0.0.1 -P "$PGPORT" -U ann -D test --conn-params sslmode=disable --warehouses 1 "$@"; }
program=$1
tpcc cleanup > /dev/null 2>&1 || true
tpcc prepare -T 2
# A terminal does not run a refused transaction again: refusals are counted, and it goes on.
tpcc run -T 4 --time 10s --ignore-error
tpcc check
tpcc cleanup
