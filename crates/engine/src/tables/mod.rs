//! Tables: the catalog, the versions of it that transactions see, seals, and what becomes of dropped ones.

pub mod catalog;
pub mod dropped;
pub mod seal;
pub mod table;
