//! Accesses to what has addresses and no memory: the holes of sparse slots.

use crate::state::State;
use crate::timed::Access;
use chiliad_machine::LINE_BYTES;

impl State {
    /// The running core accesses `bytes` from the simulated address `start`, of which nothing exists.
    /// No event: nobody can tell the order of accesses that have no effect.
    pub(crate) fn touch_tail(&self, start: u64, bytes: usize, write: bool) {
        if bytes == 0 {
            return;
        }
        let line = LINE_BYTES as u64;
        let lines = (start + bytes as u64 - 1) / line - start / line + 1;
        let mut counters = self.counters.get();
        counters.hole_lines += lines;
        self.counters.set(counters);
        if let Some(timed) = self.timed() {
            let access = if write { Access::Write } else { Access::Read };
            if lines > 1 {
                self.timed_ahead(timed, start / line, lines);
            }
            let mut rest = start / line..start / line + lines;
            self.timed_run(timed, access, rest.next(), || rest.next());
        }
    }
}
