//! The number of a database.

use chiliad_machine::Machine;

/// A number that no other database has.
pub fn random_number<M: Machine>() -> u128 {
    u128::from(M::random()) << 64 | u128::from(M::random())
}
