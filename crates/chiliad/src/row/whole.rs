//! Rows of one column, which is the whole value.

use super::{Stored, Text};
use core::time::Duration;
use std::net::IpAddr;
use std::time::SystemTime;

macro_rules! whole {
    ($([$($generics:tt)*] $type:ty;)*) => {$(
        impl<$($generics)*> $crate::Row for $type {
            fn columns() -> Vec<$crate::Column> {
                vec![$crate::Column::new("0", <$type as $crate::Typed>::column_type())]
            }

            #[inline]
            fn encode(&self, body: &mut Vec<u8>) {
                use $crate::row::{ColumnShape, Places};
                let places = const { Places::of([ColumnShape::of::<$type>()]) };
                places.begin(body).put(places.place(0), self);
            }

            #[inline]
            fn decode(body: &[u8]) -> $crate::Result<Self> {
                use $crate::row::{ColumnShape, Places};
                let places = const { Places::of([ColumnShape::of::<$type>()]) };
                places.read(body)?.get(places.place(0), "0")
            }
        }
    )*};
}
#[allow(unused_imports, reason = "for the types of other crates, which features bring")]
pub(super) use whole;

whole! {
    [] ();
    [] u8;
    [] u16;
    [] u32;
    [] u64;
    [] u128;
    [] i8;
    [] i16;
    [] i32;
    [] i64;
    [] i128;
    [] f32;
    [] f64;
    [] bool;
    [] char;
    [] String;
    [] Duration;
    [] SystemTime;
    [] IpAddr;
    [const N: usize] Text<N>;
    [T: Stored] Vec<T>;
    [T: Stored] Option<T>;
    [T: Stored, const N: usize] [T; N];
    [A: Stored] (A,);
    [A: Stored, B: Stored] (A, B);
    [A: Stored, B: Stored, C: Stored] (A, B, C);
    [A: Stored, B: Stored, C: Stored, D: Stored] (A, B, C, D);
}

#[cfg(feature = "serde")]
whole! { [T: serde::de::DeserializeOwned] super::Json<T>; }
