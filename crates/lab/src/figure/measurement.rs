//! The work of one point of a panel: a run, or meld or appends alone.

use crate::counting;
use crate::result::Reading;
use crate::run::{AppendSpec, Job, MeldSpec};
use crate::spec::Database;
use chiliad_host::Stop;
use std::time::Duration;

/// The work of one point of a panel.
#[derive(Clone, Debug)]
pub enum Measurement {
    /// A run, of a workload or of timestamps.
    Run(Job),
    /// Meld alone, in one way.
    Meld(Box<MeldSpec>),
    /// Appends to a shared log alone.
    Appends(Box<AppendSpec>),
    /// The instructions of a transaction of a run with these words.
    Counted(Vec<String>),
}

/// Nanoseconds of an intention's key in all stages, and of a row that is loaded, for estimates.
const MELD_KEY_NS: u64 = 4_500;
const MELD_ROW_NS: u64 = 350;

/// The time of counting the instructions of a transaction, for estimates.
const COUNTED_TIME: Duration = Duration::from_secs(40);
/// Transactions of the longer of two runs, and of the shorter one, which takes loading and all that is not of a transaction
/// away.
const COUNTED: [u64; 2] = [6_000, 3_000];

impl Measurement {
    /// The identity of its database; `None`: only this measurement has it, or there is none.
    pub fn database(&self) -> Option<Database> {
        match self {
            Self::Run(job) => job.database(),
            Self::Meld(_) | Self::Appends(_) | Self::Counted(_) => None,
        }
    }

    /// About how long it takes on this machine, without the loading of a workload's rows.
    pub fn time(&self) -> Duration {
        match self {
            Self::Run(job) => job.time(),
            Self::Meld(spec) => {
                let plan = &spec.plan;
                let keys = (2 * plan.zone + plan.intentions) * plan.operations;
                Duration::from_nanos(keys * MELD_KEY_NS + plan.records * MELD_ROW_NS)
            }
            Self::Appends(spec) => spec.appending.duration,
            Self::Counted(_) => COUNTED_TIME,
        }
    }
}

/// Decides intentions that `seed` draws.
///
/// # Errors
/// Those of the specification and of the engine; interrupted; [`Stop::Failed`] for several ways, which a point has no
/// place for.
pub fn meld(spec: &MeldSpec, seed: u64) -> Result<Reading, Stop> {
    let mut spec = spec.clone();
    spec.plan.seed = seed;
    match spec.run()?.readings().as_slice() {
        [reading] => Ok(reading.clone()),
        several => Err(Stop::Failed(format!("a point of {} ways to decide", several.len()))),
    }
}

/// Counts the instructions of a transaction.
///
/// # Errors
/// Where no tool counts, and those of the runs.
pub fn count(words: &[String]) -> Result<Reading, Stop> {
    const WHO: &str = "figure run";
    counting::check(WHO)?;
    let of = |transactions: u64| {
        let length = ["--transactions".to_owned(), transactions.to_string(), "--quiet".to_owned()];
        let counted = counting::counted(WHO, &[words, &length].concat())?;
        let total = counting::total(&counted);
        total.ok_or_else(|| Stop::Failed(format!("{WHO}: a count without a sum")))
    };
    let [long, short] = COUNTED;
    let instructions = (of(long)? - of(short)?) / (long - short) as f64;
    Ok(Reading { instructions: Some(instructions), ..Reading::default() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::Way;
    use chiliad_driver::{Level, MeldPlan};

    fn spec(ways: &[Way]) -> MeldSpec {
        let plan = MeldPlan {
            records: 2_000,
            record_bytes: 8,
            operations: 4,
            writes: 2,
            zone: 500,
            theta: 0.0,
            intentions: 640,
            seed: 0,
        };
        let (level, ways) = (Level::Serializable, ways.to_vec());
        MeldSpec { plan, level, premeld: (4, 10), ways, pipeline: 1, repeat: 1 }
    }

    #[test]
    fn a_point_decides_in_one_way() {
        let reading = |way| meld(&spec(&[way]), 3).expect("a reading");
        let (base, premeld) = (reading(Way::Base), reading(Way::Premeld));
        assert_eq!(base.abort_rate, premeld.abort_rate);
        let costs = |reading: &Reading| reading.costs.expect("costs");
        assert_eq!(costs(&base).zone_left, 500.0);
        assert_eq!(costs(&premeld).zone_left, 41.0);
        assert!(costs(&premeld).visited < costs(&base).visited);
        assert_eq!(base.throughput, Some(1e9 / costs(&base).last_ns));
        assert!(matches!(meld(&spec(&[Way::Base, Way::Plain]), 3), Err(Stop::Failed(_))));
    }

    #[test]
    fn another_seed_makes_other_intentions() {
        let refused = |seed| meld(&spec(&[Way::Window]), seed).expect("a reading").abort_rate;
        assert_eq!(refused(1), refused(1));
        assert_ne!(refused(1), refused(2));
    }
}
