//! Intentions on databases and tables, by counters.
//!
//! Every transaction holds an intention on its database and its tables. As locks in chains hundreds of them
//! would stand in one, and each request would pass them all. Since intentions exclude each other never, it is
//! enough to count them: in *stripes*, a line each, so that transactions seldom meet (Kimura, Graefe and Kuno,
//! "Efficient Locking Techniques for Databases on Modern Hardware", 2012, call the like lightweight intent
//! locks). The paper has nothing of the kind.
//!
//! A request in S, SIX or X is *strong*. It says so before anything else, stands in the chain like any other,
//! and besides waits for the counters of what it excludes to come down to zero. While there is a strong one,
//! intentions go into the chain as well, behind it. Whoever counts itself in looks for strong ones
//! afterwards, and whoever is strong looks at the counters after saying so: one of the two sees the other.
//! The first is what every transaction does, and has the light fence of the pair.
//!
//! Who waits for a counter must know for whom: each agent shows what it holds by counters. A transaction that
//! counts as an intention and then asks for the same thing in a strong mode is a new request: it goes behind
//! strong ones that wait for its counter, and one of the two ends as a deadlock.

use crate::agents::{Agent, INTENTIONS_MAX};
use crate::faults;
use crate::mode::{Mode, Modes};
use crate::name::Name;
use chiliad_machine::{Array, Latch, Line, Link, Machine, Ordering, Tagged, Word};

/// Counters of one thing: as many workers as this do not meet.
const STRIPES: usize = 16;

/// Things with counters; what has a greater number goes by its chain alone.
const GROUNDS_MAX: usize = 1 << 16;

const GROUP_GROUNDS: usize = 64;

/// In a stripe: intentions to share in the lower half, others in the upper.
const IX_SHIFT: u32 = 32;

/// The counters of one database or table.
pub(crate) struct Ground<M: Machine> {
    strong: Line<M::Word>,
    stripes: [Line<M::Word>; STRIPES],
}

/// Those of all.
pub(crate) struct Grounds<M: Machine> {
    groups: Array<M, M::Link<Ground<M>>>,
    owned: Latch<M, Vec<Array<M, Ground<M>>>>,
}

fn unit(mode: Mode) -> u64 {
    if mode == Mode::Is { 1 } else { 1 << IX_SHIFT }
}

/// Whether a stripe counts one in this mode.
fn is_counted(stripe: u64, mode: Mode) -> bool {
    let count = if mode == Mode::Is { stripe as u32 } else { (stripe >> IX_SHIFT) as u32 };
    count > 0
}

impl<M: Machine> Grounds<M> {
    pub fn new() -> Self {
        Self {
            groups: Array::new(GROUNDS_MAX / GROUP_GROUNDS, || M::Link::new(Tagged::null())),
            owned: Latch::new(Vec::new()),
        }
    }

    /// The counters of `name`, if it has any.
    #[inline]
    pub fn of(&self, name: Name) -> Option<&Ground<M>> {
        let number = name.ground()? as usize;
        if number >= GROUNDS_MAX {
            return None;
        }
        let link = self.groups.get(number / GROUP_GROUNDS);
        // Acquire pairs with the release in `make`: they are constructed.
        let mut group = link.load(Ordering::Acquire);
        if group.is_null() {
            group = self.make(link);
        }
        // SAFETY: groups live as long as `self`, and have this many.
        Some(unsafe { &*group.pointer().add(number % GROUP_GROUNDS) })
    }

    #[cold]
    fn make(&self, link: &M::Link<Ground<M>>) -> Tagged<Ground<M>> {
        let mut owned = self.owned.lock();
        let found = link.load(Ordering::Relaxed);
        if !found.is_null() {
            return found;
        }
        debug_assert!(owned.len() < GROUNDS_MAX / GROUP_GROUNDS, "each group is made once");
        let group = Array::new(GROUP_GROUNDS, Ground::new);
        let first = Tagged::new(group.first(), 0);
        // Release pairs with the acquire in `of`: the group is constructed.
        link.store(first, Ordering::Release);
        owned.push(group);
        first
    }
}

impl<M: Machine> Ground<M> {
    fn new() -> Self {
        let zero = || Line(M::Word::new(0));
        Self { strong: zero(), stripes: core::array::from_fn(|_| zero()) }
    }

    fn stripe(&self, agent: u32) -> &M::Word {
        &self.stripes[agent as usize % STRIPES].0
    }

    /// Counts an intention of `agent` in, unless a strong request is there, which may have seen the attempt
    /// and wait for its end then.
    #[inline]
    pub fn enter(&self, agent: u32, mode: Mode) -> bool {
        debug_assert!(mode.is_intention(), "only intentions are counted");
        // Release pairs with the acquire in `counted`. The fence orders the rest.
        self.stripe(agent).fetch_add(unit(mode), Ordering::AcqRel);
        // Pairs with the heavy fence in `come`.
        M::light_fence();
        // Acquire pairs with the release in `go`: what a strong one did is seen.
        if self.strong.0.load(Ordering::Acquire) == 0 || M::fault(&faults::STRONG_PASSED_OVER) {
            return true;
        }
        let before = subtract(self.stripe(agent), unit(mode));
        debug_assert!(is_counted(before, mode), "it was counted just now");
        false
    }

    /// Counts one out; whether a strong request may wait for that.
    #[inline]
    pub fn leave(&self, agent: u32, mode: Mode) -> bool {
        debug_assert!(mode.is_intention(), "only intentions are counted");
        let before = subtract(self.stripe(agent), unit(mode));
        debug_assert!(is_counted(before, mode), "it was counted when it came");
        // Pairs with the heavy fence in `come`.
        M::light_fence();
        self.strong.0.load(Ordering::Relaxed) != 0
    }

    /// A strong request is about to come.
    pub fn come(&self) {
        // Acquire pairs with the release in `go`, release with the acquire in `enter`.
        self.strong.0.fetch_add(1, Ordering::AcqRel);
        // Pairs with the light fences of intentions that count.
        M::heavy_fence();
    }

    /// It has gone.
    pub fn go(&self) {
        let before = subtract(&self.strong.0, 1);
        debug_assert!(before > 0, "it has come");
    }

    /// The intentions that are counted, of `own` one less.
    pub fn counted(&self, own: Option<Mode>) -> Modes {
        let mut sum = 0u64;
        for stripe in &self.stripes {
            // Acquire pairs with the release in `leave`: the work of those that have gone is seen.
            sum = sum.wrapping_add(stripe.0.load(Ordering::Acquire));
        }
        let sum = sum.wrapping_sub(own.map_or(0, unit));
        let mut modes = Modes::NONE;
        if sum as u32 != 0 {
            modes = modes.with(Mode::Is);
        }
        if sum >> IX_SHIFT != 0 {
            modes = modes.with(Mode::Ix);
        }
        modes
    }
}

/// Counts down.
pub(crate) fn subtract<W: Word>(word: &W, value: u64) -> u64 {
    // Release pairs with the acquires of readers of the count, such as `Ground::enter` and `Ground::counted`: a
    // reader that finds it lower sees what the caller did before.
    word.fetch_add(value.wrapping_neg(), Ordering::AcqRel)
}

/// The intention that a transaction holds by counters.
#[derive(Default)]
pub(crate) struct Intentions(Vec<(Name, Mode)>);

impl Intentions {
    pub fn find(&self, name: Name) -> Option<Mode> {
        self.0.iter().find(|held| held.0 == name).map(|held| held.1)
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn is_full(&self) -> bool {
        self.0.len() == INTENTIONS_MAX
    }

    pub fn iter(&self) -> impl Iterator<Item = (Name, Mode)> {
        self.0.iter().copied()
    }

    /// Takes note of one, and shows it.
    pub fn set<M: Machine>(&mut self, agent: &Agent<M>, name: Name, mode: Mode) {
        let at = self.0.iter().position(|held| held.0 == name).unwrap_or(self.0.len());
        if at == self.0.len() {
            self.0.push((name, mode));
        } else {
            self.0[at].1 = mode;
        }
        debug_assert!(mode.is_intention() && name.ground().is_some(), "what is counted");
        debug_assert!(at < INTENTIONS_MAX, "there is a word for it");
        // Release pairs with the acquire of searches for deadlocks.
        agent.intentions[at].store(word_of(name, mode), Ordering::Release);
    }

    /// Forgets all of them.
    pub fn clear<M: Machine>(&mut self, agent: &Agent<M>) {
        for at in 0..self.0.len() {
            // Release pairs with the acquire in `shown`.
            agent.intentions[at].store(0, Ordering::Release);
        }
        self.0.clear();
    }
}

fn word_of(name: Name, mode: Mode) -> u64 {
    name.ground().map_or(0, |number| (number << 1 | u64::from(mode == Mode::Ix)) + 1)
}

/// The intentions on `name` that `agent` shows.
pub(crate) fn shown<M: Machine>(agent: &Agent<M>, name: Name) -> Modes {
    // Acquire pairs with the release in `Intentions::set`.
    let words = agent.intentions.iter().map(|word| word.load(Ordering::Acquire));
    words.fold(Modes::NONE, |modes, word| {
        let is = |mode: &Mode| word == word_of(name, *mode);
        [Mode::Is, Mode::Ix].into_iter().find(is).map_or(modes, |mode| modes.with(mode))
    })
}
