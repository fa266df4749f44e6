//! `cargo xtask test [--full]`: sees that what the tests need is there, and runs all of them.

use std::process::{Command, ExitCode};

const USAGE: &str = "usage: cargo xtask test [--full]

  test         everything a change must pass
  test --full  the same, and what takes too long for every change";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let result = match args.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["test"] => test(false),
        ["test", "--full"] => test(true),
        _ => Err(USAGE.to_owned()),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => {
            eprintln!("{problem}");
            ExitCode::FAILURE
        }
    }
}

/// What the tests run beside cargo, with the argument that makes it say its version.
const NEEDED: [(&str, &str); 1] = [("git", "--version")];
/// What only the full run needs.
const NEEDED_IN_FULL: [(&str, &str); 1] = [("nginx", "-v")];

/// How often the full run kills the daemon.
const KILLS: &str = "200";

fn test(full: bool) -> Result<(), String> {
    let in_full = NEEDED_IN_FULL.iter().filter(|_| full);
    NEEDED.iter().chain(in_full).try_for_each(|&(program, version)| need(program, version))?;
    cargo(&["test", "--workspace"], &[])?;
    if full {
        cargo(&["test", "--workspace", "--", "--ignored"], &[])?;
        cargo(&["test", "-p", "tidewatch", "--test", "crash"], &[("TIDEWATCH_KILLS", KILLS)])?;
        // benchmarks are not timed here, only proven to run
        cargo(&["bench", "--workspace", "--no-run"], &[])?;
    }
    Ok(())
}

fn need(program: &str, version: &str) -> Result<(), String> {
    let found =
        Command::new(program).arg(version).output().is_ok_and(|output| output.status.success());
    if found {
        return Ok(());
    }
    Err(format!("the tests need `{program}`; install it, e.g. `apt-get install {program}`"))
}

fn cargo(args: &[&str], env: &[(&str, &str)]) -> Result<(), String> {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
    let status = Command::new(cargo)
        .args(args)
        .envs(env.iter().copied())
        .status()
        .map_err(|why| format!("cargo: {why}"))?;
    if status.success() { Ok(()) } else { Err(format!("`cargo {}` failed", args.join(" "))) }
}
