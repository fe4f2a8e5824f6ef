//! Tables: the catalog, the versions of it that transactions see, seals, and what becomes of dropped ones.

pub mod build;
pub mod catalog;
pub mod draft;
pub mod dropped;
pub mod pieces;
pub mod seal;
pub mod table;
