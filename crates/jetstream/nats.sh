#!/usr/bin/env bash
# NATS servers with JetStream on this machine, for tests and for a first try. Three on one machine survive a killed
# server, not a lost machine: see docs/jetstream.md for how to run them in earnest.
#
#   nats.sh install DIR            builds the pinned nats-server into DIR (needs Go)
#   nats.sh start COUNT [DIR]      starts the servers 1 to COUNT that do not run, and waits until they are healthy
#   nats.sh stop [DIR]             ends all of them; what they stored stays
#   nats.sh kill N [DIR]           ends server N with SIGKILL; `start` starts it again
#   nats.sh pause N [DIR]          stops server N with SIGSTOP
#   nats.sh continue N [DIR]       lets it go on with SIGCONT
#   nats.sh cut N [DIR]            takes server N off the network, of the others and of clients
#   nats.sh isolate N [DIR]        takes it off the network of the others alone: clients still reach it
#   nats.sh reconnect N [DIR]      puts it back on both
#   nats.sh can-cut                succeeds if servers that are started now can be taken off the network
#   nats.sh leader STREAM [DIR]    prints the number of the server that leads the stream
#   nats.sh url [DIR]              prints the servers' addresses, as a log's URL has them
#
# DIR holds configurations, stores and process ids; without it, $CHILIAD_NATS_DIR. Server N listens for clients on port
# BASE + N, for other servers on BASE + 10 + N, for HTTP on BASE + 20 + N, where BASE is $CHILIAD_NATS_PORT or 4221.
# The program is $CHILIAD_NATS_SERVER, or nats-server on the path.
#
# They share the loopback, which cannot be cut. With CHILIAD_NATS_NETWORK=namespaces, as root on Linux, each has a network
# namespace of its own, with one link to a bridge for clients and one to a bridge for the other servers, in the network
# 10.X.Y.0/24 that BASE names.
set -euo pipefail

version=v2.15.2
base=${CHILIAD_NATS_PORT:-4221}
server=${CHILIAD_NATS_SERVER:-nats-server}
network=${CHILIAD_NATS_NETWORK:-loopback}

fail() {
    printf 'nats.sh: %s\n' "$1" >&2
    exit 1
}

# The directory: the given one, or that of the environment.
directory() {
    local dir=${1:-${CHILIAD_NATS_DIR:-}}
    [[ -n $dir ]] || fail "give a directory, or set CHILIAD_NATS_DIR"
    mkdir -p "$dir"
    (cd "$dir" && pwd)
}

# Whether process $1 runs; one that has ended may be listed for a while, until its parent has taken note.
alive() {
    kill -0 "$1" 2>/dev/null && [[ $(ps -o stat= -p "$1" 2>/dev/null) != Z* ]]
}

# The process id of server $1 of directory $2, if it runs.
running() {
    local pid
    pid=$(cat "$2/n$1.pid" 2>/dev/null) && [[ -n $pid ]] && alive "$pid" && printf '%s' "$pid"
}

# Whether servers have namespaces of their own.
apart() { [[ $network == namespaces ]]; }

# Whether namespaces can be made here.
can_cut() {
    local probe=chiliad-$base-probe
    apart && command -v ip >/dev/null && ip netns add "$probe" 2>/dev/null && ip netns delete "$probe"
}

# The addresses of server $1 for clients and for the other servers.
for_clients() {
    if apart; then printf '10.%d.%d.%d' $((base / 256)) $((base % 256)) "$1"; else printf '127.0.0.1'; fi
}
for_servers() {
    if apart; then printf '10.%d.%d.%d' $((base / 256)) $((base % 256)) $((128 + $1)); else printf '127.0.0.1'; fi
}

# The network namespace of server $1.
namespace() { printf 'chiliad-%s-%s' "$base" "$1"; }

# This machine's end of the link of server $1 to the bridge of $2, c for clients or s for servers.
link() { printf 'ch%s-%s%s' "$base" "$2" "$1"; }

# Gives server $1 its namespace and its links, unless it has them.
build_network() {
    local n=$1 side bridge address space
    space=$(namespace "$n")
    ! ip netns list | grep -qw "$space" || return 0
    ip netns add "$space"
    ip -n "$space" link set lo up
    for side in c s; do
        bridge=ch$base-$side
        if ! ip link show "$bridge" >/dev/null 2>&1; then
            ip link add "$bridge" type bridge
            ip link set "$bridge" up
            [[ $side == s ]] || ip address add "$(for_clients 126)/25" dev "$bridge"
        fi
        address=$(if [[ $side == c ]]; then for_clients "$n"; else for_servers "$n"; fi)
        ip link add "$(link "$n" $side)" type veth peer name "to-$side" netns "$space"
        ip link set "$(link "$n" $side)" master "$bridge" up
        ip -n "$space" address add "$address/25" dev "to-$side"
        ip -n "$space" link set "to-$side" up
    done
}

# Removes all namespaces, links and bridges.
remove_network() {
    local n side
    for n in $(ip netns list | sed -n "s/^chiliad-$base-\([0-9]*\).*/\1/p"); do
        # A namespace goes some time after it was deleted, and takes links with it that a new one would be given.
        for side in c s; do ip link delete "$(link "$n" $side)" 2>/dev/null || true; done
        ip netns delete "$(namespace "$n")"
    done
    for side in c s; do ip link delete "ch$base-$side" 2>/dev/null || true; done
}

# Takes links $3 of server $1 of directory $2 off their bridges. Its page is not asked until it is back.
cut() {
    local side
    apart || fail "servers that share the loopback cannot be cut off: set CHILIAD_NATS_NETWORK=namespaces"
    touch "$2/n$1.cut"
    for side in $3; do ip link set "$(link "$1" "$side")" down; done
}

reconnect() {
    local side
    apart || return 0
    for side in c s; do ip link set "$(link "$1" $side)" up; done
    rm -f "$2/n$1.cut"
}

# The body of a page of server $1; nothing if it does not answer.
page() {
    (
        exec 3<>"/dev/tcp/$(for_clients "$1")/$((base + 20 + $1))"
        printf 'GET %s HTTP/1.0\r\n\r\n' "$2" >&3
        cat <&3
    ) 2>/dev/null || true
}

# Writes the configuration of server $1 of $2 into directory $3. The servers sync each append before they acknowledge it.
configure() {
    local n=$1 count=$2 dir=$3 routes='' i
    for ((i = 1; i <= count; i++)); do routes+="${routes:+, }\"nats://$(for_servers "$i"):$((base + 10 + i))\""; done
    cat >"$dir/n$n.conf" <<CONFIG
server_name: n$n
listen: $(for_clients "$n"):$((base + n))
http: $(for_clients "$n"):$((base + 20 + n))
max_payload: 1048576
jetstream {
    store_dir: "$dir/n$n"
    max_memory_store: 1GB
    max_file_store: 20GB
    sync_interval: always
}
CONFIG
    ((count == 1)) || cat >>"$dir/n$n.conf" <<CONFIG
cluster {
    name: chiliad
    listen: $(for_servers "$n"):$((base + 10 + n))
    routes: [$routes]
}
CONFIG
}

start() {
    local count=$1 dir=$2 n try inside
    command -v "$server" >/dev/null || fail "no $server: nats.sh install DIR builds it"
    for ((n = 1; n <= count; n++)); do
        if ! running "$n" "$dir" >/dev/null; then
            configure "$n" "$count" "$dir"
            inside=()
            if apart; then
                build_network "$n"
                inside=(ip netns exec "$(namespace "$n")")
            fi
            "${inside[@]}" "$server" -c "$dir/n$n.conf" >>"$dir/n$n.log" 2>&1 </dev/null &
            printf '%s\n' $! >"$dir/n$n.pid"
            disown
        fi
    done
    for ((n = 1; n <= count; n++)); do
        for ((try = 0; try < 600; try++)); do
            [[ $(page "$n" /healthz) == *'"ok"'* ]] && break
            running "$n" "$dir" >/dev/null || fail "server $n ended: $(tail -n 1 "$dir/n$n.log")"
            sleep 0.1
        done
        ((try < 600)) || fail "server $n is not healthy: $(page "$n" /healthz | tail -n 1)"
    done
}

# Sends signal $1 to server $2 of directory $3.
signal() {
    local pid
    pid=$(running "$2" "$3") || fail "server $2 does not run"
    kill "-$1" "$pid"
    # Else a start right after it would take the dying one for running.
    [[ $1 != KILL ]] || ended "$pid"
}

# Waits until process $1 is gone.
ended() {
    while alive "$1"; do sleep 0.02; done
}

# All of them are told before the first is waited for: a server that is alone waits longer for others.
stop() {
    local dir=$1 file n pid pids=()
    for file in "$dir"/n*.pid; do
        n=${file##*/n}
        if pid=$(running "${n%.pid}" "$dir"); then
            kill -CONT "$pid"
            kill -TERM "$pid"
            pids+=("$pid")
        fi
    done
    for pid in "${pids[@]}"; do
        ended "$pid"
    done
    rm -f "$dir"/n*.pid "$dir"/n*.cut
    ! apart || remove_network
}

# The servers say who leads a stream on their page of JetStream; only those that run and can be reached are asked.
leader() {
    local stream=$1 dir=$2 file n text
    for file in "$dir"/n*.pid; do
        n=${file##*/n}
        n=${n%.pid}
        [[ ! -e $dir/n$n.cut ]] || continue
        text=$(page "$n" '/jsz?streams=true' | tr -d ' \n\r')
        if [[ $text =~ \"name\":\"$stream\",\"created\":\"[^\"]*\",\"cluster\":\{[^}]*\"leader\":\"n([0-9]+)\" ]]; then
            printf '%s\n' "${BASH_REMATCH[1]}"
            return
        fi
    done
    fail "nobody leads $stream"
}

url() {
    local dir=$1 file n text=''
    for file in "$dir"/n*.pid; do
        n=${file##*/n}
        n=${n%.pid}
        text+=",$(for_clients "$n"):$((base + n))"
    done
    printf 'nats://%s\n' "${text#,}"
}

case ${1:-} in
install)
    mkdir -p "${2:?a directory}"
    GOBIN=$(cd "$2" && pwd) go install "github.com/nats-io/nats-server/v2@$version"
    ;;
start) start "${2:?how many servers}" "$(directory "${3:-}")" ;;
stop) stop "$(directory "${2:-}")" ;;
kill) signal KILL "${2:?which server}" "$(directory "${3:-}")" ;;
pause) signal STOP "${2:?which server}" "$(directory "${3:-}")" ;;
continue) signal CONT "${2:?which server}" "$(directory "${3:-}")" ;;
cut) cut "${2:?which server}" "$(directory "${3:-}")" "c s" ;;
isolate) cut "${2:?which server}" "$(directory "${3:-}")" s ;;
reconnect) reconnect "${2:?which server}" "$(directory "${3:-}")" ;;
can-cut) can_cut ;;
leader) leader "${2:?which stream}" "$(directory "${3:-}")" ;;
url) url "$(directory "${2:-}")" ;;
*)
    sed -n '2,/^set/{/^#/s/^# \{0,1\}//p}' "$0"
    exit 2
    ;;
esac
