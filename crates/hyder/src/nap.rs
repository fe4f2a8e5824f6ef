//! How long a thread sleeps that looks again and again, unless it is woken.

use chiliad_machine::Machine;

/// Looks in a second.
const LOOKS_PER_SECOND: u64 = 1000;

/// Sleeps until the next look, or until it is woken.
pub fn nap<M: Machine>() {
    M::park_until(M::now() + M::ticks_per_second() / LOOKS_PER_SECOND);
}
