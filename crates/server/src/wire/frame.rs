//! Where messages begin and end in a stream of bytes.
//!
//! The length word is looked at before anything of the body is waited for, so a client cannot have the server buffer what
//! it will refuse.

use super::BadMessage;

/// A message as its type and its body, of `length` bytes in the stream.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Frame<'a> {
    pub kind: u8,
    pub body: &'a [u8],
    pub length: usize,
}

/// The first message of `input`; `None` while it is incomplete.
///
/// # Errors
/// A length word below 4, and one of more than `most` bytes.
pub(crate) fn next_frame(input: &[u8], most: usize) -> Result<Option<Frame<'_>>, BadMessage> {
    let Some((&kind, rest)) = input.split_first() else { return Ok(None) };
    let Some(length) = length_word(rest, most)? else { return Ok(None) };
    let frame = rest.get(4..length).map(|body| Frame { kind, body, length: length + 1 });
    Ok(frame)
}

/// The first packet of a connection, which has no type; `None` while it is incomplete.
///
/// # Errors
/// As for [`next_frame`].
pub(crate) fn next_startup(input: &[u8], most: usize) -> Result<Option<Frame<'_>>, BadMessage> {
    let Some(length) = length_word(input, most)? else { return Ok(None) };
    Ok(input.get(4..length).map(|body| Frame { kind: 0, body, length }))
}

fn length_word(bytes: &[u8], most: usize) -> Result<Option<usize>, BadMessage> {
    let Some(word) = bytes.first_chunk::<4>() else { return Ok(None) };
    let length = u32::from_be_bytes(*word) as usize;
    match (4..=most).contains(&length) {
        true => Ok(Some(length)),
        false => Err(BadMessage::new(format!(
            "invalid message length {length}: 4 to {most} are accepted"
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_found_when_it_is_complete() {
        let bytes = *b"Q\0\0\0\x06a\0S\0\0\0\x04";
        for end in 0..7 {
            assert_eq!(next_frame(&bytes[..end], 100), Ok(None), "{end} bytes");
        }
        let frame = Frame { kind: b'Q', body: b"a\0", length: 7 };
        assert_eq!(next_frame(&bytes, 100), Ok(Some(frame)));
        let frame = Frame { kind: b'S', body: b"", length: 5 };
        assert_eq!(next_frame(&bytes[7..], 100), Ok(Some(frame)));
    }

    #[test]
    fn lengths_are_refused_before_the_body_comes() {
        for length in [0_u32, 3, 101, 1 << 30, u32::MAX] {
            let mut bytes = vec![b'Q'];
            bytes.extend(length.to_be_bytes());
            assert!(next_frame(&bytes, 100).is_err(), "{length}");
            assert!(next_startup(&bytes[1..], 100).is_err(), "{length}");
        }
    }
}
