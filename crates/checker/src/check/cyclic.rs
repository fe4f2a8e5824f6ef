//! The part of the graph that has cycles, with the reasons of its edges, and the smallest cycle
//! through it.
//!
//! Invariants: nodes are numbered anew, densely, transactions and helpers alike; a path through
//! helpers counts as one edge, whose kind is that of its parts.

use std::collections::VecDeque;

use super::edges::Reason;
use super::graph::Graph;
use super::ranges::MANY_KEYS;
use super::versions::NONE;
use crate::anomaly::EdgeKind;
use crate::history::keys::KeyId;

/// An edge of a cyclic subgraph.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Label {
    pub(crate) kind: EdgeKind,
    key: KeyId,
}

/// A graph with labelled edges.
pub(crate) struct CyclicSubgraph {
    pub(crate) graph: Graph,
    pub(crate) labels: Vec<Label>,
    /// The nodes as the whole graph numbers them.
    names: Vec<u32>,
    /// How many nodes of the whole graph are transactions.
    transactions: u32,
}

/// A step of a cycle between two transactions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Step {
    pub(crate) from: u32,
    pub(crate) to: u32,
    pub(crate) kind: EdgeKind,
    /// `MANY_KEYS` for real time.
    pub(crate) key: KeyId,
}

impl CyclicSubgraph {
    pub(crate) fn new(mut edges: Vec<Reason>, transactions: u32) -> CyclicSubgraph {
        // The same nodes get the same numbers whatever the order of emission was.
        edges.sort_unstable_by_key(|e| (e.from, e.to, e.kind, e.key));
        edges.dedup_by_key(|e| (e.from, e.to, e.kind));
        let mut names: Vec<u32> = edges.iter().flat_map(|e| [e.from, e.to]).collect();
        names.sort_unstable();
        names.dedup();
        let mut number = vec![NONE; names.last().map_or(0, |&last| last as usize + 1)];
        for (at, &name) in names.iter().enumerate() {
            number[name as usize] = at as u32;
        }
        // Sorted by source, so the edges keep their order in the graph, and so do the labels.
        let ends = edges.iter().map(|e| (number[e.from as usize], number[e.to as usize])).collect();
        let labels = edges.iter().map(|e| Label { kind: e.kind, key: e.key }).collect();
        CyclicSubgraph { graph: Graph::new(names.len() as u32, ends), labels, names, transactions }
    }

    pub(crate) fn kind(&self, edge: u32) -> EdgeKind {
        self.labels[edge as usize].kind
    }

    /// The node stands for keys or for time, not for a transaction.
    pub(crate) fn is_helper(&self, node: u32) -> bool {
        self.names[node as usize] >= self.transactions
    }

    /// The path as steps between transactions.
    fn steps(&self, path: &[(u32, u32)]) -> Vec<Step> {
        let mut steps = Vec::new();
        let mut key = MANY_KEYS;
        let mut from = NONE;
        for &(source, edge) in path {
            if !self.is_helper(source) {
                from = self.names[source as usize];
            }
            let label = self.labels[edge as usize];
            if label.key != MANY_KEYS {
                key = label.key;
            }
            let target = self.graph.targets[edge as usize];
            if !self.is_helper(target) {
                let to = self.names[target as usize];
                steps.push(Step { from, to, kind: label.kind, key });
                key = MANY_KEYS;
            }
        }
        steps
    }
}

/// Breadth-first searches that share their memory, and a limit on their work.
pub(crate) struct Hunt<'a> {
    cyclic: &'a CyclicSubgraph,
    /// The search that saw the node last, its distance then, and the edge that led to it.
    seen: Vec<(u32, u32)>,
    parent: Vec<(u32, u32)>,
    round: u32,
    /// How many edges may still be looked at.
    budget: u64,
}

impl<'a> Hunt<'a> {
    pub(crate) fn new(cyclic: &'a CyclicSubgraph, budget: u64) -> Hunt<'a> {
        let nodes = cyclic.graph.nodes() as usize;
        Hunt {
            cyclic,
            seen: vec![(0, 0); nodes],
            parent: vec![(NONE, NONE); nodes],
            round: 0,
            budget,
        }
    }

    /// The smallest cycle through one of `starts` over the edges that `allowed` lets pass; it is
    /// told the start, the source and the edge. With the budget used up, the smallest so far.
    pub(crate) fn smallest(
        &mut self,
        starts: &[u32],
        allowed: impl Fn(u32, u32, u32) -> bool,
    ) -> Option<Vec<Step>> {
        let mut best: Option<Vec<Step>> = None;
        for &start in starts {
            let shorter_than = best.as_ref().map_or(usize::MAX, Vec::len);
            // Two is the least, and one search must be made whatever the budget.
            if shorter_than == 2 || (self.budget == 0 && best.is_some()) {
                break;
            }
            if !self.cyclic.is_helper(start)
                && let Some(path) =
                    self.back_to(start, shorter_than, |source, edge| allowed(start, source, edge))
            {
                best = Some(self.cyclic.steps(&path));
            }
        }
        best
    }

    /// The shortest path from a transaction back to itself, if it has fewer edges than a limit.
    /// Edges into helpers are free: a queue with two ends takes them first.
    fn back_to(
        &mut self,
        start: u32,
        shorter_than: usize,
        allowed: impl Fn(u32, u32) -> bool,
    ) -> Option<Vec<(u32, u32)>> {
        self.round += 1;
        let graph = &self.cyclic.graph;
        let mut queue = VecDeque::from([(start, 0_u32)]);
        self.seen[start as usize] = (self.round, 0);
        while let Some((node, distance)) = queue.pop_front() {
            if distance as usize + 1 >= shorter_than {
                return None;
            }
            if self.seen[node as usize] != (self.round, distance) {
                continue;
            }
            for edge in graph.edges(node) {
                self.budget = self.budget.saturating_sub(1);
                let target = graph.targets[edge as usize];
                if !allowed(node, edge) {
                    continue;
                }
                if target == start {
                    return Some(self.path(start, node, edge));
                }
                let helper = self.cyclic.is_helper(target);
                let next = distance + u32::from(!helper);
                let (round, known) = self.seen[target as usize];
                if round == self.round && known <= next {
                    continue;
                }
                self.seen[target as usize] = (self.round, next);
                self.parent[target as usize] = (node, edge);
                if helper {
                    queue.push_front((target, next));
                } else {
                    queue.push_back((target, next));
                }
            }
        }
        None
    }

    fn path(&self, start: u32, last: u32, edge: u32) -> Vec<(u32, u32)> {
        let mut path = vec![(last, edge)];
        let mut node = last;
        while node != start {
            let (before, edge) = self.parent[node as usize];
            path.push((before, edge));
            node = before;
        }
        path.reverse();
        path
    }
}
