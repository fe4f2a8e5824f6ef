//! A machine file: TOML with units, in and out of the simulator's [`Description`].
//!
//! Values that the simulator counts in cycles stand in the file in the unit that people use; every
//! value is checked here, so that no description that comes out has to be doubted. `docs/machines.md`
//! tells the fields.

use super::fields::{FOUND, Fields, quoted};
use super::found::{CORES_MAX, Found};
use super::prices::{PRICES, in_256ths, shown_price};
use super::tiles;
use super::units::{self, CYCLES_MAX};
use chiliad_host::Stop;
use chiliad_machine::{Cost, LINE_BYTES};
use chiliad_simulator::description::{
    Background, Cache, Coherence, Description, Homes, Memory, Network, Slack, Waiting,
};
use std::fmt::Write;
use toml::Table;

/// The furthest that a core may run ahead, in cycles.
const SLACK_MAX: u32 = 10_000;
/// The accepted slices of time, as [`units::cycles_of`] reads them.
const SLICE: &str = "a time of at most 1,000,000,000 cycles, such as \"1ms\"";

const COHERENCE: [(&str, Coherence); 2] = [("msi", Coherence::Msi), ("mesi", Coherence::Mesi)];
const HOMES: [(&str, Homes); 2] = [("hashed", Homes::Hashed), ("modulo", Homes::Modulo)];
const BACKGROUND: [(&str, Background); 2] =
    [("own", Background::Own), ("shared", Background::Shared)];

/// A machine as its file has it.
#[derive(Clone, PartialEq, Debug)]
pub struct Machine {
    /// The description for the simulator.
    pub description: Description,
    /// Where its prices come from: the command, the compiler, the date.
    pub prices_from: String,
}

/// Reads the machine in `text`, the content of `file`; what it leaves to be found is as `found` says.
pub fn read(file: &str, text: &str, found: &Found) -> Result<Machine, Stop> {
    let table: Table = text.parse().map_err(|error: toml::de::Error| {
        let line = error.span().map(|span| text[..span.start].lines().count().max(1));
        let place = line.map_or(String::new(), |line| format!("line {line}: "));
        Stop::bad(file, format!("{place}{}; accepted: a machine file", error.message()))
    })?;
    let fields = Fields::new(file, &table);
    let name = fields.parsed("name", "a name of letters, digits and hyphens", |text| {
        let fits = |c: char| c.is_ascii_alphanumeric() || c == '-';
        let is = !text.is_empty() && text.len() <= 32 && text.chars().all(fits);
        is.then(|| text.to_owned())
    })?;
    let about = line(&fields, "about")?;
    let source = line(&fields, "source")?;
    let hertz = fields.parsed("clock", units::CLOCK, units::clock)?;
    let cores_max = fields.whole_or_found("cores", 1..=CORES_MAX, found.cores)?;
    let instructions = fields.real("instructions_per_cycle", 0.01..=16.0)?;
    let first = fields.table("l1")?;
    let second = fields.table_if("l2")?;
    let shared = fields.table("shared")?;
    let network_fields = fields.table("network")?;
    let sharers = found.shared.map(|cache| cache.sharers.min(cores_max));
    let network = network(&network_fields, hertz, cores_max, sharers)?;
    let slices = match network {
        Network::Mesh { .. } => 1,
        Network::Sockets { cores_per_socket, .. } => cores_per_socket,
    };
    let tiles = tiles::read(&fields, cores_max, network, second.is_some())?;
    let tasks = tiles::read_tasks(&fields, cores_max, tiles)?;
    let (tasks, own_prices) = tasks.map_or((None, Vec::new()), |(units, own)| (Some(units), own));
    let description = Description {
        name,
        about,
        source,
        hertz,
        cores_max,
        tiles,
        tasks,
        first: cache(&first, 1, found.first.map(|it| (it.bytes, it.ways)))?,
        second: second
            .as_ref()
            .map(|second| cache(second, 1, found.second.map(|it| (it.bytes, it.ways))))
            .transpose()?,
        shared: cache(&shared, slices, found.shared.map(|it| (it.bytes, it.ways)))?,
        shared_tag_cycles: shared.whole("tag_cycles", 1..=CYCLES_MAX)?,
        coherence: fields.choice("coherence", &COHERENCE)?,
        homes: fields.choice("homes", &HOMES)?,
        network,
        memory: memory(fields.table("memory")?, hertz)?,
        prefetches: fields.whole("prefetches", 0..=64)?,
        hidden_cycles: fields.whole("hidden_cycles", 0..=1000)?,
        modify_cycles: fields.whole("modify_cycles", 0..=1000)?,
        slack: Slack {
            read: fields.whole("read_slack", 0..=SLACK_MAX)?,
            write: fields.whole("write_slack", 0..=SLACK_MAX)?,
        },
        waiting: waiting(fields.table("waiting")?, hertz)?,
        background: fields.choice("background", &BACKGROUND)?,
        counter: fields.truth("hardware_counter")?,
        clocks: fields.truth("clocks_agree")?,
        instructions_per_100_cycles: (instructions * 100.0).round() as u32,
        prices: [0; Cost::COUNT],
        task_prices: [0; Cost::COUNT],
    };
    for table in [Some(first), second, Some(shared), Some(network_fields)].into_iter().flatten() {
        table.done()?;
    }
    let (prices_from, prices) = prices(fields.table("prices")?)?;
    fields.done()?;
    let mut task_prices = prices;
    own_prices.into_iter().for_each(|(site, price)| task_prices[site.index()] = price);
    Ok(Machine { description: Description { prices, task_prices, ..description }, prices_from })
}

/// A line of text.
fn line(fields: &Fields<'_>, field: &'static str) -> Result<String, Stop> {
    fields.parsed(field, "a line of text", |text| {
        (!text.is_empty() && !text.contains('\n')).then(|| text.to_owned())
    })
}

/// A cache, of which a core or tile has one of `slices` equal parts.
fn cache(fields: &Fields<'_>, slices: u32, found: Option<(u64, u32)>) -> Result<Cache, Stop> {
    let whole = fields.parsed_or_found("size", units::SIZE, found.map(|it| it.0), units::size)?;
    let ways = fields.whole_or_found("ways", 1..=64, found.map(|it| it.1))?;
    let cycles = fields.whole("cycles", 1..=CYCLES_MAX)?;
    let bytes = whole / u64::from(slices);
    let sets = bytes / (LINE_BYTES as u64 * u64::from(ways));
    let exact = sets * LINE_BYTES as u64 * u64::from(ways) * u64::from(slices) == whole;
    if !exact || !sets.is_power_of_two() {
        let share = if slices > 1 { format!(" divided by {slices} cores") } else { String::new() };
        let problem = format!("{}{share} makes no sets of {ways} lines", units::shown_size(whole));
        let accepted = "a power of two of sets, each as many lines of 64 bytes as there are ways";
        return Err(fields.refuse("size", &problem, accepted));
    }
    Ok(Cache { bytes, ways, cycles })
}

fn network(
    fields: &Fields<'_>,
    hertz: u64,
    cores: u32,
    sharers: Option<u32>,
) -> Result<Network, Stop> {
    if fields.choice("kind", &[("mesh", true), ("sockets", false)])? {
        return Ok(Network::Mesh {
            hop_cycles: fields.whole("hop_cycles", 1..=CYCLES_MAX)?,
            flit_bytes: fields.whole("flit_bytes", 1..=LINE_BYTES as u32)?,
        });
    }
    let per_socket = fields.whole_or_found("cores_per_socket", 1..=CORES_MAX, sharers)?;
    if !cores.is_multiple_of(per_socket) {
        let problem = format!("{cores} cores make no sockets of {per_socket}");
        return Err(fields.refuse("cores_per_socket", &problem, "a divisor of `cores`"));
    }
    let link = fields.parsed("link", units::RATE, units::rate)?;
    Ok(Network::Sockets {
        cores_per_socket: per_socket,
        within_cycles: fields.whole("within_cycles", 1..=CYCLES_MAX)?,
        between_cycles: fields.whole("between_cycles", 1..=CYCLES_MAX)?,
        bytes_per_cycle: (link / hertz as f64).round().clamp(1.0, 1e6) as u32,
    })
}

fn memory(fields: Fields<'_>, hertz: u64) -> Result<Memory, Stop> {
    let cycles = fields.parsed("latency", units::TIME, |text| {
        units::cycles_of(units::time(text)?, hertz).filter(|&cycles| cycles <= CYCLES_MAX)
    })?;
    let bandwidth = fields.parsed("bandwidth", units::RATE, units::rate)?;
    let memory = Memory {
        controllers: match fields.truth("controller_per_tile")? {
            true => None,
            false => Some(fields.whole("controllers", 1..=CORES_MAX)?),
        },
        cycles,
        line_centicycles: line_centicycles(bandwidth, hertz),
    };
    fields.done()?;
    Ok(memory)
}

fn line_centicycles(bandwidth: f64, hertz: u64) -> u32 {
    (LINE_BYTES as f64 * 100.0 * hertz as f64 / bandwidth).round().clamp(1.0, 1e9) as u32
}

fn waiting(fields: Fields<'_>, hertz: u64) -> Result<Waiting, Stop> {
    let switch = fields.whole("switch_cycles", 1..=CYCLES_MAX)?;
    let slice =
        fields.parsed("slice", SLICE, |text| units::cycles_of(units::time(text)?, hertz))?;
    if slice <= switch {
        let problem = format!("{} is no longer than a switch", units::shown_time(slice, hertz));
        return Err(fields.refuse("slice", &problem, "a time longer than `switch_cycles`"));
    }
    let waiting = Waiting {
        pause: fields.whole("pause_cycles", 1..=CYCLES_MAX)?,
        wake: fields.whole("wake_cycles", 1..=CYCLES_MAX)?,
        system_call: fields.whole("system_call_cycles", 1..=CYCLES_MAX)?,
        switch,
        slice,
    };
    fields.done()?;
    Ok(waiting)
}

fn prices(fields: Fields<'_>) -> Result<(String, [u32; Cost::COUNT]), Stop> {
    let from = line(&fields, "from")?;
    let mut prices = [0; Cost::COUNT];
    for (price, site) in prices.iter_mut().zip(Cost::ALL) {
        *price = in_256ths(fields.real(site.name(), PRICES)?);
    }
    fields.done()?;
    Ok((from, prices))
}

/// Prices that a fit has found, as a description has them.
pub fn rounded(instructions: &[f64; Cost::COUNT]) -> [u32; Cost::COUNT] {
    instructions.map(|price| in_256ths(price.clamp(*PRICES.start(), *PRICES.end())))
}

/// A machine as a file, which [`read`] reads back to the same.
pub fn write(machine: &Machine) -> String {
    let it = &machine.description;
    let word = |of: &[&'static str]| of.first().copied().unwrap_or(FOUND);
    let coherence = word(&named(&COHERENCE, it.coherence));
    let homes = word(&named(&HOMES, it.homes));
    let background = word(&named(&BACKGROUND, it.background));
    let slices = match it.network {
        Network::Mesh { .. } => 1,
        Network::Sockets { cores_per_socket, .. } => cores_per_socket,
    };
    let Slack { read, write } = it.slack;
    let mut out = format!(
        "name = {}\nabout = {}\nsource = {}\nclock = \"{}\"\ncores = {}\n\
         instructions_per_cycle = {:.2}\nprefetches = {}\nhidden_cycles = {}\nmodify_cycles = {}\nread_slack = {read}\nwrite_slack = {write}\ncoherence = \"{coherence}\"\n\
         homes = \"{homes}\"\nbackground = \"{background}\"\nhardware_counter = {}\n\
         clocks_agree = {}\n",
        quoted(&it.name),
        quoted(&it.about),
        quoted(&it.source),
        units::shown_clock(it.hertz),
        it.cores_max,
        f64::from(it.instructions_per_100_cycles) / 100.0,
        it.prefetches,
        it.hidden_cycles,
        it.modify_cycles,
        it.counter,
        it.clocks,
    );
    // Writing to a string cannot fail.
    let mut put = |line: String| _ = writeln!(out, "{line}");
    let cache = |cache: &Cache, slices: u32| {
        let size = units::shown_size(cache.bytes * u64::from(slices));
        format!("size = \"{size}\"\nways = {}\ncycles = {}", cache.ways, cache.cycles)
    };
    for table in tiles::write(it) {
        put(table);
    }
    put(format!("\n[l1]\n{}", cache(&it.first, 1)));
    if let Some(second) = &it.second {
        put(format!("\n[l2]\n{}", cache(second, 1)));
    }
    let tag = it.shared_tag_cycles;
    put(format!("\n[shared]\n{}\ntag_cycles = {tag}", cache(&it.shared, slices)));
    put("\n[network]".into());
    put(match it.network {
        Network::Mesh { hop_cycles, flit_bytes } => {
            format!("kind = \"mesh\"\nhop_cycles = {hop_cycles}\nflit_bytes = {flit_bytes}")
        }
        Network::Sockets { within_cycles, between_cycles, bytes_per_cycle, .. } => {
            let link = f64::from(bytes_per_cycle) * it.hertz as f64 / 1e9;
            format!(
                "kind = \"sockets\"\ncores_per_socket = {slices}\nwithin_cycles = {within_cycles}\n\
                 between_cycles = {between_cycles}\nlink = \"{link}GB/s\""
            )
        }
    });
    let memory = &it.memory;
    let centicycles = f64::from(memory.line_centicycles);
    let bandwidth = LINE_BYTES as f64 * 100.0 * it.hertz as f64 / centicycles / 1e9;
    put(format!("\n[memory]\nlatency = \"{}\"", units::shown_time(memory.cycles, it.hertz)));
    put(format!("bandwidth = \"{bandwidth}GB/s\""));
    put(match memory.controllers {
        None => "controller_per_tile = true".into(),
        Some(controllers) => {
            format!("controller_per_tile = false\ncontrollers = {controllers}")
        }
    });
    put(write_waiting(it.waiting, it.hertz));
    put(format!("\n[prices]\nfrom = {}", quoted(&machine.prices_from)));
    for (site, price) in Cost::ALL.into_iter().zip(it.prices) {
        put(format!("{} = {}", site.name(), shown_price(price)));
    }
    out
}

fn write_waiting(waiting: Waiting, hertz: u64) -> String {
    let Waiting { pause, wake, system_call, switch, slice } = waiting;
    format!(
        "\n[waiting]\npause_cycles = {pause}\nwake_cycles = {wake}\n\
         system_call_cycles = {system_call}\nswitch_cycles = {switch}\nslice = \"{}\"",
        units::shown_time(slice, hertz)
    )
}

/// The word for a value.
fn named<T: PartialEq + Copy>(words: &[(&'static str, T)], value: T) -> Vec<&'static str> {
    words.iter().filter(|word| word.1 == value).map(|word| word.0).collect()
}
