//! How long a refused transaction waits before it runs again.
//!
//! Waiting feeds no contention only if it ends at different times for different clients, so every
//! wait is drawn at random. It stays far below a time slice, so that no client starves, until a transaction was refused
//! so often that waits are too short for what is in its way: transactions that last longer than the longest wait, each of which
//! spoils what another has read, and is refused for it, otherwise go on like that for ever.

use super::sampling::Generator;
use chiliad_machine::{Fault, Machine, Rig};

/// The policy.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Backoff {
    /// Try again at once.
    None,
    /// Up to `RANDOM_PAUSES` pauses.
    Random,
    /// Up to `FIRST_PAUSES` pauses, doubled with each refusal up to `LONGEST_PAUSES`, and again after
    /// `PATIENT_RETRIES` of them.
    Exponential,
}

/// The longest random wait, in pauses of the machine.
const RANDOM_PAUSES: u64 = 128;

/// The longest wait after the first refusal.
const FIRST_PAUSES: u64 = 16;

/// The longest wait of a transaction that is not refused all the time: some twenty to fifty microseconds natively.
const LONGEST_PAUSES: u64 = 1024;

/// Refusals after which it doubles again with each, and how often at most.
const PATIENT_RETRIES: u32 = 32;
const DOUBLINGS_MAX: u32 = 6;

/// Refusals after which a client also lets others run: whoever is in its way may have lost the core.
const POLITE_RETRIES: u32 = 4;

impl Backoff {
    /// The longest exponential wait after the `retries`-th refusal.
    fn window<M: Machine>(retries: u32) -> u64 {
        // A schedule that is drawn keeps nobody in step with others.
        let stays_short = M::explores() || M::fault(&WAITS_STAY_SHORT);
        let beyond = if stays_short { 0 } else { retries.saturating_sub(PATIENT_RETRIES) };
        let window = (FIRST_PAUSES << retries.saturating_sub(1).min(16)).min(LONGEST_PAUSES);
        window << beyond.min(DOUBLINGS_MAX)
    }

    /// Waits after the `retries`-th refusal of one transaction, counted from one.
    #[cold]
    pub fn wait<M: Machine>(self, retries: u32, random: &mut Generator) {
        let longest = match self {
            // A schedule without time lets a core spin for ever; its peers must get their turn.
            Self::None if M::explores() && retries >= POLITE_RETRIES => return M::yield_now(),
            Self::None => return,
            Self::Random => RANDOM_PAUSES,
            Self::Exponential => Self::window::<M>(retries),
        };
        for _ in 0..random.below(longest) {
            M::pause();
        }
        if retries >= POLITE_RETRIES {
            M::yield_now();
        }
    }
}

static WAITS_STAY_SHORT: Fault = Fault {
    name: "waits-stay-short",
    step: "a client that is refused again and again waits longer and longer",
    rig: Rig::Soak,
    schemes: &["dl-detect"],
    workload: "scan",
    expected: &["starved"],
    seeds: 200,
};

/// The planted bugs of clients.
pub(super) static FAULTS: &[&Fault] = &[&WAITS_STAY_SHORT];
