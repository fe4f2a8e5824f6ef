//! Versions that are taken for those that were read: where a record has changed in columns that the transaction has not
//! looked at, it might as well have read the newest version.
//!
//! What it has read is a state of the database as before, now one of newer versions, and it has seen the same. One thing
//! would change: a value that was made of the version read, and is written, would undo what came in between. So what is
//! written of such a record has to be made of a read after that, which the place of its copy tells.

use super::{Optimistic, Read, SILO, faults};
use crate::access::WriteSet;
use crate::contract::{Abort, Context, Renewed};
use crate::record_word;
use crate::scheme::parts::versioned_read::bytes_of;
use chiliad_api::{Columns, Reason};
use chiliad_machine::Machine;

/// The columns that a transaction looks at, and the versions that the scheme has taken for those that the transaction read.
pub(super) struct Renewals<M: Machine> {
    /// The columns that it looks at, each from this place among its reads on; before the first, all.
    looks: Vec<(usize, Columns)>,
    renewed: Vec<Renewed<M>>,
}

impl<M: Machine> Renewals<M> {
    pub fn new() -> Self {
        Self { looks: Vec::new(), renewed: Vec::new() }
    }

    /// A transaction begins.
    #[inline]
    pub fn clear(&mut self) {
        self.looks.clear();
        self.renewed.clear();
    }

    /// From the read of this place on the transaction looks at these columns.
    pub fn look_at(&mut self, place: usize, columns: Columns) {
        match self.looks.last_mut() {
            Some(look) if look.1 == columns => {}
            Some(look) if look.0 == place => look.1 = columns,
            None if columns == Columns::ALL => {}
            _ => self.looks.push((place, columns)),
        }
        debug_assert!(self.looks.is_sorted_by_key(|look| look.0), "reads are added at the end");
    }

    /// The columns that the read of this place looks at.
    fn columns_of(&self, place: usize) -> Columns {
        debug_assert!(self.looks.is_sorted_by_key(|look| look.0), "reads are added at the end");
        let later = self.looks.partition_point(|look| look.0 <= place);
        later.checked_sub(1).map_or(Columns::ALL, |at| self.looks[at].1)
    }

    pub fn renewed(&self) -> &[Renewed<M>] {
        &self.renewed
    }

    /// The record that was read as the one of this place has another version, of this word: takes that, if it has
    /// the same in the columns that the transaction looks at, and is of this epoch at most.
    ///
    /// # Errors
    /// An abort where it has not, or nobody knows.
    #[cold]
    pub fn renew<const VARIANT: u8>(
        &mut self,
        cx: &Context<'_, M, Optimistic<M, VARIANT>>,
        (place, read): (usize, &mut Read<M>),
        word: u64,
        epoch: u64,
    ) -> Result<(), Abort<M>> {
        debug_assert!(read.word & record_word::LATCH == 0, "a version was read");
        let record = read.record;
        let changed = Err(Abort::over(Reason::ReadChanged, record));
        let columns = self.columns_of(place);
        let is_free = word & record_word::LATCH == 0 && record_word::epoch(word) <= epoch;
        if VARIANT != SILO || columns == Columns::ALL || !is_free {
            return changed;
        }
        let last_change = cx.recent.last_change(record.address(), word, columns);
        if last_change > read.word && !M::fault(&faults::COLUMNS_NOT_COMPARED) {
            return changed;
        }
        let Some(bytes) = (if cx.stamped { bytes_of(record, word) } else { Some(Vec::new()) })
        else {
            return changed;
        };
        M::mark("read renewed");
        debug_assert!(word > read.word, "the words of a record grow");
        read.word = word;
        let arena_used = cx.arena_used;
        if !cx.stamped {
            self.renewed.retain(|it| it.record != record);
        }
        self.renewed.push(Renewed { record, arena_used, bytes });
        Ok(())
    }

    /// Refuses the transaction where it writes a value that may have been made of a version before the one that was taken.
    #[inline]
    pub fn check(&self, writes: &WriteSet<M>) -> Result<(), Abort<M>> {
        let is_older = |it: &&Renewed<M>| {
            let write = writes.find(it.record).map(|at| &writes.entries[at as usize]);
            write.is_some_and(|write| (write.base as usize) < it.arena_used)
        };
        match self.renewed.iter().find(is_older) {
            Some(it) if !M::fault(&faults::RENEWED_AND_WRITTEN) => {
                Err(Abort::over(Reason::ReadChanged, it.record))
            }
            _ => Ok(()),
        }
    }
}
