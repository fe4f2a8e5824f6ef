//! A scheme by its name.

use super::list::for_each_scheme;
use crate::contract::Scheme;
use chiliad_api::Info;
use chiliad_machine::{Interleaved, Machine};

/// Something to do under a scheme whose name is known at run time.
pub trait UnderScheme<M: Machine> {
    /// The result of the call.
    type Output;
    /// Does it.
    fn run<S: Scheme<M>>(self) -> Self::Output;
}

/// A scheme whose databases threads may share.
pub trait NativeScheme: Scheme<Interleaved, Shared: Send + Sync, LeafHooks: Send> + Send {}

impl<S: Scheme<Interleaved, Shared: Send + Sync, LeafHooks: Send> + Send> NativeScheme for S {}

/// Something to do natively under a scheme whose name is known at run time.
pub trait UnderNativeScheme {
    /// The result of the call.
    type Output;
    /// Does it.
    fn run<S: NativeScheme>(self) -> Self::Output;
}

macro_rules! by_name {
    ($($family:ident, $feature:literal { $($(#[$meta:meta])* $scheme:ident: $info:expr;)* })*) => {
        /// All schemes that are compiled in, in the order of reports.
        #[must_use]
        pub fn all<M: Machine>() -> Vec<Info> {
            vec![$($(#[cfg(feature = $feature)] <super::$scheme<M> as Scheme<M>>::INFO,)*)*]
        }

        /// Does `it` under the scheme called `name`; `None` if none that is compiled in is.
        pub fn under<M: Machine, U: UnderScheme<M>>(name: &str, it: U) -> Option<U::Output> {
            $($(#[cfg(feature = $feature)] if <super::$scheme<M> as Scheme<M>>::INFO.name == name {
                return Some(it.run::<super::$scheme<M>>());
            })*)*
            None
        }

        /// As [`under`], on threads.
        pub fn under_native<U: UnderNativeScheme>(name: &str, it: U) -> Option<U::Output> {
            $($(#[cfg(feature = $feature)] if <super::$scheme<Interleaved> as Scheme<Interleaved>>::INFO.name == name {
                return Some(it.run::<super::$scheme<Interleaved>>());
            })*)*
            None
        }
    };
}

for_each_scheme!(by_name);
