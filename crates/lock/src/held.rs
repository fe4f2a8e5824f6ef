//! What a transaction holds, by name.

use crate::chain::Bucket;
use crate::lock::Lock;
use crate::mode::Mode;
use crate::name::Name;
use chiliad_machine::Machine;
use core::ptr::NonNull;

/// Locks up to which they are looked through one by one.
const FEW: usize = 8;

/// A lock that is held.
pub(crate) struct Entry<M: Machine> {
    pub name: Name,
    pub mode: Mode,
    pub lock: NonNull<Lock<M>>,
    pub bucket: NonNull<Bucket<M>>,
}

/// The locks of one transaction, with an index by name once there are more than a few.
pub(crate) struct Held<M: Machine> {
    entries: Vec<Entry<M>>,
    /// Open addressing: the number of an entry plus one, or zero. A power of two long, or empty.
    index: Vec<u32>,
}

impl<M: Machine> Held<M> {
    pub fn new() -> Self {
        Self { entries: Vec::new(), index: Vec::new() }
    }

    pub fn entries(&self) -> &[Entry<M>] {
        &self.entries
    }

    #[inline]
    pub fn find(&mut self, name: Name) -> Option<&mut Entry<M>> {
        if self.entries.len() <= FEW {
            return self.entries.iter_mut().find(|entry| entry.name == name);
        }
        let place = self.place(name);
        let at = self.index[place].checked_sub(1)?;
        self.entries.get_mut(at as usize)
    }

    #[inline]
    pub fn add(&mut self, entry: Entry<M>) {
        self.entries.push(entry);
        if self.entries.len() > FEW {
            self.enter_last();
        }
    }

    /// Forgets all of them.
    pub fn clear(&mut self) {
        if self.entries.len() > FEW {
            self.index.fill(0);
        }
        self.entries.clear();
    }

    fn enter_last(&mut self) {
        let count = self.entries.len();
        let first = if count * 2 > self.index.len() {
            self.index.clear();
            self.index.resize((count * 4).next_power_of_two(), 0);
            0
        } else if count == FEW + 1 {
            0
        } else {
            count - 1
        };
        for at in first..count {
            let place = self.place(self.entries[at].name);
            self.index[place] = at as u32 + 1;
        }
    }

    /// Where `name` is in the index, or would be.
    fn place(&self, name: Name) -> usize {
        let mask = self.index.len() - 1;
        let mut place = (name.hash() >> 32) as usize & mask;
        loop {
            match self.index[place].checked_sub(1) {
                Some(at) if self.entries[at as usize].name != name => place = (place + 1) & mask,
                _ => return place,
            }
        }
    }
}
