//! A client's terminal: where it stands, and what it draws from.

use super::options::Sizes;
use super::random::{Constants, LastName, nurand};
use super::rules::{DATE_OF_LOAD, Rules};
use crate::ClientId;
use crate::random::Random;

/// One of them.
pub(super) struct Terminal {
    pub random: Random,
    pub constants: Constants,
    /// Its number among the clients, from zero.
    pub number: u32,
    /// The home warehouse, the same for all its transactions.
    pub home: u16,
    /// The district whose stock level it looks at (clause 2.8.1.1).
    pub district: u8,
    /// The date: one second per request.
    pub date: u64,
    /// The number of its next row of HISTORY.
    pub history: u32,
}

impl Terminal {
    pub fn new(rules: &Rules, client_id: ClientId) -> Self {
        let (number, client) = (client_id.index as u32, client_id.home as u32);
        let (warehouses, districts) = (rules.warehouses, u32::from(rules.sizes.districts));
        Self {
            random: Random::new(client_id.seed, 0x7e_0000_0000 + client_id.index as u64),
            constants: Constants::of_run(client_id.seed),
            number,
            home: 1 + (client % warehouses) as u16,
            district: 1 + (number / warehouses % districts) as u8,
            date: DATE_OF_LOAD,
            history: 0,
        }
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
