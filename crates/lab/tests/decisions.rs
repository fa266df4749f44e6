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
         round-robin 57 40 48 46\n\
         frequency 57 40 48 46\n\
         proportional 86 84 107 115\n\
         greedy 150 116 111 102\n\
         adaptive 112 83 98 92\n\
         subset 24 125 7 99\n\
         blend 120 76 72 99\n\
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
         round-robin 34 58 77 111\n\
         frequency 34 58 77 110\n\
         proportional 17 81 113 119\n\
         greedy 19 103 151 107\n\
         adaptive 32 102 117 101\n\
         subset 11 158 46 176\n\
         blend 18 76 117 119\n\
         hindsight 76 127 181 192\n\
         oracle 198 200 200 201\n"
    );
}
