//! `chiliad bench meld`: intentions made up with an exact conflict zone, decided in one way after the other.

use crate::args::{Alone, MeldFlags};
use chiliad_driver::{Level, MeldPlan};
use chiliad_host::Stop;
use chiliad_lab::run::MeldSpec;

/// Runs all ways and says what each stage has cost.
pub fn run(bench: &Alone<MeldFlags>) -> Result<(), Stop> {
    let mut sink = bench.output.sink()?;
    let result = spec(&bench.flags).run()?;
    sink.say(&result.text())?;
    result.json().iter().try_for_each(|row| sink.json(row))?;
    sink.finish()?;
    result.problem().map_or(Ok(()), |problem| Err(Stop::Failed(problem)))
}

/// What the flags ask for.
pub fn spec(flags: &MeldFlags) -> MeldSpec {
    let plan = MeldPlan {
        records: flags.records as u64,
        record_bytes: flags.record_bytes,
        operations: flags.ops as u64,
        writes: flags.writes as u64,
        zone: flags.zone as u64,
        theta: flags.theta,
        intentions: flags.transactions as u64,
        seed: flags.seed,
    };
    MeldSpec {
        plan,
        level: if flags.snapshot { Level::Snapshot } else { Level::Serializable },
        premeld: flags.premeld,
        ways: flags.ways.clone(),
        pipeline: flags.pipeline as u32,
        repeat: flags.repeat,
    }
}
