//! Whether there is memory for the databases of a figure.

use chiliad_host::{Stop, values};

/// The result of a check of memory.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Room {
    /// There is enough.
    Enough,
    /// So many GiB are needed, and so many available.
    Short { needed: f64, available: f64 },
    /// The system does not say how much there is.
    Unknown,
}

/// Compares `copies` of `memory`, a size as figures write it, with the bytes that are `available`.
///
/// # Errors
/// `memory` is no size.
pub fn room(memory: &str, copies: usize, available: Option<u64>) -> Result<Room, Stop> {
    let bytes = values::size(memory);
    let bytes = bytes.map_err(|problem| Stop::Failed(format!("memory: {problem}")))?;
    let needed = bytes * copies as u64;
    let gibibytes = |bytes: u64| bytes as f64 / (1_u64 << 30) as f64;
    Ok(match available {
        None => Room::Unknown,
        Some(available) if needed > available => {
            Room::Short { needed: gibibytes(needed), available: gibibytes(available) }
        }
        Some(_) => Room::Enough,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn room_is_for_all_copies() {
        let gibibytes = |number: u64| Some(number << 30);
        let room = |copies, available| room("4GiB", copies, available).expect("a size");
        assert_eq!(room(1, gibibytes(4)), Room::Enough);
        assert_eq!(room(2, gibibytes(7)), Room::Short { needed: 8.0, available: 7.0 });
        assert_eq!(room(1, None), Room::Unknown);
        assert!(matches!(super::room("much", 1, None), Err(Stop::Failed(_))));
    }
}
