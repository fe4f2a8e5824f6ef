//! Market-watch as tasks.
//!
//! ```text
//!   root ── parts of the list, each with the prices of its securities ── merge
//! ```
//!
//! A list, or the securities of an account, is divided by numbers of securities, an industry by numbers of companies.

use super::{TpceTasks, WATCH};
use crate::ranges::share;
use crate::tasks::get;
use crate::tpce::list::List;
use crate::tpce::market_watch::{Caps, Of, Request, issues_of};
use crate::tpce::request;
use crate::tpce::rules::{WATCHED_MAX, customer_of};
use crate::tpce::schema::{BY_COMPANY, BY_INDUSTRY, daily_market, key, last_trade, security};
use chiliad_api::{Range, TableId};
use chiliad_machine::Machine;
use chiliad_machine::tasks::{Task, Tasks};
use chiliad_swarm::View;

/// Securities of a part at most.
type Watched = List<u32, WATCHED_MAX>;

impl<M: Machine> TpceTasks<'_, M> {
    pub(super) fn begin_watch<T: Tasks<Machine = M>>(&self, view: &View<'_, T>, task: &Task) {
        self.begin_parts(view, task, WATCH, [0, self.parts, self.parts]);
    }

    /// Words: which part, and how many there are.
    pub(super) fn watch<T: Tasks<Machine = M>>(&self, view: &View<'_, T>, task: &Task) {
        let (_, asked) = self.asked(task);
        let request::Request::MarketWatch(request) = asked else {
            view.trap("another transaction's step")
        };
        let (part, _) = self.part_of(task);
        let (mut securities, tables) = (Watched::new(), &self.tables);
        match request.of {
            Of::List(of) => self.watched(view, (tables.watch_item, of, of), part, &mut securities),
            Of::Account(of) => {
                let list = (tables.holding_summary, of, customer_of(of));
                self.watched(view, list, part, &mut securities);
            }
            Of::Industry { industry, companies: (first, last) } => {
                let part_of = share(last - first + 1, part, self.parts);
                let low = key::industry(industry, first + part_of.start);
                let high = key::industry(industry, first + part_of.end);
                self.of_industry(view, Range::between(&low, &high), &mut securities);
            }
        }
        let mut caps = Caps::default();
        for &security in securities.as_slice() {
            self.add(view, request, security, &mut caps);
        }
        self.end_part(view, task, [caps.old, caps.new]);
    }

    /// Finds the securities of a part of a list. The list: its table, whose it is, and the customer it belongs to.
    fn watched<T: Tasks<Machine = M>>(
        &self,
        view: &View<'_, T>,
        (table, of, customer): (TableId, u32, u32),
        part: u32,
        securities: &mut Watched,
    ) {
        let rules = &self.rules;
        let all = rules.securities_of(rules.partition_of(rules.broker_of(customer)));
        let part_of = share(all.len() as u32, part, self.parts);
        let low = key::two(of, all.start + part_of.start);
        let high = key::two(of, all.start + part_of.end);
        let range = Range::between(&low, &high).limit(WATCHED_MAX);
        view.scan(table, &range, &mut |row| {
            let mut key = [0; 8];
            row.key(&mut key);
            securities.push(key::second(&key));
            true
        });
    }

    /// Finds the securities of companies in a range of the index by industry.
    fn of_industry<T: Tasks<Machine = M>>(
        &self,
        view: &View<'_, T>,
        range: Range<'_>,
        securities: &mut Watched,
    ) {
        let mut companies = Watched::new();
        let range = range.limit(WATCHED_MAX);
        view.scan_index(self.tables.company, BY_INDUSTRY, &range, &mut |entry| {
            companies.push(u32::from_be_bytes(entry.first::<4>()));
            true
        });
        for &company in companies.as_slice() {
            let [low, high] = issues_of(company);
            let range = Range::closed(&low, &high).limit(WATCHED_MAX);
            view.scan_index(self.tables.security, BY_COMPANY, &range, &mut |entry| {
                securities.push(u32::from_be_bytes(entry.first::<4>()));
                true
            });
        }
    }

    /// Adds a security.
    fn add<T: Tasks<Machine = M>>(
        &self,
        view: &View<'_, T>,
        request: &Request,
        security: u32,
        caps: &mut Caps,
    ) {
        let (tables, one) = (&self.tables, key::one(security));
        let day = view.get(tables.daily_market, &key::two(security, request.day));
        caps.add_security(
            get(view.get(tables.security, &one), security::S_NUM_OUT),
            get(day, daily_market::DM_CLOSE),
            get(view.get(tables.last_trade, &one), last_trade::LT_PRICE),
        );
    }
}
