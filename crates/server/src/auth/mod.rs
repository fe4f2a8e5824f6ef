//! Authentication: users with verifiers of their passwords, and the exchange by which a client proves that it knows one.

mod scram;
mod users;
mod verifier;

pub(crate) use scram::{Answer, Exchange, MECHANISM, Refusal};
pub(crate) use users::random;
pub use users::{BadUsers, Users};
pub(crate) use verifier::Verifier;
