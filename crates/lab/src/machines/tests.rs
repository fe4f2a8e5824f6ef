//! Every machine that comes with the command is sound, and every bad value gets its line.

use super::*;

const GOOD: &str = include_str!("../../machines/xeon-80.toml");
const MESH: &str = include_str!("../../machines/thousand-cores.toml");

const TILED: &str = include_str!("../../machines/swarm-64.toml");

/// The message with which a file is refused.
fn refusal(text: &str) -> String {
    match file::read("it.toml", text, &Found::default()) {
        Err(Stop::BadInput(line)) => line,
        Err(other) => panic!("not bad input: {other:?}"),
        Ok(_) => panic!("taken: {text}"),
    }
}

/// The file with one line in the place of another.
fn with(text: &str, line: &str, other: &str) -> String {
    let old = format!("\n{line}\n");
    assert_eq!(text.matches(&old).count(), 1, "{line}");
    text.replace(&old, &format!("\n{other}\n"))
}

/// A computer that tells everything.
fn found() -> Found {
    let cache = |bytes, ways, sharers| Some(found::FoundCache { bytes, ways, sharers });
    Found {
        cores: Some(16),
        first: cache(32 << 10, 8, 1),
        second: cache(1 << 20, 16, 1),
        shared: cache(32 << 20, 16, 8),
    }
}

#[test]
fn every_machine_is_sound_and_written_back_the_same() {
    for (name, _) in FILES {
        let machine = embedded(name, &found()).expect("sound");
        assert_eq!(machine.description.name, name);
        let again = file::read("again", &file::write(&machine), &Found::default());
        assert_eq!(again.expect("its own text"), machine, "{name}");
    }
}

#[test]
fn no_file_of_a_machine_is_forgotten() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("machines");
    assert_eq!(std::fs::read_dir(folder).expect("readable").count(), FILES.len());
}

#[test]
fn a_computer_that_tells_nothing_is_no_machine() {
    let stop = embedded("host", &Found::default()).expect_err("not told");
    let Stop::BadInput(line) = stop else { panic!("{stop:?}") };
    assert!(line.starts_with("machines/host.toml: cores: \"found\""), "{line}");
    let host = embedded("host", &found()).expect("told").description;
    assert_eq!((host.cores_max, host.shared.bytes, host.shared.ways), (16, 4 << 20, 16));
}

#[test]
fn units_become_cycles() {
    let it = file::read("it", MESH, &Found::default()).expect("sound").description;
    assert_eq!((it.hertz, it.memory.cycles), (1_000_000_000, 100));
    // 64 bytes at 5 bytes a cycle.
    assert_eq!(it.memory.line_centicycles, 1280);
    assert_eq!((it.first.bytes, it.shared.bytes), (32 << 10, 512 << 10));
    let it = file::read("it", TILED, &Found::default()).expect("sound").description;
    assert_eq!((it.memory.cycles, it.cores_per_tile()), (120, 4));
    assert_eq!(it.tasks, Some(chiliad_simulator::description::TaskUnits::YAN));
    let it = file::read("it", GOOD, &Found::default()).expect("sound").description;
    assert_eq!(it.memory.cycles, 240);
    assert_eq!(it.shared.bytes, 3 << 20);
    let Network::Sockets { bytes_per_cycle, .. } = it.network else { panic!("sockets") };
    assert_eq!(bytes_per_cycle, 5);
}

#[test]
fn every_bad_value_gets_a_line_with_its_field_and_what_is_accepted() {
    let cases = [
        ("name = \"xeon-80\"", "name = \"no name\"", "name: "),
        ("cores = 80", "cores = 0", "cores: 0 is not one; accepted: a whole number from 1 to 1024"),
        ("cores = 80", "cores = 2000", "cores: 2000 is not one"),
        ("cores = 80", "cores = 81", "network.cores_per_socket: 81 cores make no sockets of 10"),
        ("cores = 80", "cores = \"many\"", "cores: \"many\" is not one"),
        ("cores = 80", "", "cores: missing; accepted: a whole number from 1 to 1024"),
        ("clock = \"2.4GHz\"", "clock = \"2.4\"", "clock: \"2.4\" is not one; accepted: a freq"),
        ("clock = \"2.4GHz\"", "clock = \"-1GHz\"", "clock: "),
        ("clock = \"2.4GHz\"", "clock = 5", "clock: 5 is not one"),
        ("instructions_per_cycle = 1.5", "instructions_per_cycle = 0", "instructions_per_cycle: "),
        ("prefetches = 10", "prefetches = -1", "prefetches: -1 is not one"),
        ("coherence = \"mesi\"", "coherence = \"moesi\"", "coherence: \"moesi\" is not one; acc"),
        ("homes = \"hashed\"", "homes = \"far\"", "homes: \"far\" is not one; accepted: hashed or"),
        ("background = \"own\"", "background = \"no\"", "background: "),
        ("clocks_agree = true", "clocks_agree = 1", "clocks_agree: 1 is not one; accepted: true"),
        ("size = \"32KiB\"", "size = \"33KiB\"", "l1.size: 33KiB makes no sets of 8 lines"),
        ("size = \"30MiB\"", "size = \"31MiB\"", "shared.size: 31MiB divided by 10 cores"),
        ("size = \"256KiB\"", "size = \"0\"", "l2.size: \"0\" is not one; accepted: a size such"),
        ("size = \"256KiB\"", "colour = \"red\"", "l2.size: missing; accepted: a size such as"),
        ("ways = 24", "ways = 0", "shared.ways: 0 is not one; accepted: a whole number from 1 to"),
        ("ways = 24", "ways = 24\nrows = 3", "shared.rows: unknown field; accepted: size, ways"),
        ("cycles = 4", "cycles = 0", "l1.cycles: 0 is not one"),
        ("kind = \"sockets\"", "kind = \"ring\"", "network.kind: \"ring\" is not one; accepted:"),
        ("kind = \"sockets\"", "kind = \"mesh\"", "network.hop_cycles: missing"),
        ("link = \"12.8GB/s\"", "link = \"fast\"", "network.link: \"fast\" is not one"),
        ("latency = \"100ns\"", "latency = \"0ns\"", "memory.latency: \"0ns\" is not one"),
        ("latency = \"100ns\"", "latency = 100", "memory.latency: 100 is not one; accepted: a ti"),
        ("controllers = 8", "controllers = 0", "memory.controllers: 0 is not one"),
        ("wake_cycles = 4000", "wake_cycles = 0", "waiting.wake_cycles: 0 is not one"),
        ("switch_cycles = 4000", "switch_cycles = 0", "waiting.switch_cycles: 0 is not one"),
        ("switch_cycles = 4000", "", "waiting.switch_cycles: missing; accepted: a whole number"),
        ("slice = \"1ms\"", "", "waiting.slice: missing; accepted: a time of at most"),
        ("slice = \"1ms\"", "slice = 1", "waiting.slice: 1 is not one; accepted: a time of at mo"),
        ("slice = \"1ms\"", "slice = \"0ms\"", "waiting.slice: \"0ms\" is not one"),
        ("slice = \"1ms\"", "slice = \"1us\"", "waiting.slice: 1000.0ns is no longer than a sw"),
        ("[waiting]", "[waiting]\nnap = 1", "waiting.nap: unknown field"),
        ("[prices]", "[prices]\nidle = 1", "prices.idle: unknown field; accepted: from, request"),
        ("[prices]", "[costs]", "prices: missing; accepted: a table"),
        ("prefetches = 10", "prefetches = 10\nspeed = 3", "speed: unknown field; accepted: name"),
        ("prefetches = 10", "prefetches = ", "line "),
    ];
    for (line, other, expected) in cases {
        let said = refusal(&with(GOOD, line, other));
        assert!(said.starts_with(&format!("it.toml: {expected}")), "{other}: {said}");
        assert!(said.contains("; accepted: "), "{said}");
        assert!(!said.contains('\n'), "{said}");
    }
}

#[test]
fn bad_tiles_get_a_line() {
    let tiles = "[tiles]\ncores = 4";
    let cases = [
        (TILED, "cores = 64", "cores = 66", "tiles.cores: 66 cores make no tiles of 4"),
        (TILED, tiles, "[tiles]\ncores = 0", "tiles.cores: 0 is not one; accepted: a whole number"),
        (TILED, tiles, "[tiles]\ncores = 4\nrows = 2", "tiles.rows: unknown field"),
        (TILED, tiles, "[tiles]", "tiles.cores: missing"),
        (TILED, "[l2]", "[tiles.l2]", "tiles: the cores of a tile share a second cache, and"),
        (GOOD, "[l1]", "[tiles]\ncores = 4\n[l1]", "tiles: sockets have no tiles of several"),
    ];
    for (text, line, other, expected) in cases {
        let said = refusal(&with(text, line, other));
        assert!(said.starts_with(&format!("it.toml: {expected}")), "{other}: {said}");
        assert!(said.contains("; accepted: ") && !said.contains('\n'), "{said}");
    }
}

#[test]
fn bad_task_units_get_a_line() {
    let cases = [
        ("queue = 64", "queue = 0", "tasks.queue: 0 is not one; accepted: a whole number from 1"),
        (
            "queue = 64",
            "queue = 1",
            "tasks.queue: 4 entries a tile: the task of each core keeps one",
        ),
        ("commit_queue = 16", "commit_queue = 0", "tasks.commit_queue: 0 is not one"),
        ("commit_queue = 16", "commit_queue = 32", "tasks.commit_queue: 132 tasks of a tile that"),
        ("children = 8", "children = 0", "tasks.children: 0 is not one; accepted: a whole number"),
        ("children = 8", "children = 9", "tasks.children: 9 is not one"),
        ("instruction_cycles = 5", "instruction_cycles = 0", "tasks.instruction_cycles: 0 is not"),
        ("check_cycles = 5", "", "tasks.check_cycles: missing"),
        ("gvt_period = 200", "gvt_period = 0", "tasks.gvt_period: 0 is not one"),
        ("filter_bits = 2048", "filter_bits = 0", "tasks.filter_bits: 0 is not one"),
        ("filter_bits = 2048", "filter_bits = 1000", "tasks.filter_bits: 1000 is no power of two"),
        ("filter_bits = 2048", "filter_bits = 64\nkind = 3", "tasks.kind: unknown field"),
        ("[tiles]\ncores = 4", "", "tasks: task units are the tiles', whose first caches write"),
        ("[tiles]\ncores = 4", "[tiles]\ncores = 1", ""),
    ];
    for (line, other, expected) in cases {
        let text = with(TILED, line, other);
        if expected.is_empty() {
            assert!(file::read("it.toml", &text, &Found::default()).is_ok(), "64 tiles are taken");
            let more = with(&text, "cores = 64", "cores = 65");
            let said = refusal(&more);
            assert!(said.starts_with("it.toml: tasks: 65 tiles with task units"), "{said}");
            continue;
        }
        let said = refusal(&text);
        assert!(said.starts_with(&format!("it.toml: {expected}")), "{other}: {said}");
        assert!(said.contains("; accepted: ") && !said.contains('\n'), "{said}");
    }
}

#[test]
fn no_price_is_missing_nothing_or_negative() {
    for site in Cost::ALL {
        let name = site.name();
        let line = GOOD.lines().find(|line| line.starts_with(&format!("{name} ="))).expect("there");
        for (other, expected) in [
            (String::new(), format!("it.toml: prices.{name}: missing; accepted: a number from ")),
            (format!("{name} = 0"), format!("it.toml: prices.{name}: 0 is not one; accepted: ")),
            (format!("{name} = -3"), format!("it.toml: prices.{name}: -3 is not one; ")),
        ] {
            let said = refusal(&with(GOOD, line, &other));
            assert!(said.starts_with(&expected), "{said}");
        }
    }
}

#[test]
fn scaled_prices_stay_prices() {
    let mut it = file::read("it", MESH, &Found::default()).expect("sound").description;
    let before = it.prices;
    scale_prices(&mut it, 2.0);
    assert!(it.prices.iter().zip(before).all(|(now, before)| *now == 2 * before));
    scale_prices(&mut it, 1e-9);
    assert!(it.prices.iter().all(|price| *price == 1));
}

#[test]
fn a_machine_is_found_by_name_or_file() {
    assert_eq!(find("thousand-cores").expect("known").cores_max, 1024);
    for (text, expected) in [
        ("nine-cores", "--machine: `nine-cores` is unknown; accepted: thousand-cores, xeon-80"),
        ("no/such.toml", "--machine: no/such.toml: "),
    ] {
        let Err(Stop::BadInput(line)) = find(text) else { panic!("{text} is taken") };
        assert!(line.starts_with(expected), "{line}");
    }
    let path = std::env::temp_dir().join(format!("chiliad-machine-{}.toml", std::process::id()));
    std::fs::write(&path, with(MESH, "cores = 1024", "cores = 64")).expect("a file");
    let machine = find(path.to_str().expect("UTF-8"));
    std::fs::remove_file(&path).expect("removable");
    assert_eq!(machine.expect("sound").cores_max, 64);
}
