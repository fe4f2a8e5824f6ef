//! Encodings compare as the tuples they stand for, and come back.

use chiliad_row::key::{BadKey, Desc, KeyPart, decode, encode, encode_into, prefix_end};
use std::fmt::Debug;

struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 11
    }

    /// Small numbers and the ends of the range, so that parts are often equal.
    fn number(&mut self) -> u64 {
        let ends = [0, 1, 2, 0x7f, 0x80, 0xff, 0x100, u64::MAX, u64::MAX - 1, 1 << 63, 1 << 31];
        if self.next().is_multiple_of(4) {
            self.next()
        } else {
            ends[self.next() as usize % ends.len()]
        }
    }

    fn bytes(&mut self) -> Vec<u8> {
        let length = self.next() % 5;
        (0..length).map(|_| [0, 1, 2, 0x61, 0xfe, 0xff][self.next() as usize % 6]).collect()
    }

    fn text(&mut self) -> String {
        let length = self.next() % 5;
        (0..length)
            .map(|_| ['\0', '\u{1}', 'a', 'b', 'é', '\u{10ffff}'][self.next() as usize % 6])
            .collect()
    }

    fn option<T>(&mut self, some: impl FnOnce(&mut Self) -> T) -> Option<T> {
        (!self.next().is_multiple_of(3)).then(|| some(self))
    }
}

fn encoded<T: KeyPart>(key: &T) -> Vec<u8> {
    let mut buffer = vec![9; 3];
    encode_into(key, &mut buffer);
    buffer
}

/// Draws values and checks that order and value survive.
fn check<T>(mut draw: impl FnMut(&mut Random) -> T)
where
    T: KeyPart<Decoded = T> + Ord + Debug,
{
    let mut random = Random(0x1234_5678_9abc_def1);
    let count = if cfg!(miri) { 16 } else { 400 };
    let values: Vec<T> = (0..count).map(|_| draw(&mut random)).collect();
    let keys: Vec<_> = values.iter().map(encoded).collect();
    for (value, key) in values.iter().zip(&keys) {
        assert_eq!(decode::<T>(key).as_ref(), Ok(value));
        assert!(key.len() <= T::BYTES_MAX);
        assert_eq!(decode::<T>(&[key.as_slice(), &[0]].concat()), Err(BadKey), "one byte more");
        if let Some((_, shorter)) = key.split_last() {
            assert_eq!(decode::<T>(shorter), Err(BadKey), "one byte less");
        }
    }
    for (a, key_a) in values.iter().zip(&keys) {
        for (b, key_b) in values.iter().zip(&keys) {
            assert_eq!(a.cmp(b), key_a.cmp(key_b), "{a:?} {b:?}");
        }
    }
}

#[test]
fn single_parts_keep_their_order() {
    check(|it| it.number() as u8);
    check(|it| it.number() as u16);
    check(|it| it.number() as u32);
    check(Random::number);
    check(|it| u128::from(it.number()) << 64 | u128::from(it.number()));
    check(|it| it.number() as i8);
    check(|it| it.number() as i16);
    check(|it| it.number() as i32);
    check(|it| it.number() as i64);
    check(|it| i128::from(it.number() as i64) << 64);
    check(|it| it.number().is_multiple_of(2));
    check(|it| (it.number() as u32).to_be_bytes());
    check(Random::bytes);
    check(Random::text);
    check(|it| it.option(Random::number));
    check(|it| it.option(|it| it.option(Random::bytes)));
    check(|it| Desc(it.number() as i32));
    check(|it| Desc(it.text()));
    check(|it| Desc(Desc(it.bytes())));
    check(|it| Desc(it.option(Random::bytes)));
}

#[test]
fn tuples_keep_their_order() {
    check(|it| (it.number() as u8,));
    check(|it| (it.bytes(), it.number() as u8));
    check(|it| (it.bytes(), it.bytes(), it.number() as i16));
    check(|it| (it.text(), Desc(it.text()), it.option(Random::text), it.number() as u8));
    check(|it| (Desc((it.bytes(), it.number() as u8)), it.bytes()));
    check(|it| {
        let pair = (it.number() as u32, it.number() as u8);
        (pair, it.number() as i64, it.bytes(), it.option(|it| Desc(it.number() as u16)), true)
    });
    check(|it| {
        let (a, b, c) = (it.number() as u8, it.number() as i8, it.number() as u16);
        let (d, e, f) = (it.text(), it.bytes(), it.option(|it| it.number() as u8));
        (a, b, c, d, e, f, it.number().is_multiple_of(2), Desc(it.number()))
    });
}

#[test]
fn golden_encodings_do_not_change() {
    // Keys outlive programs: a change here is a change of format.
    assert_eq!(encoded(&0x0102_u16), [1, 2]);
    assert_eq!(encoded(&-1_i32), [0x7f, 0xff, 0xff, 0xff]);
    assert_eq!(encoded(&i8::MIN), [0]);
    assert_eq!(encoded(&"a\0b"), [b'a', 1, 1, b'b', 0]);
    assert_eq!(encoded(&[1_u8, 2].as_slice()), [1, 2, 2, 0]);
    assert_eq!(encoded(&Desc("a")), [!b'a', 0xff]);
    assert_eq!(encoded(&None::<u64>), [0]);
    assert_eq!(encoded(&Some(5_u8)), [1, 5]);
    assert_eq!(encoded(&(true, [3_u8, 4])), [1, 3, 4]);
}

#[test]
fn what_is_no_encoding_is_refused() {
    assert_eq!(decode::<bool>(&[2]), Err(BadKey));
    assert_eq!(decode::<&str>(&[0xff, 0]), Err(BadKey), "not text");
    assert_eq!(decode::<&[u8]>(&[1, 3, 0]), Err(BadKey), "an unknown escape");
    assert_eq!(decode::<&[u8]>(&[1]), Err(BadKey));
    assert_eq!(decode::<Option<u8>>(&[2, 0]), Err(BadKey));
    assert_eq!(decode::<(u8, u32)>(&[]), Err(BadKey));
}

#[test]
fn keys_on_the_stack_are_the_same_bytes() {
    let tuple = (7_u32, 3_u8, 3001_u32, Some(-4_i64), [1_u8; 9]);
    let key = encode(&tuple);
    assert_eq!(key.as_slice(), encoded(&tuple));
    assert_eq!(decode::<(u32, u8, u32, Option<i64>, [u8; 9])>(&key), Ok(tuple));
    assert_eq!(encode(&(u128::MAX, u128::MAX, u128::MAX, u128::MAX)).len(), 64);
    assert_eq!(format!("{:?}", encode(&0x0aff_u16)), "key:0aff");
}

#[test]
fn the_end_of_a_prefix_separates() {
    assert_eq!(prefix_end(&[]), None);
    assert_eq!(prefix_end(&[0xff, 0xff]), None);
    assert_eq!(prefix_end(&[1, 0xff, 0xff]), Some(vec![2]));
    let mut random = Random(5);
    for _ in 0..20_000 {
        let (prefix, key) = (random.bytes(), random.bytes());
        let end = prefix_end(&prefix);
        let inside = key >= prefix && end.is_none_or(|end| key < end);
        assert_eq!(inside, key.starts_with(&prefix), "{prefix:?} {key:?}");
    }
    let (from, to) = (encode(&(7_u32, 3_u8)), prefix_end(&encode(&(7_u32, 3_u8))).expect("ends"));
    let inside = |key: &[u8]| key >= &*from && key < to.as_slice();
    assert!(inside(&encode(&(7_u32, 3_u8, u64::MAX))));
    assert!(!inside(&encode(&(7_u32, 4_u8, 0_u64))) && !inside(&encode(&(7_u32, 2_u8, u64::MAX))));
}
