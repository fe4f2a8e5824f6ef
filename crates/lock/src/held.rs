//! The locks that a transaction holds, by name.

use crate::mode::Mode;
use crate::name::Name;

/// Locks up to which they are looked through one by one.
const FEW: usize = 8;

/// A lock that is held, and where it is.
#[derive(Clone, Copy)]
pub(crate) struct Entry<P> {
    pub name: Name,
    pub mode: Mode,
    pub place: P,
}

/// The locks of one transaction, with an index by name once there are more than a few.
pub(crate) struct Held<P> {
    entries: Vec<Entry<P>>,
    /// Open addressing: the number of an entry plus one, or zero. A power of two long, or empty.
    index: Vec<u32>,
}

impl<P> Held<P> {
    pub fn new() -> Self {
        Self { entries: Vec::new(), index: Vec::new() }
    }

    pub fn entries(&self) -> &[Entry<P>] {
        &self.entries
    }

    #[inline(always)]
    pub fn find(&mut self, name: Name) -> Option<&mut Entry<P>> {
        if self.entries.len() <= FEW {
            return self.entries.iter_mut().find(|entry| entry.name == name);
        }
        self.look_up(name)
    }

    #[inline(never)]
    fn look_up(&mut self, name: Name) -> Option<&mut Entry<P>> {
        debug_assert!(self.entries.len() > FEW, "few are looked at one by one");
        let place = self.place(name);
        let at = self.index[place].checked_sub(1)?;
        self.entries.get_mut(at as usize)
    }

    #[inline]
    pub fn add(&mut self, entry: Entry<P>) {
        debug_assert!(self.find(entry.name).is_none(), "a name is held once");
        self.entries.push(entry);
        if self.entries.len() > FEW {
            self.enter_last();
        }
    }

    /// Takes all of them out.
    pub fn take(&mut self) -> Vec<Entry<P>> {
        if self.entries.len() > FEW {
            self.index.fill(0);
        }
        core::mem::take(&mut self.entries)
    }

    /// Room for entries, empty, to be used again.
    pub fn put_back(&mut self, room: Vec<Entry<P>>) {
        debug_assert!(room.is_empty() && self.entries.is_empty());
        self.entries = room;
    }

    /// Forgets all of them.
    #[inline]
    pub fn clear(&mut self) {
        if self.entries.len() > FEW {
            self.index.fill(0);
        }
        self.entries.clear();
    }

    #[inline(never)]
    fn enter_last(&mut self) {
        let count = self.entries.len();
        debug_assert!(count > FEW, "few need no index");
        let first = if count * 2 > self.index.len() {
            self.index.clear();
            self.index.resize((count * 4).next_power_of_two(), 0);
            0
        } else if count == FEW + 1 {
            0
        } else {
            count - 1
        };
        debug_assert!(count * 2 <= self.index.len(), "half of the index is free");
        for at in first..count {
            let place = self.place(self.entries[at].name);
            self.index[place] = at as u32 + 1;
        }
    }

    /// Where `name` is in the index, or would be.
    fn place(&self, name: Name) -> usize {
        debug_assert!(self.index.len().is_power_of_two(), "a mask chooses");
        debug_assert!(self.entries.len() < self.index.len(), "a search ends");
        let mask = self.index.len() - 1;
        let mut place = name.hash() as usize & mask;
        loop {
            match self.index[place].checked_sub(1) {
                Some(at) if self.entries[at as usize].name != name => place = (place + 1) & mask,
                _ => return place,
            }
        }
    }
}
