//! Numbers with a point, characters, times and addresses as parts of keys.

use super::{BadKey, KeyPart, Sink, Source};
use crate::parts::{below_a_second, of_address, of_instant, to_address, to_instant};
use core::time::Duration;
use std::net::IpAddr;
use std::time::SystemTime;

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

impl KeyPart for Duration {
    const BYTES_MAX: usize = 12;
    type Decoded = Self;
    fn write<S: Sink>(&self, sink: &mut S) {
        self.as_secs().write(sink);
        self.subsec_nanos().write(sink);
    }
    fn read(source: &mut Source<'_>) -> Result<Self, BadKey> {
        let seconds = u64::read(source)?;
        let nanoseconds = below_a_second(u32::read(source)?).map_err(|_| BadKey)?;
        Ok(Self::new(seconds, nanoseconds))
    }
}

/// Seconds from 1970, rounded down, and nanoseconds after them. Instants beyond 64 bits of seconds become the furthest.
impl KeyPart for SystemTime {
    const BYTES_MAX: usize = 12;
    type Decoded = Self;
    fn write<S: Sink>(&self, sink: &mut S) {
        let (seconds, nanoseconds) = of_instant(*self);
        seconds.write(sink);
        nanoseconds.write(sink);
    }
    fn read(source: &mut Source<'_>) -> Result<Self, BadKey> {
        let (seconds, nanoseconds) = (i64::read(source)?, u32::read(source)?);
        to_instant(seconds, nanoseconds).map_err(|_| BadKey)
    }
}

/// 4 or 6, the address, zeros up to 16 bytes.
impl KeyPart for IpAddr {
    const BYTES_MAX: usize = 17;
    type Decoded = Self;
    fn write<S: Sink>(&self, sink: &mut S) {
        sink.put(of_address(*self));
    }
    fn read(source: &mut Source<'_>) -> Result<Self, BadKey> {
        to_address(source.take()?).map_err(|_| BadKey)
    }
}
