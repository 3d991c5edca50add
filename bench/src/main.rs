//! Our speed beside that of Inspect AI and numpy, on the same data and with the same answers.
//!
//! Each implementation answers on its own ready-made objects in memory: Inspect on lists of `SampleScore`, numpy on
//! bare arrays, we on `Samples`. What it costs to make these is reported beside the table. Times are CPU times, the
//! least of several runs. A different answer is a failure; a slow one is not.

mod cases;
mod clock;
mod data;
mod gate;
mod inflate;
mod peer;
mod report;
mod serve;

use cases::{Case, Data};
use data::{Columns, Folder, Sizes};
use peer::Peers;
use report::{Building, Comparison, Report};
use std::path::Path;
use std::process::ExitCode;

const HELP: &str = "\
Compares our speed with that of Inspect AI and numpy, after checking that the answers agree.

usage: bench [--python PATH] [--quick] [--write FILE --date DATE] [CASE ...]
       bench gate
       bench serve MILLISECONDS
       bench inflate FILE [PREFIX]

  --python PATH   a Python that has inspect_ai and numpy; without it only our half is measured
  --quick         small data: a smoke test of a few seconds, whose ratios mean little
  --write FILE    write the report as Markdown too; needs --date
  --date DATE     the day to put into the report
  CASE            only cases whose name contains this text, such as `labels.` or `reduce.mode`
  gate            only the time that a verdict takes beyond reading; no peer has one to compare with
  serve MILLISECONDS  be a model that takes so long to answer, until killed
  inflate FILE    only decompress the members of a ZIP archive, or those whose names begin with PREFIX, and print how
                  many bytes that makes

Exits 1 if an answer differs, 2 if the arguments or Python are at fault. Speed is reported, not judged.
";

/// Inspect takes seconds; numpy takes as long as we do and deserves as many runs.
const RUNS: [(&str, u32); 2] = [("inspect", 3), ("numpy", 50)];

#[derive(Default)]
struct Options {
    python: Option<String>,
    quick: bool,
    write: Option<String>,
    date: Option<String>,
    filters: Vec<String>,
}

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let outcome = match args.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["gate"] => gate::run(),
        ["serve", milliseconds] => serve::run(milliseconds),
        ["inflate", file] => inflated(file, ""),
        ["inflate", file, prefix] => inflated(file, prefix),
        _ => options(args).and_then(|options| options.map_or(Ok(true), |options| run(&options))),
    };
    match outcome {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(message) => {
            eprintln!("error: {message}");
            ExitCode::from(2)
        }
    }
}

/// Prints how many bytes the members of an archive have.
fn inflated(file: &str, prefix: &str) -> Result<bool, String> {
    println!("{}", inflate::run(Path::new(file), prefix)?);
    Ok(true)
}

/// The options, or `None` when help was asked for and given.
fn options(args: Vec<String>) -> Result<Option<Options>, String> {
    let mut options = Options::default();
    let mut args = args.into_iter();
    while let Some(arg) = args.next() {
        let mut value = || args.next().ok_or_else(|| format!("`{arg}` needs a value"));
        match arg.as_str() {
            "--help" | "-h" => {
                print!("{HELP}");
                return Ok(None);
            }
            "--quick" => options.quick = true,
            "--python" => options.python = Some(value()?),
            "--write" => options.write = Some(value()?),
            "--date" => options.date = Some(value()?),
            flag if flag.starts_with('-') => return Err(format!("unknown option `{flag}`; see `--help`")),
            filter => options.filters.push(filter.to_owned()),
        }
    }
    if options.write.is_some() && options.date.is_none() {
        return Err("`--write` needs `--date`, for example `--date 2026-03-01`".into());
    }
    Ok(Some(options))
}

/// Measures and reports; false when an answer differs.
fn run(options: &Options) -> Result<bool, String> {
    let cases = wanted(cases::all().map_err(|error| error.to_string())?, &options.filters)?;
    let sizes = if options.quick { Sizes::QUICK } else { Sizes::FULL };
    let columns = Columns::new(sizes);
    let folder = Folder::new().map_err(|cause| format!("no folder for temporary files: {cause}"))?;
    let mut peers = match &options.python {
        None => None,
        Some(python) => {
            columns.write(folder.path()).map_err(|cause| format!("the data cannot be written: {cause}"))?;
            Some(Peers::start(python, folder.path())?)
        }
    };
    let mut report = Report::new(sizes, peers.as_ref());
    for data in Data::ALL {
        let of_data: Vec<&Case> = cases.iter().filter(|case| case.data == data).collect();
        if !of_data.is_empty() {
            measure(data, &of_data, &columns, peers.as_mut(), &mut report)?;
        }
    }
    print!("{}", report.table());
    if let (Some(path), Some(date)) = (&options.write, &options.date) {
        std::fs::write(path, report.markdown(date)).map_err(|cause| format!("`{path}` cannot be written: {cause}"))?;
    }
    Ok(report.agrees())
}

fn wanted(mut cases: Vec<Case>, filters: &[String]) -> Result<Vec<Case>, String> {
    let known: Vec<String> = cases.iter().map(|case| case.name.clone()).collect();
    cases.retain(|case| filters.is_empty() || filters.iter().any(|filter| case.name.contains(filter)));
    if cases.is_empty() {
        return Err(format!("no case matches; there are {}", known.join(", ")));
    }
    Ok(cases)
}

/// All cases of one sort of data, on all sides.
fn measure(
    data: Data,
    cases: &[&Case],
    columns: &Columns,
    mut peers: Option<&mut Peers>,
    report: &mut Report,
) -> Result<(), String> {
    eprintln!("building {} ...", data.name());
    let (ours, samples) = clock::once(|| data.build(columns));
    if let Some(peers) = &mut peers {
        let (arrays, inspect) = (peers.build("arrays")?, peers.build(data.name())?);
        report.buildings.push(Building { data, ours, inspect, arrays });
    }
    for case in cases {
        eprintln!("{} ...", case.name);
        let run = || case.run(&samples).map_err(|error| format!("{}: {error}", case.name));
        let (ours, found) = clock::measure(run);
        let numbers = found?.numbers();
        for (peer, runs) in RUNS {
            let Some(peers) = peers.as_mut().filter(|peers| peers.has(peer, &case.name)) else { continue };
            let (times, theirs) = peers.measure(peer, &case.name, runs)?;
            report.comparisons.push(Comparison {
                name: format!("{}/{peer}", case.name),
                peer: Some(times),
                ours: ours.clone(),
                required: case.required.filter(|_| peer == "inspect"),
                difference: numbers.difference(&theirs, case.tolerance),
            });
        }
        if peers.is_none() {
            report.comparisons.push(Comparison::alone(&case.name, ours));
        }
    }
    peers.map_or(Ok(()), Peers::drop_all)
}
