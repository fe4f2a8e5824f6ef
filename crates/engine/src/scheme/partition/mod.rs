//! Schemes that lock whole partitions (Stonebraker et al., 2007; Tu et al., 2013, section 5.3).

mod hstore;
mod partitioned;

pub use hstore::HStore;
pub use partitioned::Partitioned;

pub(super) use hstore::FAULTS as HSTORE_FAULTS;
pub(super) use partitioned::FAULTS as PARTITIONED_FAULTS;
