//! Who may connect: users with verifiers of their passwords, and the exchange that proves a password.

mod scram;
mod users;
mod verifier;

pub(crate) use scram::{Answer, Exchange, MECHANISM, Refusal};
pub(crate) use users::random;
pub use users::{BadUsers, Users};
pub(crate) use verifier::Verifier;
