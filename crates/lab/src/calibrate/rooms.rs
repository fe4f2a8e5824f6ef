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

/// A part of the source.
pub struct Room {
    /// Parts of the paths of its files; the first room with one that fits has the line. A room without
    /// has the rest: library functions that were not compiled into others.
    files: &'static [&'static str],
    /// Library functions that are its own, by the beginnings of their names.
    functions: &'static [&'static str],
    /// The sites whose steps it takes.
    pub sites: &'static [Cost],
}

/// All rooms of the engine.
pub const ALL: [Room; 7] = [
    Room {
        files: &["crates/storage/src/index/", "crates/storage/src/guard.rs"],
        functions: &[],
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
        functions: &[],
        sites: &[Cost::Copy, Cost::Read, Cost::Install, Cost::Allocate],
    },
    Room {
        files: &["crates/storage/src/"],
        functions: &[],
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
        functions: &[],
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
        functions: &[],
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
        functions: &[],
        sites: &[Cost::Request, Cost::Draw, Cost::Operation, Cost::Read, Cost::Write],
    },
    Room {
        files: &[],
        functions: &[],
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

/// Those of SwarmDB, whose tasks the serial runtime runs. That runtime's own instructions, and those of obtaining memory,
/// are in a room without sites: hardware does their work, which is to keep queues and zero lines, at prices of its own. Requests are made up before.
pub const TASKS: [Room; 6] = [
    Room {
        files: &["crates/swarm/src/tree/", "crates/swarm/src/hash.rs"],
        functions: &[],
        sites: &[
            Cost::Descend,
            Cost::InnerSearch,
            Cost::LeafSearch,
            Cost::Hash,
            Cost::BucketSearch,
            Cost::Compare,
            Cost::Entry,
            Cost::IndexChange,
        ],
    },
    Room {
        files: &["crates/swarm/src/record.rs", "crates/machine/src/bytes.rs"],
        functions: &[],
        sites: &[Cost::Read, Cost::Copy, Cost::Compare, Cost::Install],
    },
    Room {
        files: &["crates/machine/src/tasks/", "crates/swarm/src/memory.rs"],
        functions: &["__memset", "alloc::collections::binary_heap"],
        sites: &[],
    },
    Room {
        files: &["crates/swarm/src/", "crates/api/src/"],
        functions: &[],
        sites: &[Cost::Begin, Cost::Operation, Cost::Read, Cost::Write, Cost::Commit, Cost::Abort],
    },
    Room {
        files: &["crates/workload/src/", "crates/driver/src/"],
        functions: &[],
        sites: &[Cost::Begin, Cost::Operation, Cost::Read, Cost::Write],
    },
    Room {
        files: &[],
        functions: &[],
        sites: &[Cost::Begin, Cost::Operation, Cost::Read, Cost::Write, Cost::Install, Cost::Entry],
    },
];

/// The library's file of atomics.
const ACCESSES: &str = "/sync/atomic.rs";

/// The instructions of a run, by room.
#[derive(Clone, Default, Debug)]
pub struct Spent {
    /// All of them but those of rooms without sites.
    pub all: f64,
    /// Accesses to shared words.
    pub accesses: f64,
    /// The others, by room.
    pub rooms: Vec<f64>,
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
    pub fn read(text: &str, rooms: &[Room]) -> Result<Self, Stop> {
        let mut functions: HashMap<&str, (Vec<f64>, f64)> = HashMap::new();
        let mut spent = Self { rooms: vec![0.0; rooms.len()], ..Self::default() };
        // The room of library functions.
        let nobodys = rooms.len() - 1;
        let (mut owner, mut function) = (Owner::Library, "");
        for line in text.lines() {
            if let Some(file) = line.strip_prefix("fl=") {
                owner = owner_of(file, rooms);
            } else if let Some(name) = line.strip_prefix("fn=") {
                function = name;
            } else if let Some(count) = counted(line) {
                spent.all += count;
                let none = || (vec![0.0; rooms.len()], 0.0);
                let (own, library) = functions.entry(function).or_insert_with(none);
                match owner {
                    Owner::Room(room) => own[room] += count,
                    Owner::Accesses => spent.accesses += count,
                    Owner::Library => *library += count,
                }
            }
        }
        for (function, (counts, library)) in functions {
            let own: f64 = counts.iter().sum();
            for (room, count) in counts.into_iter().enumerate() {
                let share = if own > 0.0 { library * count / own } else { 0.0 };
                spent.rooms[room] += count + share;
            }
            if own == 0.0 {
                let has = |room: &Room| room.functions.iter().any(|it| function.starts_with(it));
                spent.rooms[rooms.iter().position(has).unwrap_or(nobodys)] += library;
            }
        }
        let unpriced = rooms.iter().zip(&spent.rooms).filter(|(room, _)| room.sites.is_empty());
        spent.all -= unpriced.map(|(_, count)| count).sum::<f64>();
        match spent.rooms[..nobodys].iter().sum::<f64>() > 0.0 {
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
            rooms: self
                .rooms
                .iter()
                .zip(&less.rooms)
                .map(|(it, less)| (it - less) / parts)
                .collect(),
        }
    }
}

fn owner_of(file: &str, rooms: &[Room]) -> Owner {
    let fits = |room: &Room| room.files.iter().any(|part| file.contains(part));
    match rooms.iter().position(fits) {
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
        let spent = Spent::read(text, &ALL).expect("our files");
        assert_eq!((spent.all, spent.accesses), (510.0, 50.0));
        // The 40 of the library go to the two rooms as their own lines do: three to one.
        assert_eq!(spent.rooms[0], 330.0);
        assert_eq!(spent.rooms[4], 110.0);
        assert_eq!(spent.rooms[ALL.len() - 1], 20.0);
        assert_eq!(spent.rooms.iter().sum::<f64>() + spent.accesses, spent.all);
    }

    #[test]
    fn a_build_without_line_tables_is_refused() {
        assert!(Spent::read("events: Ir\nfl=???\nfn=???\n0 1000\n", &ALL).is_err());
    }

    /// A path that no longer leads anywhere would put its lines into another room, and prices with them.
    #[test]
    fn every_path_of_a_room_leads_to_sources() {
        let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        for path in ALL.iter().chain(&TASKS).flat_map(|room| room.files) {
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
            assert!(matches!(owner_of(&file, &ALL), Owner::Room(_)), "{file}");
        }
    }

    #[test]
    fn what_hardware_does_has_no_part_in_the_prices_of_tasks() {
        let text = "desc: x\nevents: Ir\nfl=/x/crates/machine/src/tasks/serial.rs\nfn=run\n10 300\n\
                    fl=/rust/library/alloc/src/collections/binary_heap/mod.rs\nfn=run\n7 100\n\
                    fn=__memset_avx2\n7 30\n\
                    fl=/x/crates/swarm/src/tree/find.rs\nfn=find\n1 50\nsummary: 480\n";
        let spent = Spent::read(text, &TASKS).expect("our files");
        assert_eq!((spent.all, spent.rooms[0]), (50.0, 50.0));
    }

    #[test]
    fn every_site_has_a_room() {
        for site in Cost::ALL {
            assert!(ALL.iter().any(|room| room.sites.contains(&site)), "{}", site.name());
        }
    }
}
