//! The check of a history, from its parts to the verdict.
//!
//! ```text
//! stamps -> versions -> chain -> absences -> ranges     what each operation saw and replaced
//!        -> edges -> graph -> components                 is there a cycle at all?
//!        -> cyclic subgraph -> cycles                    which, of what class, how small?
//!        -> witness                                      can the ambiguous reads be explained?
//! ```
//!
//! Invariant: the first two rows are linear in the history but for sorting; the others look at
//! what the second found suspicious.

mod absence;
mod bits;
mod chain;
mod claims;
mod cycles;
mod cyclic;
mod edges;
mod findings;
mod graph;
mod order;
mod ranges;
mod realtime;
mod stamps;
mod versions;
mod witness;

use cyclic::CyclicSubgraph;
use edges::{Derived, Emitter, Reason};
use findings::Findings;
use graph::{Components, Graph};
use versions::{NONE, Versions};

use crate::anomaly::{EdgeKind, Isolation};
use crate::history::History;
use crate::verdict::{EdgeCounts, Verdict};

/// The options of a check.
#[derive(Clone, Debug)]
pub struct Options {
    /// The level against which the history is judged. All anomalies are found in any case.
    pub isolation: Isolation,
    /// Real time counts: a transaction that started after another had ended must not precede it.
    pub strict: bool,
    /// Versions may be placed before existing ones, as multi-version timestamp ordering does:
    /// where two writes replaced the same version, the claimed order arranges them.
    pub version_insertion: bool,
    /// The claimed order grows along reads too: a transaction that writes must claim a greater one
    /// than the writer of every record that it read. Schemes may promise that; serializability
    /// does not ask for it.
    pub order_follows_reads: bool,
    /// How many anomalies of each class are kept with their explanation.
    pub anomalies_max: usize,
    /// Where a scan found nothing in a range of keys, an edge is made for each of up to so many
    /// keys; above that, helper nodes stand for them. Changes the cost of a check, not its result.
    pub gap_edges_max: usize,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            isolation: Isolation::Serializable,
            strict: false,
            version_insertion: false,
            order_follows_reads: false,
            anomalies_max: 10,
            gap_edges_max: 16,
        }
    }
}

/// Judges a history.
pub fn check(history: &History, options: &Options) -> Verdict {
    let verdict = Verdict::new(options.isolation, options.strict);
    let mut findings = Findings { history, verdict, keep: options.anomalies_max };
    let mut derived = derive(history, options, &mut findings);
    if options.order_follows_reads {
        claims::check_reads(&derived, &mut findings);
    }
    let (graph, edges, ambiguous) = build_graph(&mut derived, options, &mut findings);
    let mut components = graph.components(|_| true);
    findings.verdict.unexplained_reads = ambiguous;
    let mut closing = Vec::new();
    if components.members.is_empty() && ambiguous > 0 {
        let examination = witness::examine(&derived, &graph);
        findings.verdict.unexplained_reads = examination.unexplained;
        closing = examination.closing;
        if !closing.is_empty() {
            let more = closing.iter().map(|reason| (reason.from, reason.to));
            components = graph.extended(more).components(|_| true);
        }
    }
    drop(graph);
    if !components.members.is_empty() {
        let cyclic = cyclic_subgraph(&mut derived, options, &components, &closing);
        cycles::report(&cyclic, &derived, &mut findings, !closing.is_empty());
    }
    let mut verdict = findings.verdict;
    verdict.complete = history.header.complete;
    verdict.transactions = history.transactions.len() as u64;
    verdict.committed = history.transactions.iter().filter(|t| t.committed).count() as u64;
    verdict.unfinished = history.unfinished;
    verdict.operations = history.ops.len() as u64;
    verdict.ambiguous_reads = ambiguous;
    verdict.edges = edges;
    verdict.anomalies.sort_by_key(|anomaly| anomaly.class);
    verdict
}

fn derive<'h>(history: &'h History, options: &Options, findings: &mut Findings<'h>) -> Derived<'h> {
    let stamps = stamps::Stamps::build(history, findings);
    let mut versions = Versions::collect(history);
    chain::link(&mut versions, history, &stamps, options, findings);
    let absences = absence::candidates(history, &versions);
    let ranges = ranges::Ranges::build(history, &versions, &absences);
    let nodes = history.transactions.len() as u32;
    let gap_edges_max = options.gap_edges_max;
    Derived { history, stamps, versions, absences, ranges, nodes, gap_edges_max }
}

/// The whole graph without reasons, the number of its edges, and how many reads are ambiguous.
fn build_graph<'h>(
    derived: &mut Derived<'h>,
    options: &Options,
    findings: &mut Findings<'h>,
) -> (Graph, EdgeCounts, u64) {
    let history = derived.history;
    let mut edges: Vec<(u32, u32)> = Vec::new();
    let mut counts = EdgeCounts::default();
    let transactions = derived.nodes;
    let sink = |reason: Reason| {
        let ends = (reason.from, reason.to);
        // The records of an order all have the same writer: most repetitions are neighbours.
        let recent = edges.len().saturating_sub(4);
        if edges[recent..].contains(&ends) {
            return;
        }
        edges.push(ends);
        *match reason.kind {
            EdgeKind::RealTime => &mut counts.auxiliary,
            _ if reason.from >= transactions => &mut counts.auxiliary,
            EdgeKind::WriteWrite => &mut counts.write_write,
            EdgeKind::WriteRead => &mut counts.write_read,
            EdgeKind::ReadWrite => &mut counts.read_write,
            EdgeKind::PredicateReadWrite => &mut counts.predicate,
        } += 1;
    };
    let mut emitter =
        Emitter { derived, findings: Some(findings), ambiguous: 0, sink, gaps: Vec::new() };
    emitter.overwrites(|_| true);
    for (number, transaction) in history.transactions.iter().enumerate() {
        if transaction.committed {
            emitter.reads(number as u32);
        }
    }
    emitter.links();
    let ambiguous = emitter.ambiguous;
    let mut sink = emitter.sink;
    let helpers =
        if options.strict { realtime::emit(history, derived.nodes, &mut sink) } else { 0 };
    (Graph::new(derived.nodes + helpers, edges), counts, ambiguous)
}

/// The edges within the components, with their reasons, and those that a proof added.
fn cyclic_subgraph(
    derived: &mut Derived,
    options: &Options,
    components: &Components,
    closing: &[Reason],
) -> CyclicSubgraph {
    let history = derived.history;
    let transactions = history.transactions.len() as u32;
    let of = |node: u32| components.of[node as usize];
    let mut edges: Vec<Reason> = Vec::new();
    let sink = |reason: Reason| {
        if of(reason.from) != NONE && of(reason.from) == of(reason.to) {
            edges.push(reason);
        }
    };
    let mut emitter = Emitter { derived, findings: None, ambiguous: 0, sink, gaps: Vec::new() };
    emitter.overwrites(|node| of(node) != NONE);
    for node in (0..transactions).filter(|&node| of(node) != NONE) {
        emitter.reads(node);
    }
    emitter.links();
    let mut sink = emitter.sink;
    closing.iter().for_each(|&reason| sink(reason));
    if options.strict {
        realtime::emit(history, derived.nodes, sink);
    }
    CyclicSubgraph::new(edges, transactions)
}
