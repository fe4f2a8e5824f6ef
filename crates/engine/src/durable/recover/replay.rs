//! Recovery proper: a checkpoint and logs into tables, one incarnation after the other.
//!
//! Within an incarnation everything is read in parallel and in any order, since the greatest order
//! wins; between two of them every record's word is reset, so that whatever the later one has is
//! newer. At the end what is absent leaves its index, and the entries of secondary indexes are made
//! (`finalize`).

use crate::durable::directory::plan::{self, IncarnationPlan};
use crate::durable::faults::INCARNATION_NOT_RAISED;
use crate::durable::parallel::crew::Parallel;
use crate::durable::parallel::next::Next;
use crate::durable::recover::apply::Applier;
use crate::durable::recover::finalize::Finalizers;
use crate::durable::recover::readers::{Readers, Task};
use crate::durable::recover::recovery::{Replay, add};
use crate::durable::recover::restore;
use crate::durable::recover::target::Target;
use chiliad_api::{Recovered, Result};
use chiliad_machine::disk::Access;
use chiliad_machine::{Machine, Ordering, Word};

fn ns_since<M: Machine>(begun: u64) -> u64 {
    let ticks = u128::from(M::now().saturating_sub(begun));
    (ticks * 1_000_000_000 / u128::from(M::ticks_per_second())) as u64
}

impl<M: Machine> Replay<'_, M> {
    /// Reads everything.
    ///
    /// # Errors
    /// The first thing that is wrong.
    pub fn run(&self) -> Result<Recovered> {
        let counts = &*self.counts;
        let mut bytes = 0;
        for name in self.plan.files() {
            // A missing file is found by the reader.
            let file = self.disk.open(&name, Access::Read);
            bytes += file.and_then(|file| file.bytes()).unwrap_or(0);
        }
        counts.bytes_all.store(bytes, Ordering::Relaxed);
        let numbers = self.plan.incarnations.iter().map(|incarnation| incarnation.number);
        debug_assert!(numbers.is_sorted_by(|a, b| a < b), "what is older is replayed first");
        let (mut replay_ns, mut finalize_ns) = (0, 0);
        for (at, incarnation) in self.plan.incarnations.iter().enumerate() {
            let begun = M::now();
            self.read(incarnation)?;
            replay_ns += ns_since::<M>(begun);
            let last = at + 1 == self.plan.incarnations.len();
            if last || !M::fault(&INCARNATION_NOT_RAISED) {
                let begun = M::now();
                self.finalize(last)?;
                finalize_ns += ns_since::<M>(begun);
            }
        }
        let count = |word: &M::Word| word.load(Ordering::Relaxed);
        let mut recovered = plan::begin(self.plan);
        recovered.bytes = count(&counts.bytes_done);
        recovered.checkpoint_rows = count(&counts.checkpoint_rows);
        recovered.transactions = count(&counts.transactions);
        recovered.writes = count(&counts.writes);
        recovered.dropped = count(&counts.dropped);
        recovered.rows = count(&counts.rows);
        recovered.replay_ns = replay_ns;
        recovered.finalize_ns = finalize_ns;
        let met = core::mem::take(&mut *counts.losses.lock());
        recovered.losses = self.plan.losses.iter().cloned().chain(met).collect();
        Ok(recovered)
    }

    /// Reads the files of one incarnation.
    fn read(&self, incarnation: &IncarnationPlan) -> Result<()> {
        let mut tasks = Vec::new();
        let checkpoint = self.plan.manifest.checkpoint;
        if let Some(checkpoint) = checkpoint.filter(|it| it.incarnation == incarnation.number) {
            tasks.extend(self.plan.parts.iter().map(|&part| Task::Part(checkpoint, part)));
        }
        for tail in &incarnation.tails {
            let last = tail.segments.last();
            tasks.extend(tail.segments.iter().map(|id| {
                // Behind damage is what can be saved.
                let open_end = Some(id) == last && !tail.closed && !tail.damaged;
                Task::Segment(*id, open_end.then_some(tail.sound_bytes))
            }));
        }
        let readers = Readers { replay: self, incarnation, tasks, next: Next::new() };
        Parallel::Readers(&readers).run(self.host);
        self.verdict()
    }

    /// Ends an incarnation; the last one too, with all that follows.
    fn finalize(&self, last: bool) -> Result<()> {
        let Some(target) = self.target else { return Ok(()) };
        if last {
            self.clear_away(target)?;
        }
        let finalizers = Finalizers::new(self, target, last);
        Parallel::Finalizers(&finalizers).run(self.host);
        add(&self.counts.rows, finalizers.rows());
        self.verdict()
    }

    /// Takes what is absent out of its index.
    fn clear_away(&self, target: Target<'_, M>) -> Result<()> {
        let removed = core::mem::take(&mut *self.counts.removed.lock());
        let mut applier = Applier::new(target)?;
        for (table, key) in &removed {
            let Some(Some(table)) = target.tables.get(*table as usize) else { continue };
            applier.heap.pin();
            restore::clear_away(&mut applier.heap, table, key);
            applier.heap.unpin();
            applier.heap.reclaim();
        }
        Ok(())
    }

    fn verdict(&self) -> Result<()> {
        self.counts.failure.lock().take().map_or(Ok(()), |(_, error)| Err(error))
    }
}
