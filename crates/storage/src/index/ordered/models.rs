//! loom models of the node version: every execution that the memory model allows, for two threads.

use super::version::NodeVersion;
use chiliad_loom::{Loom, LoomWord};
use chiliad_machine::{Ordering, Word};
use loom::sync::Arc;

/// A node of two words that a writer keeps equal, and equal to the count.
struct Node {
    version: NodeVersion<Loom>,
    words: [LoomWord; 2],
}

impl Node {
    fn new() -> Self {
        Self { version: NodeVersion::new(0), words: [LoomWord::new(0), LoomWord::new(0)] }
    }

    /// Counts both words up, if nobody is in the way.
    fn try_write(&self) -> bool {
        let stamp = self.version.read();
        let Some(mut held) = self.version.try_latch(stamp) else {
            return false;
        };
        for word in &self.words {
            let value = word.load(Ordering::Relaxed);
            assert_eq!(value, stamp.count() as u64, "the last writer's words are not visible");
            word.store(value + 1, Ordering::Relaxed);
        }
        held.set_count(stamp.count() + 1);
        true
    }

    /// Reads as an optimistic reader does.
    fn try_read(&self) {
        let stamp = self.version.read();
        let [one, two] = [&self.words[0], &self.words[1]].map(|it| it.load(Ordering::Relaxed));
        if self.version.holds(stamp) {
            assert_eq!((one, two), (stamp.count() as u64, stamp.count() as u64), "a torn read");
        }
    }
}

#[test]
fn a_reader_never_believes_half_a_write() {
    loom::model(|| {
        let node = Arc::new(Node::new());
        let writer = Arc::clone(&node);
        let writer = loom::thread::spawn(move || {
            writer.try_write();
            writer.try_write();
        });
        node.try_read();
        node.try_read();
        writer.join().expect("no panic");
    });
}

#[test]
fn two_writers_lose_nothing() {
    loom::model(|| {
        let node = Arc::new(Node::new());
        let other = Arc::clone(&node);
        let other = loom::thread::spawn(move || u64::from(other.try_write()));
        let mine = u64::from(node.try_write());
        node.try_read();
        let written = mine + other.join().expect("no panic");
        assert!(written >= 1);
        assert_eq!(node.words[0].load(Ordering::Relaxed), written);
        assert_eq!(node.version.read().count() as u64, written);
    });
}

/// A key moves from one node to another under both latches: a reader that goes from the holder to
/// the child, hand over hand, finds it in one of them.
#[test]
fn a_reader_follows_what_moves() {
    /// The holder's first word says which child has the key.
    struct Tree {
        holder: Node,
        children: [Node; 2],
    }
    loom::model(|| {
        let tree = Arc::new(Tree { holder: Node::new(), children: [Node::new(), Node::new()] });
        tree.children[0].words[0].store(1, Ordering::Relaxed);
        let writer = Arc::clone(&tree);
        let writer = loom::thread::spawn(move || {
            let (holder, from) = (&writer.holder.version, &writer.children[0].version);
            let (at_holder, at_from) = (holder.read(), from.read());
            let held = (holder.try_latch(at_holder), from.try_latch(at_from));
            writer.children[0].words[0].store(0, Ordering::Relaxed);
            writer.children[1].words[0].store(1, Ordering::Relaxed);
            writer.holder.words[0].store(1, Ordering::Relaxed);
            drop(held.1);
            drop(held.0);
        });
        let holder = &tree.holder;
        let at_holder = holder.version.read();
        let child = &tree.children[holder.words[0].load(Ordering::Relaxed) as usize];
        if holder.version.holds(at_holder) {
            let at_child = child.version.read();
            if holder.version.holds(at_holder) {
                let found = child.words[0].load(Ordering::Relaxed);
                if child.version.holds(at_child) {
                    assert_eq!(found, 1, "the key is in neither");
                }
            }
        }
        writer.join().expect("no panic");
    });
}
