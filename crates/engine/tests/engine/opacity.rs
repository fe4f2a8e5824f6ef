//! A transaction that acts on a state that never was is refused before it has read half as much again
//! (`Options::opacity`), under every scheme that looks at its reads once more.

use crate::kit::Db;
use chiliad_engine::{Error, Intent, Options, Range, Reason, TableId, TableSpec, Transaction};
use chiliad_machine::Interleaved;

const ROWS: u64 = 6_000;
/// Reads after which a small read set is looked at again.
const FEW: u64 = 64;

struct World {
    db: Db<Interleaved>,
    rows: TableId,
    /// Where rows come.
    gaps: TableId,
}

/// What another transaction does to what has been read.
#[derive(Clone, Copy, PartialEq)]
enum Disturbance {
    None,
    Update,
    Insertion,
}

impl World {
    fn new(scheme: &str) -> Self {
        let db = Db::<Interleaved>::open(scheme, Options::default());
        let create = |name| db.create_table(TableSpec::ordered(name)).expect("created");
        let (rows, gaps) = (create("rows"), create("gaps"));
        let mut worker = db.worker().expect("a slot");
        for key in 0..ROWS {
            worker.load(rows, &key.to_be_bytes(), b"loaded").expect("loads");
        }
        Self { db, rows, gaps }
    }

    /// Reads a gap and `before` rows, is disturbed, and reads on: rows that could be read before
    /// something was noticed.
    fn read_on(&self, before: u64, disturbance: Disturbance) -> (u64, Result<(), Error>) {
        let [mut reader, mut writer] = [0; 2].map(|_| self.db.worker().expect("a slot"));
        let mut tx = reader.begin(&Intent::update()).expect("begins");
        tx.scan(self.gaps, Range::all()).expect("scans");
        for key in 0..before {
            tx.get(self.rows, &key.to_be_bytes()).expect("reads");
        }
        let mut other = writer.begin(&Intent::update()).expect("begins");
        match disturbance {
            Disturbance::None => {}
            Disturbance::Update => {
                other.put(self.rows, &0u64.to_be_bytes(), b"newer").expect("puts");
            }
            Disturbance::Insertion => {
                other.put(self.gaps, &before.to_be_bytes(), b"newer").expect("puts");
            }
        }
        other.commit().expect("commits");
        let mut after = 0;
        for key in before..ROWS {
            if let Err(error) = tx.get(self.rows, &key.to_be_bytes()) {
                return (after, Err(error));
            }
            after += 1;
        }
        (after, tx.commit().map(|_| ()))
    }
}

fn notices_in_time(scheme: &str, disturbances: &[Disturbance]) {
    let world = World::new(scheme);
    for &disturbance in disturbances {
        for before in [1, 10, 63, 64, 100, 1_000, 4_000] {
            let (after, ended) = world.read_on(before, disturbance);
            assert_eq!(ended, Err(Error::Conflict(Reason::Inconsistent)), "{scheme} {before}");
            let most = FEW.max(before.div_ceil(2) + 1);
            assert!(after <= most, "{scheme}: {after} after {before}");
        }
    }
    let (after, ended) = world.read_on(100, Disturbance::None);
    assert_eq!((after, ended), (ROWS - 100, Ok(())), "{scheme}");
}

#[test]
fn a_state_that_never_was_is_noticed_in_time() {
    let all = [Disturbance::Update, Disturbance::Insertion];
    notices_in_time("silo", &all);
    notices_in_time("global-tid", &all);
    notices_in_time("occ", &all);
    notices_in_time("occ-serial", &all);
    // What they have read is locked; where they have missed something it is not.
    notices_in_time("no-wait", &all[1..]);
    notices_in_time("wait-die", &all[1..]);
    notices_in_time("dl-detect", &all[1..]);
}
