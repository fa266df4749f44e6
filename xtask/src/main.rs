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

/// What the tests run beside cargo, and what to install where it is missing.
const NEEDED: [(&str, &str); 1] = [("git", "git")];

fn test(full: bool) -> Result<(), String> {
    for (program, package) in NEEDED {
        let found = Command::new(program)
            .arg("--version")
            .output()
            .is_ok_and(|output| output.status.success());
        if !found {
            return Err(format!(
                "the tests need `{program}`; install it, e.g. `apt-get install {package}`"
            ));
        }
    }
    cargo(&["test", "--workspace"])?;
    if full {
        // benchmarks are not timed here, only proven to run
        cargo(&["bench", "--workspace", "--no-run"])?;
    }
    Ok(())
}

fn cargo(args: &[&str]) -> Result<(), String> {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
    let status = Command::new(cargo).args(args).status().map_err(|why| format!("cargo: {why}"))?;
    if status.success() { Ok(()) } else { Err(format!("`cargo {}` failed", args.join(" "))) }
}
