//! A client's terminal: where it stands, and what it draws from.

use super::options::{Sizes, Terminals};
use super::random::{Constants, LastName, nurand};
use super::rules::{DATE_OF_LOAD, Rules};
use crate::ClientId;
use crate::random::Random;

/// One of them, and those that its client may move to.
pub(super) struct Terminal {
    pub random: Random,
    pub constants: Constants,
    /// The client's number, from zero.
    pub number: u32,
    /// The home warehouse of the transaction in hand.
    pub home: u16,
    /// The date: one second per request.
    pub date: u64,
    /// The number of its next row of HISTORY.
    pub history: u32,
    homes: Steps,
    /// Districts whose stock levels are looked at (clause 2.8.1.1).
    districts: Steps,
}

/// Numbers in equal steps.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Steps {
    first: u32,
    step: u32,
    count: u32,
}

impl Steps {
    /// A share of the numbers below `all`: the one numbered `part` of `parts`, of which each has one at least.
    fn share(all: u32, part: u32, parts: u32) -> Self {
        debug_assert!(part < parts, "one of them");
        let first = part % all;
        Self { first, step: parts, count: (all - first).div_ceil(parts) }
    }

    fn one(first: u32) -> Self {
        Self { first, step: 0, count: 1 }
    }

    /// One of them. Where there is no choice nothing is drawn.
    fn draw(self, random: &mut Random) -> u32 {
        let chosen = if self.count > 1 { random.below(self.count) } else { 0 };
        self.first + chosen * self.step
    }
}

impl Terminal {
    pub fn new(rules: &Rules, client_id: ClientId) -> Self {
        let (homes, districts) = places(rules, client_id);
        Self {
            random: Random::new(client_id.seed, 0x7e_0000_0000 + client_id.index as u64),
            constants: Constants::of_run(client_id.seed),
            number: client_id.index as u32,
            home: 1 + homes.first as u16,
            date: DATE_OF_LOAD,
            history: 0,
            homes,
            districts,
        }
    }

    /// The next request: from any of the client's terminals, a second later.
    pub fn next(&mut self) {
        self.date += 1;
        self.home = 1 + self.homes.draw(&mut self.random) as u16;
    }

    /// The district of a terminal of the client's at this warehouse.
    pub fn own_district(&mut self) -> u8 {
        1 + self.districts.draw(&mut self.random) as u8
    }

    pub fn any_district(&mut self, sizes: &Sizes) -> u8 {
        1 + self.random.below(u32::from(sizes.districts)) as u8
    }

    pub fn any_customer(&mut self, sizes: &Sizes) -> u16 {
        let high = u32::from(sizes.customers);
        nurand(&mut self.random, 1023, self.constants.customer, 1, high) as u16
    }

    pub fn any_last_name(&mut self, sizes: &Sizes) -> LastName {
        let high = sizes.last_names - 1;
        let constant = self.constants.last;
        LastName::new(nurand(&mut self.random, 255, constant, 0, high))
    }

    /// One of the other warehouses; there must be one.
    pub fn other_warehouse(&mut self, warehouses: u32) -> u16 {
        let drawn = 1 + self.random.below(warehouses - 1) as u16;
        if drawn >= self.home { drawn + 1 } else { drawn }
    }
}

/// The warehouses of a client's terminals, and their districts at each.
fn places(rules: &Rules, client_id: ClientId) -> (Steps, Steps) {
    let (warehouses, districts) = (rules.warehouses, u32::from(rules.sizes.districts));
    let (home, homes) = (client_id.home as u32, client_id.homes as u32);
    if rules.terminals == Terminals::Fixed {
        let district = client_id.index as u32 / warehouses % districts;
        return (Steps::one(home % warehouses), Steps::one(district));
    }
    if homes <= warehouses {
        return (Steps::share(warehouses, home, homes), Steps::share(districts, 0, 1));
    }
    let warehouse = home % warehouses;
    let sharers = (homes - warehouse).div_ceil(warehouses);
    (Steps::one(warehouse), Steps::share(districts, home / warehouses, sharers))
}

/// How a customer is named (clauses 2.5.1.2 and 2.6.1.2).
#[derive(Clone, Copy)]
pub(super) enum By {
    Number(u16),
    Name(LastName),
}

impl By {
    /// By last name in 60 of a hundred, else by number.
    pub fn draw(terminal: &mut Terminal, sizes: &Sizes) -> Self {
        if terminal.random.below(100) < 60 {
            Self::Name(terminal.any_last_name(sizes))
        } else {
            Self::Number(terminal.any_customer(sizes))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tpcc::TpccOptions;
    use std::collections::BTreeMap;

    /// How often each terminal is stood at by these clients, who draw each so often.
    fn visits(rules: &Rules, clients: usize, draws: usize) -> BTreeMap<(u16, u8), usize> {
        let mut visits = BTreeMap::new();
        for index in 0..clients {
            let mut terminal = Terminal::new(rules, ClientId::apart(index, clients, 1));
            for _ in 0..draws {
                terminal.next();
                *visits.entry((terminal.home, terminal.own_district())).or_default() += 1;
            }
        }
        visits
    }

    #[test]
    fn every_terminal_of_every_warehouse_has_a_client() {
        for (warehouses, clients) in
            [(1, 1), (2, 1), (4, 2), (8, 3), (7, 7), (2, 3), (4, 16), (1, 10), (3, 64)]
        {
            let rules = Rules::new(&TpccOptions { warehouses, ..TpccOptions::default() });
            let visits = visits(&rules, clients, 4000);
            assert_eq!(visits.len(), warehouses as usize * 10, "{warehouses}, {clients}");
        }
    }

    #[test]
    fn clients_that_share_a_warehouse_share_its_terminals() {
        let rules = Rules::new(&TpccOptions { warehouses: 2, ..TpccOptions::default() });
        let districts = |home| places(&rules, ClientId::apart(home, 7, 1));
        // Four at the first warehouse, three at the second one.
        let all: Vec<Steps> = (0..7).map(|home| districts(home).1).collect();
        assert_eq!(all[0], Steps { first: 0, step: 4, count: 3 });
        assert_eq!(all[6], Steps { first: 3, step: 4, count: 2 });
        assert_eq!(all[5], Steps { first: 2, step: 3, count: 3 });
    }

    #[test]
    fn few_clients_visit_all_their_warehouses_alike() {
        let rules = Rules::new(&TpccOptions { warehouses: 8, ..TpccOptions::default() });
        for count in visits(&rules, 2, 40_000).values() {
            assert!((800..1200).contains(count), "{count} of a thousand");
        }
    }

    #[test]
    fn fixed_terminals_stay_where_they_are() {
        let options = TpccOptions { warehouses: 8, ..TpccOptions::default() };
        let rules = Rules::new(&TpccOptions { terminals: Terminals::Fixed, ..options });
        let stood_at: Vec<_> = visits(&rules, 10, 100).into_keys().collect();
        let (mut expected, more) =
            ((1..=8).map(|home| (home, 1)).collect::<Vec<_>>(), [(1, 2), (2, 2)]);
        expected.extend(more);
        expected.sort_unstable();
        assert_eq!(stood_at, expected);
    }
}
