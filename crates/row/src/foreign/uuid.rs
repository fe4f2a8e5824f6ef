//! The type of the crate `uuid`.

use super::{Foreign, parts_of_keys};
use crate::BadValue;
use uuid::Uuid;

impl Foreign for Uuid {
    type Plain = [u8; 16];

    #[inline]
    fn to_plain(&self) -> [u8; 16] {
        self.into_bytes()
    }

    #[inline]
    fn of_plain(plain: [u8; 16]) -> Result<Self, BadValue> {
        Ok(Self::from_bytes(plain))
    }
}

parts_of_keys!(Uuid);
