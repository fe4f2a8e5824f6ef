//! Lengths of time, instants and addresses.

use super::Stored;
use crate::{ColumnType, Typed};
use chiliad_api::row::{BadValue, ValueSource};
use core::time::Duration;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::time::{SystemTime, UNIX_EPOCH};

const SECOND: u32 = 1_000_000_000;

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
        Ok(Self::new(seconds, below_a_second(source)?))
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
        let seconds = |span: Duration| i64::try_from(span.as_secs()).unwrap_or(i64::MAX);
        let (seconds, nanoseconds) = match self.duration_since(UNIX_EPOCH) {
            Ok(after) => (seconds(after), after.subsec_nanos()),
            Err(before) => match (seconds(before.duration()), before.duration().subsec_nanos()) {
                (seconds, 0) => (-seconds, 0),
                (seconds, nanoseconds) => (-seconds - 1, SECOND - nanoseconds),
            },
        };
        out.extend_from_slice(&seconds.to_le_bytes());
        out.extend_from_slice(&nanoseconds.to_le_bytes());
    }

    fn read_value(source: &mut ValueSource<'_>) -> Result<Self, BadValue> {
        let seconds = i64::from_le_bytes(source.take()?);
        let after = Duration::new(0, below_a_second(source)?);
        let span = Duration::from_secs(seconds.unsigned_abs());
        let whole =
            if seconds < 0 { UNIX_EPOCH.checked_sub(span) } else { UNIX_EPOCH.checked_add(span) };
        let instant = whole.and_then(|whole| whole.checked_add(after));
        instant.ok_or_else(|| BadValue::new("an instant that the system does not have"))
    }
}

fn below_a_second(source: &mut ValueSource<'_>) -> Result<u32, BadValue> {
    let nanoseconds = u32::from_le_bytes(source.take()?);
    if nanoseconds < SECOND {
        Ok(nanoseconds)
    } else {
        Err(BadValue::new("a second or more of nanoseconds"))
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
        let start = out.len();
        match self {
            Self::V4(address) => {
                out.push(4);
                out.extend_from_slice(&address.octets());
            }
            Self::V6(address) => {
                out.push(6);
                out.extend_from_slice(&address.octets());
            }
        }
        out.resize(start + 17, 0);
    }

    fn read_value(source: &mut ValueSource<'_>) -> Result<Self, BadValue> {
        let ([version], bytes): (_, [u8; 16]) = (source.take()?, source.take()?);
        match (version, &bytes) {
            (4, [a, b, c, d, zeros @ ..]) if zeros == &[0; 12] => {
                Ok(Ipv4Addr::new(*a, *b, *c, *d).into())
            }
            (6, bytes) => Ok(Ipv6Addr::from(*bytes).into()),
            _ => Err(BadValue::new("an address of neither version 4 nor 6")),
        }
    }
}
