//! Processor time, as Linux counts it.

use std::collections::HashMap;

/// Ticks of processor time, of a program itself and of the system for it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Cpu {
    pub user: u64,
    pub system: u64,
}

/// What `/proc/PID/stat` says of a process.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Stat {
    parent: u32,
    own: Cpu,
    /// Of children that have ended.
    ended: Cpu,
}

/// Of a process, its children, and those that have ended.
pub fn of_server(process: u32) -> Cpu {
    let stats: HashMap<u32, Stat> = processes().filter_map(|it| Some((it, stat(it)?))).collect();
    let mut sum = Cpu::default();
    for (number, stat) in &stats {
        if *number == process || stat.parent == process {
            for part in [stat.own, stat.ended] {
                sum.user += part.user;
                sum.system += part.system;
            }
        }
    }
    sum
}

/// Of all children of this process that have ended, of both kinds together.
pub fn of_children() -> u64 {
    stat(std::process::id()).map_or(0, |stat| stat.ended.user + stat.ended.system)
}

fn processes() -> impl Iterator<Item = u32> {
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

fn stat(process: u32) -> Option<Stat> {
    parse(&std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?)
}

/// The fields after the name, which is in parentheses and may have anything in it.
fn parse(text: &str) -> Option<Stat> {
    let fields: Vec<&str> = text.rsplit_once(')')?.1.split_whitespace().collect();
    let field = |at: usize| fields.get(at)?.parse::<u64>().ok();
    Some(Stat {
        parent: u32::try_from(field(1)?).ok()?,
        own: Cpu { user: field(11)?, system: field(12)? },
        ended: Cpu { user: field(13)?, system: field(14)? },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_counted_after_the_name() {
        let text = "7 (a ) b) S 3 7 7 0 -1 4194560 1 2 3 4 11 12 13 14 20 0 1";
        let (own, ended) = (Cpu { user: 11, system: 12 }, Cpu { user: 13, system: 14 });
        assert_eq!(parse(text), Some(Stat { parent: 3, own, ended }));
        assert_eq!(parse("nonsense"), None);
    }
}
