//! A lock: what one transaction has asked for of one thing, in the chain of its bucket.
//!
//! ```text
//! state word:  63 .. 32   31 .. 16   15 .. 8    7 .. 5   4 .. 2    1 .. 0
//!              zero       owner      zero       wanted   granted   status
//! ```
//!
//! Only its owner writes the state, so that no step is more than a store:
//!
//! | status | granted | wanted | it |
//! | --- | --- | --- | --- |
//! | `Active` | none | a mode | claims the mode, or has it already |
//! | `Active` | a mode | the same | has the mode |
//! | `Active` | a mode | a stronger one | has the one and claims the other: a conversion |
//! | `Waiting` | none, or a mode | a mode | waits for it |
//! | `Obsolete` | | | is released, and in the chain until somebody unlinks it |
//!
//! A claim that meets a lock which excludes it turns into a wait, and a wait turns into a claim again; no
//! transaction has a mode before its claim has met nothing. What is released excludes nobody, at once.

use crate::mode::{Mode, Modes};
use crate::name::Name;
use chiliad_machine::{Link, Machine, Ordering, Tagged, Word};

/// Where a lock stands; see the table at the file's head.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Status {
    /// Kept by a session between its transactions: see `latched`.
    Inherited = 0,
    Active = 1,
    Waiting = 2,
    Obsolete = 3,
}

/// A value of the state word.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct State(u64);

const GRANTED_SHIFT: u32 = 2;
const WANTED_SHIFT: u32 = 5;
const OWNER_SHIFT: u32 = 16;
/// Somebody waits for the lock.
const WANTED: u64 = 1 << 8;

impl State {
    /// That of a released lock.
    pub const RELEASED: Self = Self(Status::Obsolete as u64);

    pub fn new(owner: u32, status: Status, granted: Option<Mode>, wanted: Mode) -> Self {
        debug_assert!(owner <= u32::from(u16::MAX), "owners have 16 bits");
        let granted = granted.map_or(0, |mode| mode as u64);
        Self(
            u64::from(owner) << OWNER_SHIFT
                | (wanted as u64) << WANTED_SHIFT
                | granted << GRANTED_SHIFT
                | status as u64,
        )
    }

    pub fn with(self, status: Status) -> Self {
        Self(self.0 & !0b11 | status as u64)
    }

    pub fn status(self) -> Status {
        match self.0 & 0b11 {
            0 => Status::Inherited,
            1 => Status::Active,
            2 => Status::Waiting,
            _ => Status::Obsolete,
        }
    }

    pub fn owner(self) -> u32 {
        (self.0 >> OWNER_SHIFT) as u32 & 0xffff
    }

    pub fn granted(self) -> Option<Mode> {
        mode_of(self.0 >> GRANTED_SHIFT)
    }

    pub fn wanted(self) -> Option<Mode> {
        mode_of(self.0 >> WANTED_SHIFT)
    }

    /// The modes that this lock excludes in locks behind it, which let it go first.
    pub fn toward_behind(self) -> Modes {
        if matches!(self.status(), Status::Obsolete | Status::Inherited) {
            return Modes::NONE;
        }
        some(self.granted()).and(some(self.wanted()))
    }

    /// The modes that exclude a conversion ahead of this lock: not those that it only waits for.
    pub fn toward_ahead(self) -> Modes {
        match self.status() {
            Status::Active => self.toward_behind(),
            Status::Waiting => some(self.granted()),
            Status::Obsolete | Status::Inherited => Modes::NONE,
        }
    }

    /// With what it wanted granted.
    pub fn granting(self) -> Self {
        let wanted = self.0 >> WANTED_SHIFT & 0b111;
        debug_assert!(wanted != 0, "who waits wants something");
        Self(self.0 & !(0b111 << GRANTED_SHIFT) | wanted << GRANTED_SHIFT).with(Status::Active)
    }

    /// Whether it has a mode and asks for a stronger one.
    pub fn converts(self) -> bool {
        self.granted().is_some() && self.granted() != self.wanted()
    }
}

fn mode_of(bits: u64) -> Option<Mode> {
    Mode::ALL.get((bits as usize & 0b111).wrapping_sub(1)).copied()
}

fn some(mode: Option<Mode>) -> Modes {
    mode.map_or(Modes::NONE, |mode| Modes::NONE.with(mode))
}

/// A line of memory, which belongs to a segment for as long as that lives.
#[repr(C, align(64))]
pub(crate) struct Lock<M: Machine> {
    /// The one behind it in the chain.
    pub next: M::Link<Lock<M>>,
    state: M::Word,
    space: M::Word,
    key: M::Word,
    /// Where it is given back to.
    pub place: Place,
}

/// A lock's place in the pool, for good: the segment's number, the leaf in it, and the lock in that.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Place(u64);

/// A leaf of a segment, for one worker: the place of its first lock.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Leaf(Place);

const SEGMENT_SHIFT: u32 = 32;
const LEAF_SHIFT: u32 = 16;

impl Place {
    #[inline]
    pub fn leaf(self) -> Leaf {
        Leaf(Self(self.0 & !0xffff))
    }

    /// In the leaf.
    #[inline]
    pub fn at(self) -> u32 {
        self.0 as u32 & 0xffff
    }

    /// Its flag in the leaf.
    #[inline]
    pub fn flag(self) -> u64 {
        debug_assert!(self.at() < u64::BITS, "a flag for each lock of a leaf");
        1 << self.at()
    }
}

impl Leaf {
    #[inline]
    pub fn new(segment: u32, leaf: u32) -> Self {
        debug_assert!(leaf <= u32::from(u16::MAX), "leaves have 16 bits");
        Self(Place(u64::from(segment) << SEGMENT_SHIFT | u64::from(leaf) << LEAF_SHIFT))
    }

    pub fn segment(self) -> u32 {
        (self.0.0 >> SEGMENT_SHIFT) as u32
    }

    /// Its number in the segment.
    pub fn number(self) -> u32 {
        (self.0.0 >> LEAF_SHIFT) as u32 & 0xffff
    }

    /// The place of a lock in it.
    pub fn place(self, at: u32) -> Place {
        debug_assert!(at < u64::BITS, "a flag for each lock of a leaf");
        Place(self.0.0 | u64::from(at))
    }
}

impl<M: Machine> Lock<M> {
    pub fn new(place: Place) -> Self {
        Self {
            next: M::Link::new(Tagged::null()),
            state: M::Word::new(State::RELEASED.0),
            space: M::Word::new(0),
            key: M::Word::new(0),
            place,
        }
    }

    /// Makes it one for `name`, before it goes into a chain.
    #[inline]
    pub fn prepare(&self, name: Name, state: State) {
        // Relaxed, all of them: the insertion into the chain publishes them.
        let [space, key] = name.words();
        self.space.store(space, Ordering::Relaxed);
        self.key.store(key, Ordering::Relaxed);
        self.state.store(state.0, Ordering::Relaxed);
        self.next.store(Tagged::null(), Ordering::Relaxed);
    }

    /// The name that it locks.
    pub fn name(&self) -> Name {
        Name::from_words([self.space.load(Ordering::Relaxed), self.key.load(Ordering::Relaxed)])
    }

    /// Whether it is for `name`. The caller came to it through its chain.
    #[inline]
    pub fn is_for(&self, name: Name) -> bool {
        let [space, key] = name.words();
        self.key.load(Ordering::Relaxed) == key && self.space.load(Ordering::Relaxed) == space
    }

    /// Where it stands.
    #[inline]
    pub fn state(&self) -> State {
        // Acquire pairs with the release in `set`: a reader that sees a lock released sees what its owner did.
        State(self.state.load(Ordering::Acquire))
    }

    /// Puts it somewhere else: its owner does.
    #[inline]
    pub fn set(&self, state: State) {
        // Release pairs with the acquire in `state`.
        self.state.store(state.0, Ordering::Release);
    }

    /// The modes that it excludes, used or not. Under the mutex of its chain, in a table that has one.
    pub fn modes(&self) -> Modes {
        match self.state() {
            state if state.status() == Status::Inherited => some(state.granted()),
            state => state.toward_behind(),
        }
    }

    /// The modes that it excludes by what it has been granted, without the stronger mode that it waits for.
    pub fn granted(&self) -> Modes {
        match self.state() {
            state if state.status() == Status::Obsolete => Modes::NONE,
            state => some(state.granted()),
        }
    }

    /// Tells its owner that somebody waits: it is to be released under the mutex. Where it stood then.
    pub fn tell_wanted(&self) -> State {
        // Acquire pairs with the releases in `set` and `exchange`; release with the acquires in `state` and `exchange`.
        State(self.state.fetch_or(WANTED, Ordering::AcqRel))
    }

    /// Takes away what is kept and not used, or tells the owner that somebody waits; whether it stays.
    pub fn stays(&self) -> bool {
        while !self.disinherit() {
            // It may have been put by just before it was told.
            if self.tell_wanted().status() != Status::Inherited {
                return true;
            }
        }
        false
    }

    /// Keeps a lock that is granted, and for which nobody waits, between two transactions; whether that may be.
    pub fn bequeath(&self) -> bool {
        let state = self.state();
        debug_assert!(state.status() == Status::Active, "what is put by was held");
        state.0 & WANTED == 0 && self.exchange(state, state.with(Status::Inherited))
    }

    /// Uses what was kept; whether it was still there.
    pub fn inherit(&self) -> bool {
        let state = self.state();
        state.status() == Status::Inherited && self.exchange(state, state.with(Status::Active))
    }

    /// Takes away what is kept and not used; whether it was that.
    pub fn disinherit(&self) -> bool {
        let state = self.state();
        state.status() == Status::Inherited && self.exchange(state, state.with(Status::Obsolete))
    }

    fn exchange(&self, from: State, to: State) -> bool {
        // Acquire pairs with the releases in `set` and `tell_wanted`; release with the acquire in `state`.
        self.state.compare_exchange(from.0, to.0, Ordering::AcqRel, Ordering::Acquire).is_ok()
    }

    pub fn tagged(&self) -> Tagged<Self> {
        Tagged::new(core::ptr::from_ref(self).cast_mut(), 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_goes_into_a_state_comes_out() {
        for granted in Mode::ALL.map(Some).into_iter().chain([None]) {
            for wanted in Mode::ALL {
                let state = State::new(65_535, Status::Active, granted, wanted);
                let waits = state.with(Status::Waiting);
                assert_eq!((state.owner(), state.status()), (65_535, Status::Active));
                assert_eq!((waits.granted(), waits.wanted()), (granted, Some(wanted)));
                assert_eq!(state.with(Status::Obsolete).toward_behind(), Modes::NONE);
            }
        }
    }
}
