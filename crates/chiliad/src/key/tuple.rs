//! Tuples of parts as keys, and their prefixes.

use super::{Key, KeyPart, Lookup, Part, PartOf, Prefix, decode};
use crate::{Column, Result};

macro_rules! tuples {
    ($(($($part:ident $borrowed:ident $place:tt),+);)*) => {$(
        impl<$($part: Part),+> Key for ($($part,)+) {
            fn columns() -> Vec<Column> {
                vec![$(Column::new(stringify!($place), $part::column_type())),+]
            }

            fn decode(key: &[u8]) -> Result<Self> {
                decode::<Self>(key)
            }
        }

        impl<$($part: Part, $borrowed: PartOf<$part>),+> Lookup<($($part,)+)>
            for ($($borrowed,)+)
        {
            fn encode(&self, key: &mut Vec<u8>) {
                $(KeyPart::write(&self.$place, key);)+
            }
        }
    )*};
}
tuples! {
    (A P 0);
    (A P 0, B Q 1);
    (A P 0, B Q 1, C R 2);
    (A P 0, B Q 1, C R 2, D S 3);
    (A P 0, B Q 1, C R 2, D S 3, E T 4);
    (A P 0, B Q 1, C R 2, D S 3, E T 4, F U 5);
}

macro_rules! prefixes {
    ($(($($part:ident $borrowed:ident $place:tt),+) of [$($rest:ident),*];)*) => {$(
        impl<$($part: Part, $borrowed: PartOf<$part>,)+ $($rest),*>
            Prefix<($($part,)+ $($rest,)*)> for ($($borrowed,)+)
        {
            fn encode_prefix(&self, key: &mut Vec<u8>) {
                $(KeyPart::write(&self.$place, key);)+
            }
        }
    )*};
}
prefixes! {
    (A P 0) of [];
    (A P 0) of [B];
    (A P 0) of [B, C];
    (A P 0) of [B, C, D];
    (A P 0) of [B, C, D, E];
    (A P 0) of [B, C, D, E, F];
    (A P 0, B Q 1) of [];
    (A P 0, B Q 1) of [C];
    (A P 0, B Q 1) of [C, D];
    (A P 0, B Q 1) of [C, D, E];
    (A P 0, B Q 1) of [C, D, E, F];
    (A P 0, B Q 1, C R 2) of [];
    (A P 0, B Q 1, C R 2) of [D];
    (A P 0, B Q 1, C R 2) of [D, E];
    (A P 0, B Q 1, C R 2) of [D, E, F];
    (A P 0, B Q 1, C R 2, D S 3) of [];
    (A P 0, B Q 1, C R 2, D S 3) of [E];
    (A P 0, B Q 1, C R 2, D S 3) of [E, F];
    (A P 0, B Q 1, C R 2, D S 3, E T 4) of [];
    (A P 0, B Q 1, C R 2, D S 3, E T 4) of [F];
    (A P 0, B Q 1, C R 2, D S 3, E T 4, F U 5) of [];
}
