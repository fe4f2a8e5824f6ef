//! The last stage.

use super::ahead::{Decided, Ready, Short};
use super::plan::MeldReport;
use super::states::States;
use super::watch::Watch;
use crate::item::Refused;
use crate::judge::Judge;
use crate::node::Tree;
use chiliad_machine::Machine;

/// The last stage, which decides intentions in their order.
pub struct Deciding<M: Machine> {
    pub judge: Judge<M>,
    label: u64,
    pub report: MeldReport,
}

impl<M: Machine> Deciding<M> {
    pub fn new(judge: Judge<M>) -> Self {
        Self { judge, label: 0, report: MeldReport::default() }
    }

    /// The tree of all rows.
    pub fn tree(&self) -> Tree<M> {
        self.judge.roots[0].unwrap_or(Tree::EMPTY)
    }

    /// Decides a batch.
    pub fn decide<'b>(
        &mut self,
        states: &States<M>,
        ready: Ready<'b, M>,
    ) -> Result<Decided<'b, M>, Short> {
        let start = Watch::start(&self.judge.maker);
        let Ready { mut items, is_timed } = ready;
        let mut trees = Vec::with_capacity(items.len());
        let committed = self.report.committed;
        let mut at = 0;
        while at < items.len() {
            match &mut items[at..] {
                [Ok(first), Ok(second), ..] if second.is_paired => {
                    for verdict in self.judge.decide_both(first, second) {
                        self.decided(verdict, &mut trees)?;
                    }
                    at += 2;
                }
                [Ok(item), ..] => {
                    let verdict = self.judge.decide(item);
                    self.decided(verdict, &mut trees)?;
                    at += 1;
                }
                [Err(refused), ..] => {
                    self.decided(Err(*refused), &mut trees)?;
                    at += 1;
                }
                [] => {}
            }
        }
        states.publish(trees);
        let replaced = core::mem::take(&mut self.judge.replaced);
        match is_timed {
            true => {
                self.report.intentions += items.len() as u64;
                self.report.last += start.stop(&self.judge.maker);
            }
            false => self.report.committed = committed,
        }
        Ok(Decided { label: self.label, items, replaced, is_timed })
    }

    fn decided(
        &mut self,
        verdict: Result<(), Refused>,
        trees: &mut Vec<Tree<M>>,
    ) -> Result<(), Short> {
        if verdict == Err(Refused::OutOfMemory) {
            return Err(Short);
        }
        self.label += 1;
        let commits = u64::from(verdict.is_ok());
        let digest = self.report.digest ^ (self.label << 1 | commits);
        self.report.digest = digest.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(31);
        self.report.committed += commits;
        trees.push(self.tree());
        Ok(())
    }
}
