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
    assert_eq!(
        digest(clock),
        "\
         round-robin 63 49 34 29\n\
         frequency 63 49 34 29\n\
         proportional 90 99 109 110\n\
         greedy 126 118 129 105\n\
         adaptive 106 85 100 102\n\
         subset 24 125 7 99\n\
         blend 96 97 106 107\n\
         timed 49 41 42 32\n\
         value 91 17 20 46\n\
         hindsight 140 135 144 117\n\
         oracle 200 200 200 200\n"
    );
}

#[test]
fn a_flow_chooses_as_it_did() {
    let clock = Clock::Continuous { polls: 200, per: MONTH, round: MONTH };
    assert_eq!(
        digest(clock),
        "\
         round-robin 28 114 72 69\n\
         frequency 28 114 72 69\n\
         proportional 15 116 119 121\n\
         greedy 11 153 132 148\n\
         adaptive 25 107 113 119\n\
         subset 11 158 46 176\n\
         blend 31 97 104 158\n\
         timed 26 61 85 100\n\
         value 56 23 56 66\n\
         hindsight 76 127 181 192\n\
         oracle 198 200 200 201\n"
    );
}
