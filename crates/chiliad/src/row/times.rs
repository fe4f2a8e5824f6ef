//! Lengths of time, instants and addresses.

use super::Stored;
use crate::{ColumnType, Typed};
use chiliad_api::row::parts::{below_a_second, of_address, of_instant, to_address, to_instant};
use chiliad_api::row::{BadValue, ValueSource};
use core::time::Duration;
use std::net::IpAddr;
use std::time::SystemTime;

impl Typed for Duration {
    fn column_type() -> ColumnType {
        ColumnType::Duration
    }
}

impl Stored for Duration {
    const VALUE_BYTES: Option<usize> = Some(12);

    fn write_value(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.as_secs().to_le_bytes());
        out.extend_from_slice(&self.subsec_nanos().to_le_bytes());
    }

    fn read_value(source: &mut ValueSource<'_>) -> Result<Self, BadValue> {
        let seconds = u64::from_le_bytes(source.take()?);
        Ok(Self::new(seconds, below_a_second(u32::from_le_bytes(source.take()?))?))
    }
}

impl Typed for SystemTime {
    fn column_type() -> ColumnType {
        ColumnType::Instant
    }
}

/// Instants that the system has and this has not, more than 292 thousand million years from 1970, become the furthest.
impl Stored for SystemTime {
    const VALUE_BYTES: Option<usize> = Some(12);

    fn write_value(&self, out: &mut Vec<u8>) {
        let (seconds, nanoseconds) = of_instant(*self);
        out.extend_from_slice(&seconds.to_le_bytes());
        out.extend_from_slice(&nanoseconds.to_le_bytes());
    }

    fn read_value(source: &mut ValueSource<'_>) -> Result<Self, BadValue> {
        let seconds = i64::from_le_bytes(source.take()?);
        to_instant(seconds, u32::from_le_bytes(source.take()?))
    }
}

impl Typed for IpAddr {
    fn column_type() -> ColumnType {
        ColumnType::Ip
    }
}

impl Stored for IpAddr {
    const VALUE_BYTES: Option<usize> = Some(17);

    fn write_value(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&of_address(*self));
    }

    fn read_value(source: &mut ValueSource<'_>) -> Result<Self, BadValue> {
        to_address(source.take()?)
    }
}
