//! `chiliad damage`: directories are built, damaged, and looked at: what was acknowledged is there, or the
//! damage is told.

use crate::args::DamageFlags;
use crate::{lines, settings};
use chiliad_host::Stop;
use chiliad_rig::damage::{Kind, Order, run as run_cycles};

/// Runs the cycles.
pub fn run(flags: &DamageFlags) -> Result<(), Stop> {
    let scheme = settings::with_transactions(&flags.scheme)?;
    let kind = flags.kind.as_deref().map(kind).transpose()?;
    let mut sink = flags.output.sink()?;
    let order = Order {
        cycles: flags.cycles,
        kind,
        scheme,
        seed: flags.seed,
        skip_checks: flags.plant.is_some(),
        quiet: flags.output.quiet,
        again: lines::damage,
    };
    let (report, problem) = run_cycles(&order)?;
    sink.say(&report.text(&order))?;
    sink.json(&report.json(&order))?;
    sink.finish()?;
    problem.map_or(Ok(()), |problem| Err(Stop::Failed(problem)))
}

/// The kind of damage of this name.
fn kind(name: &str) -> Result<Kind, Stop> {
    Kind::named(name).ok_or_else(|| {
        let names: Vec<_> = Kind::ALL.iter().map(|kind| kind.name()).collect();
        Stop::bad("--kind", format!("`{name}` is no kind; accepted: {}", names.join(", ")))
    })
}
