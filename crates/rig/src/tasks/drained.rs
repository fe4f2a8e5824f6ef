//! The disk of a log that is drained beside the cores, cut off at any byte: it must recover the first transactions, all among
//! them that had been drained.

use chiliad_driver::{After, Failure, Oracles};
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

    /// Cuts the disk, if there is a log, off at these places, times any, and at its end: what is wrong, in words.
    pub(super) fn check(
        &self,
        oracles: &Oracles<'_>,
        cuts: [u64; 2],
    ) -> Result<Option<String>, Failure> {
        if self.drains.is_empty() {
            return Ok(None);
        }
        let end = self.bytes.len();
        for cut in cuts.map(|cut| cut as usize % (end + 1)).into_iter().chain([end]) {
            let wrong = self.check_cut(oracles, cut)?;
            if wrong.is_some() {
                return Ok(wrong);
            }
        }
        Ok(None)
    }

    fn check_cut(&self, oracles: &Oracles<'_>, cut: usize) -> Result<Option<String>, Failure> {
        let count = oracles.requests.count;
        let whole = self.drains.iter().filter(|&&(end, _)| end <= cut).map(|&(_, passed)| passed);
        let drained = whole.max().map_or(0, |passed| (passed / RANGE) as usize);
        let recovered = recover(&self.bytes[..cut], RANGE);
        let finished = recovered.finished.len();
        let first = recovered.finished.iter().copied().eq(0..finished as u64);
        if !first || finished > count || finished < drained.min(count) {
            let found = recovered.finished;
            return Ok(Some(format!("after {cut} bytes {found:?} have finished, not {drained}")));
        }
        let (mut swarm, tables) = oracles.swarm()?;
        if let Err(error) = swarm.replay(&recovered.changes) {
            return Ok(Some(format!("after {cut} bytes: {error}")));
        }
        let meant = oracles.by_statements(finished)?;
        // Answers are not recovered.
        let workload = oracles.formed.workload();
        let rows = After::of_swarm(workload, (&swarm, &tables), meant.answers().to_vec())?;
        let differs = rows.differences(&meant, "statements").into_iter().next();
        Ok(differs.map(|differs| format!("after {cut} bytes and {finished} requests {differs}")))
    }
}
