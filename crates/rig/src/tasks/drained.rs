//! The disk of a log that is drained beside the cores, cut off at any byte: it must recover the first transactions, all among
//! them that had been drained.

use super::Requests;
use super::machine::Drawn;
use super::oracles::{Base, all_rows, execute};
use super::way::Way;
use chiliad_api::{Result, Store};
use chiliad_driver::Failure;
use chiliad_simulator::{Config, Run};
use chiliad_swarm::recover;
use chiliad_workload::tasks::RANGE;

/// The bytes on a disk, in their order.
#[derive(Default)]
pub(super) struct Drained {
    bytes: Vec<u8>,
    /// Ends of drains, and the virtual time that each has drained.
    drains: Vec<(usize, u64)>,
}

impl Drained {
    /// Drains all that is before virtual time `passed`.
    pub(super) fn take(&mut self, passed: u64, drain: impl FnOnce(&mut Vec<u8>)) {
        drain(&mut self.bytes);
        self.drains.push((self.bytes.len(), passed));
    }

    /// Cuts the disk, if there is a log, off here and there, as the seed says, and at its end: what is wrong, in words.
    pub(super) fn check<W: Way>(
        &self,
        way: &W,
        drawn: &Drawn,
        requests: Requests,
    ) -> core::result::Result<Option<String>, Failure> {
        if self.drains.is_empty() {
            return Ok(None);
        }
        let refused = |refused: chiliad_simulator::NoMemory| Failure::Host(refused.to_string());
        let config = Config { machine: None, ..drawn.config(requests.seed, None) };
        let run = Run::try_new(config).map_err(refused)?;
        let end = self.bytes.len();
        for cut in drawn.cuts.map(|cut| cut as usize % (end + 1)).into_iter().chain([end]) {
            let wrong = run.outside(|| self.check_cut(way, requests, cut))?;
            if wrong.is_some() {
                return Ok(wrong);
            }
        }
        Ok(None)
    }

    fn check_cut<W: Way>(
        &self,
        way: &W,
        requests: Requests,
        cut: usize,
    ) -> core::result::Result<Option<String>, Failure> {
        let whole = self.drains.iter().filter(|&&(end, _)| end <= cut).map(|&(_, passed)| passed);
        let drained = whole.max().map_or(0, |passed| (passed / RANGE) as usize);
        let recovered = recover(&self.bytes[..cut], RANGE);
        let finished = recovered.finished.len();
        let first = recovered.finished.iter().copied().eq(0..finished as u64);
        if !first || finished > requests.count || finished < drained.min(requests.count) {
            let found = recovered.finished;
            return Ok(Some(format!("after {cut} bytes {found:?} have finished, not {drained}")));
        }
        let Base { store: mut swarm, tables } = Base::swarm(way.workload())?;
        if let Err(error) = swarm.replay(&recovered.changes) {
            return Ok(Some(format!("after {cut} bytes: {error}")));
        }
        let rows = all_rows(way.workload(), &swarm, &tables);
        let rows = rows.map_err(Failure::doing("reading the rows"))?;
        let Base { store: swarm, tables } = Base::swarm(way.workload())?;
        let executed = || -> Result<_> {
            let mut session = swarm.session()?;
            execute(way, &mut *session, &tables, requests, finished)?;
            drop(session);
            all_rows(way.workload(), &swarm, &tables)
        };
        let meant = executed().map_err(Failure::doing("executing the first requests"))?;
        let differs = rows.iter().zip(&meant).find(|(one, two)| one != two);
        Ok(differs
            .map(|((name, _), _)| format!("after {cut} bytes {name} is not as after {finished}")))
    }
}
