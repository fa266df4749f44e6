//! `demo`: a living example, with the truth beside what the engine believes.

use std::time::Duration;

use clap::Args;
use indicatif::{ProgressBar, ProgressStyle};
use schedule::Span;

use super::table::{count, facts};
use super::{Failure, Voice};
use crate::clock::wall_now;
use crate::daemon::Message;
use crate::demo::{Demo, Standing, is_over};
use crate::words::duration;

/// Watches a small website of its own that changes before your eyes.
#[derive(Args, Debug)]
pub(crate) struct DemoCommand {
    /// End by itself after this long, such as `60s`; otherwise Ctrl-C ends it
    #[arg(long = "for", value_name = "SPAN")]
    limit: Option<String>,
    /// The budget, in polls per second
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u64).range(1..=1000))]
    polls: u64,
    /// Another website
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

impl DemoCommand {
    pub(crate) fn run(&self, voice: Voice) -> Result<(), Failure> {
        let limit: Option<Span> = self.limit.as_deref().map(str::parse).transpose()?;
        let runtime = super::run::runtime()?;
        let mut demo = Demo::start(self.polls, self.seed, &runtime)?;
        let Some(config) = demo.config.take() else { return Ok(()) };
        voice.remark(&format!(
            "{} pages on {} hosts change as they please; {} polls a second must do.",
            demo.pages(),
            demo.hosts(),
            demo.polls_per_second()
        ));
        let core = super::run::open(config, &runtime)?;
        let inbox = core.inbox();
        super::run::stop_on_signal(&core, &runtime, voice);
        let engine = std::thread::spawn(move || core.run());
        let began = wall_now();
        let bar = line(voice);
        while !engine.is_finished() && !is_over(began, limit) {
            std::thread::sleep(Duration::from_millis(500));
            bar.set_message(in_a_line(&demo.standing()?));
            bar.tick();
        }
        inbox.put(Message::Stop);
        let ended = engine.join();
        bar.finish_and_clear();
        ended.map_err(|_| anyhow::anyhow!("the engine broke off; this is a bug"))??;
        let standing = demo.standing()?;
        runtime.shutdown_background();
        voice.result(&standing, || in_full(&standing))
    }
}

fn line(voice: Voice) -> ProgressBar {
    let bar = if voice.quiet { ProgressBar::hidden() } else { ProgressBar::new_spinner() };
    match ProgressStyle::with_template("{spinner:.cyan} {msg}") {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}

fn in_a_line(now: &Standing) -> String {
    format!(
        "{:3.0} s  caught {} of {} changes, {} overwritten unseen (estimated {:.0})  stale now {} of {} (expected {:.0})",
        now.seconds,
        now.captured,
        now.happened,
        now.missed,
        now.missed_estimated,
        now.stale,
        now.pages,
        now.stale_expected
    )
}

fn in_full(end: &Standing) -> String {
    let mut rows = facts();
    rows.set_header(["", "truth", "engine, without knowing it"]);
    let share = 100.0 * end.captured as f64 / end.happened.max(1) as f64;
    rows.add_row([
        "watched for".to_owned(),
        duration(end.seconds),
        format!("{} polls", count(usize::try_from(end.polls).unwrap_or(0))),
    ]);
    rows.add_row([
        "changes".to_owned(),
        format!("{} happened", end.happened),
        format!("{} caught ({share:.0} %)", end.captured),
    ]);
    rows.add_row([
        "overwritten unseen".to_owned(),
        end.missed.to_string(),
        format!("{:.1} estimated", end.missed_estimated),
    ]);
    rows.add_row([
        "stale at the end".to_owned(),
        format!("{} of {} pages", end.stale, end.pages),
        format!("{:.1} expected", end.stale_expected),
    ]);
    rows.to_string()
}
