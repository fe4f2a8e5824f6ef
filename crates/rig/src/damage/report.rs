//! The findings, by kind of damage.

use super::judge::Verdict;
use super::kinds::Kind;
use super::order::Order;
use chiliad_host::text::thousands;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fmt::Write;

/// How often what came of a kind.
#[derive(Clone, Copy, Default)]
struct Counts {
    none: u64,
    refused: u64,
    whole: u64,
    unwitnessed: u64,
    lost: u64,
    wrong: u64,
}

/// All cycles so far.
#[derive(Default)]
pub struct Report {
    counts: BTreeMap<Kind, Counts>,
    /// Damaged copies, those included that had nothing to damage.
    pub cycles: u64,
    /// Directories built.
    pub bases: u64,
    /// How long all took.
    pub seconds: f64,
}

impl Report {
    /// Counts a cycle.
    pub fn add(&mut self, kind: Kind, verdict: &Verdict) {
        self.cycles += 1;
        let counts = self.counts.entry(kind).or_default();
        match verdict {
            Verdict::None => counts.none += 1,
            Verdict::Refused => counts.refused += 1,
            Verdict::Whole => counts.whole += 1,
            Verdict::Unwitnessed => counts.unwitnessed += 1,
            Verdict::Lost(_) => counts.lost += 1,
            Verdict::Wrong(_) => counts.wrong += 1,
        }
    }

    fn total(&self) -> Counts {
        self.counts.values().fold(Counts::default(), |sum, it| Counts {
            none: sum.none + it.none,
            refused: sum.refused + it.refused,
            whole: sum.whole + it.whole,
            unwitnessed: sum.unwitnessed + it.unwitnessed,
            lost: sum.lost + it.lost,
            wrong: sum.wrong + it.wrong,
        })
    }

    /// For people.
    pub fn text(&self, order: &Order) -> String {
        let mut out = String::new();
        let heads = ["damage", "refused", "whole", "unwitnessed", "lost"];
        let _ = writeln!(
            out,
            "{:<24}{:>9}{:>9}{:>13}{:>7}",
            heads[0], heads[1], heads[2], heads[3], heads[4]
        );
        let mut row = |name: &str, it: &Counts| {
            // Writing to a string cannot fail.
            let _ = writeln!(
                out,
                "{name:<24}{:>9}{:>9}{:>13}{:>7}",
                it.refused,
                it.whole,
                it.unwitnessed,
                it.lost + it.wrong
            );
        };
        self.counts.iter().for_each(|(kind, counts)| row(kind.name(), counts));
        let total = self.total();
        row("all", &total);
        let damaged = total.refused + total.whole + total.unwitnessed + total.lost + total.wrong;
        let _ = writeln!(
            out,
            "{} damaged copies of {} directories under {}, seed {}, {:.1} s",
            thousands(damaged),
            thousands(self.bases),
            order.scheme.name(),
            order.seed,
            self.seconds
        );
        out
    }

    /// For programs.
    pub fn json(&self, order: &Order) -> Value {
        let counts = |it: &Counts| {
            json!({
                "refused": it.refused, "whole": it.whole, "unwitnessed": it.unwitnessed,
                "lost": it.lost, "wrong": it.wrong, "nothing_to_damage": it.none,
            })
        };
        let kinds: serde_json::Map<String, Value> =
            self.counts.iter().map(|(kind, it)| (kind.name().to_owned(), counts(it))).collect();
        let mut all = counts(&self.total());
        all["kinds"] = kinds.into();
        all["cycles"] = self.cycles.into();
        all["directories"] = self.bases.into();
        all["seed"] = order.seed.into();
        all["scheme"] = order.scheme.name().into();
        all["seconds"] = self.seconds.into();
        all
    }
}
