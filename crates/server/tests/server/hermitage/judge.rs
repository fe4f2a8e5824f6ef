//! Says whether what clients saw can have been a serial execution.

use super::cases::Step;
use std::collections::BTreeMap;

/// Rows of the table: values by ids.
pub type Rows = BTreeMap<i32, i32>;

/// What one client did and saw.
#[derive(Clone, Debug, Default)]
pub struct Story {
    pub seen: Vec<Seen>,
    pub ending: Ending,
}

/// A statement that was answered.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Seen {
    pub step: Step,
    pub rows: Rows,
    pub count: u64,
}

/// How a client's transaction has ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Ending {
    #[default]
    Open,
    Committed,
    /// By the client, or because it was refused.
    RolledBack,
}

/// Finds an order of the committed transactions in which each saw what it saw and `left` is left, and for each other one a
/// place in such an order at which it would have seen what it saw.
///
/// # Errors
/// What there is no order for.
pub fn judge(stories: &[Story], left: &Rows) -> Result<(), String> {
    let of = |ending| stories.iter().filter(move |it| it.ending == ending);
    let committed: Vec<&Story> = of(Ending::Committed).collect();
    let mut states = Vec::new();
    for order in orders(&committed) {
        if let Some(passed) = play(&order, left) {
            states.extend(passed);
        }
    }
    if states.is_empty() {
        return Err("no order of what was committed".into());
    }
    match of(Ending::RolledBack).find(|it| !states.iter().any(|state| fits(it, &mut state.clone())))
    {
        Some(refused) => Err(format!("it saw before its end what never was: {refused:?}")),
        None if stories.len() == 1 && committed.is_empty() => Err("refused without need".into()),
        None => Ok(()),
    }
}

/// The states that an order passes, if it explains what was seen and what is left.
fn play(order: &[&Story], left: &Rows) -> Option<Vec<Rows>> {
    let mut table = Rows::from([(1, 10), (2, 20)]);
    let mut states = vec![table.clone()];
    for story in order {
        if !fits(story, &mut table) {
            return None;
        }
        states.push(table.clone());
    }
    (table == *left).then_some(states)
}

/// Whether the statements of a client see in this state what they saw.
fn fits(story: &Story, table: &mut Rows) -> bool {
    story.seen.iter().all(|seen| {
        let (rows, count) = seen.step.apply(table);
        (rows, count) == (seen.rows.clone(), seen.count)
    })
}

fn orders<'s>(of: &[&'s Story]) -> Vec<Vec<&'s Story>> {
    if of.is_empty() {
        return vec![Vec::new()];
    }
    let mut all = Vec::new();
    for (at, first) in of.iter().enumerate() {
        let rest: Vec<_> = of[..at].iter().chain(&of[at + 1..]).copied().collect();
        for mut order in orders(&rest) {
            order.insert(0, first);
            all.push(order);
        }
    }
    all
}

/// The judge itself is judged: it sees through a lost update and a dirty read.
#[test]
fn the_judge_sees_anomalies() {
    let seen = |step: Step, rows: &[(i32, i32)], count| Seen {
        step,
        rows: rows.iter().copied().collect(),
        count,
    };
    let adds = |ending| Story { seen: vec![seen(Step::AddTo(1, 1), &[], 1)], ending };
    let both = [adds(Ending::Committed), adds(Ending::Committed)];
    assert_eq!(judge(&both, &Rows::from([(1, 12), (2, 20)])), Ok(()));
    assert!(judge(&both, &Rows::from([(1, 11), (2, 20)])).is_err());
    let reads =
        Story { seen: vec![seen(Step::ReadId(1), &[(1, 11)], 1)], ending: Ending::RolledBack };
    let one = [adds(Ending::Committed), reads.clone()];
    assert_eq!(judge(&one, &Rows::from([(1, 11), (2, 20)])), Ok(()));
    let dirty = [adds(Ending::RolledBack), reads];
    assert!(judge(&dirty, &Rows::from([(1, 10), (2, 20)])).is_err());
}
