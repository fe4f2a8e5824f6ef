//! Numbers with a point, characters, times and addresses as parts of keys.

use super::{BadKey, KeyPart, Sink, Source};
use core::time::Duration;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::time::{SystemTime, UNIX_EPOCH};

macro_rules! floats {
    ($($type:ty, $bits:ty;)*) => {$(
        /// By the total order of IEEE 754 (`total_cmp`).
        impl KeyPart for $type {
            const BYTES_MAX: usize = size_of::<Self>();
            type Decoded = Self;
            #[inline]
            fn write<S: Sink>(&self, sink: &mut S) {
                const SIGN: $bits = 1 << (<$bits>::BITS - 1);
                let bits = self.to_bits();
                let ordered = if bits & SIGN == 0 { bits ^ SIGN } else { !bits };
                sink.put(ordered.to_be_bytes());
            }
            #[inline]
            fn read(source: &mut Source<'_>) -> Result<Self, BadKey> {
                const SIGN: $bits = 1 << (<$bits>::BITS - 1);
                let ordered = <$bits>::from_be_bytes(source.take()?);
                let bits = if ordered & SIGN == 0 { !ordered } else { ordered ^ SIGN };
                Ok(Self::from_bits(bits))
            }
        }
    )*};
}
floats! { f32, u32; f64, u64; }

impl KeyPart for char {
    const BYTES_MAX: usize = 4;
    type Decoded = Self;
    #[inline]
    fn write<S: Sink>(&self, sink: &mut S) {
        u32::from(*self).write(sink);
    }
    fn read(source: &mut Source<'_>) -> Result<Self, BadKey> {
        Self::from_u32(u32::read(source)?).ok_or(BadKey)
    }
}

impl KeyPart for () {
    const BYTES_MAX: usize = 0;
    type Decoded = Self;
    fn write<S: Sink>(&self, _: &mut S) {}
    fn read(_: &mut Source<'_>) -> Result<Self, BadKey> {
        Ok(())
    }
}

const SECOND: u32 = 1_000_000_000;

fn below_a_second(source: &mut Source<'_>) -> Result<u32, BadKey> {
    u32::read(source)
        .and_then(|nanoseconds| if nanoseconds < SECOND { Ok(nanoseconds) } else { Err(BadKey) })
}

impl KeyPart for Duration {
    const BYTES_MAX: usize = 12;
    type Decoded = Self;
    fn write<S: Sink>(&self, sink: &mut S) {
        self.as_secs().write(sink);
        self.subsec_nanos().write(sink);
    }
    fn read(source: &mut Source<'_>) -> Result<Self, BadKey> {
        Ok(Self::new(u64::read(source)?, below_a_second(source)?))
    }
}

/// Seconds from 1970, rounded down, and nanoseconds after them. Instants beyond 64 bits of seconds become the furthest.
impl KeyPart for SystemTime {
    const BYTES_MAX: usize = 12;
    type Decoded = Self;
    fn write<S: Sink>(&self, sink: &mut S) {
        let seconds = |span: Duration| i64::try_from(span.as_secs()).unwrap_or(i64::MAX);
        let (seconds, nanoseconds) = match self.duration_since(UNIX_EPOCH) {
            Ok(after) => (seconds(after), after.subsec_nanos()),
            Err(before) => match (seconds(before.duration()), before.duration().subsec_nanos()) {
                (seconds, 0) => (-seconds, 0),
                (seconds, nanoseconds) => (-seconds - 1, SECOND - nanoseconds),
            },
        };
        seconds.write(sink);
        nanoseconds.write(sink);
    }
    fn read(source: &mut Source<'_>) -> Result<Self, BadKey> {
        let seconds = i64::read(source)?;
        let after = Duration::new(0, below_a_second(source)?);
        let span = Duration::from_secs(seconds.unsigned_abs());
        let whole =
            if seconds < 0 { UNIX_EPOCH.checked_sub(span) } else { UNIX_EPOCH.checked_add(span) };
        whole.and_then(|whole| whole.checked_add(after)).ok_or(BadKey)
    }
}

/// 4 or 6, the address, zeros up to 16 bytes.
impl KeyPart for IpAddr {
    const BYTES_MAX: usize = 17;
    type Decoded = Self;
    fn write<S: Sink>(&self, sink: &mut S) {
        match self {
            Self::V4(address) => {
                sink.put([4]);
                sink.put(address.octets());
                sink.put([0; 12]);
            }
            Self::V6(address) => {
                sink.put([6]);
                sink.put(address.octets());
            }
        }
    }
    fn read(source: &mut Source<'_>) -> Result<Self, BadKey> {
        let ([version], bytes) = (source.take()?, source.take::<16>()?);
        match (version, &bytes) {
            (4, [a, b, c, d, zeros @ ..]) if zeros == &[0; 12] => {
                Ok(Ipv4Addr::new(*a, *b, *c, *d).into())
            }
            (6, bytes) => Ok(Ipv6Addr::from(*bytes).into()),
            _ => Err(BadKey),
        }
    }
}
