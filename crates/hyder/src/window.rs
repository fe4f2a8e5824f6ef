//! The last writers of keys: a table that decides an intention without a descent.
//!
//! It has the keys that the last intentions have written, exactly, so its answers are those of the tree: hashes alone
//! would refuse what the tree lets pass, and servers that certify otherwise would come to other verdicts.

use std::collections::{HashMap, VecDeque};
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::Arc;

/// Intentions whose writes it has. For what has read an older state the tree is asked.
pub const KEPT: u64 = 1 << 17;

/// The knowledge about the last writer of a key.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Writer {
    /// This intention.
    Known(u64),
    /// One before those that the table has, if any.
    Older,
}

/// The last writers of keys.
pub struct Window {
    /// Intentions whose writes it has.
    kept: u64,
    last: HashMap<Written, u64, BuildHasherDefault<Mixer>>,
    /// Keys and their writers, in the order of intentions.
    queue: VecDeque<(u64, Written)>,
    /// The number of the last intention that has left.
    left: u64,
}

/// A key of a table: shared by the map and the queue.
type Written = (u32, Arc<[u8]>);

impl Window {
    /// An empty one, for the writes of so many intentions.
    pub fn new(kept: u64) -> Self {
        Self { kept, last: HashMap::default(), queue: VecDeque::new(), left: 0 }
    }

    /// Nothing is known of writes up to `label`.
    pub fn begin_after(&mut self, label: u64) {
        debug_assert!(self.queue.is_empty(), "before all writes");
        self.left = label;
    }

    /// Takes note of a committed write.
    pub fn write(&mut self, label: u64, table: u32, key: &[u8]) {
        let written: Written = (table, key.into());
        self.queue.push_back((label, written.clone()));
        self.last.insert(written, label);
    }

    /// Forgets what is too old for a window that ends with `label`.
    pub fn advance(&mut self, label: u64) {
        let leaves = label.saturating_sub(self.kept);
        while let Some((writer, written)) = self.queue.pop_front_if(|it| it.0 <= leaves) {
            self.left = writer;
            if self.last.get(&written) == Some(&writer) {
                self.last.remove(&written);
            }
        }
        self.left = self.left.max(leaves);
    }

    /// The last writer of a key.
    pub fn writer(&self, table: u32, key: &[u8]) -> Writer {
        // A key for looking up is made of borrowed bytes: the map's own keys are shared ones.
        self.last
            .get(&Looked(table, key) as &dyn KeyOf)
            .map_or(Writer::Older, |&it| Writer::Known(it))
    }

    /// Whether a writer after `snapshot` would be known.
    pub fn covers(&self, snapshot: u64) -> bool {
        snapshot >= self.left
    }
}

/// A table and a key, owned or borrowed.
trait KeyOf {
    fn parts(&self) -> (u32, &[u8]);
}

struct Looked<'a>(u32, &'a [u8]);

impl KeyOf for Looked<'_> {
    fn parts(&self) -> (u32, &[u8]) {
        (self.0, self.1)
    }
}

impl KeyOf for Written {
    fn parts(&self) -> (u32, &[u8]) {
        (self.0, &self.1)
    }
}

impl std::hash::Hash for dyn KeyOf + '_ {
    fn hash<H: Hasher>(&self, state: &mut H) {
        // As the tuple does.
        self.parts().hash(state);
    }
}

impl PartialEq for dyn KeyOf + '_ {
    fn eq(&self, other: &Self) -> bool {
        self.parts() == other.parts()
    }
}

impl Eq for dyn KeyOf + '_ {}

impl<'a> std::borrow::Borrow<dyn KeyOf + 'a> for Written {
    fn borrow(&self) -> &(dyn KeyOf + 'a) {
        self
    }
}

/// Mixes words: keys are chosen by users of the database, which gain nothing from collisions but slow servers of
/// their
/// own.
#[derive(Default)]
pub struct Mixer(u64);

impl Hasher for Mixer {
    fn write(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.write_u64(u64::from_le_bytes(word));
        }
    }

    fn write_u64(&mut self, word: u64) {
        self.0 = (self.0 ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29);
    }

    fn write_u32(&mut self, word: u32) {
        self.write_u64(u64::from(word));
    }

    fn write_usize(&mut self, word: usize) {
        self.write_u64(word as u64);
    }

    fn finish(&self) -> u64 {
        self.0.wrapping_mul(0xff51_afd7_ed55_8ccd)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_writer_counts_and_the_old_leave() {
        let mut window = Window::new(KEPT);
        window.write(1, 0, b"a");
        window.write(2, 0, b"a");
        window.write(2, 1, b"a");
        assert_eq!(window.writer(0, b"a"), Writer::Known(2));
        assert_eq!(window.writer(0, b"b"), Writer::Older);
        assert!(window.covers(0));
        window.advance(KEPT + 1);
        assert_eq!(
            window.writer(0, b"a"),
            Writer::Known(2),
            "the first write has left, the last has not"
        );
        assert!(!window.covers(0) && window.covers(1));
        window.advance(KEPT + 2);
        assert_eq!(window.writer(1, b"a"), Writer::Older);
        assert!(window.last.is_empty() && window.queue.is_empty());
    }
}
