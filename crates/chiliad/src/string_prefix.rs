//! The beginning of a string as a prefix of a key that is one string.

use crate::Text;
use crate::key::{KeyPart, Prefix};

/// Appends the encoding of a string without its end, which other strings do not have there.
fn write_beginning(string: &(impl KeyPart + ?Sized), key: &mut Vec<u8>) {
    string.write(key);
    key.pop();
}

macro_rules! begin {
    ($([$($generics:tt)*] $key:ty: $prefix:ty;)*) => {$(
        impl<$($generics)*> Prefix<$key> for $prefix {
            fn encode_prefix(&self, key: &mut Vec<u8>) {
                write_beginning(self, key);
            }
        }
    )*};
}
begin! {
    [] String: str;
    [] String: &str;
    [] String: String;
    [const N: usize] Text<N>: str;
    [const N: usize] Text<N>: &str;
    [const N: usize] Text<N>: String;
    [] Vec<u8>: [u8];
    [] Vec<u8>: &[u8];
    [] Vec<u8>: Vec<u8>;
}
