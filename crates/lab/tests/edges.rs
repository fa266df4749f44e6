//! The corners: nothing to poll, nothing to spend, more than enough of either, sites of one source, all
//! changed, none changed. Every policy, every clock: defined, and what one would say.

use std::sync::Arc;

use lab::compare::Contender;
use lab::run::{Clock, Count};
use lab::score::Score;
use lab::world::{Place, World};
use schedule::{HostIx, SiteIx, Span, Time};

const DAY: Span = Span::DAY;
const DAYS: i64 = 4;

/// `sites` sites of `size` sources over four days; source i changes in the middle of the days `changes` names.
fn world_of(sites: usize, size: usize, changes: impl Fn(usize, i64) -> bool) -> Arc<World> {
    let mut world = World::new(Time::ZERO, Time::ZERO + DAY.times(DAYS));
    for source in 0..sites * size {
        let place = Place {
            site: SiteIx::new(source % sites),
            host: HostIx::new(source % sites),
            importance: 1.0,
            enters: Time::ZERO,
            leaves: Time::MAX,
        };
        let noon = |day: i64| Time::ZERO + DAY.times(day) + Span::from_secs(43_200);
        world.add(place, (0..DAYS).filter(|&day| changes(source, day)).map(noon));
    }
    Arc::new(world)
}

fn check(world: &Arc<World>, polls: u64, verify: impl Fn(&str, &Score)) {
    let clocks = [
        Clock::Cycles { length: DAY, polls, count: Count::PerCycle },
        Clock::Cycles {
            length: DAY,
            polls: polls.min(world.len() as u64),
            count: Count::SinceLast,
        },
    ];
    for clock in clocks {
        for contender in Contender::all() {
            let score = contender.run(world, clock, 1, &|| {});
            verify(&format!("{} under {clock:?}", contender.text), &score);
        }
    }
}

#[test]
fn an_empty_world_has_no_scores() {
    check(&world_of(1, 0, |_, _| true), 10, |who, score| {
        assert_eq!(
            (score.polls(), score.change_ratio(), score.freshness()),
            (0, None, None),
            "{who}"
        );
        assert_eq!(score.cycles.len(), 4, "{who}");
    });
}

#[test]
fn no_budget_no_polls_but_the_copy_still_ages() {
    check(&world_of(2, 5, |_, _| true), 0, |who, score| {
        assert_eq!(
            (score.polls(), score.change_ratio(), score.change_recall()),
            (0, None, Some(0.0)),
            "{who}"
        );
        // fresh until noon of the first of four days
        assert!((score.freshness().unwrap() - 0.125).abs() < 1e-12, "{who}");
    });
}

#[test]
fn a_budget_above_the_page_count_polls_everything_once_a_cycle() {
    check(&world_of(3, 4, |source, _| source % 2 == 0), 1_000, |who, score| {
        assert_eq!(score.polls(), 12 * 4, "{who}");
        assert_eq!(score.change_ratio(), Some(0.5), "{who}");
        assert_eq!(score.change_recall(), Some(1.0), "{who}");
    });
}

#[test]
fn all_changed_makes_everyone_perfect() {
    check(&world_of(4, 25, |_, _| true), 30, |who, score| {
        assert_eq!((score.polls(), score.change_ratio()), (120, Some(1.0)), "{who}");
    });
}

#[test]
fn none_changed_is_zero_with_a_fresh_copy_and_no_recall() {
    check(&world_of(4, 25, |_, _| false), 30, |who, score| {
        assert_eq!((score.polls(), score.change_ratio()), (120, Some(0.0)), "{who}");
        assert_eq!((score.freshness(), score.change_recall()), (Some(1.0), None), "{who}");
    });
}

#[test]
fn one_site_and_sites_of_one_source_spend_their_budget() {
    for (sites, size) in [(1, 60), (60, 1)] {
        check(
            &world_of(sites, size, |source, day| (i64::try_from(source).unwrap() + day) % 3 == 0),
            20,
            |who, score| {
                assert_eq!(score.polls(), 80, "{who} on {sites} sites of {size}");
                let ratio = score.change_ratio().unwrap();
                assert!((0.0..=1.0).contains(&ratio), "{who}: {ratio}");
            },
        );
    }
}

#[test]
fn continuous_time_has_the_same_corners() {
    let clock = |polls| Clock::Continuous { polls, per: DAY, round: DAY };
    for contender in Contender::all() {
        let nobody = contender.run(&world_of(1, 0, |_, _| true), clock(5), 1, &|| {});
        assert_eq!((nobody.polls(), nobody.freshness()), (0, None), "{}", contender.text);
        let world = world_of(2, 5, |_, _| true);
        assert_eq!(contender.run(&world, clock(0), 1, &|| {}).polls(), 0, "{}", contender.text);
        let quiet = contender.run(&world_of(2, 5, |_, _| false), clock(50), 1, &|| {});
        assert_eq!(quiet.freshness(), Some(1.0), "{}", contender.text);
    }
}

/// Sources that come later are first looks: outside the ratio, not fresh until polled (INTERFACE).
#[test]
fn newcomers_are_first_looks() {
    let mut world = World::new(Time::ZERO, Time::ZERO + DAY.times(DAYS));
    let place = Place {
        site: SiteIx::FIRST,
        host: HostIx::FIRST,
        importance: 1.0,
        enters: Time::ZERO + DAY,
        leaves: Time::ZERO + DAY.times(3),
    };
    world.add(place, []);
    check(&Arc::new(world), 1, |who, score| {
        let polls: Vec<u64> = score.cycles.iter().map(|cycle| cycle.polls).collect();
        // there at the ends of days 1 and 2; gone by the end of day 3
        assert_eq!(polls, [1, 1, 0, 0], "{who}");
        assert_eq!(score.cycles[0].judged, 0, "{who}");
        assert_eq!(score.change_ratio(), Some(0.0), "{who}");
    });
}
