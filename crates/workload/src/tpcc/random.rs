//! The random choices of TPC-C: non-uniform numbers with their constants (clauses 2.1.6 and
//! 4.3.2.3), last names (4.3.2.3) and texts (4.3.2.2).

use crate::random::Random;

/// The constant C for C_LAST with which the database is loaded. Fixed, so that a database can be
/// loaded by one run and used by another.
pub const C_LAST_LOAD: u32 = 123;

/// The constants C of the three non-uniform choices of a run, the same for all clients.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Constants {
    /// For C_LAST: A = 255.
    pub last: u32,
    /// For C_ID: A = 1023.
    pub customer: u32,
    /// For OL_I_ID: A = 8191.
    pub item: u32,
}

impl Constants {
    /// Those of the run with `seed`. The distance of the one for C_LAST from the load's is from 65
    /// to 119, but neither 96 nor 112 (clause 2.1.6.1).
    #[must_use]
    pub fn of_run(seed: u64) -> Self {
        let mut random = Random::new(seed, 0xC0);
        let last = loop {
            let last = random.range(0, 255);
            if is_fit_for_run(last) {
                break last;
            }
        };
        Self { last, customer: random.range(0, 1023), item: random.range(0, 8191) }
    }
}

/// The rule of clause 2.1.6.1.
fn is_fit_for_run(last: u32) -> bool {
    let distance = last.abs_diff(C_LAST_LOAD);
    (65..=119).contains(&distance) && distance != 96 && distance != 112
}

/// NURand(A, low, high) with the constant `c`.
#[inline]
pub fn nurand(random: &mut Random, a: u32, c: u32, low: u32, high: u32) -> u32 {
    // Both numbers from one draw: 32 bits each.
    let bits = random.bits();
    let first = scale(bits >> 32, a + 1);
    let second = low + scale(bits & 0xffff_ffff, high - low + 1);
    let sum = (first | second) + c;
    // As a rule the division is not needed: it is the slow part.
    let span = high - low + 1;
    low + if sum < span { sum } else { sum % span }
}

#[inline]
fn scale(bits: u64, bound: u32) -> u32 {
    ((bits * u64::from(bound)) >> 32) as u32
}

const SYLLABLES: [&[u8]; 10] =
    [b"BAR", b"OUGHT", b"ABLE", b"PRI", b"PRES", b"ESE", b"ANTI", b"CALLY", b"ATION", b"EING"];

/// A last name: three syllables.
#[derive(Clone, Copy, Debug, Default)]
pub struct LastName {
    bytes: [u8; 16],
    length: u8,
}

impl LastName {
    /// Number `number` of the thousand.
    #[must_use]
    pub fn new(number: u32) -> Self {
        let mut name = Self::default();
        for digit in [number / 100 % 10, number / 10 % 10, number % 10] {
            let syllable = SYLLABLES[digit as usize];
            let start = usize::from(name.length);
            name.bytes[start..start + syllable.len()].copy_from_slice(syllable);
            name.length += syllable.len() as u8;
        }
        name
    }

    /// Its letters.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.length)]
    }
}

/// The text that marks an item as a brand (clause 2.4.2.2).
pub const ORIGINAL: &[u8; 8] = b"ORIGINAL";

/// Whether `data` contains "ORIGINAL".
#[inline]
#[must_use]
pub fn has_original(data: &[u8]) -> bool {
    // Of 26 to 50 random letters few have its first two side by side, and how many letters there are nobody foresees: so all
    // of a fixed number are compared, before any branch.
    let mut text = [0; 65];
    let may_have = match text.get_mut(..data.len()) {
        Some(room) => {
            room.copy_from_slice(data);
            let pairs = text[..64].iter().zip(&text[1..]);
            let met = pairs.fold(0, |met, (&first, &second)| {
                met | u8::from(first == ORIGINAL[0]) & u8::from(second == ORIGINAL[1])
            });
            met != 0
        }
        None => true,
    };
    may_have && data.windows(ORIGINAL.len()).any(|text| text == ORIGINAL)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_constants_of_load_and_run_keep_their_distance() {
        for seed in 0..1000 {
            let constants = Constants::of_run(seed);
            assert!(is_fit_for_run(constants.last), "{}", constants.last);
            assert!(constants.last <= 255 && constants.customer <= 1023 && constants.item <= 8191);
        }
        let fit: Vec<u32> = (0..=255).filter(|&last| is_fit_for_run(last)).collect();
        assert!(fit.len() > 50 && !fit.contains(&(C_LAST_LOAD + 96)));
        assert!(!fit.contains(&(C_LAST_LOAD - 112)) && !fit.contains(&C_LAST_LOAD));
    }

    #[test]
    fn non_uniform_numbers_stay_in_range_and_are_non_uniform() {
        let mut random = Random::new(5, 0);
        for (a, low, high) in [(255, 0, 999), (1023, 1, 3000), (8191, 1, 100_000), (8191, 1, 20)] {
            let mut counts = vec![0u32; high as usize + 1];
            let draws = 400_000;
            for _ in 0..draws {
                let number = nurand(&mut random, a, 77, low, high);
                assert!((low..=high).contains(&number));
                counts[number as usize] += 1;
            }
            if high - low > 100 {
                counts.sort_unstable_by(|a, b| b.cmp(a));
                let top: u32 = counts[..counts.len() / 10].iter().sum();
                assert!(top > draws / 5, "NURand({a}): the top tenth got {top} of {draws}");
            }
        }
    }

    #[test]
    fn last_names_are_the_specification_s() {
        assert_eq!(LastName::new(371).as_bytes(), b"PRICALLYOUGHT");
        assert_eq!(LastName::new(40).as_bytes(), b"BARPRESBAR");
        assert_eq!(LastName::new(777).as_bytes().len(), 15);
        assert_eq!(LastName::new(0).as_bytes(), b"BARBARBAR");
    }

    #[test]
    fn original_is_found_wherever_it_stands() {
        let mut random = Random::new(1, 1);
        for length in 8..=80 {
            for at in 0..=length - 8 {
                let mut data = vec![0; length];
                random.letters(&mut data);
                data[at..at + 8].copy_from_slice(ORIGINAL);
                assert!(has_original(&data));
                data[at + 3] = b'g';
                assert!(!has_original(&data));
            }
        }
        assert!(!has_original(b"ORIGINA") && !has_original(b""));
        assert!(has_original(b"OORIGINALL") && !has_original(b"ORIGORIGINA"));
    }
}
