//! Instants, addresses and parts of seconds as the numbers and bytes that rows and keys have of them.

use crate::BadValue;
use core::time::Duration;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::time::{SystemTime, UNIX_EPOCH};

/// Nanoseconds of a second.
pub const SECOND: u32 = 1_000_000_000;

/// Refuses nanoseconds that make a second or more.
///
/// # Errors
/// For those.
pub fn below_a_second(nanoseconds: u32) -> Result<u32, BadValue> {
    if nanoseconds < SECOND {
        Ok(nanoseconds)
    } else {
        Err(BadValue::new("a second or more of nanoseconds"))
    }
}

/// Seconds from 1970, rounded down, and nanoseconds after them. An instant beyond 64 bits of seconds becomes the furthest.
#[must_use]
pub fn of_instant(instant: SystemTime) -> (i64, u32) {
    let seconds = |span: Duration| i64::try_from(span.as_secs()).unwrap_or(i64::MAX);
    match instant.duration_since(UNIX_EPOCH) {
        Ok(after) => (seconds(after), after.subsec_nanos()),
        Err(before) => match (seconds(before.duration()), before.duration().subsec_nanos()) {
            (seconds, 0) => (-seconds, 0),
            (seconds, nanoseconds) => (-seconds - 1, SECOND - nanoseconds),
        },
    }
}

/// The reverse of [`of_instant`].
///
/// # Errors
/// For a second or more of nanoseconds, and an instant that the system does not have.
pub fn to_instant(seconds: i64, nanoseconds: u32) -> Result<SystemTime, BadValue> {
    let after = Duration::new(0, below_a_second(nanoseconds)?);
    let span = Duration::from_secs(seconds.unsigned_abs());
    let whole =
        if seconds < 0 { UNIX_EPOCH.checked_sub(span) } else { UNIX_EPOCH.checked_add(span) };
    let instant = whole.and_then(|whole| whole.checked_add(after));
    instant.ok_or_else(|| BadValue::new("an instant that the system does not have"))
}

/// 4 or 6, the address in network order, zeros up to 16 bytes.
#[must_use]
pub fn of_address(address: IpAddr) -> [u8; 17] {
    let mut bytes = [0; 17];
    match address {
        IpAddr::V4(address) => {
            bytes[0] = 4;
            bytes[1..5].copy_from_slice(&address.octets());
        }
        IpAddr::V6(address) => {
            bytes[0] = 6;
            bytes[1..].copy_from_slice(&address.octets());
        }
    }
    bytes
}

/// The reverse of [`of_address`].
///
/// # Errors
/// For other bytes.
pub fn to_address(bytes: [u8; 17]) -> Result<IpAddr, BadValue> {
    match bytes {
        [4, a, b, c, d, zeros @ ..] if zeros == [0; 12] => Ok(Ipv4Addr::new(a, b, c, d).into()),
        [6, address @ ..] => Ok(Ipv6Addr::from(address).into()),
        _ => Err(BadValue::new("an address of neither version 4 nor 6")),
    }
}
