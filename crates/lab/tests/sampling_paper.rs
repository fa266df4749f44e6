//! The sampling paper, item by item. Names carry the conformance ids of `docs/papers/cho-ntoulas-2002.md`.

#![expect(clippy::unwrap_used, reason = "helpers of tests may fail as tests do")]

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use lab::compare::Contender;
use lab::papers::two_sites::{float, outcome};
use lab::run::{Clock, Count};
use lab::score::mean;
use lab::synth::Spec;
use lab::world::{Place, World};
use schedule::policy;
use schedule::utility::Worth;
use schedule::{
    Event, Facts, HostIx, Next, Observation, Purpose, Round, Scheduler, Settings, SiteIx, SourceIx,
    Span, Time, Verdict,
};

const MONTH: Span = Span::DAY.times(30);

/// Plays one round of `polls` over sites of `size` sources; `answer(site, how many of its samples came before)`
/// decides a sample's verdict. (samples, looks) of each site.
fn play(
    scheduler: &mut Scheduler<policy::AnyPolicy>,
    round: u32,
    size: usize,
    polls: u64,
    answer: impl Fn(usize, usize) -> bool,
) -> BTreeMap<usize, (usize, usize)> {
    let (start, end) = (
        Time::ZERO + MONTH.times(i64::from(round) - 1),
        Time::ZERO + MONTH.times(i64::from(round)),
    );
    scheduler.tell(end, Event::Round(Round::of(round, start, end, polls)));
    let mut counts: BTreeMap<usize, (usize, usize)> = BTreeMap::new();
    while let Next::Poll(source, purpose) = scheduler.next(end) {
        scheduler.tell(end, Event::Sent(source, purpose));
        let site = source.ix() / size;
        let count = counts.entry(site).or_default();
        let changed = match purpose {
            Purpose::Sample => {
                count.0 += 1;
                answer(site, count.0 - 1)
            }
            Purpose::Look => {
                count.1 += 1;
                false
            }
        };
        let verdict = if changed { Verdict::Changed } else { Verdict::Same };
        let heard =
            Observation { source, purpose, sent: end, since: Some(start), verdict, age: None };
        scheduler.tell(end, Event::Heard(heard));
    }
    counts
}

fn scheduler_of(policy: &str, sites: usize, size: usize) -> Scheduler<policy::AnyPolicy> {
    seeded(policy, sites, size, 7)
}

fn seeded(policy: &str, sites: usize, size: usize, seed: u64) -> Scheduler<policy::AnyPolicy> {
    let spec: policy::Spec = policy.parse().unwrap();
    let mut scheduler = Scheduler::new(spec.build(seed), Settings::default());
    for source in 0..sites * size {
        let site = source / size;
        let facts = Facts {
            site: SiteIx::new(site),
            host: HostIx::new(site),
            importance: 1.0,
            known: true,
            worth: Worth::default(),
        };
        scheduler.tell(Time::ZERO, Event::Entered(SourceIx::new(source), facts));
    }
    scheduler
}

/// Example 2: 7 and 2 of 10 samples changed. Proportional downloads 62 and 18 more, greedy 80 and none;
/// expecting 0.7 and 0.2 changes each, ChangeRatio is 0.56 and 0.65.
#[test]
fn cn_11_example_2() {
    let answer = |site: usize, sample: usize| sample < [7, 2][site];
    let expected = |policy: &str| {
        let counts = play(&mut scheduler_of(policy, 2, 100), 1, 100, 100, answer);
        assert_eq!((counts[&0].0, counts[&1].0), (10, 10));
        let (a, b) = (counts[&0].1, counts[&1].1);
        (a, b, (0.7 * a as f64 + 0.2 * b as f64 + 9.0) / 100.0)
    };
    let (a, b, ratio) = expected("proportional(samples=10)");
    assert_eq!((a, b), (62, 18));
    assert!((ratio - 0.56).abs() < 1e-12);
    let (a, b, ratio) = expected("greedy(samples=10)");
    assert_eq!((a, b), (80, 0));
    assert!((ratio - 0.65).abs() < 1e-12);
}

/// Example 2 in a world where 70 and 20 pages did change: given 7 and 2 changed samples, 63 and 18 of the 90 pages
/// left have changed, so what is found is what was estimated, .65 and .56. About one run in eleven shows 7 and 2: some
/// 350 of 4,000, standard errors .0008 and .0014.
#[test]
fn cn_12_the_rest_of_a_site_is_as_its_samples() {
    let found = |policy: &str, seed: u64| {
        let mut scheduler = seeded(policy, 2, 100, seed);
        let changed = |source: SourceIx| source.ix() % 100 < [70, 20][source.ix() / 100];
        let (mut samples, mut total) = ([0, 0], 0u32);
        scheduler.tell(Time::ZERO, Event::Round(Round::of(1, Time::ZERO, Time::ZERO + MONTH, 100)));
        while let Next::Poll(source, purpose) = scheduler.next(Time::ZERO) {
            let verdict = if changed(source) { Verdict::Changed } else { Verdict::Same };
            total += u32::from(changed(source));
            let sampled = changed(source) && purpose == Purpose::Sample;
            samples[source.ix() / 100] += usize::from(sampled);
            scheduler.tell(Time::ZERO, Event::Sent(source, purpose));
            let (sent, since, age) = (Time::ZERO, None, None);
            let heard = Observation { source, purpose, sent, since, verdict, age };
            scheduler.tell(Time::ZERO, Event::Heard(heard));
        }
        (samples == [7, 2]).then(|| f64::from(total) / 100.0)
    };
    for (policy, expected) in [("greedy(samples=10)", 0.65), ("proportional(samples=10)", 0.56)] {
        let got = mean((1..=4_000).filter_map(|seed| found(policy, seed))).unwrap();
        assert!((got - expected).abs() < 0.006, "{policy}: {got}");
    }
}

/// Example 3: 1000 sites of 100 pages, R = 500, groups of 10 sites: 100 samples and 400 downloads, 100 groups.
#[test]
fn cn_13_example_3() {
    let mut scheduler = scheduler_of("subset(with=greedy(samples=10),share=0.5)", 1_000, 100);
    let mut seen = BTreeSet::new();
    for round in 1..=100 {
        let counts = play(&mut scheduler, round, 100, 500, |site, _| site % 3 == 0);
        let samples: usize = counts.values().map(|count| count.0).sum();
        let looks: usize = counts.values().map(|count| count.1).sum();
        assert_eq!((counts.len(), samples, looks), (10, 100, 400), "round {round}");
        seen.extend(counts.into_keys());
    }
    assert_eq!(seen.len(), 1_000, "every site has its turn within 100 cycles");
}

/// A share φ of polls in turn looks at every page within ⌈N/⌊φR⌋⌉ cycles (one more where fractions carry over).
#[test]
fn cn_15_blend_visits_everyone_in_time() {
    for (share, polls) in [(0.5, 40u64), (0.3, 50), (0.25, 30)] {
        let mut scheduler =
            scheduler_of(&format!("blend(share={share},with=greedy(samples=2))"), 4, 50);
        let most = (200.0 / (share * polls as f64).floor()).ceil() + 1.0;
        let mut last = vec![0; 200];
        for round in 1..=60 {
            let end = Time::ZERO + MONTH.times(i64::from(round));
            scheduler.tell(end, Event::Round(Round::of(round, Time::ZERO, end, polls)));
            while let Next::Poll(source, purpose) = scheduler.next(end) {
                scheduler.tell(end, Event::Sent(source, purpose));
                let verdict = if source.ix() < 50 { Verdict::Changed } else { Verdict::Same };
                let heard =
                    Observation { source, purpose, sent: end, since: None, verdict, age: None };
                scheduler.tell(end, Event::Heard(heard));
                last[source.ix()] = round;
            }
            let oldest = last.iter().map(|&looked| round - looked).max().unwrap();
            assert!(
                f64::from(oldest) <= most,
                "share {share}: a page waits {oldest} of {most} cycles"
            );
        }
    }
}

/// 353 pages at 100 a cycle: every 3 or 4 cycles, 3.53 on average.
#[test]
fn cn_20_round_robin_returns_every_n_over_r_cycles() {
    let mut scheduler = scheduler_of("round-robin", 1, 353);
    let mut looks: Vec<Vec<u32>> = vec![Vec::new(); 353];
    for round in 1..=60 {
        let end = Time::ZERO + MONTH.times(i64::from(round));
        scheduler.tell(end, Event::Round(Round::of(round, Time::ZERO, end, 100)));
        while let Next::Poll(source, purpose) = scheduler.next(end) {
            scheduler.tell(end, Event::Sent(source, purpose));
            let heard = Observation {
                source,
                purpose,
                sent: end,
                since: None,
                verdict: Verdict::Same,
                age: None,
            };
            scheduler.tell(end, Event::Heard(heard));
            looks[source.ix()].push(round);
        }
    }
    let gaps = || looks.iter().flat_map(|rounds| rounds.windows(2).map(|pair| pair[1] - pair[0]));
    assert!(gaps().all(|gap| gap == 3 || gap == 4));
    assert!((mean(gaps().map(f64::from)).unwrap() - 3.53).abs() < 0.03);
}

/// All ways to share `left` downloads over sites with at most `room` each, as counts per site.
fn splits(left: usize, room: &[usize]) -> Vec<Vec<usize>> {
    match room {
        [] => {
            if left == 0 {
                vec![Vec::new()]
            } else {
                Vec::new()
            }
        }
        [first, rest @ ..] => (0..=left.min(*first))
            .flat_map(|here| {
                splits(left - here, rest).into_iter().map(move |mut tail| {
                    tail.insert(0, here);
                    tail
                })
            })
            .collect(),
    }
}

fn choose(n: usize, k: usize) -> f64 {
    if k > n { 0.0 } else { (0..k).map(|i| (n - i) as f64 / (i + 1) as f64).product() }
}

/// Theorem 1: pages Bernoulli(ρ), ρ assigned to sites in unknown order, sizes unequal: for every outcome of the
/// samples no split of the downloads expects more than greedy's. All outcomes and splits of tiny sites.
#[test]
fn cn_23_theorem_1_by_enumeration() {
    let orders = [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]];
    for (rho, size, samples, budget) in [
        ([0.9, 0.4, 0.1], [4usize, 3, 5], 2usize, 10usize),
        ([0.7, 0.6, 0.2], [3, 6, 4], 1, 6),
        ([1.0, 0.5, 0.0], [5, 3, 4], 2, 9),
    ] {
        for outcome in 0..(samples + 1).pow(3) {
            let x = [
                outcome % (samples + 1),
                outcome / (samples + 1) % (samples + 1),
                outcome / (samples + 1).pow(2),
            ];
            let weight = |order: &[usize; 3]| -> f64 {
                (0..3)
                    .map(|site| {
                        let p = rho[order[site]];
                        choose(samples, x[site])
                            * f64::powf(p, x[site] as f64)
                            * f64::powf(1.0 - p, (samples - x[site]) as f64)
                    })
                    .product()
            };
            let total: f64 = orders.iter().map(weight).sum();
            if total <= 0.0 {
                continue;
            }
            let rate = |site: usize| {
                orders.iter().map(|order| weight(order) * rho[order[site]]).sum::<f64>() / total
            };
            let room: Vec<usize> = size.iter().map(|n| n - samples).collect();
            let left = budget - 3 * samples;
            let worth =
                |split: &[usize]| (0..3).map(|site| split[site] as f64 * rate(site)).sum::<f64>();
            let best = splits(left, &room).iter().map(|split| worth(split)).fold(0.0, f64::max);
            let mut ranked = [0, 1, 2];
            ranked.sort_by_key(|&site| std::cmp::Reverse(x[site]));
            let (mut greedy, mut rest) = ([0; 3], left);
            for site in ranked {
                greedy[site] = rest.min(room[site]);
                rest -= greedy[site];
            }
            // a tie in samples is a tie in expectation, so any order of tied sites is greedy's
            assert!(
                (worth(&greedy) - best).abs() < 1e-9,
                "{rho:?} {x:?}: {} of {best}",
                worth(&greedy)
            );
        }
    }
}

/// …and where it is false: two sites of 3 pages with exactly 2 and 1 changed, in unknown order, one sample each.
/// After x = (1, 0) the rest of the first site changes at rate 2/5, of the second at 3/5: greedy picks the wrong one.
#[test]
fn cn_23_theorem_1_fails_for_fixed_counts_in_small_sites() {
    let chance = |changed: [f64; 2]| changed[0] / 3.0 * (1.0 - changed[1] / 3.0);
    let (first, second) = ([2.0, 1.0], [1.0, 2.0]);
    let total = chance(first) + chance(second);
    let rest = |site: usize, seen: f64| {
        [first, second]
            .iter()
            .map(|&changed| chance(changed) / total * (changed[site] - seen) / 2.0)
            .sum::<f64>()
    };
    assert!((rest(0, 1.0) - 0.4).abs() < 1e-12 && (rest(1, 0.0) - 0.6).abs() < 1e-12);
}

/// Figure 1 as exact fractions, s = 0..50, against fractions computed elsewhere (tests/golden/cn_fig1.json).
#[test]
fn cn_24_and_cn_25_figure_1_exactly() {
    let golden: serde_json::Value =
        serde_json::from_str(include_str!("golden/cn_fig1.json")).unwrap();
    let rows = golden.as_array().unwrap();
    assert_eq!(rows.len(), 51);
    let mut fractions = 0;
    for row in rows {
        let samples = u32::try_from(row["s"].as_u64().unwrap()).unwrap();
        let ours = outcome(samples);
        for (ours, exact) in [(&ours.greedy, "greedy_exact"), (&ours.proportional, "prop_exact")] {
            if let Some(fraction) = row[exact].as_str() {
                assert_eq!(ours.to_string(), fraction, "{exact} at {samples}");
                fractions += 1;
            }
        }
        assert!((float(&ours.proportional) - row["proportional"].as_f64().unwrap()).abs() < 1e-9);
        assert!((float(&ours.greedy) - row["greedy"].as_f64().unwrap()).abs() < 1e-9);
        assert!((float(&ours.wrong) - row["p_wrong"].as_f64().unwrap()).abs() < 1e-9);
        assert!((float(&ours.tie) - row["p_tie"].as_f64().unwrap()).abs() < 1e-9);
        assert!(ours.greedy >= ours.proportional);
    }
    assert!(fractions == 6, "{fractions} of the values are known as fractions");
}

/// A one-cycle world of sites of 100 pages with exactly these numbers changed.
fn fixed_world(changed: &[usize]) -> Arc<World> {
    let mut world = World::new(Time::ZERO, Time::ZERO + MONTH);
    for (site, &changed) in changed.iter().enumerate() {
        for page in 0..100 {
            let place = Place {
                site: SiteIx::new(site),
                host: HostIx::new(site),
                importance: 1.0,
                enters: Time::ZERO,
                leaves: Time::MAX,
            };
            world.add(place, (page < changed).then_some(Time::ZERO + Span::DAY));
        }
    }
    Arc::new(world)
}

fn mean_ratio(policy: &str, world: &Arc<World>, polls: u64, runs: u64) -> f64 {
    let contender: Contender = policy.parse().unwrap();
    let clock = Clock::Cycles { length: MONTH, polls, count: Count::PerCycle };
    mean((1..=runs).filter_map(|seed| contender.run(world, clock, seed, &|| {}).change_ratio()))
        .unwrap()
}

/// The real policies on Figure 1's world: 4,000 runs each, standard error about .001, tolerance .005.
#[test]
fn cn_24_the_policies_meet_the_exact_curve() {
    let world = fixed_world(&[70, 20]);
    for samples in [1, 5, 10, 25] {
        let exact = outcome(samples);
        let greedy = mean_ratio(&format!("greedy(samples={samples})"), &world, 100, 4_000);
        assert!((greedy - float(&exact.greedy)).abs() < 0.005, "greedy at {samples}: {greedy}");
        let proportional =
            mean_ratio(&format!("proportional(samples={samples})"), &world, 100, 4_000);
        assert!(
            (proportional - float(&exact.proportional)).abs() < 0.005,
            "proportional at {samples}: {proportional}"
        );
    }
}

/// Four sites with ρ = 0, .45, .55, 1: greedy's exact expectations, adaptive's by simulation (tolerance .006).
#[test]
fn cn_31_four_sites() {
    let world = fixed_world(&[0, 45, 55, 100]);
    for (policy, expected) in [
        ("greedy(samples=1)", 0.706_21),
        ("greedy(samples=4)", 0.740_73),
        ("greedy(samples=10)", 0.728_28),
        ("adaptive(k=1)", 0.749),
        ("adaptive(k=2)", 0.747),
        ("adaptive(k=5)", 0.740),
        ("adaptive(k=10)", 0.726),
        ("adaptive(k=1,interval=wald)", 0.749),
    ] {
        let got = mean_ratio(policy, &world, 200, 4_000);
        assert!((got - expected).abs() < 0.006, "{policy}: {got}, not {expected}");
    }
}

/// R = 10,000 at share .18: groups of about 55,556 pages (the paper: "about 60,000").
#[test]
fn cn_32_groups_have_r_over_share_pages() {
    let mut scheduler = scheduler_of("subset(with=greedy(samples=1),share=0.18)", 90, 100);
    let counts = play(&mut scheduler, 1, 100, 100, |_, _| false);
    // 100/.18 = 556 pages: 5 or 6 sites of 100
    assert!((5..=6).contains(&counts.len()), "{}", counts.len());
}

/// Theorem 3 with s = 1 of N = 20: P(unvisited by t) ≤ (1 − 1/20)^t, even for pages that never change.
/// 2,000 pages of sites that never change, 60 cycles: the bound is .046, or 92 pages; sd below 10.
#[test]
fn cn_33_theorem_3_every_page_is_visited_in_the_end() {
    let mut scheduler = scheduler_of("greedy(samples=1)", 101, 20);
    let mut unvisited: BTreeSet<usize> = (0..2_000).collect();
    for round in 1..=60 {
        let end = Time::ZERO + MONTH.times(i64::from(round));
        scheduler.tell(end, Event::Round(Round::of(round, Time::ZERO, end, 120)));
        while let Next::Poll(source, purpose) = scheduler.next(end) {
            scheduler.tell(end, Event::Sent(source, purpose));
            // only the last site changes, and takes all downloads
            let verdict = if source.ix() >= 2_000 { Verdict::Changed } else { Verdict::Same };
            let heard = Observation { source, purpose, sent: end, since: None, verdict, age: None };
            scheduler.tell(end, Event::Heard(heard));
            unvisited.remove(&source.ix());
        }
    }
    assert!(unvisited.len() < 92 + 40, "{} unvisited", unvisited.len());
}

fn v_world(repeat_cycles: u32, seed: u64) -> Arc<World> {
    let spec: Spec = "v-shaped(sites=252,pages=353000)".parse().unwrap();
    Arc::new(spec.build(MONTH, repeat_cycles, seed))
}

fn ratio_on(world: &Arc<World>, policy: &str, polls: u64) -> f64 {
    let contender: Contender = policy.parse().unwrap();
    let clock = Clock::Cycles { length: MONTH, polls, count: Count::PerCycle };
    contender.run(world, clock, 1, &|| {}).change_ratio().unwrap()
}

/// CN-35, CN-52, CN-54 on the V-shaped world of the paper's size.
#[test]
fn cn_52_the_v_shaped_world() {
    let world = v_world(5, 1);
    let at = |policy| ratio_on(&world, policy, 100_000);
    let [frequency, greedy, adaptive] =
        ["frequency", "greedy(samples=10)", "adaptive(k=10)"].map(at);
    assert!(
        greedy >= 1.6 * frequency && adaptive >= 1.6 * frequency,
        "{greedy} {adaptive} {frequency}"
    );
    assert!(adaptive >= greedy - 0.01);
    let flagged = |cycle: i64| {
        let from = world.start() + MONTH.times(cycle);
        world.sources().filter(|&source| world.changed(source, from, from + MONTH)).count() as f64
            / 353_000.0
    };
    let share = mean((0..5).map(flagged)).unwrap();
    assert!((at("round-robin") - share).abs() < 0.005);
    // CN-35: the oracle's ratio is min(1, changed/R)
    let oracle =
        mean((0..5).map(|cycle| (flagged(cycle) * 353_000.0 / 300_000.0).min(1.0))).unwrap();
    assert!((ratio_on(&world, "oracle", 300_000) - oracle).abs() < 1e-12);
    // CN-54: few resources
    let (plain, subset) = (
        ratio_on(&world, "greedy(samples=10)", 5_000),
        ratio_on(&world, "subset(with=greedy(samples=10))", 5_000),
    );
    assert!(subset > plain + 0.05, "subset {subset}, greedy {plain}");
}

/// CN-36: sampling over round-robin tends to 1 at both ends of r and is above 1 between.
#[test]
fn cn_36_sampling_pays_between_the_extremes() {
    let spec: Spec = "v-shaped(sites=60,pages=12000)".parse().unwrap();
    let world = Arc::new(spec.build(MONTH, 5, 2));
    let gain = |polls| {
        ratio_on(&world, "greedy(samples=10)", polls) / ratio_on(&world, "round-robin", polls)
    };
    assert!((gain(12_000) - 1.0).abs() < 1e-9);
    assert!((gain(100) - 1.0).abs() < 0.25);
    assert!(gain(3_000) > 1.5);
}

/// CN-55: on the repeating history frequency overtakes greedy in the long run.
#[test]
fn cn_55_frequency_wins_in_the_long_run() {
    let spec: Spec = "v-shaped(sites=60,pages=12000)".parse().unwrap();
    let world = Arc::new(spec.build(MONTH, 60, 2));
    let clock = Clock::Cycles { length: MONTH, polls: 3_400, count: Count::PerCycle };
    let by_cycle = |policy: &str| {
        let contender: Contender = policy.parse().unwrap();
        let cycles = contender.run(&world, clock, 1, &|| {}).cycles;
        cycles.iter().map(|cycle| cycle.ratio().unwrap()).collect::<Vec<_>>()
    };
    let (frequency, greedy) = (by_cycle("frequency"), by_cycle("greedy(samples=10)"));
    let part = |values: &[f64], range: std::ops::Range<usize>| {
        mean(values[range].iter().copied()).unwrap()
    };
    assert!(part(&frequency, 0..3) < part(&greedy, 0..3));
    assert!(part(&frequency, 40..60) > part(&greedy, 40..60));
}

/// ChangeRatio × R = captured changes = recall × changes, per cycle.
#[test]
fn x_02_ratio_recall_and_captures_agree() {
    let spec: Spec = "v-shaped(sites=20,pages=2000)".parse().unwrap();
    let world = Arc::new(spec.build(MONTH, 5, 2));
    let contender: Contender = "greedy".parse().unwrap();
    let clock = Clock::Cycles { length: MONTH, polls: 500, count: Count::PerCycle };
    let score = contender.run(&world, clock, 1, &|| {});
    let captured = score.change_ratio().unwrap() * 500.0 * 5.0;
    assert!((captured - score.change_recall().unwrap() * score.changes as f64).abs() < 1e-6);
}

/// CN-62: what the frequency policy keeps of every page.
#[test]
fn cn_62_a_history_per_page_costs_bytes() {
    assert!(schedule::policy::frequency::Frequency::bytes_per_source() <= 128);
}

/// CN-07: cheap samples leave more polls for downloads.
#[test]
fn cn_07_cheap_samples() {
    let cases = [
        ("cost=1.0", true, 180),
        ("cost=0.1", true, 198),
        // a changed sample that was not stored is downloaded after all
        ("cost=0.1,stored=false", true, 180),
        ("cost=0.1,stored=false", false, 198),
    ];
    for (settings, changes, looks) in cases {
        let mut scheduler = scheduler_of(&format!("greedy(samples=10,{settings})"), 2, 200);
        let counts = play(&mut scheduler, 1, 200, 200, |_, _| changes);
        assert_eq!(counts.values().map(|count| count.1).sum::<usize>(), looks);
    }
}
