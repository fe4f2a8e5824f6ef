//! Simulated runs and campaigns: functions of their flags and seeds.

mod common;

use common::{chiliad, result, stderr, stdout};
use serde_json::Value;

/// A result without what the host has a part in.
fn without_host(mut result: Value) -> Value {
    if let Value::Object(fields) = &mut result {
        fields.retain(|name, _| !name.starts_with("host_"));
    }
    result
}

#[test]
fn a_run_is_a_function_of_flags_and_seed() {
    for workload in [
        "ycsb",
        "tpcc",
        "smallbank",
        "tatp",
        "txbench",
        "bidding",
        "tpce",
        "tpcb-sql",
        "tpcc-sql",
        "scan",
        "hash",
        "bank",
        "counters",
        "columns",
    ] {
        for model in ["sc", "tso"] {
            let line = format!(
                "simulate {workload} --schedule random --memory-model {model} --verify --seed 7"
            );
            let (first, second) = (without_host(result(&line)), without_host(result(&line)));
            assert_eq!(first, second, "{line}");
            assert_eq!(first["verdict"], "completed", "{line}");
            assert_eq!(first["verified"]["passed"], true, "{line}: {}", first["verified"]);
            assert_eq!(first["throughput_tps"], Value::Null);
            assert_eq!(first["cycles"], Value::Null);
            let other = result(&line.replace("--seed 7", "--seed 8"));
            assert_ne!(other["trace_hash"], first["trace_hash"], "{line}");
        }
    }
}

/// Five cores stall as often as they wait, and all wait in one queue: the run ends all the same.
#[test]
fn cores_that_stall_while_they_queue_get_through() {
    let run = result(
        "simulate bank --scheme lock-table-global --cores 5 --seed 1000141 --schedule random \
         --memory-model tso --timestamps mutex --verify --latch mcs --interleave 2 --snapshots off",
    );
    assert_eq!((&run["verdict"], &run["verified"]["passed"]), (&"completed".into(), &true.into()));
}

/// The results of a sweep, without what the host has a part in.
fn swept(line: &str) -> Vec<Value> {
    let output = chiliad(&format!("{line} --json -"));
    assert_eq!(output.status.code(), Some(0), "{line}: {}", stderr(&output));
    let parse = |text: &str| without_host(serde_json::from_str(text).expect("JSON"));
    stdout(&output).lines().map(parse).collect()
}

#[test]
fn points_that_share_a_database_are_what_they_are_alone() {
    let ycsb = "simulate ycsb --records 3000 --cores 4 --duration 60us --warmup 20us --seed 5";
    let tpcc = "simulate tpcc --scale micro --warehouses 2 --cores 4 --duration 60us --warmup 20us";
    let txbench = "simulate txbench --rows 2000 --cores 4 --duration 60us --warmup 20us";
    for (line, flag, values) in [
        (format!("{txbench} --scheme wait-die"), "updates", ["0", "40"]),
        (format!("{txbench} --scheme silo --updates 50"), "hotspot", ["5", "100"]),
        (format!("{txbench} --scheme no-wait --updates 50"), "stalled-at", ["10us", "30us"]),
        (format!("{ycsb} --scheme mvcc"), "cores", ["1", "9"]),
        (format!("{ycsb} --scheme silo"), "theta", ["0", "0.9"]),
        (format!("{ycsb} --scheme no-wait"), "seed", ["1", "2"]),
        (format!("{ycsb} --scheme timestamp"), "read-ratio", ["0", "90"]),
        (format!("{ycsb} --scheme occ --index hash"), "cost-scale", ["0.5", "2"]),
        (format!("{ycsb} --scheme h-store --partitions 4"), "multi-partition", ["0", "50"]),
        (format!("{ycsb} --scheme wait-die"), "partitions", ["1", "4"]),
        (format!("{ycsb} --scheme silo"), "records", ["2000", "4000"]),
        (format!("{tpcc} --scheme dl-detect"), "mix", ["np", "payment"]),
        (format!("{tpcc} --scheme silo --verify"), "remote-item", ["0", "40"]),
        ("simulate ycsb --schedule random --transactions 40".into(), "seed", ["1", "2"]),
    ] {
        let list = values.join(",");
        let together = swept(&format!("{line} --sweep {flag}={list} --jobs 2"));
        assert_eq!(together.len(), values.len(), "{line}");
        for (value, together) in values.iter().zip(&together) {
            let given = |word: &str| line.split(' ').any(|it| it == word);
            let rest = match (given(&format!("--{flag}")), line.split_once(&format!(" --{flag} ")))
            {
                (true, Some((before, after))) => {
                    format!("{before} {}", after.split_once(' ').map_or("", |it| it.1))
                }
                _ => line.clone(),
            };
            let alone = without_host(result(&format!("{} --{flag} {value}", rest.trim_end())));
            assert_eq!(&alone, together, "{line} --{flag}={value}");
        }
        assert_eq!(together, swept(&format!("{line} --sweep {flag}={list} --jobs 1")));
    }
}

#[test]
fn points_that_are_refused_or_fail_say_so() {
    let output = chiliad("simulate ycsb --sweep cores=1,2000");
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("--cores"), "{}", stderr(&output));
    // What only opening the database finds out.
    let line = "simulate ycsb --allocator system --sweep cores=1,2 --records 1000";
    let output = chiliad(line);
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    assert_eq!(stderr(&output).lines().count(), 1, "{}", stderr(&output));
}

#[test]
fn prices_of_computation_are_scaled() {
    let line = "simulate ycsb --records 3000 --cores 2 --duration 60us --warmup 20us";
    let rates = swept(&format!("{line} --sweep cost-scale=0.5,1,2"));
    let rate = |at: usize| rates[at]["throughput_tps"].as_f64().expect("a rate");
    assert!(rate(0) > rate(1) && rate(1) > rate(2), "{} {} {}", rate(0), rate(1), rate(2));
    assert_eq!(rates[0]["options"]["cost_scale"], "0.5");
}

/// Every scheme on timed cores: serializable, and the same to the last field when it is run again.
#[test]
fn a_timed_run_is_a_function_of_flags_and_seed() {
    let schemes = stdout(&chiliad("schemes --json -"));
    let schemes: Value = serde_json::from_str(&schemes).expect("JSON");
    for scheme in schemes.as_array().expect("a list") {
        let line = format!(
            "simulate ycsb --cores 16 --scheme {} --records 10000 --theta 0.6 --duration 100us \
             --warmup 20us --verify",
            scheme["name"].as_str().expect("a name")
        );
        let first = result(&line);
        assert_eq!(without_host(first.clone()), without_host(result(&line)), "{line}");
        assert_eq!(first["verdict"], "completed", "{line}");
        let passed = &first["verified"]["passed"];
        assert!(passed.is_null() || passed == true, "{line}: {}", first["verified"]);
        assert_eq!(first["seconds"], 0.0001, "{line}");
        assert!(first["misses"].as_u64() > Some(1000), "{line}");
        let parts = first["breakdown"].as_object();
        // Servers that share a log do not follow transactions through the parts of their time.
        assert_eq!(parts.is_none(), scheme["name"] == "hyder", "{line}");
        let sum = |parts: &serde_json::Map<String, Value>| -> f64 {
            parts.values().filter_map(Value::as_f64).sum()
        };
        assert!(parts.is_none_or(|parts| (sum(parts) - 1.0).abs() < 1e-9), "{line}: {parts:?}");
    }
}

#[test]
fn rows_of_which_only_the_start_exists_are_verified_too() {
    let schemes =
        ["silo", "partitioned", "wait-die", "timestamp", "mvcc --snapshot-reads yes", "occ"];
    for scheme in schemes {
        for model in ["sc", "tso"] {
            let line = format!(
                "simulate ycsb --schedule random --record-bytes 700 --kept-bytes 16 --verify --memory-model {model} \
                 --seed 3 --transactions 200 --scheme {scheme}"
            );
            let first = without_host(result(&line));
            assert_eq!(first, without_host(result(&line)), "{line}");
            assert_eq!(first["verdict"], "completed", "{line}");
            assert_eq!(first["verified"]["passed"], true, "{line}: {}", first["verified"]);
            assert_eq!(first["options"]["kept_bytes"], 16);
            let whole = result(&line.replace("--kept-bytes 16", ""));
            assert_ne!(whole["trace_hash"], first["trace_hash"], "{line}");
            assert_eq!(whole["options"]["kept_bytes"], Value::Null);
        }
    }
    // The verdict is about what exists, and it can be the other one.
    let line = "simulate ycsb --schedule random --record-bytes 700 --kept-bytes 16 --verify --transactions 100";
    let broken = chiliad(&format!("{line} --plant no-read-validation --json -"));
    assert!(stdout(&broken).contains("\"passed\":false"), "{}", stdout(&broken));
}

/// Clients that share a warehouse leave its deliveries to one of them, which then has them to itself.
#[test]
fn deliveries_do_not_refuse_each_other() {
    let line =
        "simulate tpcc --scale micro --warehouses 1 --cores 4 --duration 4ms --warmup 0s --verify";
    let refused = |flags: &str| {
        let run = result(&format!("{line} {flags}"));
        assert_eq!(run["verified"]["passed"], true, "{flags}: {}", run["verified"]);
        assert_eq!(run["consistency"]["failed"], Value::Array(Vec::new()), "{flags}");
        let delivery = &run["transactions"]["delivery"];
        let count = |name: &str| delivery[name].as_f64().expect("a count");
        (count("aborted") / (count("committed") + count("aborted")), run["deferred"].clone())
    };
    let (owner, deferred) = refused("--deferred owner");
    let (inline, none) = refused("--deferred inline");
    assert!(owner < 0.75 * inline, "{owner} of {inline}");
    assert_eq!(none, Value::Null);
    assert_eq!(deferred["queued"], deferred["completed"]);
    assert!(deferred["delay_us"]["mean"].as_f64() > Some(0.0), "{deferred}");
}

/// What timed runs come to on whatever host, to the last field. A change of the machine's model, of the
/// prices or of the engine changes it: then run the lines again and look at what has changed.
#[test]
fn timed_runs_are_what_they_are_on_every_host() {
    for golden in include_str!("golden/timed.jsonl").lines() {
        let golden: Value = serde_json::from_str(golden).expect("JSON");
        let line = golden["line"].as_str().expect("a line");
        let mut found = without_host(result(line));
        let fields = found.as_object_mut().expect("fields");
        fields.remove("build");
        let core_time = fields.remove("core_time").expect("a timed run");
        let shares = core_time.as_object().expect("by part").values();
        let sum: f64 = shares.map(|share| share.as_f64().expect("a share")).sum();
        assert!((sum - 1.0).abs() < 1e-9, "{line}: {core_time}");
        assert_eq!(found, golden["result"], "{line}");
    }
}

/// The machine's tiles are in use whole, in part, and one of them, under schemes that have little in common.
#[test]
fn schemes_run_on_tiles() {
    for scheme in ["silo", "no-wait", "hyder"] {
        for workload in ["ycsb --records 2000 --theta 0.6", "tpcc --scale micro --warehouses 4"] {
            for cores in [1, 6, 64] {
                let line = format!(
                    "simulate {workload} --machine swarm-64 --scheme {scheme} --cores {cores} \
                     --duration 100us --warmup 20us --verify"
                );
                let run = result(&line);
                assert_eq!(run["verdict"], "completed", "{line}");
                assert_eq!(run["verified"]["passed"], true, "{line}: {}", run["verified"]);
                let part = |part: &str| run["core_time"][part].as_f64().expect("a share");
                let sum = part("committed") + part("aborted") + part("stalled") + part("idle");
                assert!((sum - 1.0).abs() < 1e-9, "{line}: {sum}");
                assert!(part("committed") > 0.05, "{line}");
            }
        }
    }
    let refused = chiliad("simulate ycsb --machine swarm-64 --cores 65");
    assert_eq!(refused.status.code(), Some(2), "{}", stderr(&refused));
}

/// Far more threads than cores: all of them get their turn, and what they do is serializable.
#[test]
fn clients_share_cores() {
    let line = "simulate ycsb --machine xeon-32 --cores 32 --clients 500 --scheme no-wait --records 10000 \
                --read-ratio 95 --duration 1200us --warmup 100us --verify";
    let first = without_host(result(line));
    assert_eq!(first, without_host(result(line)));
    assert_eq!(first["verdict"], "completed");
    assert_eq!(first["verified"]["passed"], true, "{}", first["verified"]);
    assert_eq!(first["clients"], 500);
    assert_eq!((&first["threads"], &first["cores"]), (&Value::from(32), &Value::from(32)));
    assert!(first["preemptions"].as_u64() > Some(5), "{}", first["preemptions"]);
    assert!(first["context_switches"].as_u64() > first["preemptions"].as_u64());
}

/// Who has run before the window and has no core in it has done nothing in it.
#[test]
fn what_was_done_before_the_window_does_not_count() {
    let of = |clients: u32| {
        let line = format!(
            "simulate ycsb --machine xeon-32 --cores 1 --clients {clients} --scheme no-wait --records 1000 \
             --warmup 7ms --duration 500us"
        );
        result(&line)["committed"].as_u64().expect("a number")
    };
    let (one, eight) = (of(1), of(8));
    assert!(one > 0 && eight <= 2 * one, "{eight} of eight clients on the core of {one}");
}

/// With as many clients as cores, or fewer, no thread shares a core, however the flags say so.
#[test]
fn clients_with_a_core_each_share_none() {
    let line =
        "simulate ycsb --cores 8 --records 3000 --duration 60us --warmup 20us --scheme wait-die";
    let cores = without_host(result(line));
    assert_eq!(cores, without_host(result(&format!("{line} --clients 8"))));
    assert!(cores.get("context_switches").is_none());
    let (start, length) = ("simulate ycsb --cores 8 --clients 3", "--duration 60us --warmup 20us");
    for rest in [length, &format!("{length} --interleave 2"), "--schedule random --transactions 40"]
    {
        let few = result(&format!("{start} --records 3000 {rest}"));
        assert_eq!((&few["clients"], &few["cores"]), (&Value::from(3), &Value::from(8)));
        assert_eq!(few["options"]["clients"], 3);
        assert_eq!(few["verdict"], "completed", "{few}");
        assert!(few["committed"].as_u64() > Some(0));
    }
}

#[test]
fn simulated_time_ends_a_run() {
    let result = result("simulate ycsb --schedule random --duration 20ms --warmup 2ms --cores 3");
    let seconds = result["seconds"].as_f64().expect("simulated time");
    assert!((0.02..0.1).contains(&seconds), "{seconds}");
    assert!(result["committed"].as_u64() > Some(0));
}

#[test]
fn transactions_that_lock_in_one_order_need_no_detection() {
    let line = "simulate ycsb --schedule random --scheme dl-detect --cores 8 --transactions 400 --scan-ratio 0 \
                --read-ratio 30 --wait-timeout none --verify";
    for memory_model in ["sc", "tso"] {
        for rmw in ["", " --rmw"] {
            let line = format!("{line}{rmw} --memory-model {memory_model}");
            // As drawn they meet in circles, which are found, or time out.
            assert!(result(&line)["aborted"].as_u64() > Some(0), "{line}");
            let line = format!("{line} --lock-order key --deadlock-check none");
            let ordered = result(&line);
            assert_eq!(ordered["aborted"], 0, "{line}");
            assert_eq!(ordered["verified"]["passed"], true, "{line}");
            assert_eq!(ordered["options"]["deadlock_check"], "none");
            assert_eq!(ordered["options"]["lock_order"], "key");
        }
    }
}

#[test]
fn transactions_in_flight_on_one_core_meet() {
    let schemes = stdout(&chiliad("schemes --json -"));
    let schemes: Value = serde_json::from_str(&schemes).expect("JSON");
    let schemes = schemes.as_array().expect("a list").iter();
    let transactional = schemes.filter(|scheme| scheme["isolation"] != "none");
    let names: Vec<&str> = transactional.filter_map(|scheme| scheme["name"].as_str()).collect();
    assert!(names.len() > 5, "{names:?}");
    for name in names {
        let line = format!(
            "simulate smallbank --schedule random --scheme {name} --cores 1 --interleave 4 --transactions 400 --verify"
        );
        let met = result(&line);
        assert_eq!(met["verified"]["passed"], true, "{line}: {}", met["verified"]);
        assert_eq!(without_host(met.clone()), without_host(result(&line)), "{line}");
        assert!(met["hand_overs"].as_u64() > Some(100), "{line}: {}", met["hand_overs"]);
        // Nobody else is there to refuse a transaction or to be waited for.
        let marks = met["marks"].to_string();
        let waited =
            ["sibling ran in a wait", "slept for a lock"].iter().any(|it| marks.contains(it));
        assert!(waited || met["aborted"].as_u64() > Some(0), "{line}: {met}");
        let alone = result(&line.replace("--interleave 4", "--interleave 1"));
        assert_eq!((&alone["hand_overs"], &alone["aborted"]), (&0.into(), &0.into()), "{line}");
    }
}

#[test]
fn a_campaign_passes() {
    let result = result("campaign --seeds 0..8 --scheme silo --quiet");
    assert_eq!(result["failed"], Value::Null);
    assert_eq!(result["runs"], 8 * 14);
    assert!(result["transactions"].as_u64() > Some(1000));
}

#[test]
fn planted_bugs_are_listed() {
    let output = chiliad("campaign --plant list");
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let said = stdout(&output);
    assert!(said.contains("no-read-validation") && said.contains("expected: "), "{said}");
}

#[test]
fn a_planted_bug_is_caught() {
    let result = result("campaign --plant no-read-validation --quiet");
    assert_eq!(result["passed"], true, "{result}");
    let plant = &result["plants"][0];
    assert_eq!(plant["caught"], true);
    // What was found is found again by the line that the campaign prints.
    let line = plant["replay"].as_str().expect("a line").trim_start_matches("chiliad ");
    let replayed = chiliad(&format!("{line} --json -"));
    assert_eq!(replayed.status.code(), Some(1));
    let replayed: Value = serde_json::from_str(&stdout(&replayed)).expect("JSON");
    let anomalies = replayed["verified"]["anomalies"].as_array().expect("a list");
    assert!(anomalies.iter().any(|anomaly| anomaly["class"] == plant["verdict"]), "{replayed}");
}

/// Figure 4-4 of Yu, 2015, at a few cores: every kind of timestamp, and every kind of mutex.
#[test]
fn timestamps_are_drawn_on_simulated_cores() {
    let line = "simulate timestamps --cores 16 --duration 20us --warmup 20us";
    let drawn = |flags: &str| {
        let line = format!("{line} {flags}");
        let (first, second) = (without_host(result(&line)), without_host(result(&line)));
        assert_eq!(first, second, "{line}");
        assert_eq!(first["verdict"], "completed", "{line}");
        let rate = first["throughput_tps"].as_f64().expect("a rate");
        let count = first["committed"].as_u64().expect("a count");
        assert!((rate - count as f64 / 20e-6).abs() < 1.0, "{line}: {rate} for {count}");
        rate
    };
    let atomic = drawn("--timestamps atomic");
    assert!((20e6..35e6).contains(&atomic), "{atomic}");
    let batched = drawn("--timestamps batched --timestamp-batch 8") / atomic;
    assert!((5.0..8.5).contains(&batched), "{batched}");
    for latch in ["spin", "ticket", "mcs", "sleep"] {
        let mutex = drawn(&format!("--timestamps mutex --latch {latch}"));
        assert!(mutex > 0.0 && mutex < atomic, "{latch}: {mutex}");
    }
    let clock = drawn("--timestamps clock");
    assert!(clock > 5.0 * atomic, "{clock}");
}

/// Neither loaded rows nor those that a rehearsal has written are younger than who comes afterwards: a clock
/// refuses about as many transactions as a counter.
#[test]
fn who_draws_by_the_clock_is_as_young_as_who_counts() {
    for scheme in ["timestamp", "mvcc", "occ"] {
        let refused = |timestamps: &str| {
            let line =
                "simulate ycsb --cores 16 --records 20000 --theta 0.6 --index hash --warmup 0us";
            let run = result(&format!("{line} --scheme {scheme} --timestamps {timestamps}"));
            assert_eq!(run["verdict"], "completed");
            run["abort_rate"].as_f64().expect("a share")
        };
        let (counting, by_the_clock) = (refused("atomic"), refused("clock"));
        assert!(by_the_clock < counting + 0.05, "{scheme}: {by_the_clock} after {counting}");
    }
}

/// Points of a sweep are copies of one loaded database, and each is what it is alone.
#[test]
fn ordered_tasks_of_a_sweep_share_a_database() {
    let line = "simulate bidding --scale micro --duration 10us --warmup 2us --machine swarm-64 --scheme swarm";
    let together = swept(&format!("{line} --sweep cores=4,8"));
    for (cores, point) in [4, 8].into_iter().zip(together) {
        let alone = without_host(result(&format!("{line} --cores {cores}")));
        assert_eq!(point, alone, "{cores} cores");
    }
}

/// Memory at the price of tasks' changes the time of other schemes, and nothing else. Each client has a warehouse of its own,
/// or a few refusals more would outweigh the price.
#[test]
fn ideal_memory_is_cheaper() {
    let line = "simulate tpcc --scale micro --warehouses 4 --machine swarm-64 --cores 4 --duration 1ms --warmup 50us";
    let rate = |line: &str| result(line)["throughput_tps"].as_f64().expect("a rate");
    let ideal = format!("{line} --allocator ideal");
    assert!(rate(&ideal) > rate(line), "{} and {}", rate(&ideal), rate(line));
    assert_eq!(result(&ideal)["options"]["allocator"], "ideal");
}

/// Transactions as ordered tasks, on task units: what commits is what the requests leave one after another.
#[test]
fn ordered_tasks_run_on_task_units() {
    for (line, cores) in [
        ("tpcc --scale micro --warehouses 2 --mix np --transactions 300 --warmup 0s", 16),
        ("tpcc --scale micro --warehouses 2 --mix standard --duration 30us --warmup 10us", 64),
        ("bidding --scale micro --duration 20us --warmup 5us", 16),
        ("tpce --scale micro --transactions 150 --warmup 0s", 16),
        ("tatp --scale micro --duration 20us --warmup 5us --tasks one --sets precise", 8),
        ("bidding --scale micro --transactions 100 --warmup 0s --aborts all --place hint", 16),
    ] {
        let line = format!(
            "simulate {line} --machine swarm-64 --scheme swarm --cores {cores} --seed 5 --verify"
        );
        let run = without_host(result(&line));
        assert_eq!(run["verdict"], "completed", "{line}");
        assert_eq!(run["differences"], Value::Null, "{line}");
        assert_eq!(run["consistency"]["failed"], serde_json::json!([]), "{line}");
        assert!(run["throughput_tps"].as_f64().expect("a rate") > 0.0, "{line}");
        let number = |value: &Value| value.as_f64().expect("a number");
        let parts = run["core_time"].as_object().expect("parts");
        let sum: f64 = parts.values().map(number).sum();
        assert!((sum - 1.0).abs() < 1e-9, "{line}: {parts:?}");
        let tasks = &run["tasks"];
        let undone: f64 = tasks["aborted"].as_object().expect("causes").values().map(number).sum();
        assert!(undone > 0.0, "{line}: {tasks}");
        if run["options"]["warmup"] == "0s" {
            assert_eq!(number(&tasks["dispatched"]), number(&tasks["committed"]) + undone);
        }
        let (p50, max) = (&run["latency_us"]["p50"], &run["latency_us"]["max"]);
        assert!(number(p50) > 0.1 && number(max) >= number(p50), "{line}: {p50} {max}");
        assert_eq!(run, without_host(result(&line)), "{line}");
    }
}
