//! Stability: a fixed world and seed give fixed choices. A failure here is no bug but an announcement: the
//! same trace and seed now choose otherwise, which belongs under *Decisions* in CHANGELOG.md with its
//! measured effect; then the new digest goes below.

#![expect(clippy::unwrap_used, reason = "helpers of tests may fail as tests do")]

use std::sync::Arc;

use lab::compare::Contender;
use lab::run::{Clock, Count};
use lab::synth::Spec;
use schedule::Span;

const MONTH: Span = Span::DAY.times(30);

/// Changed downloads of every cycle, policy by policy.
fn digest(clock: Clock) -> String {
    let spec: Spec = "bursts(sites=12,pages=1500)".parse().unwrap();
    let world = Arc::new(spec.build(MONTH, 4, 7));
    let line = |contender: Contender| {
        let cycles = contender.run(&world, clock, 11, &|| {}).cycles;
        let changed: Vec<String> = cycles.iter().map(|cycle| cycle.changed.to_string()).collect();
        format!("{} {}\n", contender.text, changed.join(" "))
    };
    Contender::all().into_iter().map(line).collect()
}

#[test]
fn cycles_choose_as_they_did() {
    let clock = Clock::Cycles { length: MONTH, polls: 200, count: Count::PerCycle };
    assert_eq!(digest(clock), "TODO");
}

#[test]
fn a_flow_chooses_as_it_did() {
    let clock = Clock::Continuous { polls: 200, per: MONTH, round: MONTH };
    assert_eq!(digest(clock), "TODO");
}
