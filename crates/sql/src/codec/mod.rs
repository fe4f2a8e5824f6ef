//! Values as PostgreSQL's clients send and expect them: as text, and as the bytes of its binary format.

mod binary;
mod bytes;
mod json;
mod numbers;
mod text;
pub(crate) mod times;

pub use binary::{from_binary, to_binary};
pub(crate) use json::canonical;
pub(crate) use numbers::short_integer;
pub(crate) use text::shown;
pub use text::{from_text, from_text_bytes, to_text};
