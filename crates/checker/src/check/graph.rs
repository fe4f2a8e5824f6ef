//! A directed graph in two flat arrays, and its strongly connected components.
//!
//! Invariant: the component search keeps its own stack, since a path can be as long as a history.

use super::versions::NONE;

/// Edges by their source: those of node `n` are `targets[starts[n]..starts[n + 1]]`.
pub(crate) struct Graph {
    pub(crate) starts: Vec<u32>,
    pub(crate) targets: Vec<u32>,
}

impl Graph {
    /// Sorts edges by their source. Consumes the list: at its largest, the two together are most
    /// of the memory of a check.
    pub(crate) fn new(nodes: u32, edges: Vec<(u32, u32)>) -> Graph {
        let mut starts = vec![0_u32; nodes as usize + 2];
        for &(from, _) in &edges {
            starts[from as usize + 2] += 1;
        }
        for node in 2..starts.len() {
            starts[node] += starts[node - 1];
        }
        // While filling, `starts[n + 1]` is the cursor of node n; at the end, its end.
        let mut targets = vec![0; edges.len()];
        for (from, to) in edges {
            let cursor = &mut starts[from as usize + 1];
            targets[*cursor as usize] = to;
            *cursor += 1;
        }
        starts.pop();
        Graph { starts, targets }
    }

    /// A graph of these nodes with more edges.
    pub(crate) fn extended(&self, more: impl Iterator<Item = (u32, u32)>) -> Graph {
        let old = (0..self.nodes())
            .flat_map(|from| self.edges(from).map(move |edge| (from, self.targets[edge as usize])));
        Graph::new(self.nodes(), old.chain(more).collect())
    }

    pub(crate) fn nodes(&self) -> u32 {
        self.starts.len() as u32 - 1
    }

    /// The numbers of a node's edges.
    pub(crate) fn edges(&self, node: u32) -> std::ops::Range<u32> {
        self.starts[node as usize]..self.starts[node as usize + 1]
    }

    /// Tarjan's algorithm over the edges that `allowed` lets pass. The result names for each node
    /// its component, or `NONE` where it is alone in it.
    pub(crate) fn components(&self, allowed: impl Fn(u32) -> bool) -> Components {
        let mut search = Search {
            graph: self,
            low: vec![UNSEEN; self.nodes() as usize],
            stack: Vec::new(),
            path: Vec::new(),
            found: Components { of: vec![NONE; self.nodes() as usize], members: Vec::new() },
            seen: 0,
        };
        for root in 0..self.nodes() {
            if search.low[root as usize] == UNSEEN {
                search.run(root, &allowed);
            }
        }
        search.found
    }
}

/// The strongly connected components of more than one node.
pub(crate) struct Components {
    pub(crate) of: Vec<u32>,
    pub(crate) members: Vec<Vec<u32>>,
}

const UNSEEN: u32 = 0;
/// The component of the node is known.
const DONE: u32 = u32::MAX;

struct Search<'a> {
    graph: &'a Graph,
    /// The smallest number of a node on the stack that is known to be reachable; numbers start
    /// with one.
    low: Vec<u32>,
    stack: Vec<u32>,
    path: Vec<Step>,
    found: Components,
    seen: u32,
}

/// A node on the path from the root, with the edges that are left to follow.
struct Step {
    node: u32,
    number: u32,
    next: u32,
    end: u32,
}

impl Search<'_> {
    fn run(&mut self, root: u32, allowed: &impl Fn(u32) -> bool) {
        self.enter(root);
        while let Some(step) = self.path.last_mut() {
            if step.next == step.end {
                self.leave();
                continue;
            }
            let edge = step.next;
            step.next += 1;
            if !allowed(edge) {
                continue;
            }
            let target = self.graph.targets[edge as usize];
            match self.low[target as usize] {
                UNSEEN => self.enter(target),
                DONE => {}
                low => {
                    let own = &mut self.low[step.node as usize];
                    *own = low.min(*own);
                }
            }
        }
    }

    fn enter(&mut self, node: u32) {
        self.seen += 1;
        self.low[node as usize] = self.seen;
        self.stack.push(node);
        let edges = self.graph.edges(node);
        self.path.push(Step { node, number: self.seen, next: edges.start, end: edges.end });
    }

    fn leave(&mut self) {
        let step = self.path.pop().expect("leaving the last node of the path");
        let low = self.low[step.node as usize];
        if let Some(parent) = self.path.last() {
            let above = &mut self.low[parent.node as usize];
            *above = low.min(*above);
        }
        if low != step.number {
            return;
        }
        let at = self.stack.iter().rposition(|&node| node == step.node);
        let members = self.stack.split_off(at.expect("the node is on the stack"));
        for &member in &members {
            self.low[member as usize] = DONE;
        }
        if members.len() > 1 {
            for &member in &members {
                self.found.of[member as usize] = self.found.members.len() as u32;
            }
            self.found.members.push(members);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn components_of_more_than_one_node() {
        let edges = vec![(0, 1), (1, 2), (2, 0), (2, 3), (3, 4), (4, 3), (5, 0), (6, 6)];
        let found = Graph::new(7, edges).components(|_| true);
        let mut members = found.members.clone();
        members.iter_mut().for_each(|m| m.sort_unstable());
        members.sort();
        assert_eq!(members, [vec![0, 1, 2], vec![3, 4]]);
        assert_eq!((found.of[5], found.of[6]), (NONE, NONE));
        assert_eq!(found.of[0], found.of[2]);
    }

    #[test]
    fn a_long_path_needs_no_stack() {
        let n = 1_000_000;
        let mut edges: Vec<(u32, u32)> = (1..n).map(|i| (i - 1, i)).collect();
        assert!(Graph::new(n, edges.clone()).components(|_| true).members.is_empty());
        edges.push((n - 1, 0));
        let graph = Graph::new(n, edges);
        assert_eq!(graph.components(|_| true).members[0].len(), n as usize);
        assert!(graph.components(|edge| edge != 5).members.is_empty());
    }
}
