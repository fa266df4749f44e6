//! The repository-quality experiments on small worlds of our own, where the truth is known.

#![expect(clippy::unwrap_used, reason = "helpers of tests may fail as tests do")]

use std::fs;

use dynamics::decay::decay;
use dynamics::quality::{Metric, Overlap};
use lab::listing::{DAY, Listing, Spell};
use lab::papers::repository_quality::coverage::mirror;
use lab::papers::repository_quality::{race, reproduce};
use rand::{RngExt, SeedableRng};
use rand_distr::{Distribution, Exp, Poisson};
use rand_xoshiro::Xoshiro256PlusPlus;

/// `days` of a listing to which `arrivals` objects a day come and from which they go at `rate(day)` a day.
fn made_up(days: i64, arrivals: f64, rate: impl Fn(i64) -> f64, seed: u64) -> Listing {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut spells = Vec::new();
    let mut add = |first: i64, rng: &mut Xoshiro256PlusPlus| {
        let object = u32::try_from(spells.len()).unwrap();
        let (mut day, mut left): (i64, f64) = (first / DAY, Exp::new(1.0).unwrap().sample(rng));
        while day < days && left > rate(day) {
            left -= rate(day);
            day += 1;
        }
        #[expect(clippy::cast_possible_truncation, reason = "a part of a day")]
        let gone = (day < days)
            .then(|| (day * DAY + (left / rate(day) * DAY as f64) as i64).max(first + 1));
        spells.push(Spell { object, category: object % 3, first, gone });
    };
    for _ in 0..500 {
        add(0, &mut rng);
    }
    for day in 0..days {
        let mut coming: f64 = Poisson::new(arrivals).unwrap().sample(&mut rng);
        while coming >= 1.0 {
            let part = rng.random_range(0..DAY);
            add(day * DAY + part, &mut rng);
            coming -= 1.0;
        }
    }
    let categories = ["a", "b", "c"].map(str::to_owned).to_vec();
    Listing { name: format!("made up {seed}"), start: 0, end: days * DAY, categories, spells }
}

#[test]
fn intervals_cover_what_they_say_on_a_memoryless_source() {
    let listing = made_up(800, 25.0, |_| 0.05, 3);
    let record = mirror(&listing, 2 * DAY);
    for metric in Metric::ALL {
        let share = record.share(metric);
        assert!((0.85..=0.96).contains(&share), "{metric:?}: {share}");
    }
}

/// SA-14's threshold of our own: where the removal rate doubles after training, the adaptive model errs at most half as
/// much as the static one.
#[test]
fn sa_14_adaptive_halves_the_error_under_drift() {
    let (mut still, mut learns) = (0.0, 0.0);
    for seed in 0..4 {
        let listing = made_up(900, 25.0, |day| if day < 300 { 0.03 } else { 0.07 }, seed);
        let moments = listing.moments(DAY, DAY);
        let steps = listing.courses(&moments[..250], 1);
        let one = |overlap: &Overlap| decay(overlap.both, overlap.copy).unwrap();
        let training: Vec<f64> = steps.iter().map(|course| one(&course[0])).collect();
        let cycles = listing.courses(&moments[300..], 12);
        let race = race::run(&training, &cycles, Metric::Precision, 7).unwrap();
        still += race.ends[0];
        learns += race.ends[1];
    }
    assert!(learns <= 0.5 * still, "{learns} against {still}");
}

#[test]
fn a_report_is_written_whole() {
    let dir = tempfile::tempdir().unwrap();
    let listings = [made_up(260, 20.0, |_| 0.04, 1), made_up(260, 5.0, |_| 0.02, 2)];
    let report = reproduce(dir.path(), &listings, &|_| {}).unwrap();
    let text = fs::read_to_string(report).unwrap();
    for piece in ["Table I", "43,597", "made up 1", "0.136", "Do 90 % intervals cover 90 %?"] {
        assert!(text.contains(piece), "{piece} is not in\n{text}");
    }
    for file in [
        "table1.csv",
        "arrivals.csv",
        "figure1a.svg",
        "lives.csv",
        "figure2a.svg",
        "figure3.csv",
        "adaptive.csv",
        "coverage.csv",
    ] {
        assert!(dir.path().join(file).exists(), "{file}");
    }
    assert!(reproduce(dir.path(), &[], &|_| {}).is_err());
}

#[test]
fn object_traces_are_checked() {
    let dir = tempfile::tempdir().unwrap();
    let complaint = |objects: &str| {
        fs::write(dir.path().join("listings.csv"), "listing_id,name,start,end\n7,cars,0,100\n")
            .unwrap();
        fs::write(dir.path().join("objects.csv"), objects).unwrap();
        Listing::read(dir.path()).map_err(|why| why.to_string())
    };
    let read = complaint(
        "listing_id,object_id,category,first_seen,last_seen,removed_at,left_censored\n7,1,bmw,0,40,50,true\n7,2,vw,10,90,,false\n",
    );
    let read = read.unwrap();
    assert_eq!((read[0].name.as_str(), read[0].spells.len()), ("cars", 2));
    assert_eq!(read[0].category("vw"), Some(1));
    assert_eq!(read[0].spells[0].gone, Some(50));
    for (objects, wanted) in [
        ("listing_id,object_id,first_seen\n8,1,0\n", "no listing 8"),
        ("listing_id,object_id,first_seen,removed_at\n7,1,20,10\n", "before first_seen"),
        ("listing_id,object_id\n7,1\n", "first_seen"),
    ] {
        let why = complaint(objects).unwrap_err();
        assert!(why.contains(wanted), "{wanted} is not in {why}");
    }
    assert!(Listing::read(&dir.path().join("nowhere")).is_err());
}
