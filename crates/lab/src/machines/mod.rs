//! The simulated machines: descriptions as data, in `machines/` and in files of the user's own.
//!
//! [`find`] turns a name or a path into what the simulator is given. `docs/machines.md` tells the fields.

mod fields;
pub mod file;
pub mod found;
mod prices;
mod tiles;
mod units;

pub use tiles::{Unfit, unfit};

use chiliad_host::Stop;
use chiliad_machine::Cost;
use chiliad_simulator::description::{Cache, Coherence, Description, Network, PRICE_BITS, Tiles};
use file::Machine;
use found::Found;
use serde_json::{Value, json};
use std::fmt::Write;
use std::path::Path;

/// The machines that come with the command, by name.
const FILES: [(&str, &str); 6] = [
    ("thousand-cores", include_str!("../../machines/thousand-cores.toml")),
    ("xeon-80", include_str!("../../machines/xeon-80.toml")),
    ("xeon-32", include_str!("../../machines/xeon-32.toml")),
    ("swarm-64", include_str!("../../machines/swarm-64.toml")),
    ("swarm-256", include_str!("../../machines/swarm-256.toml")),
    ("host", include_str!("../../machines/host.toml")),
];

/// The machine that `--machine` asks for: a name, or the path of a file that ends in `.toml`.
///
/// # Errors
/// One line for bad input: an unknown name, or the file, the field, what was wrong and what is accepted.
pub fn find(text: &str) -> Result<Description, Stop> {
    Ok(named(text)?.description)
}

/// The default machine of timed runs.
pub fn timed() -> Result<Description, Stop> {
    find(FILES[0].0)
}

/// The machine with the origin of its prices.
pub fn named(text: &str) -> Result<Machine, Stop> {
    let found = found::this_computer();
    if FILES.iter().any(|file| file.0 == text) {
        return embedded(text, &found);
    }
    let path = Path::new(text);
    if path.extension().is_none_or(|extension| extension != "toml") {
        let names: Vec<&str> = FILES.iter().map(|file| file.0).collect();
        let accepted = format!("{}, or the path of a file *.toml", names.join(", "));
        return Err(Stop::bad("--machine", format!("`{text}` is unknown; accepted: {accepted}")));
    }
    let content = std::fs::read_to_string(path).map_err(|error| {
        Stop::bad("--machine", format!("{text}: {error}; accepted: a machine file in UTF-8"))
    })?;
    file::read(text, &content, &found)
}

/// Makes computation `scale` times as dear.
pub fn scale_prices(description: &mut Description, scale: f64) {
    for price in description.prices.iter_mut().chain(&mut description.task_prices) {
        *price = (f64::from(*price) * scale).round().max(1.0) as u32;
    }
}

/// A machine that comes with the command.
pub fn embedded(name: &str, found: &Found) -> Result<Machine, Stop> {
    let file = FILES.iter().find(|file| file.0 == name);
    let text = file.map_or("", |file| file.1);
    file::read(&format!("machines/{name}.toml"), text, found)
}

/// The machines that come with the command, for people and as JSON.
pub fn list() -> Result<(String, Value), Stop> {
    let found = found::this_computer();
    let mut table = format!(
        "{:<16}{:>6}{:>9}  {:<44}{:<25}{:<27}source\n",
        "machine", "cores", "clock", "caches", "network", "memory"
    );
    let mut machines = Vec::new();
    for (name, _) in FILES {
        match embedded(name, &found) {
            Ok(machine) => {
                table += &row(&machine.description);
                machines.push(as_json(&machine));
            }
            // A computer that does not tell its caches has no machine `host`; the others it has.
            Err(Stop::BadInput(line)) => table += &format!("{name:<16}not here: {line}\n"),
            Err(other) => return Err(other),
        }
    }
    Ok((table, machines.into_iter().collect()))
}

fn row(it: &Description) -> String {
    let mut out = String::new();
    // Writing to a string cannot fail.
    let _ = writeln!(
        out,
        "{:<16}{:>6}{:>9}  {:<44}{:<25}{:<27}{}",
        it.name,
        it.cores_max,
        units::shown_clock(it.hertz),
        caches(it),
        network(it),
        memory(it),
        it.source
    );
    out
}

fn caches(it: &Description) -> String {
    let size = |cache: &Cache| units::shown_size(cache.bytes);
    let second = it.second.as_ref().map_or(String::new(), |cache| format!(" + {}", size(cache)));
    let of = match (it.network, it.tiles) {
        (_, Some(Tiles { cores })) => format!("tile of {cores}"),
        (Network::Mesh { .. }, None) => "tile".into(),
        (Network::Sockets { .. }, None) => "core".into(),
    };
    let protocol = match it.coherence {
        Coherence::Msi => "MSI",
        Coherence::Mesi => "MESI",
    };
    let (first, shared) = (size(&it.first), size(&it.shared));
    match it.tiles {
        Some(_) => format!("{first}{second} and {shared} a {of}, {protocol}"),
        None => format!("{first}{second}, {shared} a {of}, {protocol}"),
    }
}

fn network(it: &Description) -> String {
    match it.network {
        Network::Mesh { hop_cycles, .. } => format!("mesh, {hop_cycles} cycles a hop"),
        Network::Sockets { cores_per_socket, .. } => match it.cores_max / cores_per_socket {
            1 => format!("1 socket of {cores_per_socket}"),
            sockets => format!("{sockets} sockets of {cores_per_socket}"),
        },
    }
}

fn memory(it: &Description) -> String {
    let ns = f64::from(it.memory.cycles) * 1e9 / it.hertz as f64;
    let latency = format!("{ns:.0}ns");
    match it.memory.controllers {
        None => format!("{latency}, one each tile"),
        Some(1) => format!("{latency}, 1 controller"),
        Some(controllers) => format!("{latency}, {controllers} controllers"),
    }
}

/// A machine as JSON.
pub fn as_json(machine: &Machine) -> Value {
    let it = &machine.description;
    let prices = Cost::ALL.into_iter().zip(it.prices).map(|(site, price)| {
        (site.name().to_owned(), (f64::from(price) / f64::from(1 << PRICE_BITS)).into())
    });
    json!({
        "name": it.name,
        "about": it.about,
        "source": it.source,
        "cores": it.cores_max,
        "clock_hz": it.hertz,
        "caches": caches(it),
        "network": network(it),
        "memory": memory(it),
        "instructions_per_cycle": f64::from(it.instructions_per_100_cycles) / 100.0,
        "hardware_counter": it.counter,
        "prices_from": machine.prices_from,
        "prices": Value::Object(prices.collect()),
    })
}

#[cfg(test)]
mod tests;
