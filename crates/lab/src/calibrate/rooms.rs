//! Where a run's instructions were spent: by the part of the engine whose source line they come from.
//!
//! A transaction is some twenty kinds of step in changing proportions, and of its instructions as a whole
//! much is explained as well by wrong prices as by right ones. By room it is not: what the index costs is
//! explained by the index' steps alone. Lines of the language's library, which are everybody's, count as
//! those of the function into which they were compiled; the instructions that are accesses to shared
//! words stand in the library's file of atomics, and count as accesses.

use chiliad_host::Stop;
use chiliad_machine::Cost;
use std::collections::HashMap;

/// How many rooms there are.
pub const ROOMS: usize = ALL.len();

/// A part of the source.
pub struct Room {
    /// Parts of the paths of its files; the first room with one that fits has the line. A room without
    /// has the rest: library functions that were not compiled into others.
    files: &'static [&'static str],
    /// The sites whose steps it takes.
    pub sites: &'static [Cost],
}

/// All rooms.
pub const ALL: [Room; 7] = [
    Room {
        files: &["crates/storage/src/index/", "crates/storage/src/guard.rs"],
        sites: &[
            Cost::Descend,
            Cost::InnerSearch,
            Cost::LeafSearch,
            Cost::Hash,
            Cost::BucketSearch,
            Cost::GroupStep,
            Cost::Compare,
            Cost::Entry,
            Cost::IndexChange,
        ],
    },
    Room {
        files: &["crates/storage/src/record.rs", "crates/machine/src/bytes.rs"],
        sites: &[Cost::Copy, Cost::Read, Cost::Install, Cost::Allocate],
    },
    Room {
        files: &["crates/storage/src/"],
        sites: &[Cost::Begin, Cost::Operation, Cost::Commit, Cost::Allocate, Cost::Free],
    },
    Room {
        files: &[
            "crates/engine/src/scheme/",
            "crates/engine/src/garbage.rs",
            "crates/engine/src/collector.rs",
            "crates/engine/src/timestamps.rs",
            "crates/engine/src/record_word.rs",
            "crates/engine/src/version.rs",
        ],
        sites: &[
            Cost::Begin,
            Cost::Read,
            Cost::Lock,
            Cost::Unlock,
            Cost::Queue,
            Cost::Timestamp,
            Cost::Validate,
            Cost::Install,
            Cost::Commit,
            Cost::Abort,
            Cost::Collect,
        ],
    },
    Room {
        files: &["crates/engine/src/", "crates/api/src/"],
        sites: &[
            Cost::Begin,
            Cost::Operation,
            Cost::Read,
            Cost::GroupStep,
            Cost::Write,
            Cost::OwnWrite,
            Cost::Install,
            Cost::Commit,
            Cost::Abort,
            Cost::Collect,
        ],
    },
    Room {
        files: &["crates/workload/src/", "crates/driver/src/"],
        sites: &[Cost::Request, Cost::Draw, Cost::Operation, Cost::Read, Cost::Write],
    },
    Room {
        files: &[],
        sites: &[
            Cost::Request,
            Cost::Operation,
            Cost::Read,
            Cost::Write,
            Cost::Lock,
            Cost::Install,
            Cost::Entry,
        ],
    },
];

/// The room of library functions.
const NOBODYS: usize = ROOMS - 1;
/// The library's file of atomics.
const ACCESSES: &str = "/sync/atomic.rs";

/// The instructions of a run, by room.
#[derive(Clone, Copy, Default, Debug)]
pub struct Spent {
    /// All of them.
    pub all: f64,
    /// Accesses to shared words.
    pub accesses: f64,
    /// The others, by room.
    pub rooms: [f64; ROOMS],
}

/// Whose a line is.
#[derive(Clone, Copy)]
enum Owner {
    Room(usize),
    Accesses,
    Library,
}

impl Spent {
    /// Reads what Cachegrind has written, whose lines are `fl=FILE`, `fn=FUNCTION` and `LINE COUNT`.
    ///
    /// # Errors
    /// Where it names no file of ours: the build has no line tables.
    pub fn read(text: &str) -> Result<Self, Stop> {
        let mut functions: HashMap<&str, ([f64; ROOMS], f64)> = HashMap::new();
        let mut spent = Self::default();
        let (mut owner, mut function) = (Owner::Library, "");
        for line in text.lines() {
            if let Some(file) = line.strip_prefix("fl=") {
                owner = owner_of(file);
            } else if let Some(name) = line.strip_prefix("fn=") {
                function = name;
            } else if let Some(count) = counted(line) {
                spent.all += count;
                let (rooms, library) = functions.entry(function).or_default();
                match owner {
                    Owner::Room(room) => rooms[room] += count,
                    Owner::Accesses => spent.accesses += count,
                    Owner::Library => *library += count,
                }
            }
        }
        for (rooms, library) in functions.into_values() {
            let own: f64 = rooms.iter().sum();
            for (room, count) in rooms.into_iter().enumerate() {
                let share = if own > 0.0 { library * count / own } else { 0.0 };
                spent.rooms[room] += count + share;
            }
            spent.rooms[NOBODYS] += if own > 0.0 { 0.0 } else { library };
        }
        match spent.rooms[..NOBODYS].iter().sum::<f64>() > 0.0 {
            true => Ok(spent),
            false => Err(Stop::bad(
                "machines calibrate",
                "this build has no line tables, by which instructions are told apart; accepted: a \
                 build by `cargo build --release`",
            )),
        }
    }

    /// The instructions of a longer run beyond those of a shorter one, by `parts`.
    pub fn more_than(&self, less: &Self, parts: f64) -> Self {
        Self {
            all: (self.all - less.all) / parts,
            accesses: (self.accesses - less.accesses) / parts,
            rooms: core::array::from_fn(|room| (self.rooms[room] - less.rooms[room]) / parts),
        }
    }
}

fn owner_of(file: &str) -> Owner {
    let fits = |room: &Room| room.files.iter().any(|part| file.contains(part));
    match ALL.iter().position(fits) {
        Some(room) => Owner::Room(room),
        None if file.ends_with(ACCESSES) => Owner::Accesses,
        None => Owner::Library,
    }
}

/// The count of a line that has one: `LINE COUNT`.
fn counted(line: &str) -> Option<f64> {
    let (number, count) = line.split_once(' ')?;
    number.parse::<u64>().ok()?;
    count.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instructions_go_to_the_room_of_their_line() {
        let text = "desc: x\nevents: Ir\nfl=/x/crates/storage/src/index/ordered/node.rs\nfn=find\n\
                    10 300\nfl=/rust/library/core/src/sync/atomic.rs\nfn=find\n7 50\n\
                    fl=/rust/library/core/src/slice/mod.rs\nfn=find\n8 30\n9 10\n\
                    fl=/x/crates/engine/src/tx.rs\nfn=find\n1 100\n\
                    fl=/libc/memcpy.S\nfn=memcpy\n3 20\nsummary: 510\n";
        let spent = Spent::read(text).expect("our files");
        assert_eq!((spent.all, spent.accesses), (510.0, 50.0));
        // The 40 of the library go to the two rooms as their own lines do: three to one.
        assert_eq!(spent.rooms[0], 330.0);
        assert_eq!(spent.rooms[4], 110.0);
        assert_eq!(spent.rooms[NOBODYS], 20.0);
        assert_eq!(spent.rooms.iter().sum::<f64>() + spent.accesses, spent.all);
    }

    #[test]
    fn a_build_without_line_tables_is_refused() {
        assert!(Spent::read("events: Ir\nfl=???\nfn=???\n0 1000\n").is_err());
    }

    /// A path that no longer leads anywhere would put its lines into another room, and prices with them.
    #[test]
    fn every_path_of_a_room_leads_to_sources() {
        let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        for path in ALL.iter().flat_map(|room| room.files) {
            let place = root.join(path);
            let leads = match path.ends_with('/') {
                true => place.is_dir(),
                false => place.is_file(),
            };
            assert!(leads, "{path} is gone: say where its files have moved");
        }
    }

    /// Lines of machine, lock and log count as their callers' do, like those of the language's library.
    #[test]
    fn every_crate_of_a_native_run_has_a_room() {
        let sources = ["api", "driver", "engine", "storage", "workload"];
        for source in sources {
            let file = format!("/x/crates/{source}/src/some.rs");
            assert!(matches!(owner_of(&file), Owner::Room(_)), "{file}");
        }
    }

    #[test]
    fn every_site_has_a_room() {
        for site in Cost::ALL {
            assert!(ALL.iter().any(|room| room.sites.contains(&site)), "{}", site.name());
        }
    }
}
