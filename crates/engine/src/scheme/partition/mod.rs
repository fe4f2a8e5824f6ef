//! Schemes that lock whole partitions (Stonebraker et al., 2007; Tu et al., 2013, section 5.3).

mod faults;
mod hstore;
mod partitioned;

pub use faults::FAULTS;
pub use hstore::HStore;
pub use partitioned::Partitioned;
