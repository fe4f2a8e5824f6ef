//! A directory that holds a database: what is in it, and in which order recovery reads it. Nothing here changes it,
//! but for `erase` and copies.

pub mod backup;
pub mod inspect;
pub mod number;
pub mod plan;
pub mod shape;
