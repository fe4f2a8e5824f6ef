//! Rows of which some bytes were overwritten, and the inputs that a fuzzer begins with: what reads foreign bytes
//! stands in `foreign.rs`, which `tools/fuzz` compiles as well, without the crates that only tests need.

use crate::common::{column_type, value};
use crate::foreign::{check, seeds};
use chiliad_row::{Schema, SchemaColumn, with_version};
use proptest::prelude::*;

#[test]
fn the_seeds_pass() {
    seeds().iter().for_each(|seed| check(seed));
}

proptest! {
    /// A sound row of any types, with some bytes overwritten.
    #[test]
    fn damaged_rows_are_refused_or_read(
        (types, values) in prop::collection::vec(column_type(), 1..6)
            .prop_flat_map(|types| (Just(types.clone()), types.iter().map(value).collect::<Vec<_>>())),
        damage in prop::collection::vec((any::<usize>(), any::<u8>()), 0..4),
    ) {
        let column = |(number, of)| SchemaColumn::new(number, &format!("c{number}"), of);
        let schema = Schema::new((0..).zip(types.clone()).map(column).collect()).expect("a schema");
        let mut row = Vec::new();
        with_version(0, &mut row);
        schema.encode(&values, &mut row).expect("values of the columns");
        for (at, byte) in damage {
            let at = at % row.len();
            row[at] = byte;
        }
        let texts: String = types.iter().map(|of| format!("{of};")).collect();
        check(&[texts.as_bytes(), b"\n", &row].concat());
    }
}
