//! The list of schemes: one line per name.

use super::{
    DlDetect, GlobalTid, HStore, KeyValue, LockTable, LockTableBucket, LockTableGlobal,
    LockTableNoEbr, LockTableRepeatableRead, LockTableSli, Mvcc, NoWait, Occ, OccSerial,
    Partitioned, Silo, Timestamp, WaitDie,
};
use crate::contract::Scheme;
use chiliad_api::Info;
use chiliad_machine::{Interleaved, Machine};

/// Something to do under a scheme whose name is known at run time.
pub trait UnderScheme<M: Machine> {
    /// What it yields.
    type Output;
    /// Does it.
    fn run<S: Scheme<M>>(self) -> Self::Output;
}

/// A scheme whose databases threads may share.
pub trait NativeScheme: Scheme<Interleaved, Shared: Send + Sync> + Send {}

impl<S: Scheme<Interleaved, Shared: Send + Sync> + Send> NativeScheme for S {}

/// Something to do natively under a scheme whose name is known at run time.
pub trait UnderNativeScheme {
    /// What it yields.
    type Output;
    /// Does it.
    fn run<S: NativeScheme>(self) -> Self::Output;
}

macro_rules! schemes {
    ($($scheme:ident),*) => {
        /// All schemes, in the order of reports.
        #[must_use]
        pub fn all<M: Machine>() -> Vec<Info> {
            vec![$(<$scheme<M> as Scheme<M>>::INFO),*]
        }

        /// Does `it` under the scheme called `name`; `None` if there is none.
        pub fn under<M: Machine, U: UnderScheme<M>>(name: &str, it: U) -> Option<U::Output> {
            $(if <$scheme<M> as Scheme<M>>::INFO.name == name {
                return Some(it.run::<$scheme<M>>());
            })*
            None
        }

        /// As [`under`], on threads.
        pub fn under_native<U: UnderNativeScheme>(name: &str, it: U) -> Option<U::Output> {
            $(if <$scheme<Interleaved> as Scheme<Interleaved>>::INFO.name == name {
                return Some(it.run::<$scheme<Interleaved>>());
            })*
            None
        }
    };
}

schemes!(
    Silo,
    GlobalTid,
    KeyValue,
    Partitioned,
    HStore,
    NoWait,
    WaitDie,
    DlDetect,
    Timestamp,
    Mvcc,
    Occ,
    OccSerial,
    LockTable,
    LockTableGlobal,
    LockTableBucket,
    LockTableSli,
    LockTableNoEbr,
    LockTableRepeatableRead
);
