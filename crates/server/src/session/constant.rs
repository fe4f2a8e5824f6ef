//! A session that answers every statement with one row of a constant, without a look at its text: what is left is the cost
//! of sockets and messages. A measurement of statements subtracts it.

use super::dialog::Step;
use super::output::Output;
use crate::cancel::Place;
use crate::wire::{Description, Message, Target, Writer};
use chiliad_sql::{Datum, Type};
use std::collections::VecDeque;

/// The state of such a session after its login.
pub(super) struct Constant {
    pub output: Output,
    /// Its number among the sessions, until it is dropped.
    _place: Place,
    /// The formats of the results that were bound and not yet executed: whether each is binary.
    bound: VecDeque<bool>,
}

impl Constant {
    pub fn new(output: Output, place: Place) -> Self {
        Self { output, _place: place, bound: VecDeque::new() }
    }

    /// Answers a message.
    pub fn step(&mut self, message: &Message<'_>) -> Step {
        match message {
            Message::Terminate => return Step::End,
            Message::Query(_) => {
                self.describe(false);
                self.row(false);
                self.ready();
            }
            Message::Sync => self.ready(),
            Message::Parse { .. } => self.output.empty(b'1'),
            Message::Bind(bind) => {
                self.bound.push_back(bind.result_formats.is_binary(0));
                self.output.empty(b'2');
            }
            Message::Describe(target) => {
                if matches!(target, Target::Statement(_)) {
                    self.output.parameter_description(&[]);
                }
                self.describe(self.bound.back() == Some(&true));
            }
            Message::Execute { .. } => {
                let binary = self.bound.pop_front().unwrap_or(false);
                self.row(binary);
            }
            Message::Close(_) => self.output.empty(b'3'),
            Message::Flush => self.output.release(),
            // There is neither a COPY nor a login in progress that these belong to.
            Message::CopyData(_)
            | Message::CopyDone
            | Message::CopyFail(_)
            | Message::Password(_) => {}
        }
        Step::Next
    }

    fn describe(&mut self, binary: bool) {
        let name = "constant";
        let (table_oid, column_number) = (0, 0);
        let (sql_type, modifier) = (Type::Int4, -1);
        let column = Description { name, table_oid, column_number, sql_type, modifier, binary };
        self.output.row_description([column].into_iter());
    }

    fn row(&mut self, binary: bool) {
        self.output.data_row([(&Datum::Int(1), Type::Int4, binary)].into_iter());
        self.output.complete("SELECT 1");
    }

    fn ready(&mut self) {
        self.bound.clear();
        self.output.ready(b'I');
        self.output.release();
    }
}
