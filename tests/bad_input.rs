//! Bad input: one line on standard error that names the flag or file, what was wrong and what is
//! accepted; exit status 2; nothing overwritten.

mod common;

use common::{Folder, chiliad, stderr, stdout};

/// The line is refused, and says so in one line with all of `parts`.
#[track_caller]
fn refused(line: &str, parts: &[&str]) {
    let output = chiliad(line);
    let said = stderr(&output);
    assert_eq!(output.status.code(), Some(2), "{line}: {said}{}", stdout(&output));
    assert_eq!(said.lines().count(), 1, "{line}: {said}");
    assert!(said.starts_with("chiliad: "), "{line}: {said}");
    assert!(stdout(&output).is_empty(), "{line}");
    for part in parts {
        assert!(said.contains(part), "{line}: {said}\nlacks {part}");
    }
}

#[test]
fn unknown_names_are_refused_with_those_that_are_known() {
    refused(
        "",
        &[
            "command is missing",
            "bench, simulate, campaign, figure, check, schemes, machines, serve, recover",
        ],
    );
    refused(
        "dance",
        &["`dance`", "bench, simulate, campaign, figure, check, schemes, machines, serve, recover"],
    );
    refused("bench", &["workload is missing", "ycsb, tpcc, smallbank, tatp"]);
    refused("bench chess", &["`chess`", "ycsb, tpcc, smallbank, tatp"]);
    refused("bench ycsb --scheme foo", &["--scheme", "`foo`", "silo"]);
    refused("bench ycsb --frobnicate 3", &["--frobnicate", "--records"]);
    refused("bench ycsb extra", &["`extra`"]);
    refused("bench ycsb --backoff never", &["--backoff", "none, random, exponential"]);
    refused("bench tpcc --mix odd", &["--mix", "standard, np, new-order"]);
    refused("bench tatp --mix np", &["--mix", "standard, read-only, read-update"]);
    refused("simulate ycsb --schedule fifo", &["--schedule", "timed, random, few-preemptions"]);
    refused("simulate ycsb --plant weed", &["--plant", "`weed`", "no-read-validation"]);
    refused("campaign --workload chess", &["--workload", "`chess`", "tpcc", "smallbank, tatp"]);
    refused("campaign --scheme foo", &["--scheme", "`foo`", "silo"]);
    refused("campaign --plant weed", &["--plant", "`weed`"]);
    refused("check x --isolation mild", &["--isolation", "`mild`", "serializable"]);
}

#[test]
fn what_only_servers_that_share_a_log_have_is_refused_elsewhere() {
    for flag in ["--servers 2", "--certifier meld", "--premeld off", "--group off"] {
        let name = flag.split(' ').next().expect("a flag");
        refused(&format!("bench ycsb {flag}"), &[name, "silo", "--scheme hyder"]);
        refused(&format!("simulate bank {flag} --scheme occ"), &[name, "occ", "--scheme hyder"]);
    }
    refused("bench ycsb --isolation snapshot", &["--isolation", "silo", "--scheme hyder"]);
    refused("simulate ycsb --log-faults 20", &["--log-faults", "silo", "--scheme hyder"]);
    refused("bench ycsb --scheme hyder --log-faults 20", &["--log-faults"]);
    refused("simulate ycsb --scheme hyder --log-faults 1", &["--log-faults", "2 to 1000000"]);
    refused("campaign --scheme mvcc --servers 3", &["--servers", "mvcc", "--scheme hyder"]);
    refused("campaign --servers 3..3", &["--servers", "1 to 64"]);
    refused("campaign --scheme swarm --disk", &["--disk", "--scheme swarm"]);
    refused("campaign --scheme swarm --interleave 2", &["--interleave", "--scheme swarm"]);
    refused("campaign --scheme swarm --plant torn-read", &["--plant", "torn-read", "tasks"]);
    refused(
        "campaign --scheme silo --plant reads-not-compared",
        &["--plant", "silo", "accepted: all, "],
    );
    refused("campaign --scheme swarm --cores 65", &["--cores", "2 to 64"]);
    refused("bench ycsb --scheme hyder --servers 65", &["--servers", "1 to 64"]);
    refused("bench ycsb --scheme hyder --premeld newest", &["--premeld", "--certifier meld"]);
    refused("bench ycsb --scheme hyder --group exact", &["--group", "exact", "--certifier meld"]);
    refused("bench ycsb --scheme hyder --premeld 3", &["--premeld", "off, newest"]);
}

#[test]
fn a_shared_log_that_cannot_be_meant_is_refused() {
    let folder = Folder::new("no-shared-log");
    let (log, other) = (folder.file("log"), folder.file("other"));
    refused(&format!("bench ycsb --shared-log {log}"), &["--shared-log", "silo", "--scheme hyder"]);
    let line = "bench bank --scheme hyder --servers 2 --transactions 20 --quiet --shared-log";
    for name in ["kafka://one/two", "file:"] {
        refused(&format!("{line} {name}"), &["--shared-log", "memory:, memory:NAME, a directory"]);
    }
    let unreachable = match cfg!(feature = "jetstream") {
        true => "cannot be reached",
        false => "built without it",
    };
    refused(&format!("{line} nats://127.0.0.1:1/nothing"), &["--shared-log", unreachable]);
    refused(&format!("{line} nats://127.0.0.1:1"), &["--shared-log"]);
    for (flag, accepted) in [
        ("--repeat 2", "accepted: 1"),
        ("--interleave auto", "accepted: 1 to 256"),
        ("--durability sync", "accepted: none"),
        ("--sweep servers=1,2", "a run at a time"),
        ("--data x", "--shared-log"),
    ] {
        let name = flag.split(' ').next().expect("a flag");
        refused(&format!("{line} {log} {flag}"), &[name, accepted]);
    }
    let apart = "bench bank --scheme hyder --servers 2 --shared-log nats://127.0.0.1:1/x";
    refused(&format!("{apart} --clients 1"), &["--clients", "2 or more"]);
    refused(&format!("{apart} --clients 2 --versions"), &["--versions", "without it"]);
    assert_eq!(folder.files(), 0, "nothing was made");
    // Directories that hold something.
    std::fs::create_dir(&other).expect("a directory");
    std::fs::write(format!("{other}/letter"), "dear").expect("a file");
    refused(&format!("{line} {other}"), &["--shared-log", &other, "an empty directory"]);
    assert_eq!(std::fs::read_dir(&other).expect("there").count(), 1, "nothing was put into it");
    let made = chiliad(&format!("{line} {log}"));
    assert_eq!(made.status.code(), Some(0), "{}", stderr(&made));
    let contents = || {
        let entries =
            std::fs::read_dir(&log).expect("a log").map(|it| it.expect("an entry").path());
        entries.map(|path| (std::fs::read(&path).expect("a file"), path)).collect::<Vec<_>>()
    };
    let before = contents();
    refused(&format!("{line} {log}"), &["--shared-log", &log, "empty or missing"]);
    assert!(before == contents(), "nothing was appended");
}

#[test]
fn servers_that_share_a_log_have_a_directory_of_their_own_kind() {
    refused("crash --servers 2", &["--servers", "silo", "--scheme hyder"]);
    refused("crash --log-script x", &["--log-script", "silo", "--scheme hyder"]);
    refused("crash --scheme hyder --workload tpcc", &["--workload", "accepted: bank"]);
    refused("crash --scheme hyder --durability epoch", &["--durability", "accepted: sync"]);
    refused("crash --scheme hyder --shared-log memory:", &["--shared-log", "a directory"]);
    refused("crash --scheme hyder --log-script x", &["--log-script", "nats://"]);
    let over = "crash --scheme hyder --shared-log nats://127.0.0.1:1/x";
    refused(&format!("{over} --log-script /missing"), &["--log-script", "/missing", "a script"]);
    refused("crash --scheme hyder --shared-log kafka://x/y", &["--shared-log", "accepted"]);
    refused("damage --scheme hyder", &["--scheme", "`hyder`", "directory"]);
    refused("campaign --disk --scheme hyder", &["--scheme", "`hyder`", "directory"]);
    let line = "bench bank --scheme hyder --durability sync";
    refused(&format!("{line} --log-writers 2"), &["--log-writers", "hyder", "accepted: 1"]);
    refused(&format!("{line} --log-compress"), &["--log-compress", "hyder"]);
    let folder = Folder::new("shared-log");
    let data = std::path::PathBuf::from(folder.file("data"));
    let line = format!("{line} --transactions 20 --data {}", data.display());
    assert!(chiliad(&line).status.success(), "{line}");
    let log = std::fs::read(data.join("shared-log")).expect("a log");
    refused(&line, &["--data", "holds files", "an empty directory"]);
    assert_eq!(std::fs::read(data.join("shared-log")).expect("the log"), log, "as it was");
}

#[test]
fn values_out_of_range_are_refused_with_the_range() {
    for (flag, value, accepted) in [
        ("--threads", "0", "1 to 65536"),
        ("--threads", "many", "1 to 65536"),
        ("--clients", "65537", "1 to 65536"),
        ("--duration", "10", "10s"),
        ("--duration", "0s", "longer than zero"),
        ("--warmup", "-1s", "10s"),
        ("--epoch", "1parsec", "40ms"),
        ("--epoch", "2h", "1us to 1h"),
        ("--transactions", "0", "1 to"),
        ("--repeat", "0", "1 to 1000"),
        ("--interleave", "0", "1 to 256, or auto"),
        ("--interleave", "257", "1 to 256, or auto"),
        ("--interleave", "x", "1 to 256, or auto"),
        ("--rate", "0", "0.001 to"),
        ("--verify-memory", "lots", "4GiB"),
        ("--seed", "-1", "--seed"),
        ("--theta", "2.5", "0 to 2"),
        ("--theta", "nan", "0 to 2"),
        ("--records", "0", "1 to"),
        ("--record-bytes", "15", "16 to 65536"),
        ("--ops", "1001", "1 to 1000"),
        ("--read-ratio", "101", "0 to 100"),
        ("--partitions", "0", "1 to 65536"),
    ] {
        refused(&format!("bench ycsb {flag} {value}"), &[flag, accepted]);
    }
    refused("bench tpcc --warehouses 65536", &["--warehouses", "1 to 65535"]);
    refused("bench tpcc --remote-item 200", &["--remote-item", "0 to 100"]);
    refused("bench tpcc --deferred never", &["--deferred", "never", "owner, inline"]);
    refused("bench ycsb --deferred owner", &["--deferred"]);
    let apart = "simulate tpcc --scheme hyder --servers 2 --deferred owner";
    refused(apart, &["--deferred", "no memory in common", "accepted: inline"]);
    let on = "--machine swarm-64 --scheme swarm";
    refused(&format!("simulate tpcc {on} --deferred owner"), &["--deferred", "accepted: inline"]);
    refused("bench tpcc --deferred inline --deliveries x", &["--deliveries", "--deferred owner"]);
    refused("bench tpcc --repeat 2 --deliveries x", &["--deliveries", "one file"]);
    refused("bench tpcc --deliveries /nowhere/x", &["--deliveries", "/nowhere/x"]);
    for (flags, accepted) in [
        ("smallbank --accounts 1", "2 to 100000000"),
        ("smallbank --hot-share 101", "0 to 100"),
        ("smallbank --multi-partition -1", "0 to 100"),
        ("smallbank --partitions 65537", "1 to 65536"),
        ("smallbank --accounts 10 --hot-accounts 11", "0 to 10"),
        ("smallbank --accounts 10 --partitions 6", "1 to 5"),
        ("tatp --subscribers 0", "1 to 1000000000"),
        ("tatp --subscribers 10 --partitions 11", "1 to 10"),
        ("txbench --rows 0", "1 to 100000000"),
        ("txbench --rows-read 10001", "1 to 10000"),
        ("txbench --updates 101", "0 to 100"),
        ("txbench --hotspot -1", "0 to 100"),
        ("txbench --hotspot 0", "above 0 to 100"),
        ("txbench --rows 100 --hotspot 5 --rows-read 6", "at most 5"),
        ("txbench --rows 100 --partitions 101", "1 to 100"),
        ("bidding --users 0", "1 to 100000000"),
        ("bidding --users 3 --partitions 4", "1 to 3"),
        ("tpce --customers 1500", "multiples of the load unit, 1000, to 1000000"),
        ("tpce --scale micro --customers 1000", "multiples of the load unit, 6, to 999996"),
        ("tpce --trade-days 301", "1 to 300"),
        ("tpce --partitions 11", "1 to 10"),
        ("tpce --mix np", "standard, thesis, thesis-result"),
        ("tpcb-sql --branches 0", "1 to 20000"),
        ("tpcc-sql --warehouses 65536", "1 to 65535"),
        ("txbench --stalled-at 5", "10s"),
    ] {
        let mut words = flags.split(' ').rev();
        let (value, flag) = (words.next().expect("a value"), words.next().expect("a flag"));
        refused(&format!("bench {flags}"), &[flag, value, accepted]);
    }
    let stalled = ["--stalled-at: 2s", "of a window of 1500ms", "less than --duration"];
    refused("bench txbench --duration 1500ms --stalled-at 2s", &stalled);
    let stalled = ["--stalled-at: 1ms", "a number of transactions", "with --duration"];
    refused("bench txbench --transactions 5 --stalled-at 1ms", &stalled);
    refused("simulate txbench --schedule random --stalled-at 1ms", &stalled);
    refused("bench ycsb --stalled-at 1ms", &["--stalled-at", "unknown flag"]);
    refused("simulate ycsb --cores 1025", &["--cores", "1 to 1024"]);
    refused("simulate ycsb --clients 1025", &["--clients", "1 to 1024"]);
    refused("simulate ycsb --clients 0", &["--clients", "1 to 1024"]);
    for schedule in ["random", "few-preemptions"] {
        let line = format!("simulate ycsb --cores 2 --clients 3 --schedule {schedule}");
        refused(&line, &["--clients: 3 on 2 cores", "1 to 2, or --schedule timed"]);
    }
    let line = "simulate ycsb --cores 2 --clients 3 --interleave 4";
    refused(line, &["--clients: 3 on 2 cores", "1 to 2, or --interleave 1"]);
    refused("campaign --seeds 9..3", &["--seeds", "A..B"]);
}

#[test]
fn combinations_that_make_no_sense_are_refused() {
    refused("bench ycsb --threads", &["--threads", "missing"]);
    refused("bench ycsb --threads 1 --threads 2", &["--threads", "twice"]);
    refused("bench ycsb --duration 1s --transactions 5", &["--duration", "--transactions"]);
    refused("bench ycsb --records 10 --ops 16", &["--ops", "10"]);
    refused("bench ycsb --index hash --scan-ratio 5", &["--scan-ratio", "--index hash"]);
    refused("bench ycsb --lock-order key --scan-ratio 5", &["--scan-ratio", "--lock-order key"]);
    let pools = ["--allocator", "mimalloc", "pool and fixed are accepted"];
    refused("simulate ycsb --allocator mimalloc", &pools);
    refused("bench ycsb --kept-bytes 16", &["--kept-bytes: 16", "simulate"]);
    refused("simulate ycsb --kept-bytes 20", &["--kept-bytes: 20", "multiples of 8"]);
    refused("simulate ycsb --kept-bytes 8", &["--kept-bytes", "`8`", "16 to 4096"]);
    refused("bench txbench --kept-bytes 16", &["--kept-bytes: 16", "simulate"]);
    refused("simulate tpcc --kept-bytes 16", &["--kept-bytes", "unknown flag"]);
    refused(
        "bench ycsb --allocator slab",
        &["--allocator", "pool, fixed, system, mimalloc, jemalloc"],
    );
    refused("bench ycsb --lock-order size", &["--lock-order", "request, key"]);
    refused("bench ycsb --deadlock-check 0", &["--deadlock-check", "a time with its unit", "none"]);
    refused(
        "bench ycsb --wait-timeout never",
        &["--wait-timeout", "a time without a unit", "none"],
    );
    let endless = "--scheme dl-detect --wait-timeout none --deadlock-check none";
    refused(&format!("bench ycsb {endless}"), &["--deadlock-check", "--lock-order key"]);
    refused(&format!("bench tpcc {endless}"), &["--deadlock-check", "--lock-order key"]);
    refused("bench tpcc --scheme partitioned --snapshot-reads yes", &["--snapshot-reads", "no"]);
    refused("bench tatp --scheme partitioned --snapshot-reads yes", &["--snapshot-reads", "no"]);
    refused("bench txbench --scheme partitioned --snapshot-reads yes", &["--snapshot-reads", "no"]);
    let kinds = ["--timestamps", "hardware", "mutex, atomic, batched, clock"];
    refused("bench timestamps --timestamps hardware", &kinds);
    refused("bench ycsb --records 100 --timestamps hardware", &kinds);
    refused("simulate timestamps --machine xeon-80 --timestamps hardware", &kinds);
    refused("simulate ycsb --machine xeon-80 --timestamps hardware", &kinds);
    refused("bench locks --mode u", &["--mode", "is, ix, s, six, x"]);
    refused("bench locks --scheme silo", &["--scheme", "lock-table, lock-table-global"]);
    refused("bench locks --transactions 9 --duration 1s", &["--transactions", "--duration"]);
    refused("bench ycsb --locks-max 10", &["--locks-max", "`10`", "1024 to 4294967296"]);
    refused("bench timestamps --latch futex", &["--latch", "spin, mcs, ticket, sleep"]);
    refused("bench timestamps --timestamp-batch 0", &["--timestamp-batch", "`0`", "1 to 65536"]);
    refused("bench ycsb --repeat 2 --history h", &["--history", "--repeat"]);
    for (flags, with) in [
        ("bench ycsb --verify", "--verify"),
        ("bench ycsb --history h", "--history"),
        ("bench ycsb --durability sync", "--durability"),
        ("simulate ycsb", "simulation"),
    ] {
        refused(&format!("{flags} --interleave auto"), &["--interleave: auto", with, "1 to 256"]);
    }
    refused("bench ycsb --sweep interleave=1,auto --verify", &["--interleave: auto", "--verify"]);
    refused("bench ycsb --sweep interleave=1,300", &["--interleave", "`300`", "1 to 256"]);
    refused("bench ycsb --sweep theta=0,1 --series s", &["--series", "--sweep"]);
    refused("check", &["FILE"]);
}

#[test]
fn sweeps_are_checked_before_anything_runs() {
    refused("bench ycsb --sweep theta", &["--sweep", "FLAG=A:B:STEP"]);
    refused("bench ycsb --sweep theta=1:0:0.1", &["--sweep"]);
    refused("bench ycsb --sweep theta=0,1,9", &["--theta", "`9`", "0 to 2"]);
    refused("bench ycsb --sweep warehouses=1,2", &["--warehouses"]);
    refused("bench ycsb --sweep json=a,b", &["--sweep", "json"]);
}

#[test]
fn files_are_refused_before_anything_runs_and_stay_as_they_are() {
    let folder = Folder::new("bad-files");
    let nowhere = folder.file("none/result.json");
    for flag in ["--json", "--history", "--series"] {
        refused(&format!("bench ycsb {flag} {nowhere}"), &[flag, &nowhere]);
        refused(&format!("bench ycsb {flag} {}", folder.file("")), &[flag]);
    }
    let kept = folder.file("kept.json");
    std::fs::write(&kept, "kept").expect("a file");
    refused(&format!("bench ycsb --json {kept} --theta 7"), &["--theta"]);
    refused(&format!("bench ycsb --json {kept} --history {nowhere}"), &["--history"]);
    assert_eq!(std::fs::read_to_string(&kept).expect("still there"), "kept");
    assert_eq!(folder.files(), 1);
}

#[test]
fn damaged_histories_are_refused() {
    let folder = Folder::new("bad-histories");
    refused(&format!("check {}", folder.file("none")), &["none", "accepted: a history"]);
    for (name, content) in [
        ("text", &b"txn 1 perhaps"[..]),
        ("magic", b"\x89CHHIST\n\x09\0\0\0"),
        ("cut", b"\x89CHHIST\n\x01\0\0\0"),
        ("noise", b"\xff\xfe\xfd"),
    ] {
        let file = folder.file(name);
        std::fs::write(&file, content).expect("a file");
        refused(&format!("check {file}"), &[&file]);
    }
}

#[test]
fn help_is_no_error() {
    for line in ["--help", "bench --help", "bench ycsb --help", "simulate tpcc --help", "--version"]
    {
        let output = chiliad(line);
        assert_eq!(output.status.code(), Some(0), "{line}");
        assert!(!stdout(&output).is_empty() && stderr(&output).is_empty(), "{line}");
    }
}

#[test]
fn refused_commands_leave_nothing() {
    let folder = Folder::new("bad-leftovers");
    let foreign = folder.file("foreign");
    std::fs::create_dir(&foreign).expect("a folder");
    std::fs::write(format!("{foreign}/notes.txt"), "mine").expect("a file");
    let file = folder.file("foreign/notes.txt");
    let new = folder.file("new/deep");
    let flat = folder.file("flat");
    let log = "--scale micro --durability sync --quiet";
    for (line, part) in [
        (format!("bench ycsb {log} --data {foreign}"), "--data"),
        (format!("bench ycsb {log} --data {file}"), "--data"),
        (format!("bench ycsb {log} --data {new}"), "--data"),
        (format!("bench tpcc {log} --data {flat} --partitions 70000"), "--partitions"),
        (format!("bench ycsb {log} --data {flat} --wait-timeout 1h --epoch 2h"), "--epoch"),
        (format!("crash --data {foreign} --cycles 1"), "foreign"),
        (format!("crash --data {file} --cycles 1"), "--data"),
        (format!("crash --data {new} --cycles 1"), "--data"),
        (format!("crash --data {flat} --cycles 1 --json {new}"), "--json"),
        (format!("figure run cores-4-4 --out {flat} --jobs 0"), "--jobs"),
        (format!("figure run cores-4-4 --out {foreign}"), "--out"),
        (format!("backup {foreign} {flat}"), "foreign"),
        (format!("restore {flat} {new}"), "flat"),
        (format!("recover {foreign} --salvage {flat}"), "foreign"),
    ] {
        refused(&line, &[part]);
        let inside = std::fs::read_dir(&foreign).expect("there").count();
        assert_eq!((folder.files(), inside), (1, 1), "{line}");
    }
}

#[test]
fn a_full_standard_error_changes_no_status() {
    let full = || std::fs::File::options().write(true).open("/dev/full").expect("there");
    let run = |line: &str| {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_chiliad"));
        command.args(line.split(' ')).stderr(full()).output().expect("it runs").status.code()
    };
    assert_eq!(run("bench ycsb --theta 7"), Some(2));
    assert_eq!(run("crash --cycles 20 --durability epoch --plant early-acknowledgement"), Some(1));
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_chiliad"));
    let output = command.arg("--help").stdout(full()).output().expect("it runs");
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).starts_with("chiliad: standard output: "), "{}", stderr(&output));
}

#[test]
fn sizes_that_cannot_fit_are_refused_before_anything_is_made() {
    for (line, flag) in [
        ("bench ycsb --memory-ready 100000GiB", "--memory-ready: needs about 97.7 TiB"),
        ("bench ycsb --records 1099511627776", "--records: needs about "),
        ("bench index --records 4000000000 --record-bytes 65536", "--records: needs about "),
        ("simulate ycsb --records 1099511627776", "--records: needs about "),
        ("simulate ycsb --records 1099511627776 --schedule random", "--records: needs about "),
        ("simulate tpcc --scale spec --warehouses 65535", "--warehouses: needs about "),
        ("recover nowhere --rebuild --memory-ready 100000GiB", "nowhere"),
    ] {
        refused(line, &[flag, "accepted: "]);
    }
}

/// The line under a limit of the shell's is refused with all of `parts`.
#[track_caller]
fn refused_under(limit: &str, line: &str, parts: &[&str]) {
    let chiliad = env!("CARGO_BIN_EXE_chiliad");
    let script = format!("ulimit {limit}; exec {chiliad} {line}");
    let output = std::process::Command::new("sh").args(["-c", &script]).output().expect("a shell");
    let said = stderr(&output);
    assert_eq!(output.status.code(), Some(2), "{line}: {said}{}", stdout(&output));
    assert_eq!(said.lines().count(), 1, "{line}: {said}");
    assert!(parts.iter().all(|part| said.contains(part)), "{line}: {said}");
}

#[test]
fn limits_of_the_process_are_heeded() {
    let gibibytes = |count: u64| format!("-v {}", count << 20);
    let accounts = ["--accounts: needs about 2.8 GiB", "what fits 2.0 GiB (ulimit -v)"];
    refused_under(&gibibytes(2), "bench bank --accounts 10000000", &accounts);
    for line in ["simulate bank", "simulate timestamps", "simulate bank --schedule random"] {
        refused_under(&gibibytes(12), line, &["GiB of address space", "ulimit -v"]);
    }
}

/// The machines of campaigns and of soaks, too, and threads.
#[test]
fn what_a_campaign_needs_is_refused_in_a_line() {
    let megabytes = |count: u64| format!("-v {}", count << 10);
    for line in [
        "campaign --disk --seeds 0..2 --scheme silo --workload bank --threads 1",
        "campaign --plant inserted-apart --threads 1",
        "campaign --seeds 0..2 --scheme silo --workload bank --threads 1",
        "soak --simulated --scheme silo --workload bank --interleave 1",
    ] {
        refused_under(&megabytes(400), line, &["of address space", "ulimit -v"]);
    }
    let line = "campaign --disk --seeds 0..10000 --scheme silo --workload bank --threads 256";
    refused_under(&megabytes(400), line, &["; accepted: less to run at once"]);
}

/// With fewer and fewer descriptors each line does what it is to do, or says why not; none dies of it.
#[test]
fn descriptors_that_run_out_are_a_line() {
    let folder = Folder::new("descriptors");
    let data = folder.file("data");
    let mut refused = 0;
    for most in [64, 16, 14, 12, 10, 8, 7, 6, 5] {
        for line in [
            format!(
                "bench bank --accounts 100 --durability sync --warmup 0s --duration 20ms \
                 --log-writers 4 --data {data}"
            ),
            format!("recover {data}"),
            format!("recover {data} --rebuild"),
        ] {
            let chiliad = env!("CARGO_BIN_EXE_chiliad");
            let script = format!("ulimit -n {most}; exec {chiliad} {line}");
            let output =
                std::process::Command::new("sh").args(["-c", &script]).output().expect("a shell");
            let said = stderr(&output);
            match output.status.code() {
                Some(0) => {}
                Some(1 | 2) => {
                    assert_eq!(said.lines().count(), 1, "{most}: {line}: {said}");
                    refused += 1;
                }
                other => panic!("{most}: {line}: {other:?}: {said}"),
            }
        }
    }
    assert!(refused > 5, "{refused}: there were enough");
}

#[test]
fn more_threads_than_a_process_can_have_are_refused() {
    for (line, flag) in [
        ("bench ycsb --scale micro --clients 65536", "--clients: 65536"),
        ("bench bank --clients 4000 --interleave 64", "--clients: 4000"),
        ("bench timestamps --threads 65536", "--threads: 65536"),
        ("bench locks --threads 65536", "--threads: 65536"),
        ("bench index --threads 65536", "--threads: 65536"),
    ] {
        let most = std::fs::read_to_string("/proc/sys/vm/max_map_count").expect("Linux");
        if most.trim().parse::<u64>().expect("a number") < 200_000 {
            refused(line, &[flag, "vm.max_map_count"]);
        }
    }
    // As many cores as nobody has threads for, each with stacks of its own.
    let line = "simulate bank --schedule random --cores 1024 --interleave 64 --transactions 1";
    refused(line, &["no room for a stack"]);
}

#[test]
fn ordered_tasks_need_task_units_and_a_graph() {
    let on = "--machine swarm-64 --scheme swarm --cores 4";
    refused(
        "bench tpcc --scheme swarm",
        &["--scheme", "task units", "simulate --machine swarm-64"],
    );
    refused("simulate tpcc --scheme swarm", &["--machine", "thousand-cores", "swarm-64"]);
    refused(
        &format!("simulate ycsb {on} --tasks fine"),
        &["--tasks", "graph", "tpcc, tpce, bidding"],
    );
    refused(&format!("simulate tpcc {on} --tasks three"), &["--tasks", "three", "one, fine"]);
    refused("simulate tpcc --allocator ideal --schedule random", &["--allocator", "ideal"]);
    refused("bench tpcc --allocator ideal", &["--allocator", "ideal"]);
    refused(&format!("simulate tpcc {on} --task-queue 0"), &["--task-queue", "0", "1 to 1024"]);
    refused(&format!("simulate tpcc {on} --task-queue 1"), &["--task-queue", "4 entries a tile"]);
    refused(&format!("simulate tpcc {on} --commit-queue 32"), &["--commit-queue", "132", "128"]);
    refused(&format!("simulate tpcc {on} --gvt-period 0"), &["--gvt-period", "0"]);
    refused(&format!("simulate tpce {on} --scan-partitions 0"), &["--scan-partitions", "1 to 64"]);
    refused(&format!("simulate tpcc {on} --scan-partitions 4"), &["--scan-partitions", "tpce"]);
    refused(&format!("simulate ycsb {on} --task-log yes"), &["--task-log", "--tasks fine"]);
    refused(&format!("simulate tpcc {on} --tasks one --joins yes"), &["--joins", "--tasks fine"]);
    for flag in [
        "--tasks one",
        "--joins yes",
        "--scan-partitions 4",
        "--task-log yes",
        "--sets precise",
        "--aborts all",
        "--place hint",
        "--canary line",
        "--commit-entry dequeue",
        "--task-queue 32",
        "--commit-queue 8",
        "--gvt-period 100",
    ] {
        let name = flag.split(' ').next().expect("a name");
        refused(&format!("simulate tpcc --machine swarm-64 {flag}"), &[name, "silo", "swarm"]);
    }
    refused(&format!("simulate tpcc {on} --clients 5"), &["--clients", "5", "4"]);
    refused(&format!("simulate tpcc {on} --interleave 2"), &["--interleave", "2", "1"]);
    refused(&format!("simulate tpcc {on} --schedule random"), &["--schedule", "timed"]);
    refused(&format!("simulate tpcc {on} --memory-model tso"), &["--memory-model", "sc"]);
    refused(&format!("simulate tpcc {on} --history x"), &["--history"]);
}

#[test]
fn certificates_of_a_server_are_there_and_are_some() {
    let folder = Folder::new("bad-certificates");
    let text = folder.file("text.pem");
    std::fs::write(&text, "no certificate").expect("a file");
    let nowhere = folder.file("nowhere.pem");
    for (certificates, key, parts) in [
        (&nowhere, &text, ["--tls-cert", "nowhere.pem"]),
        (&text, &nowhere, ["--tls-key", "nowhere.pem"]),
        (&text, &text, ["certificate", ""]),
    ] {
        let line = format!(
            "serve --memory --listen 127.0.0.1:0 --tls-cert {certificates} --tls-key {key}"
        );
        refused(&line, &parts);
    }
    refused(&format!("serve --memory --tls-cert {text}"), &["--tls-key"]);
}
