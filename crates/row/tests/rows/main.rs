//! Keys, values, rows and the versions of their schemas, against plain models.

mod common;
mod damaged;
mod foreign;
mod histories;
mod key;
mod values;
