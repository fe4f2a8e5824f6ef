//! `#[derive(Row)]` and `#[derive(Key)]` for the facade crate `chiliad`, which re-exports both and
//! documents how to use them.
//!
//! The macros work on tokens only: the places of columns are constant expressions over the traits of `chiliad`, so that
//! type aliases and the application's own field types work like the built-in ones.
#![forbid(unsafe_code)]
#![deny(missing_docs)]

mod index;
mod key;
mod row;
mod shape;
mod stored;

use proc_macro::TokenStream;

/// Makes a struct with named fields a row of a table: encoding, decoding, a constant for the place
/// of each field, and the secondary indexes that `#[index(..)]` declares.
///
/// Documented with examples at `chiliad::Row`.
#[proc_macro_derive(Row, attributes(index, row))]
pub fn derive_row(input: TokenStream) -> TokenStream {
    finish(syn::parse(input).and_then(|input| row::expand(&input)))
}

/// Makes a struct of key parts a primary key, ordered by its fields from the first to the last.
///
/// Documented with examples at `chiliad::Key`.
#[proc_macro_derive(Key, attributes(key))]
pub fn derive_key(input: TokenStream) -> TokenStream {
    finish(syn::parse(input).and_then(|input| key::expand(&input)))
}

/// Makes a struct or an enum a column of a row, and a part of a key where all that it is made of has an order.
///
/// Documented with examples at `chiliad::Stored`.
#[proc_macro_derive(Stored, attributes(stored))]
pub fn derive_stored(input: TokenStream) -> TokenStream {
    finish(syn::parse(input).and_then(|input| stored::expand(&input)))
}

fn finish(expanded: syn::Result<proc_macro2::TokenStream>) -> TokenStream {
    expanded.unwrap_or_else(|error| error.into_compile_error()).into()
}
