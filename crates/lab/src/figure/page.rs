//! One page for one run: everything in it, no script, no network.

use super::claims::Claim;
use super::describe::{Figure, Kind, Source};
use super::done::{Done, count};
use super::grid::Grid;
use super::judge::{Judged, Verdict};
use super::measured::{curves, lines};
use super::numbers::minutes;
use super::place::MARK;
use super::quantity;
use crate::BUILD;
use chiliad_host::computer;
use std::fmt::Write;
use std::time::Duration;

/// The page's style.
const STYLE: &str = include_str!("page.css");

/// The last line of a section.
const SECTION_END: &str = "</section>\n";

/// Adds lines; writing to a string cannot fail.
macro_rules! put {
    ($out:expr, $($text:tt)*) => {
        let _ = writeln!($out, $($text)*);
    };
}

/// The run, as the page describes it.
pub struct Head {
    /// The grid.
    pub grid: Grid,
    /// Everything ran on this machine, by `--native`.
    pub native: bool,
    /// When it began.
    pub date: String,
    /// How long it took.
    pub took: Duration,
}

/// A figure on the page: its line in the summary, and its section.
struct Part {
    id: String,
    row: String,
    section: String,
}

/// The figures of a page: of this run, and of earlier ones into the same directory.
pub struct Page(Vec<Part>);

impl Page {
    /// The figures of this run.
    pub fn new(all: &[Done<'_>], head: &Head) -> Self {
        let part = |done: &Done<'_>| {
            let (mut row, mut text) = (String::new(), String::new());
            summary_row(&mut row, done);
            section(&mut text, done, head);
            Part { id: done.figure.id.clone(), row, section: text }
        };
        Self(all.iter().map(part).collect())
    }

    /// Takes over what an earlier page has of the figures that were not run now. Of `known`, all that there
    /// are, the page keeps the order.
    pub fn take_over(&mut self, earlier: &str, known: &[Figure]) {
        let mut parts = std::mem::take(&mut self.0);
        for figure in known {
            let run = parts.iter().position(|part| part.id == figure.id);
            let run = run.map(|at| parts.remove(at));
            self.0.extend(run.or_else(|| of_earlier(earlier, &figure.id)));
        }
        self.0.append(&mut parts);
    }

    /// The page, of which `all` were run now.
    pub fn html(&self, all: &[Done<'_>], head: &Head) -> String {
        let mut out = format!(
            "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n{MARK}\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <title>Figures, reproduced</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n<main>\n"
        );
        opening(&mut out, all, head);
        put!(out, "<table class=\"summary\">\n<caption>Claims by figure</caption>");
        put!(
            out,
            "<thead><tr><th scope=\"col\">Figure</th><th scope=\"col\">hold</th>\
             <th scope=\"col\">fail</th><th scope=\"col\"><abbr title=\"not applicable here\">n/a</abbr>\
             </th></tr></thead>\n<tbody>"
        );
        self.0.iter().for_each(|part| out.push_str(&part.row));
        put!(out, "</tbody>\n</table>");
        self.0.iter().for_each(|part| out.push_str(&part.section));
        out.push_str("</main>\n</body>\n</html>\n");
        out
    }
}

/// A figure as an earlier page has it.
fn of_earlier(page: &str, id: &str) -> Option<Part> {
    let row = page.lines().find(|line| line.contains(&format!("<a href=\"#{id}\">")))?;
    let begin = page.find(&format!("<section id=\"{id}\">"))?;
    let end = begin + page[begin..].find(SECTION_END)? + SECTION_END.len();
    Some(Part { id: id.into(), row: format!("{row}\n"), section: page[begin..end].into() })
}

/// Text as HTML has it.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// The commit that this build was made from.
fn commit() -> &'static str {
    if BUILD.commit.is_empty() { "unknown" } else { BUILD.commit }
}

fn opening(out: &mut String, all: &[Done<'_>], head: &Head) {
    let [holds, fails, not] = count(all.iter().flat_map(|done| &done.claims));
    let cpu = match computer::cpu() {
        cpu if cpu.is_empty() => "an unnamed processor".to_owned(),
        cpu => cpu,
    };
    let cores = head.grid.cores;
    let cores = if cores == 1 { "1 core".to_owned() } else { format!("{cores} cores") };
    let commit = commit();
    put!(out, "<header>\n<h1>Figures, reproduced</h1>");
    put!(
        out,
        "<p class=\"lead\">What two theses, an article and a talk on concurrency control show in their figures, run \
         again with Chiliad on {}, and what becomes of the claims that they draw from them: \
         <b>{holds}</b> hold, <b>{fails}</b> fail, <b>{not}</b> do not apply here, mostly because \
         they speak of more cores.</p>",
        machines(all)
    );
    put!(out, "<dl class=\"facts\">");
    let fact = |out: &mut String, name: &str, text: &str| {
        put!(out, "<div><dt>{name}</dt><dd>{}</dd></div>", escaped(text));
    };
    fact(out, "Machine", &format!("{cpu}, {cores}"));
    fact(out, "Build", &format!("Chiliad {}, commit {commit}", BUILD.version));
    fact(out, "Compiler", BUILD.compiler);
    fact(out, "Date", &format!("{}, took {}", head.date, minutes(head.took)));
    let (warmup, window) = head.grid.times();
    let kind = if head.grid.quick { "quick" } else { "full" };
    let panels = || all.iter().flat_map(|done| &done.figure.panels);
    if let Some(panel) = panels().find(|panel| panel.machine.is_none()) {
        let runs = format!(
            "{kind} grid: each point is the median of {} runs of {} ms after {} ms, unless its command says \
             otherwise; bars span all of them, series take turns",
            head.grid.rounds(panel),
            window.as_millis(),
            warmup.as_millis()
        );
        fact(out, "Runs here", &runs);
    }
    if let Some(panel) = panels().find(|panel| panel.machine.is_some()) {
        let runs = format!(
            "{kind} grid: each point is the mean of {} seeds, each of which places all cache lines anew; bars \
             span all of them; dotted and dashed lines are the first seed at half and at double the prices \
             of computation",
            head.grid.rounds(panel),
        );
        fact(out, "Runs, simulated", &runs);
    }
    put!(out, "</dl>\n</header>");
}

/// The kind of machine that the figures were run on.
fn machines(all: &[Done<'_>]) -> &'static str {
    let simulated = all.iter().filter(|done| done.figure.is_simulated()).count();
    match simulated {
        0 => "this machine",
        some if some == all.len() => "a simulated machine",
        _ => "this machine and a simulated one",
    }
}

fn summary_row(out: &mut String, done: &Done<'_>) {
    let Figure { id, title, .. } = done.figure;
    let counts = count(done.claims.iter());
    let cell = |at: usize, class: &str| match counts[at] {
        0 => "<td class=\"none\">·</td>".to_owned(),
        number => format!("<td class=\"{class}\">{number}</td>"),
    };
    put!(
        out,
        "<tr><th scope=\"row\"><a href=\"#{id}\">{}</a> <span class=\"id\">{id}</span></th>\
         {}{}{}</tr>",
        escaped(title),
        cell(0, "holds"),
        cell(1, "fails"),
        cell(2, "not")
    );
}

fn section(out: &mut String, done: &Done<'_>, head: &Head) {
    let grid = head.grid;
    let Figure { id, figure, section, title, shows, source, .. } = done.figure;
    let differs = done.figure.differs();
    put!(out, "<section id=\"{id}\">\n<h2>{}</h2>", escaped(title));
    if *source == Source::Own {
        put!(out, "<p><b>The question.</b> {}</p>", escaped(shows));
    } else {
        put!(
            out,
            "<p class=\"source\">{}, section {}, {}</p>",
            escaped(figure),
            escaped(section),
            escaped(source.citation())
        );
        put!(out, "<p><b>The paper.</b> {}</p>", escaped(shows));
    }
    match &done.svg {
        Some(svg) => {
            put!(out, "<figure role=\"img\" aria-label=\"{}\">{svg}</figure>", escaped(title));
        }
        None => {
            put!(out, "<p class=\"absent\">Nothing of this figure could be run here.</p>");
        }
    }
    left_out(out, done);
    numbers(out, done);
    if !differs.is_empty() {
        put!(out, "<p class=\"scaled\"><b>Here.</b> {}</p>", escaped(differs));
    }
    claims(out, &done.claims);
    let quick = if grid.quick { " --quick" } else { "" };
    let native =
        if head.native && matches!(source, Source::Cores | Source::Lm) { " --native" } else { "" };
    put!(
        out,
        "<p class=\"again\"><code>chiliad figure run {id}{quick}{native} --out DIR</code>, {}, commit {}</p>",
        head.date,
        commit()
    );
    points(out, done.figure, grid);
    out.push_str(SECTION_END);
}

/// One run of each panel, as it can be typed: it says what the table sizes and times are.
fn points(out: &mut String, figure: &Figure, grid: Grid) {
    put!(out, "<details><summary>A point of each chart as a command</summary>");
    for panel in &figure.panels {
        let columns = grid.columns(panel);
        let Some(line) = columns.last().and_then(|column| column.lines.first()) else { continue };
        let line = escaped(&line.join(" "));
        put!(out, "<p>({}) <code>chiliad {line}</code></p>", panel.id);
    }
    put!(out, "</details>");
}

/// Series that could not be run, and why, those of one reason together.
fn left_out(out: &mut String, done: &Done<'_>) {
    for (panel, lines) in done.figure.panels.iter().zip(&done.lines) {
        let mut reasons: Vec<(&str, Vec<&str>)> = Vec::new();
        for line in lines.iter().filter(|line| line.points.is_empty()) {
            // What would be accepted instead is of no interest here.
            let reason = line.refused.as_deref().and_then(|reason| reason.split(';').next());
            let Some(reason) = reason else { continue };
            match reasons.iter_mut().find(|(known, _)| *known == reason) {
                Some((_, names)) => names.push(&line.name),
                None => reasons.push((reason, vec![&line.name])),
            }
        }
        for (reason, names) in reasons {
            let names = escaped(&names.join(", "));
            let (id, reason) = (&panel.id, escaped(reason));
            put!(out, "<p class=\"absent\">({id}) Not shown: {names} ({reason}).</p>");
        }
        for line in lines {
            let left_out = line.left_out.iter().map(|why| ("Left out", why));
            let failed = line.failed.iter().map(|why| ("A run failed", why));
            for (what, why) in left_out.chain(failed) {
                let (id, name, why) = (&panel.id, escaped(&line.name), escaped(why));
                put!(out, "<p class=\"absent\">({id}) {what}: {name} {why}.</p>");
            }
        }
    }
}

/// The numbers of charts that are tables in the paper.
fn numbers(out: &mut String, done: &Done<'_>) {
    for panel in done.figure.panels.iter().filter(|panel| panel.kind == Kind::Bars) {
        if lines(done.figure, panel, &done.lines).iter().all(|line| line.points.is_empty()) {
            continue;
        }
        put!(
            out,
            "<table class=\"numbers\">\n<thead><tr><th scope=\"col\">System</th>\
             <th scope=\"col\">{}</th><th scope=\"col\">Notes</th></tr></thead>\n<tbody>",
            quantity::heading(panel.metric)
        );
        for curve in curves(done.figure, panel, &done.lines) {
            let Some(dot) = curve.dots.first() else { continue };
            let reference = panel.reference.iter().find(|it| it.name == curve.name);
            let note = reference.map_or("measured here", |it| it.note.as_str());
            put!(
                out,
                "<tr><th scope=\"row\">{}</th><td>{}</td><td>{}</td></tr>",
                escaped(&curve.name),
                quantity::text(panel.metric, dot.mid),
                escaped(note)
            );
        }
        put!(out, "</tbody>\n</table>");
    }
}

fn claims(out: &mut String, claims: &[(&Claim, Judged)]) {
    if claims.is_empty() {
        return;
    }
    put!(
        out,
        "<table class=\"claims\">\n<thead><tr><th scope=\"col\">The paper says</th>\
         <th scope=\"col\">Measured</th><th scope=\"col\">Verdict</th></tr></thead>\n<tbody>"
    );
    for (claim, judged) in claims {
        let (class, words) = match judged.verdict {
            Verdict::Holds => ("holds", "holds"),
            Verdict::Fails => ("fails", "fails"),
            Verdict::NotApplicable => ("not", "not applicable here"),
        };
        put!(
            out,
            "<tr id=\"{}\"><td>{} <span class=\"id\">{}, ({})</span></td><td>{}</td>\
             <td><span class=\"verdict {class}\">{words}</span></td></tr>",
            escaped(&claim.id),
            escaped(&claim.paper),
            escaped(&claim.section),
            claim.panel,
            escaped(&judged.measured)
        );
    }
    put!(out, "</tbody>\n</table>");
}

#[cfg(test)]
mod tests {
    use super::super::{claims, describe};
    use super::*;

    #[test]
    fn the_page_says_what_was_found() {
        let figures = describe::all(true).expect("every description parses");
        let all_claims = claims::all().expect("the claims parse");
        let figure = figures.iter().find(|it| it.id == "silo-6-2").expect("it is there");
        let claim = all_claims.iter().find(|it| it.figure == figure.id).expect("it has claims");
        let judged = Judged { verdict: Verdict::Fails, measured: "1 < 2 & \"so\"".into() };
        let lines = vec![vec![super::super::measured::Line {
            refused: Some("--scheme: unknown; accepted: silo".into()),
            failed: vec!["at 4: its process panicked".into()],
            ..super::super::measured::Line::new("Silo")
        }]];
        let done = Done { figure, lines, svg: None, claims: vec![(claim, judged)] };
        let head = Head {
            grid: Grid { quick: true, cores: 2 },
            native: false,
            date: "2026-11-20 12:00 UTC".into(),
            took: Duration::from_secs(61),
        };
        let all = [done];
        let page = Page::new(&all, &head).html(&all, &head);
        for part in [
            MARK,
            "2 cores",
            "2026-11-20 12:00 UTC, took 1 min 1 s",
            "<b>0</b> hold, <b>1</b> fail",
            "<section id=\"silo-6-2\">",
            "(a) Not shown: Silo (--scheme: unknown).",
            "(a) A run failed: Silo at 4: its process panicked.",
            "1 &lt; 2 &amp; &quot;so&quot;",
            "<span class=\"verdict fails\">fails</span>",
            "chiliad figure run silo-6-2 --quick --out DIR",
            "<code>chiliad bench ycsb --warmup 100ms --duration 300ms --interleave 1 --ops 1",
        ] {
            assert!(page.contains(part), "{part}");
        }
        assert!(!page.contains("<script") && !page.contains("src="));
    }
    #[test]
    fn what_was_run_before_stays_on_the_page() {
        let figures = describe::all(true).expect("every description parses");
        let head = |date: &str| Head {
            grid: Grid { quick: true, cores: 2 },
            native: false,
            date: date.into(),
            took: Duration::ZERO,
        };
        let run = |id: &str, date: &str, earlier: &str| {
            let figure = figures.iter().find(|it| it.id == id).expect(id);
            let all = [Done { figure, lines: Vec::new(), svg: None, claims: Vec::new() }];
            let mut page = Page::new(&all, &head(date));
            page.take_over(earlier, &figures);
            page.html(&all, &head(date))
        };
        let first = run("silo-6-4", "on monday", "");
        let second = run("silo-6-2", "on tuesday", &first);
        let places =
            ["id=\"silo-6-2\"", "on tuesday, commit", "id=\"silo-6-4\"", "on monday, commit"];
        let places = places.map(|part| second.find(part).expect(part));
        assert!(places.is_sorted(), "{places:?}");
        let again = run("silo-6-4", "on friday", &second);
        assert!(again.contains("on tuesday, commit") && !again.contains("on monday"), "{again}");
        assert_eq!(again.matches("<section id=").count(), 2);
        assert_eq!(again.matches("<a href=\"#silo-6").count(), 2);
    }
}
