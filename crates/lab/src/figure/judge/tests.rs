//! Each kind of check holds for one picture and fails for another.

use super::*;
use crate::figure::describe::read;

/// A curve through these places.
fn curve(name: &str, points: &[(f64, f64)]) -> Curve {
    let dot = |&(x, mid)| Dot { x, label: format!("{x}"), low: mid, mid, high: mid };
    Curve { name: name.into(), dots: points.iter().map(dot).collect(), reference: false }
}

/// Curves `up` (1, 2, 4, 8), `flat` (3, 3, 3, 3), `hill` (2, 5, 3, 1) over 1, 2, 4, 8, and the shares of
/// `x` (half wait, a third useful) and `y`.
fn verdict(check: &str) -> Verdict {
    let over = |values: [f64; 4]| [1.0, 2.0, 4.0, 8.0].into_iter().zip(values).collect::<Vec<_>>();
    let curves = [
        curve("up", &over([1.0, 2.0, 4.0, 8.0])),
        curve("flat", &over([3.0, 3.0, 3.0, 3.0])),
        curve("hill", &over([2.0, 5.0, 3.0, 1.0])),
    ];
    let shares = [
        Shares { name: "x".into(), parts: [0.3, 0.1, 0.05, 0.05, 0.5, 0.0] },
        Shares { name: "y".into(), parts: [0.7, 0.1, 0.1, 0.1, 0.0, 0.0] },
    ];
    let text = format!(
        "id = 'it'\nfigure = 'f'\npanel = 'a'\nsection = '1'\npaper = 'so'\nneeds_cores = 4\ncheck.{check}"
    );
    let claim: Claim = read(&text).expect(check);
    let other = vec![
        curve("up", &over([1.1, 2.2, 4.4, 8.0])),
        curve("flat", &over([3.0, 3.0, 3.0, 4.0])),
        curve("hill", &[(1.0, 9.0), (8.0, 1.0)]),
    ];
    let turned = [("up", 1.0), ("flat", 2.0), ("hill", 3.0)];
    let turned = turned.map(|(name, value)| curve(name, &[(8.0, value)])).into();
    let panels = [("b", other), ("c", turned)];
    judge(&claim, &Board { curves: &curves, shares: &shares, panels: &panels, cores: 8 }).verdict
}

#[track_caller]
fn holds_and_fails(holds: &str, fails: &str) {
    assert_eq!(verdict(holds), Verdict::Holds, "{holds}");
    assert_eq!(verdict(fails), Verdict::Fails, "{fails}");
}

#[test]
fn comparisons() {
    holds_and_fails(
        "above = { series = 'up', over = ['flat', 'hill'], factor = 2.0, at = [8] }",
        "above = { series = 'up', over = ['flat', 'hill'], factor = 1.0, from = 2 }",
    );
    holds_and_fails(
        "below = { series = 'up', under = ['flat', 'hill'], factor = 1.0, to = 2 }",
        "below = { series = 'up', under = ['flat', 'hill'], factor = 1.0 }",
    );
    holds_and_fails(
        "mean_ratio_within = { series = 'up', over = 'flat', low = 0.9, high = 1.0 }",
        "mean_ratio_within = { series = 'up', over = 'flat', low = 0.9, high = 1.0, from = 2 }",
    );
    holds_and_fails(
        "apart = { series = 'up', other = 'flat', by = 2.0, to = 4 }",
        "apart = { series = 'up', other = 'flat', by = 2.0 }",
    );
    holds_and_fails(
        "ratio_within = { series = 'up', over = 'flat', low = 0.3, high = 0.7, at = [1, 2] }",
        "ratio_within = { series = 'up', over = 'flat', low = 0.3, high = 0.7 }",
    );
    holds_and_fails(
        "groups = { lower = ['hill', 'flat'], higher = ['up'], factor = 0.5, at = [8] }",
        "groups = { lower = ['hill', 'flat'], higher = ['up'], factor = 0.5, at = [4] }",
    );
    holds_and_fails(
        "best = { series = 'hill', tolerance = 0.0, at = [2] }",
        "best = { series = 'hill', tolerance = 0.1 }",
    );
    holds_and_fails(
        "best = { series = 'hill', tolerance = 0.4, at = [1, 2, 4] }",
        "best = { series = 'hill', tolerance = 0.2, at = [1, 2, 4] }",
    );
    holds_and_fails(
        "order = { series = ['up', 'flat', 'hill'], tolerance = 0.0, at = [8] }",
        "order = { series = ['up', 'flat', 'hill'], tolerance = 0.0, at = [1] }",
    );
}

#[test]
fn along_the_axis() {
    holds_and_fails(
        "grows = { series = ['up'], from = 1, to = 8, at_least = 7.9 }",
        "grows = { series = ['up', 'flat'], from = 1, to = 8, at_least = 7.9 }",
    );
    holds_and_fails(
        "grows = { series = ['hill', 'flat'], from = 1, to = 8, at_most = 1.0 }",
        "grows = { series = ['up'], from = 1, to = 8, at_most = 7.9 }",
    );
    holds_and_fails(
        "grows = { series = ['up', 'flat'], from = 1, to = 8, at_least = 2.0, enough = 1 }",
        "grows = { series = ['hill', 'flat'], from = 1, to = 8, at_least = 2.0, enough = 1 }",
    );
    holds_and_fails(
        "grows_less = { series = 'flat', than = 'up', from = 2 }",
        "grows_less = { series = 'up', than = 'flat', from = 2, to = 4 }",
    );
    holds_and_fails(
        "linear = { series = ['up'], efficiency = 0.99 }",
        "linear = { series = ['up', 'flat'], efficiency = 0.5, to = 4 }",
    );
    holds_and_fails(
        "rises = { series = ['up', 'flat'], tolerance = 0.0 }",
        "rises = { series = ['hill'], tolerance = 0.1 }",
    );
    holds_and_fails(
        "falls = { series = ['hill'], tolerance = 0.0, from = 2 }",
        "falls = { series = ['hill'], tolerance = 0.5 }",
    );
    holds_and_fails(
        "flat = { series = ['flat', 'hill'], within = 0.4, at = [2, 4] }",
        "flat = { series = ['flat', 'hill'], within = 0.3, at = [2, 4] }",
    );
    holds_and_fails(
        "steady = { series = ['hill'], spread = 2.0, to = 1 }",
        "steady = { series = ['hill'], spread = 2.0 }",
    );
    holds_and_fails(
        "peaks_between = { series = 'hill', low = 2, high = 4, then_below = 0.5 }",
        "peaks_between = { series = 'hill', low = 2, high = 4, then_below = 0.1 }",
    );
    holds_and_fails(
        "peaks_between = { series = 'up', low = 8, high = 8, then_below = 1.0 }",
        "peaks_between = { series = 'up', low = 1, high = 4, then_below = 1.0 }",
    );
    holds_and_fails(
        "of_peak = { series = ['up', 'flat'], at = 8, low = 1.0 }",
        "of_peak = { series = ['up', 'hill'], at = 8, low = 0.3 }",
    );
    holds_and_fails(
        "of_peak = { series = ['hill'], at = 4, high = 0.6 }",
        "of_peak = { series = ['hill', 'flat'], at = 4, high = 0.6 }",
    );
    holds_and_fails(
        "peaks_rise = { series = ['flat', 'hill', 'up'], factor = 1.5 }",
        "peaks_rise = { series = ['hill', 'flat', 'up'], factor = 0.9 }",
    );
    holds_and_fails(
        "crosses_between = { series = 'hill', other = 'up', low = 3, high = 6 }",
        "crosses_between = { series = 'hill', other = 'up', low = 5, high = 6 }",
    );
    holds_and_fails(
        "crosses_between = { series = 'flat', other = 'up', low = 2, high = 4 }",
        "crosses_between = { series = 'up', other = 'flat', low = 2, high = 4 }",
    );
}

#[test]
fn values_and_shares() {
    holds_and_fails(
        "value_within = { series = ['hill'], at = [2], low = 4.0 }",
        "value_within = { series = ['hill'], at = [2, 4], low = 4.0 }",
    );
    holds_and_fails(
        "most_within = { series = ['hill'], low = 5.0, high = 5.0 }",
        "most_within = { series = ['hill', 'up'], low = 5.0, high = 7.0 }",
    );
    holds_and_fails(
        "largest_share = { series = ['x'], part = 'wait', besides = [] }",
        "largest_share = { series = ['y'], part = 'wait', besides = ['useful'] }",
    );
    holds_and_fails(
        "largest_share = { series = ['x'], part = 'useful', besides = ['wait'] }",
        "largest_share = { series = ['x'], part = 'useful', besides = ['abort'] }",
    );
    holds_and_fails(
        "share_above = { part = 'wait', series = 'x', over = ['y'] }",
        "share_above = { part = 'useful', series = 'x', over = ['y'] }",
    );
    holds_and_fails(
        "share_within = { series = ['x', 'y'], part = 'abort', low = 0.1, high = 0.2 }",
        "share_within = { series = ['x', 'y'], part = 'timestamp', low = 0.1 }",
    );
}

#[test]
fn what_was_not_measured_does_not_apply() {
    for check in [
        "above = { series = 'none', over = ['flat'], factor = 1.0 }",
        "above = { series = 'up', over = ['none'], factor = 1.0 }",
        "value_within = { series = ['up'], at = [1024], low = 4.0 }",
        "grows = { series = ['up'], from = 8, to = 1024, at_least = 1.0 }",
        "grows = { series = ['up', 'none'], from = 1, to = 8, at_least = 1.0, enough = 2 }",
        "flat = { series = ['up'], within = 0.1, from = 9 }",
        "linear = { series = ['up'], efficiency = 0.1, to = 1 }",
        "peaks_between = { series = 'hill', low = 128, high = 512, then_below = 0.9 }",
        "of_peak = { series = ['hill'], at = 500, high = 0.5 }",
        "peaks_rise = { series = ['up', 'none'], factor = 1.0 }",
        "share_within = { series = ['z'], part = 'abort', low = 0.1 }",
    ] {
        assert_eq!(verdict(check), Verdict::NotApplicable, "{check}");
    }
}

#[test]
fn too_few_cores_do_not_apply() {
    let text = "id = 'it'\nfigure = 'f'\npanel = 'a'\nsection = '1'\npaper = 'so'\nneeds_cores = 9\n\
                check.flat = { series = ['flat'], within = 1.0 }";
    let claim: Claim = read(text).expect("a claim");
    let curves = [curve("flat", &[(1.0, 1.0)])];
    let judged = |cores| judge(&claim, &Board { curves: &curves, shares: &[], panels: &[], cores });
    assert_eq!(judged(8).verdict, Verdict::NotApplicable);
    assert_eq!(judged(8).measured, "needs 9 cores");
    assert_eq!(judged(9).verdict, Verdict::Holds);
}

#[test]
fn a_claim_with_an_unknown_word_is_refused() {
    let text = "id = 'it'\nfigure = 'f'\npanel = 'a'\nsection = '1'\npaper = 'so'\nneeds_cores = 1\n\
                check.flat = { series = ['flat'], within = 1.0, form = 3 }";
    assert!(read::<Claim>(text).is_err());
}

#[test]
fn bends_and_other_panels() {
    holds_and_fails(
        "bends_no_later = { series = 'flat', than = 'hill', share = 0.75 }",
        "bends_no_later = { series = 'hill', than = 'flat', share = 0.75 }",
    );
    let none = "bends_no_later = { series = 'flat', than = 'up', share = 0.75 }";
    assert_eq!(verdict(none), Verdict::NotApplicable);
    holds_and_fails(
        "as_in_panel = { series = ['up'], panel = 'b', within = 0.1 }",
        "as_in_panel = { series = ['up', 'flat'], panel = 'b', within = 0.1 }",
    );
    holds_and_fails(
        "over_panel = { series = ['up', 'flat'], panel = 'b', low = 0.9, high = 1.0, to = 4 }",
        "over_panel = { series = ['up', 'flat'], panel = 'b', low = 0.9 }",
    );
    holds_and_fails(
        "over_panel = { series = ['hill'], panel = 'b', high = 1.0, at = [1, 8] }",
        "over_panel = { series = ['hill'], panel = 'b', high = 0.9, at = [1, 8] }",
    );
    let absent = "over_panel = { series = ['up'], panel = 'z', low = 0.9 }";
    assert_eq!(verdict(absent), Verdict::NotApplicable);
    let absent = "as_in_panel = { series = ['up'], panel = 'z', within = 0.1 }";
    assert_eq!(verdict(absent), Verdict::NotApplicable);
    let ranks = |panel: &str| {
        format!("ranks = {{ series = ['up', 'flat', 'hill'], panel = '{panel}', at_least = 0.7 }}")
    };
    // At 8 the order is up, flat, hill: here and in b, and not in c.
    assert_eq!(verdict(&ranks("b")), Verdict::Holds);
    assert_eq!(verdict(&ranks("c")), Verdict::Fails);
    assert_eq!(verdict(&ranks("z")), Verdict::NotApplicable);
    assert_eq!(spearman(&[(1.0, 5.0), (2.0, 6.0), (3.0, 9.0)]), 1.0);
    assert_eq!(spearman(&[(1.0, 9.0), (2.0, 6.0), (3.0, 5.0)]), -1.0);
    assert!((spearman(&[(1.0, 1.0), (2.0, 3.0), (3.0, 2.0), (4.0, 4.0)]) - 0.8).abs() < 1e-9);
}
