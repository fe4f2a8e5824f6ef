//! One run of meld alone: intentions made up with an exact conflict zone, decided in one way after the other.

mod report;
mod way;

pub use report::MeldResult;
pub use way::Way;

use chiliad_driver::{Level, MeldPlan, MeldReport, Stage, run_melding};
use chiliad_host::{Stop, interrupt, limit};

/// Bytes of a row beside its value: a node, and the head of the value; and what the zone keeps of it.
const ROW_BYTES: u64 = 96;

/// Bytes that an intention of the zone keeps from being freed, for each key.
const ZONE_KEY_BYTES: u64 = 2_000;

/// A run of meld alone.
#[derive(Clone, Debug)]
pub struct MeldSpec {
    /// Rows and intentions.
    pub plan: MeldPlan,
    /// The reads and writes that intentions depend on.
    pub level: Level,
    /// Threads that premeld, and how many intentions of its own each lies back.
    pub premeld: (u32, u32),
    /// The ways to decide the intentions, in the order in which they run.
    pub ways: Vec<Way>,
    /// Threads that play the stages: one takes turns, with two or more the last stage has a thread of its own.
    pub pipeline: u32,
    /// How often each runs, in turn.
    pub repeat: usize,
}

impl MeldSpec {
    /// Refuses what cannot be run.
    ///
    /// # Errors
    /// Bad input, by the flag that asks for it.
    pub fn check(&self) -> Result<(), Stop> {
        let MeldPlan { records, operations, writes, record_bytes, zone, .. } = self.plan;
        if operations > records {
            let problem = format!("{operations} of {records} rows; accepted: at most --records");
            return Err(Stop::bad("--ops", problem));
        }
        if writes > operations {
            let problem = format!("{writes} of {operations} keys; accepted: at most --ops");
            return Err(Stop::bad("--writes", problem));
        }
        let rows = records * (ROW_BYTES + record_bytes.next_multiple_of(16) as u64);
        limit::check_memory("--records", rows + zone * operations * ZONE_KEY_BYTES)
    }

    /// Runs all ways; of several runs of a way the median times stay.
    ///
    /// # Errors
    /// As [`MeldSpec::check`]; those of the engine; interrupted.
    pub fn run(self) -> Result<MeldResult, Stop> {
        self.check()?;
        let mut reports: Vec<Vec<MeldReport>> = vec![Vec::new(); self.ways.len()];
        for _ in 0..self.repeat {
            for (way, reports) in self.ways.iter().zip(&mut reports) {
                if interrupt::asked() {
                    return Err(Stop::Interrupted);
                }
                let mut setting = way.setting(self.level, self.premeld);
                setting.roll.pipeline = self.pipeline;
                let report = run_melding(&self.plan, setting);
                reports.push(report.map_err(|error| Stop::Failed(error.to_string()))?);
            }
        }
        let medians = reports.iter().map(|reports| median(reports));
        let reports = self.ways.iter().copied().zip(medians).collect();
        Ok(MeldResult { spec: self, reports })
    }
}

/// Of each stage the median time of some runs, which do the same otherwise.
fn median(reports: &[MeldReport]) -> MeldReport {
    let middle = |time: &dyn Fn(&MeldReport) -> u64| {
        let mut times: Vec<_> = reports.iter().map(time).collect();
        times.sort_unstable();
        times[times.len() / 2]
    };
    let of = |stage: fn(&MeldReport) -> Stage| {
        let time = middle(&|report| stage(report).time);
        Stage { time, ..stage(&reports[0]) }
    };
    MeldReport {
        decode: of(|report| report.decode),
        build: of(|report| report.build),
        premeld: of(|report| report.premeld),
        group: of(|report| report.group),
        last: of(|report| report.last),
        free: of(|report| report.free),
        elapsed: middle(&|report| report.elapsed),
        ..reports[0]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(ways: &[Way]) -> MeldSpec {
        let plan = MeldPlan {
            records: 200,
            record_bytes: 8,
            operations: 4,
            writes: 2,
            zone: 64,
            theta: 0.5,
            intentions: 128,
            seed: 3,
        };
        let (level, ways) = (Level::Serializable, ways.to_vec());
        MeldSpec { plan, level, premeld: (4, 8), ways, pipeline: 1, repeat: 2 }
    }

    #[test]
    fn ways_that_differ_in_a_verdict_are_told() {
        let result = spec(&[Way::Base, Way::Fate, Way::Both, Way::Window]).run();
        let mut result = result.expect("a result");
        assert_eq!(result.problem(), None);
        assert_eq!(result.json().len(), 4);
        result.reports[1].1.digest ^= 1;
        assert_eq!(result.problem(), None, "fates have verdicts of their own");
        result.reports[3].1.digest ^= 1;
        assert!(result.problem().is_some());
        result.reports[3].1.digest ^= 1;
        result.reports[2].1.state_digest ^= 1;
        assert!(result.problem().is_some(), "other rows");
    }

    #[test]
    fn threads_come_to_the_same_verdicts() {
        let ways = [Way::Base, Way::Both];
        let digests = |pipeline| {
            let result = MeldSpec { pipeline, ..spec(&ways) }.run().expect("a result");
            assert_eq!(result.problem(), None);
            result.json().iter().map(|row| row["meld"]["state_digest"].clone()).collect::<Vec<_>>()
        };
        assert_eq!(digests(2), digests(1));
    }

    #[test]
    fn what_cannot_be_is_refused_by_its_flag() {
        let refused = |change: fn(&mut MeldPlan), flag: &str| {
            let mut spec = spec(&[Way::Base]);
            change(&mut spec.plan);
            let stop = spec.run().expect_err("a refusal");
            assert!(matches!(&stop, Stop::BadInput(line) if line.starts_with(flag)), "{stop:?}");
        };
        refused(|plan| plan.operations = 201, "--ops");
        refused(|plan| plan.writes = 5, "--writes");
        refused(|plan| plan.records = 1 << 50, "--records");
    }
}
