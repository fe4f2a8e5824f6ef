//! What transactions that read much have in common: parts of a scan as tasks, trees that begin them, a task that merges what
//! they have found, and lists of trades.
//!
//! ```text
//!   ... ── fan (eight to each) ── part of the scan
//!                              ── ...
//!                              ── the last part ── merge
//! ```
//!
//! Parts only read what the others read, and write a line each; they have one timestamp. The merging task has a later one:
//! had it run before a part, it would be taken back when that writes its line.

use super::{FAN, FIND_TRADES, LIST, MERGE, OF_ACCOUNTS, PART, RESULT, TpceTasks};
use crate::ranges::share;
use crate::tasks::{RANGE, hint, step};
use crate::tpce::customer_position::last_trade_keys;
use crate::tpce::list::List;
use crate::tpce::market_watch::Caps;
use crate::tpce::request::Request;
use crate::tpce::rules::{ACCOUNTS_MAX, SHOWN_MAX};
use crate::tpce::schema::key;
use chiliad_api::{Range, TableId};
use chiliad_machine::Machine;
use chiliad_machine::tasks::{CHILDREN_MAX, FunctionId, LINE_WORDS, Task, Tasks};
use chiliad_swarm::View;

/// Lines for a list of trades.
pub(super) const LIST_LINES: usize = SHOWN_MAX.div_ceil(LINE_WORDS);

// Offsets of timestamps.
/// Tasks that are begun by the root.
pub(super) const AT_FIRST: u64 = 1;
/// Parts, and the tasks that begin them.
pub(super) const AT_PART: u64 = 4;
/// The task that merges them.
pub(super) const AT_MERGE: u64 = 5;

/// Where what the first part has written has its place in the log, and after it that of the others.
pub(super) const AT_LOG: u64 = AT_MERGE + 1;
const _: () = assert!(AT_LOG + (SHOWN_MAX as u64) < RANGE - 1, "all have their place");

/// The bytes of a key that ends in a trade.
const KEY_BYTES: usize = 12;

impl<M: Machine> TpceTasks<'_, M> {
    /// Begins the parts `first` to `end` of `count` things, which are tasks of `function`.
    pub(super) fn begin_parts<T: Tasks<Machine = M>>(
        &self,
        view: &View<'_, T>,
        task: &Task,
        function: FunctionId,
        [first, end, count]: [u32; 3],
    ) {
        let request = task.word(0);
        // The root of a transaction that is logged has one more child.
        let most = CHILDREN_MAX as u32 - u32::from(self.log.kept().is_some());
        if end.saturating_sub(first) <= most {
            for part in first..end {
                let words = [request, part.into(), count.into()];
                step(view, task, function, AT_PART, &words, request << 8 | u64::from(part));
            }
            return;
        }
        for child in 0..most {
            let parts = share(end - first, child, most);
            let bounds = u64::from(first + parts.start) << 32 | u64::from(first + parts.end);
            let words = [request, u64::from(function.0), bounds, count.into()];
            step(view, task, FAN, AT_PART, &words, request);
        }
    }

    /// Words: the function of the parts, which of them, and how many things they are of.
    pub(super) fn fan<T: Tasks<Machine = M>>(&self, view: &View<'_, T>, task: &Task) {
        let function = FunctionId(task.word(1) as u16);
        let bounds = task.word(2);
        let parts = [(bounds >> 32) as u32, bounds as u32, task.word(3) as u32];
        self.begin_parts(view, task, function, parts);
    }

    /// Which part a task is, and its share of the things.
    pub(super) fn part_of(&self, task: &Task) -> (u32, core::ops::Range<u32>) {
        let (part, count) = (task.word(1) as u32, task.word(2) as u32);
        (part, share(count, part, self.parts.min(count).max(1)))
    }

    pub(super) fn begin_merge<T: Tasks<Machine = M>>(&self, view: &View<'_, T>, task: &Task) {
        let request = task.word(0);
        step(view, task, MERGE, AT_MERGE, &[request], request);
    }

    /// Notes what a part has found. Begins the merging task where the part is the last one; a counter tells which is, if there is
    /// one.
    pub(super) fn end_part<T: Tasks<Machine = M>>(
        &self,
        view: &View<'_, T>,
        task: &Task,
        sums: [u64; 2],
    ) {
        let (request, part, count) = (task.word(0), task.word(1) as u32, task.word(2) as u32);
        // The words of a run that never was may say any part.
        let line = PART + part.min(self.parts - 1) as usize;
        self.scratch.set(request, line, 0, sums[0]);
        self.scratch.set(request, line, 1, sums[1]);
        let parts = self.parts.min(count);
        let is_last = match &self.joins {
            Some(joins) => joins.is_last(request, 0, parts.into()),
            None => part + 1 >= parts,
        };
        if is_last {
            self.begin_merge(view, task);
        }
    }

    /// Makes one answer of what the parts have found, and of what was known before. Lines of parts that were not are zero.
    pub(super) fn merge<T: Tasks<Machine = M>>(&self, _: &View<'_, T>, task: &Task) {
        let (request, asked) = self.asked(task);
        let word = |line, word| self.scratch.get(request, line, word);
        let mut sums = [0_u64; 2];
        for line in PART..PART + self.parts as usize {
            sums = [0, 1].map(|at| sums[at].wrapping_add(word(line, at)));
        }
        let shown = match asked {
            Request::MarketWatch(_) => Caps { old: sums[0], new: sums[1] }.shown(),
            Request::CustomerPosition(_) => (OF_ACCOUNTS..OF_ACCOUNTS + ACCOUNTS_MAX as usize)
                .fold(sums[0].wrapping_add(word(super::KNOWN, 0)), |sum, line| {
                    sum.wrapping_add(word(line, 0))
                }),
            _ => sums[0].wrapping_add(word(super::KNOWN, 0)),
        };
        self.scratch.set(request, RESULT, 0, shown);
    }

    /// Begins the search for trades.
    pub(super) fn begin_find<T: Tasks<Machine = M>>(
        &self,
        view: &View<'_, T>,
        task: &Task,
        table: TableId,
        of: u32,
    ) {
        let near = hint(table, &key::trade_by(of, 0));
        step(view, task, FIND_TRADES, AT_FIRST, &[task.word(0)], near);
    }

    /// Finds the trades that are asked for, lists them, and begins the parts that show them.
    pub(super) fn find_trades<T: Tasks<Machine = M>>(&self, view: &View<'_, T>, task: &Task) {
        let (request, asked) = self.asked(task);
        let sizes = &self.rules.sizes;
        let (low, high, table, range) = match asked {
            Request::TradeUpdate(update) => {
                let Some([low, high]) = update.bounds() else { view.trap("trades are known") };
                (low, high, update.found_in(&self.tables), Range::all().limit(sizes.updates))
            }
            Request::TradeStatus(status) => {
                let [low, high] = last_trade_keys(status.account);
                let range = Range::all().reverse().limit(sizes.shown);
                (low, high, self.tables.trade_account, range)
            }
            Request::CustomerPosition(position) => {
                let Some(account) = position.history else { view.trap("nobody asks for trades") };
                let [low, high] = last_trade_keys(account);
                let range = Range::all().reverse().limit(sizes.history);
                (low, high, self.tables.trade_account, range)
            }
            _ => view.trap("nobody asks for trades"),
        };
        let closed = Range::closed(&low, &high);
        let range = Range { reverse: range.reverse, limit: range.limit, ..closed };
        let mut count = 0;
        view.scan(table, &range, &mut |entry| {
            let mut key = [0; KEY_BYTES];
            entry.key(&mut key);
            let (line, word) = (LIST + count / LINE_WORDS, count % LINE_WORDS);
            self.scratch.set(request, line, word, key::last_trade(&key));
            count += 1;
            count < SHOWN_MAX
        });
        let function = match asked {
            Request::TradeUpdate(_) => super::CORRECT,
            _ => super::SHOW_TRADES,
        };
        let count = count as u32;
        match count {
            0 => self.begin_merge(view, task),
            _ => self.begin_parts(view, task, function, [0, self.parts.min(count), count]),
        }
    }

    /// The trades of a part, from the list.
    pub(super) fn listed(
        &self,
        request: u64,
        share: core::ops::Range<u32>,
    ) -> List<u64, SHOWN_MAX> {
        let mut trades = List::new();
        for at in share.start as usize..(share.end as usize).min(SHOWN_MAX) {
            let (line, word) = (LIST + at / LINE_WORDS, at % LINE_WORDS);
            trades.push(self.scratch.get(request, line, word));
        }
        trades
    }
}
