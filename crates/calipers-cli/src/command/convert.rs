//! `calipers convert`.

use crate::exit::Outcome;
use crate::failure::Failure;
use crate::flags::FormatFlag;
use crate::selection::{columns, reducers};
use crate::terminal::note;
use calipers::Reducer;
use calipers::convert::convert;
use calipers::io::{OutputFile, RecordedRun, Source, Writer, is_address, read, writer};
use clap::Args;
use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// `calipers convert`
#[derive(Args, Debug)]
pub(crate) struct Convert {
    /// Files, folders or patterns; `-` is standard input
    #[arg(required = true)]
    files: Vec<String>,

    /// The file to write: .jsonl, .json, .csv (also with .gz or .zst), .parquet or .eval; a folder, with `/` at its end,
    /// for one file per run; `-` for standard output
    #[arg(short, long, value_name = "OUT")]
    output: String,

    /// The format to write, regardless of the file name: native, csv, parquet, inspect or every-eval-ever
    #[arg(long, value_name = "FORM")]
    to: Option<String>,

    #[command(flatten)]
    format: FormatFlag,

    /// How an Inspect log reduces attempts, such as `mean` or `pass_at_3`; `none` turns reduction off (repeatable)
    #[arg(long, value_name = "NAME")]
    reducer: Vec<String>,

    /// Overwrite existing files
    #[arg(long)]
    force: bool,
}

impl Convert {
    pub(crate) fn run(self) -> Result<Outcome, Failure> {
        let reducers = reducers(&self.reducer, |name| Ok(Reducer::parse(name)?))?;
        let target = Target::new(&self)?;
        let columns = Arc::new(columns(&self.format.files.columns)?);
        if let Some(unit) = self.format.attempts_from {
            let what = format!("`--attempts-from {unit:?}` joins files, and `convert` writes each run by itself");
            return Err(Failure::new(what.to_lowercase())
                .hint("leave it out, and give it to the command that reads the new files"));
        }
        let mut sources = Vec::new();
        for file in &self.files {
            sources.extend(Source::resolve(file)?.into_iter().map(|source| source.with_columns(columns.clone())));
        }
        let mut written = 0;
        // A file that is named is opened before anything is read: a wrong name should not cost an hour.
        let mut opened = match &target {
            Target::File(path) if sources.len() == 1 => Some(open(path, self.force)?),
            Target::File(path) => return Err(too_many(path, sources.len(), "files")),
            // A bucket has no folders to create.
            Target::Folder(folder) if folder.to_str().is_some_and(is_address) => None,
            Target::Folder(folder) => {
                std::fs::create_dir_all(folder).map_err(|error| {
                    Failure::new(error.to_string()).at(format!("writing {}", folder.display())).hint("check the folder")
                })?;
                None
            }
        };
        if let Target::Folder(_) = &target {
            check_stems(&sources)?;
        }
        let mut targets: HashMap<PathBuf, String> = HashMap::new();
        let mut found: HashSet<String> = HashSet::new();
        for source in &sources {
            let mut runs = read(source, self.format.files.format.as_deref())?;
            let is_asked =
                |run: &RecordedRun| run.name.as_ref().is_some_and(|name| self.format.files.run.contains(name));
            if !self.format.files.run.is_empty() {
                runs.retain(is_asked);
                found.extend(runs.iter().filter_map(|run| run.name.clone()));
            }
            if let (Target::File(path), true) = (&target, runs.len() > 1) {
                return Err(too_many(path, runs.len(), "runs"));
            }
            let count = runs.len();
            for (place, run) in runs.into_iter().enumerate() {
                let (path, mut out) = match (&target, opened.take()) {
                    (Target::Folder(folder), _) => {
                        let path = folder.join(file_name(source, &run, self.to.as_deref(), place, count));
                        if let Some(first) = targets.insert(path.clone(), source.name.clone()) {
                            return Err(one_target(&first, &source.name, &path));
                        }
                        (path.display().to_string(), open(&path, self.force)?)
                    }
                    (Target::File(path), Some(out)) => (path.display().to_string(), out),
                    (Target::File(path), None) => return Err(too_many(path, 2, "runs")),
                };
                let writer = choose_writer(self.to.as_deref(), &path, &run)?;
                let notes = convert(source, run, writer, reducers.clone(), &mut out)?;
                out.finish()?;
                written += 1;
                notes.iter().for_each(|text| note(text));
            }
        }
        if let Some(missing) = self.format.files.run.iter().find(|name| !found.contains(*name)) {
            return Err(Failure::new(format!("there is no run `{missing}`")).hint("`calipers score` lists the runs"));
        }
        if written == 0 { Err(Failure::new("there are no runs to write")) } else { Ok(Outcome::Done) }
    }
}

/// Where the runs go.
enum Target {
    /// One file for one run; `-` is standard output.
    File(PathBuf),
    /// One file per run.
    Folder(PathBuf),
}

impl Target {
    fn new(arguments: &Convert) -> Result<Self, Failure> {
        let output = &arguments.output;
        if output.ends_with(['/', std::path::MAIN_SEPARATOR]) {
            if arguments.to.is_none() {
                let hint = "name the format with `--to`, because a folder has no extension";
                return Err(Failure::new("the format to write is not known")
                    .at(format!("writing {output}"))
                    .hint(hint));
            }
            writer(arguments.to.as_deref(), output)?;
            return Ok(Self::Folder(output.into()));
        }
        writer(arguments.to.as_deref(), output)?;
        Ok(Self::File(output.into()))
    }
}

fn open(path: &Path, force: bool) -> Result<OutputFile, Failure> {
    Ok(if path == Path::new("-") { OutputFile::stdout() } else { OutputFile::create(path, force)? })
}

fn too_many(path: &Path, count: usize, what: &str) -> Failure {
    let hint = "a file holds one run; name a folder with `/` at its end for one file per run";
    Failure::new(format!("{count} {what} do not fit into one file"))
        .at(format!("writing {}", path.display()))
        .hint(hint)
}

/// Two sources whose runs would be written to the same files are refused before anything is written.
fn check_stems(sources: &[Source]) -> Result<(), Failure> {
    let mut known: HashMap<&str, &Source> = HashMap::new();
    for source in sources {
        let Some(stem) = stem(source) else { continue };
        if let Some(first) = known.insert(stem, source) {
            return Err(one_target(&first.name, &source.name, Path::new(stem)));
        }
    }
    Ok(())
}

fn one_target(first: &str, other: &str, path: &Path) -> Failure {
    Failure::new(format!("{first} and {other} would be written to one file"))
        .at(format!("writing {}", path.display()))
        .hint("convert them one at a time, each into a separate folder")
}

/// A `.json` file is a log if that is what was read, and a list of records otherwise. Nothing else is in doubt.
fn choose_writer(to: Option<&str>, path: &str, run: &RecordedRun) -> Result<&'static dyn Writer, Failure> {
    let name = path.to_lowercase();
    let is_json = name.trim_end_matches(".gz").trim_end_matches(".zst").ends_with(".json");
    let to = if to.is_none() && is_json && run.format == "inspect" { Some("inspect") } else { to };
    Ok(writer(to, path)?)
}

/// The name of the source without its ending, unless it is standard input.
fn stem(source: &Source) -> Option<&str> {
    let name = source.file_name().trim_end_matches(".gz").trim_end_matches(".zst");
    Path::new(name).file_stem().and_then(|stem| stem.to_str()).filter(|stem| *stem != "-")
}

/// The name of the source with another ending, and with a number where one source holds several runs.
fn file_name(source: &Source, run: &RecordedRun, to: Option<&str>, place: usize, count: usize) -> String {
    let ending = match to {
        Some("csv") => "csv",
        Some("parquet") => "parquet",
        Some("inspect") => "eval",
        _ => "jsonl",
    };
    let stem = stem(source).or(run.task.as_deref()).unwrap_or("results").replace(['/', '\\'], "_");
    if count > 1 { format!("{stem}-{}.{ending}", place + 1) } else { format!("{stem}.{ending}") }
}
