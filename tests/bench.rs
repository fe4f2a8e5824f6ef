//! Native runs: what they count, what their JSON holds, what verification says.

mod common;

use common::{Folder, chiliad, result, results, stderr, stdout};

/// The documented fields of a result, in order.
const FIELDS: [&str; 21] = [
    "workload",
    "scheme",
    "machine",
    "threads",
    "clients",
    "seed",
    "seconds",
    "committed",
    "aborted",
    "rolled_back",
    "throughput_tps",
    "abort_rate",
    "abort_reasons",
    "latency_us",
    "durable_latency_us",
    "breakdown",
    "transactions",
    "verified",
    "consistency",
    "options",
    "build",
];

#[test]
fn a_run_says_what_its_breakdown_costs() {
    let line = format!("bench ycsb --duration 1700ms --breakdown-cost {SMALL}");
    // Where a slice goes by without a transaction, the host having other work, a run cannot tell.
    let told =
        (0..20).map(|_| result(&line)["breakdown_cost"].take()).find(serde_json::Value::is_object);
    let cost = told.expect("a run of which each slice has transactions");
    let share = cost["share"].as_f64().expect("four fours of slices");
    assert!(share < 1.0 && cost["error"].as_f64() >= Some(0.0), "{cost}");
    let short = result(&line.replace("1700ms", "200ms"));
    assert!(short.get("breakdown_cost").is_none(), "too short to tell");
    assert!(short["breakdown"].is_object());
}

#[test]
fn memory_comes_from_where_it_is_asked_for() {
    let line = format!("bench tpcc --transactions 400 --verify {SMALL} --sweep allocator=");
    for result in results(&format!("{line}pool,system,mimalloc,jemalloc")) {
        let verified = &result["verified"];
        assert_eq!(verified["passed"], true, "{}: {verified}", result["options"]["allocator"]);
        assert_eq!(result["consistency"]["failed"].as_array().map(Vec::len), Some(0));
    }
}

const SMALL: &str = "--scale micro --threads 2 --warmup 0s --quiet";

#[test]
fn a_run_has_every_documented_field() {
    let result = result(&format!("bench tpcc --duration 300ms --verify {SMALL}"));
    for field in FIELDS.into_iter().chain(["host_memory_bytes", "host_cpu"]) {
        assert!(result.get(field).is_some(), "{field} is missing");
    }
    assert_eq!(result["workload"], "tpcc");
    assert_eq!(result["machine"], "native");
    assert_eq!(result["verified"]["serializable"], true, "{}", result["verified"]);
    assert_eq!(result["verified"]["complete"], true);
    assert_eq!(result["consistency"]["checked"], 12);
    assert_eq!(result["consistency"]["failed"].as_array().map(Vec::len), Some(0));
    let number = |name: &str| result[name].as_f64().expect(name);
    let rate =
        number("aborted") / (number("aborted") + number("committed") + number("rolled_back"));
    assert!((number("abort_rate") - rate).abs() < 1e-9);
    assert!(
        (number("throughput_tps") * number("seconds") / number("committed") - 1.0).abs() < 1e-6
    );
    let kinds = result["transactions"].as_object().expect("kinds");
    let committed: u64 = kinds.values().filter_map(|kind| kind["committed"].as_u64()).sum();
    assert_eq!(Some(committed), result["committed"].as_u64());
    assert!(kinds["new_order"]["latency_us"]["p99"].as_f64() > Some(0.0));
    let shares = result["breakdown"].as_object().expect("six parts");
    let sum: f64 = shares.values().filter_map(serde_json::Value::as_f64).sum();
    assert!(shares.len() == 6 && (sum - 1.0).abs() < 1e-3, "{shares:?}");
    assert_eq!(result["options"]["warehouses"], 2);
    assert!(result["options"].get("json").is_none() && result["options"].get("quiet").is_none());
}

#[test]
fn transactions_are_counted_exactly() {
    let result = result(&format!("bench ycsb --transactions 1001 --records 1000 {SMALL}"));
    assert_eq!(result["committed"], 1001);
    assert_eq!(result["verified"], serde_json::Value::Null);
    assert_eq!(result["consistency"], serde_json::Value::Null);
}

#[test]
fn each_delivery_has_one_result() {
    let folder = Folder::new("deliveries");
    let path = folder.file("deliveries.jsonl");
    let flags = "--warehouses 1 --transactions 2000 --verify";
    for workload in ["tpcc", "tpcc-sql"] {
        for in_flight in [1, 4] {
            let line = format!(
                "bench {workload} {flags} --interleave {in_flight} --deliveries {path} {SMALL}"
            );
            let result = result(&line);
            assert_eq!(result["verified"]["passed"], true, "{line}: {}", result["verified"]);
            assert_eq!(result["options"]["deferred"], "owner");
            let deferred = &result["deferred"];
            let delivered = &result["transactions"]["delivery"]["committed"];
            assert_eq!(deferred["queued"], *delivered, "{line}");
            assert_eq!(deferred["completed"], *delivered, "{line}");
            assert_eq!(
                (&deferred["within_80s"], &deferred["rule_holds"]),
                (&1.0.into(), &true.into())
            );
            let all =
                ["committed", "rolled_back"].map(|name| result[name].as_u64().expect("a count"));
            assert_eq!(all.iter().sum::<u64>(), 2000, "{line}");
            let written = std::fs::read_to_string(&path).expect("the results");
            let records: Vec<serde_json::Value> =
                written.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
            assert_eq!(records.len() as u64, delivered.as_u64().expect("a count"));
            let numbers: std::collections::BTreeSet<String> =
                records.iter().map(|it| format!("{}:{}", it["client"], it["number"])).collect();
            assert_eq!(numbers.len(), records.len(), "no request has two");
            let orders = records.iter().map(|it| it["orders"].as_array().expect("orders").len());
            assert_eq!(Some(orders.sum::<usize>() as u64), deferred["orders"].as_u64());
            for record in &records {
                assert_eq!(record["warehouse"], 1);
                assert!(
                    record["queued_us"].as_f64() <= record["completed_us"].as_f64(),
                    "{record}"
                );
            }
        }
    }
    let result = result(&format!("bench tpcc --deferred inline {flags} {SMALL}"));
    assert!(result.get("deferred").is_none());
    assert_eq!(result["verified"]["passed"], true);
}

#[test]
fn servers_of_a_log_have_threads_of_their_own_natively() {
    let line = format!("ycsb --scheme hyder --transactions 501 --records 1000 {SMALL}");
    for (flags, threads) in [("", 1), ("--pipeline 0", 0), ("--pipeline 3", 3)] {
        let result = result(format!("bench {line} --servers 2 --verify {flags}").trim());
        assert_eq!(result["options"]["pipeline"], threads, "{flags}");
        assert_eq!(result["committed"], 501, "{flags}");
        assert_eq!(result["verified"]["passed"], true, "{flags}: {}", result["verified"]);
    }
}

#[test]
fn transactions_in_flight_can_be_swept() {
    let line = format!("bench ycsb --transactions 1001 --records 1000 --verify {SMALL}");
    let results = results(&format!("{line} --sweep interleave=1,2,4,8"));
    assert_eq!(results.len(), 4);
    for (result, number) in results.iter().zip([1, 2, 4, 8]) {
        assert_eq!(result["options"]["interleave"], number);
        assert_eq!(result["options"]["interleave_auto"], false);
        assert_eq!(result["committed"], 1001, "{number} in flight");
        assert_eq!(result["verified"]["passed"], true, "{number}: {}", result["verified"]);
    }
}

#[test]
fn by_default_as_many_transactions_are_in_flight_as_pay() {
    let line = format!("bench ycsb --transactions 1001 --records 1000 --verify {SMALL}");
    let results = results(&format!("{line} --sweep interleave=adaptive,3"));
    for (result, (number, adaptive)) in
        results.iter().zip([(8, true), (3, false)]).chain([(&result(&line), (8, true))])
    {
        assert_eq!(result["options"]["interleave"], number);
        assert_eq!(result["options"]["interleave_adaptive"], adaptive);
        assert_eq!(result["committed"], 1001);
        assert_eq!(result["verified"]["passed"], true, "{}", result["verified"]);
    }
}

#[test]
fn trials_choose_how_many_transactions_are_in_flight() {
    let line = format!("bench ycsb --interleave auto --records 1000 {SMALL}");
    let chosen = |result: &serde_json::Value| {
        let options = &result["options"];
        assert_eq!(options["interleave_auto"], true);
        let number = options["interleave"].as_u64().expect("a number");
        assert!([1, 2, 4, 8, 16].contains(&number), "{number}");
    };
    // Trials count for nothing, and load the rows of the run.
    let counted = result(&format!("{line} --transactions 1001"));
    chosen(&counted);
    assert_eq!(counted["committed"], 1001);
    let repeated = result(&format!("{line} --duration 100ms --repeat 2"));
    chosen(&repeated);
    assert_eq!(repeated["runs"].as_array().map(Vec::len), Some(2));
    let said = stdout(&chiliad(&format!("{} --duration 100ms", line.replace(" --quiet", ""))));
    assert!(said.contains(" for each client, by trial"), "{said}");
}

#[test]
fn more_clients_than_cores_work() {
    let line = "bench ycsb --records 2000 --threads 2 --clients 60 --duration 100ms --warmup 0s";
    let result = result(&format!("{line} --verify --quiet"));
    assert_eq!((&result["threads"], &result["clients"]), (&2.into(), &60.into()));
    assert_eq!(result["verified"]["passed"], true, "{}", result["verified"]);
}

#[test]
fn every_scheme_keeps_what_it_promises() {
    for scheme in results("schemes").remove(0).as_array().expect("a list") {
        let name = scheme["name"].as_str().expect("a name");
        let line = format!("bench ycsb --scheme {name} --duration 100ms --verify {SMALL}");
        let result = result(&line);
        assert_eq!(result["verified"]["isolation"], scheme["isolation"], "{name}");
        assert_eq!(result["verified"]["passed"], true, "{name}: {}", result["verified"]);
    }
}

#[test]
fn workloads_keep_their_conditions_under_every_scheme_with_transactions() {
    let schemes = results("schemes").remove(0);
    let schemes = schemes.as_array().expect("a list");
    for (workload, conditions) in
        [("smallbank", 3), ("tatp", 5), ("txbench", 2), ("bidding", 2), ("tpce", 7)]
    {
        for info in schemes.iter().filter(|info| info["isolation"] != "none") {
            let scheme = info["name"].as_str().expect("a name");
            let line =
                format!("bench {workload} --scheme {scheme} --duration 100ms --verify {SMALL}");
            let result = result(&line);
            assert_eq!(result["verified"]["passed"], true, "{line}: {}", result["verified"]);
            assert_eq!(result["consistency"]["checked"], conditions, "{line}");
            let failed = result["consistency"]["failed"].as_array().map(Vec::len);
            assert_eq!(failed, Some(0), "{line}: {}", result["consistency"]);
            let options = &result["options"];
            assert_eq!(options["partitions"], if info["needs_partitions"] == true { 2 } else { 1 });
            let snapshots = if info["snapshots"] == true { "yes" } else { "no" };
            // Every bid writes.
            assert_eq!(options.get("snapshot_reads").is_some(), workload != "bidding");
            assert!(workload == "bidding" || options["snapshot_reads"] == snapshots);
        }
    }
}

#[test]
fn what_finds_nothing_counts_as_committed_and_beside_that_by_kind() {
    let line = format!("bench tatp --subscribers 1000 --transactions 20000 {SMALL}");
    let result = result(&line);
    assert_eq!((&result["committed"], &result["rolled_back"]), (&20_000.into(), &0.into()));
    let share = |kind: &str| {
        let count = |name: &str| result["transactions"][kind][name].as_f64().expect("a count");
        count("unsuccessful") / count("committed")
    };
    assert_eq!((share("get_subscriber_data"), share("update_location")), (0.0, 0.0));
    let missed = share("get_access_data");
    assert!((0.3..0.45).contains(&missed), "{missed}");
}

#[test]
fn an_open_loop_keeps_its_rate() {
    let line = "bench ycsb --records 1000 --ops 1 --rate 2000 --duration 1s --warmup 0s";
    let rate = result(&format!("{line} --threads 1"))["throughput_tps"].as_f64().expect("a rate");
    assert!((1_000.0..3_000.0).contains(&rate), "{rate}");
}

#[test]
fn a_history_that_outgrows_its_memory_ends_the_run_early() {
    let line = format!("bench ycsb --duration 60s --verify --verify-memory 8MiB {SMALL}");
    let result = result(&line);
    assert_eq!(result["verified"]["complete"], false);
    assert_eq!(result["verified"]["passed"], true, "{}", result["verified"]);
    assert!(result["seconds"].as_f64() < Some(50.0));
}

#[test]
fn sweeps_and_repetitions() {
    let line = format!("bench ycsb --transactions 500 --sweep theta=0:0.9:0.3 {SMALL}");
    let thetas: Vec<f64> =
        results(&line).iter().filter_map(|r| r["options"]["theta"].as_f64()).collect();
    assert_eq!(thetas, [0.0, 0.3, 0.6, 0.9]);
    let result = result(&format!("bench ycsb --transactions 500 --repeat 3 {SMALL}"));
    assert_eq!(result["runs"].as_array().map(Vec::len), Some(3));
    assert_eq!(result["committed"], 500);
}

#[test]
fn files_hold_what_was_asked_for() {
    let folder = Folder::new("bench-files");
    let (json, history, series) = (folder.file("j"), folder.file("h"), folder.file("s"));
    let line = format!(
        "bench tpcc --duration 350ms {SMALL} --json {json} --history {history} --series {series}"
    );
    let output = chiliad(&line);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(stdout(&output).is_empty());
    let result = std::fs::read_to_string(&json).expect("a file");
    let result: serde_json::Value = serde_json::from_str(&result).expect("JSON");
    assert_eq!(result["workload"], "tpcc");
    let series = std::fs::read_to_string(&series).expect("a file");
    assert!(series.starts_with("seconds,throughput_tps,memory_bytes\n"));
    assert!(series.lines().count() >= 4, "{series}");
    let checked = common::result(&format!("check {history} --strict"));
    assert_eq!(checked["passed"], true, "{checked}");
    assert!(checked["transactions"].as_u64() > Some(100));
    assert_eq!(folder.files(), 3);
}

#[test]
fn a_summary_for_people() {
    let output = chiliad("bench ycsb --scale micro --threads 1 --transactions 500");
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let said = stdout(&output);
    for part in ["ycsb under silo", "throughput", "aborted", "latency"] {
        assert!(said.contains(part), "{said}");
    }
}

#[test]
fn index_look_ups() {
    let line = "bench index --records 20000 --duration 100ms --warmup 0s --sweep group=1,16";
    for index in ["ordered", "hash"] {
        for result in results(&format!("{line} --index {index}")) {
            assert!(result["throughput_tps"].as_f64() > Some(0.0), "{result}");
            assert_eq!(result["options"]["index"], index);
        }
    }
}

#[test]
fn locks_alone() {
    let line = "bench locks --threads 3 --transactions 2000 --sweep mode=is,ix,s,six,x";
    // The lock tables by themselves; the scheme of snapshots uses the first of them.
    let tables = ["lock-table", "lock-table-global", "lock-table-bucket", "lock-table-sli"];
    for scheme in tables.into_iter().chain(["lock-table-no-ebr"]) {
        for hot in ["yes", "no"] {
            for result in results(&format!("{line} --scheme {scheme} --hot {hot}")) {
                assert_eq!(result["committed"], 6000, "{result}");
                assert!(result["latency_us"]["p999"].as_f64() > Some(0.0), "{result}");
                assert_eq!(
                    (&result["workload"], &result["scheme"]),
                    (&"locks".into(), &scheme.into())
                );
            }
        }
    }
    let counted = results("bench locks --threads 2 --transactions 5000");
    assert_eq!(counted[0]["committed"], 10_000);
}

#[test]
fn timestamps() {
    let line = "bench timestamps --threads 2 --duration 100ms --warmup 0s";
    let results = results(&format!("{line} --sweep timestamps=mutex,atomic,batched,clock"));
    for (result, kind) in results.iter().zip(["mutex", "atomic", "batched", "clock"]) {
        assert!(result["throughput_tps"].as_f64() > Some(0.0), "{result}");
        assert_eq!(result["options"]["timestamps"], kind);
        assert_eq!(result["workload"], "timestamps");
    }
    assert_eq!(results.len(), 4);
}

#[test]
fn fewer_transactions_than_clients_are_counted_exactly() {
    for (count, flight) in [(1, 8), (10, 8), (17, 1), (1000, 3)] {
        let line =
            format!("bench bank --threads 2 --interleave {flight} --transactions {count} --quiet");
        let result = result(&line);
        let number = |name: &str| result[name].as_u64().expect(name);
        assert_eq!(number("committed") + number("rolled_back"), count, "{line}: {result}");
    }
}

#[test]
fn points_of_a_sweep_say_which_they_are() {
    let output =
        chiliad("bench bank --threads 1 --warmup 0s --transactions 20 --sweep accounts=5,7");
    let text = stdout(&output);
    assert_eq!(
        text.matches("bank under silo, native: 1 client on 1 core, seed 1\n").count(),
        2,
        "{text}"
    );
    for point in ["--accounts=5", "--accounts=7"] {
        assert!(text.contains(&format!("  point        {point}\n")), "{text}");
    }
}

#[test]
fn thousands_of_clients_run() {
    let line = "bench bank --clients 2100 --threads 2 --transactions 2100 --quiet";
    let result = result(line);
    assert_eq!(result["clients"], 2100);
    assert_eq!(result["options"]["interleave"], 7, "{}", result["options"]);
}
