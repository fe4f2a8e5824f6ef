//! States: what the database is after an intention, and which of them readers look at.
//!
//! A state has a label, which is the number of the last intention in it, and the roots of all tables. It is immutable
//! as its trees are. One is published at a time; a reader shows the label that it has seen published, and reads the
//! state that is published then, or one after it.

use crate::node::{Node, NodeRef, Tree};
use chiliad_machine::{Link, Machine, Ordering, Tagged, Word};
use chiliad_storage::{Kind, LocalHeap, OutOfMemory, Slot};
use core::ptr::NonNull;

/// A state; as many links as it has tables follow it.
#[repr(C)]
pub struct State<M: Machine> {
    label: M::Word,
    tables: M::Word,
}

/// A state that is there as long as a reader shows its label, or an older one.
pub struct StateRef<M: Machine>(NonNull<State<M>>);

impl<M: Machine> Clone for StateRef<M> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<M: Machine> Copy for StateRef<M> {}

// SAFETY: what it refers to is immutable while it is there, and of words that threads may share.
unsafe impl<M: Machine> Send for StateRef<M> {}

impl<M: Machine> StateRef<M> {
    /// Makes a state of these roots, by table number.
    ///
    /// # Errors
    /// When the memory limit is reached.
    pub fn make(
        heap: &mut LocalHeap<M>,
        label: u64,
        roots: &[Option<Tree<M>>],
    ) -> Result<Self, OutOfMemory> {
        let place = heap.alloc(Kind::Version, Self::bytes_for(roots.len()))?.cast::<State<M>>();
        // SAFETY: the slot is ours alone and this large; its life begins here.
        unsafe {
            place.write(State {
                label: M::Word::new(label),
                tables: M::Word::new(roots.len() as u64),
            });
            let links = place.add(1).cast::<M::Link<Node<M>>>();
            for (at, tree) in roots.iter().enumerate() {
                let root = tree.and_then(|tree| tree.root);
                links.add(at).write(M::Link::new(root.map_or(Tagged::null(), NodeRef::link)));
            }
        }
        Ok(Self(place))
    }

    fn bytes_for(tables: usize) -> usize {
        size_of::<State<M>>() + tables * size_of::<M::Link<Node<M>>>()
    }

    fn state<'a>(self) -> &'a State<M> {
        // SAFETY: it is there, and immutable.
        unsafe { self.0.as_ref() }
    }

    /// The number of the last intention in it.
    pub fn label(self) -> u64 {
        self.state().label.load(Ordering::Relaxed)
    }

    /// Its tables: their numbers are below this one.
    pub fn tables(self) -> u32 {
        self.state().tables.load(Ordering::Relaxed) as u32
    }

    /// The rows of a table; none, if it was created later.
    pub fn tree(self, table: u32) -> Tree<M> {
        if table >= self.tables() {
            return Tree::EMPTY;
        }
        // SAFETY: constructed with the state, after it, and the table is one of its own.
        let link = unsafe { self.0.add(1).cast::<M::Link<Node<M>>>().add(table as usize).as_ref() };
        // SAFETY: the nodes of a state are there as long as it is.
        Tree::of(unsafe { NodeRef::from_link(link.load(Ordering::Relaxed)) })
    }

    /// Frees it.
    ///
    /// # Safety
    /// It is not published, no reader may look at it, and nobody frees it again.
    pub unsafe fn free(self, heap: &mut LocalHeap<M>) {
        // SAFETY: the caller's promise; kind and bytes are those of its making.
        unsafe { heap.free(Kind::Version, Self::bytes_for(self.tables() as usize), self.0.cast()) };
    }
}

/// The state that readers begin with.
pub struct Published<M: Machine> {
    state: M::Link<State<M>>,
    label: M::Word,
}

impl<M: Machine> Published<M> {
    /// Publishes the first state.
    pub fn new(state: StateRef<M>) -> Self {
        Self {
            state: M::Link::new(Tagged::new(state.0.as_ptr(), 0)),
            label: M::Word::new(state.label()),
        }
    }

    /// Publishes the next state, and returns the one before.
    pub fn publish(&self, state: StateRef<M>) -> Option<StateRef<M>> {
        // Release pairs with the acquire in `pin`: the state and its nodes are constructed.
        let before = self.state.swap(Tagged::new(state.0.as_ptr(), 0), Ordering::Release);
        self.announce(state.label());
        NonNull::new(before.pointer()).map(StateRef)
    }

    /// The state of this label is there.
    pub fn announce(&self, label: u64) {
        // Release pairs with the acquire in `label`.
        self.label.store(label, Ordering::Release);
    }

    /// The label of the newest state, or of one shortly before it.
    pub fn label(&self) -> u64 {
        // Acquire pairs with the release in `publish`: what was decided by then is known by then.
        self.label.load(Ordering::Acquire)
    }

    /// The newest state, which stays until [`Published::unpin`] of the same slot.
    pub fn pin(&self, slot: &Slot<M>) -> StateRef<M> {
        slot.snapshot.store(self.label() + 1, Ordering::Relaxed);
        // Pairs with the heavy fence in `oldest`: either the collector sees the snapshot, or we see every state that
        // was published before it looked.
        M::light_fence();
        // Acquire pairs with the release in `publish`.
        let state = self.state.load(Ordering::Acquire);
        StateRef(NonNull::new(state.pointer()).expect("a state is always published"))
    }

    /// The reader has done with its state.
    pub fn unpin(slot: &Slot<M>) {
        // Release pairs with the acquire in `oldest`: what was read was read before.
        slot.snapshot.store(0, Ordering::Release);
    }

    /// The oldest label that a reader shows, or may show from now on.
    pub fn oldest<'s>(&self, slots: impl Iterator<Item = &'s Slot<M>>) -> u64 {
        let newest = self.label.load(Ordering::Relaxed);
        M::heavy_fence();
        // Acquire pairs with the release in `unpin`.
        let snapshots = slots.map(|slot| slot.snapshot.load(Ordering::Acquire));
        snapshots
            .filter(|&snapshot| snapshot > 0)
            .map(|snapshot| snapshot - 1)
            .fold(newest, u64::min)
    }
}
