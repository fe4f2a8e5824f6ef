//! A serial order of an acyclic graph, near to real time, that can be bent.
//!
//! Invariant: every edge of the graph, and every edge added, leads from an earlier position to a
//! later one.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

use super::graph::Graph;

/// A topological order.
pub(crate) struct Order<'a> {
    graph: &'a Graph,
    added: HashMap<u32, Vec<u32>>,
    /// The nodes in order.
    pub(crate) nodes: Vec<u32>,
    /// The place of each node in `nodes`.
    pub(crate) positions: Vec<u32>,
    marked: Vec<bool>,
}

impl<'a> Order<'a> {
    /// Of all orders of an acyclic graph, one that takes at each step the node with the smallest
    /// deadline: its own time, or that of a transaction that must come after it, if that is smaller.
    pub(crate) fn new(graph: &'a Graph, mut deadlines: Vec<u64>) -> Order<'a> {
        let any = sort(graph, |_| 0);
        for &node in any.iter().rev() {
            let later = targets(graph, node).iter().map(|&target| deadlines[target as usize]);
            let own = deadlines[node as usize];
            deadlines[node as usize] = later.min().map_or(own, |first| first.min(own));
        }
        let nodes = sort(graph, |node| deadlines[node as usize]);
        let mut positions = vec![0; nodes.len()];
        for (position, &node) in nodes.iter().enumerate() {
            positions[node as usize] = position as u32;
        }
        let marked = vec![false; nodes.len()];
        Order { graph, added: HashMap::new(), nodes, positions, marked }
    }

    /// Whether an edge can be added without closing a cycle.
    pub(crate) fn admits(&mut self, source: u32, target: u32) -> bool {
        self.positions[source as usize] < self.positions[target as usize]
            || self.followers(source, target).0.last() != Some(&source)
    }

    /// Adds an edge. What must follow its target moves after its source; nothing else moves.
    /// False, and no change, where that would close a cycle.
    pub(crate) fn add(&mut self, source: u32, target: u32) -> bool {
        let low = self.positions[target as usize];
        if low <= self.positions[source as usize] {
            let (moved, stay) = self.followers(source, target);
            if moved.last() == Some(&source) {
                return false;
            }
            for (position, node) in (low..).zip(stay.into_iter().chain(moved)) {
                self.nodes[position as usize] = node;
                self.positions[node as usize] = position;
            }
        }
        self.added.entry(source).or_default().push(target);
        true
    }

    /// The nodes from `target` up to `source` in order, those first that must follow the target,
    /// it included, then the others.
    fn followers(&mut self, source: u32, target: u32) -> (Vec<u32>, Vec<u32>) {
        let (low, high) = (self.positions[target as usize], self.positions[source as usize]);
        let region = &self.nodes[low as usize..high as usize + 1];
        self.marked[target as usize] = true;
        for &node in region {
            if !self.marked[node as usize] {
                continue;
            }
            let added = self.added.get(&node).map_or(&[][..], Vec::as_slice);
            for &next in targets(self.graph, node).iter().chain(added) {
                if self.positions[next as usize] <= high {
                    self.marked[next as usize] = true;
                }
            }
        }
        let (moved, stay): (Vec<u32>, Vec<u32>) =
            region.iter().partition(|&&node| self.marked[node as usize]);
        for &node in &moved {
            self.marked[node as usize] = false;
        }
        (moved, stay)
    }
}

fn targets(graph: &Graph, node: u32) -> &[u32] {
    let edges = graph.edges(node);
    &graph.targets[edges.start as usize..edges.end as usize]
}

/// Kahn's algorithm: of the nodes whose predecessors are done, the one with the smallest rank.
fn sort(graph: &Graph, rank: impl Fn(u32) -> u64) -> Vec<u32> {
    let mut missing = vec![0_u32; graph.nodes() as usize];
    for &target in &graph.targets {
        missing[target as usize] += 1;
    }
    let free = (0..graph.nodes()).filter(|&node| missing[node as usize] == 0);
    let mut ready: BinaryHeap<_> = free.map(|node| Reverse((rank(node), node))).collect();
    let mut order = Vec::with_capacity(missing.len());
    while let Some(Reverse((_, node))) = ready.pop() {
        order.push(node);
        for &target in targets(graph, node) {
            missing[target as usize] -= 1;
            if missing[target as usize] == 0 {
                ready.push(Reverse((rank(target), target)));
            }
        }
    }
    debug_assert_eq!(order.len(), missing.len(), "the graph has no cycle");
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deadlines_decide_and_edges_bend() {
        // 0 -> 3, and 1, 2 are free; 3 is urgent, so 0 comes first.
        let graph = Graph::new(4, vec![(0, 3)]);
        let mut order = Order::new(&graph, vec![90, 20, 30, 10]);
        assert_eq!(order.nodes, [0, 3, 1, 2]);
        assert!(order.add(2, 0));
        assert_eq!(order.nodes, [1, 2, 0, 3]);
        assert!(!order.admits(3, 2) && order.admits(3, 1));
        assert!(!order.add(3, 2));
        assert_eq!(order.nodes, [1, 2, 0, 3]);
        assert!(order.add(3, 1));
        assert_eq!(order.nodes, [2, 0, 3, 1]);
        assert!((0..4).all(|p| order.positions[order.nodes[p] as usize] == p as u32));
    }
}
