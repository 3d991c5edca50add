//! `calipers convert`.

use crate::exit::Outcome;
use crate::failure::Failure;
use crate::flags::FormatFlag;
use crate::selection::reducers;
use calipers::Reducer;
use calipers::convert::convert;
use calipers::io::{OutputFile, RecordedRun, Source, Writer, printable, read, writer};
use clap::Args;
use std::path::{Path, PathBuf};

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

    /// Write in this form, whatever the name of the file: native, csv, parquet or inspect
    #[arg(long, value_name = "FORM")]
    to: Option<String>,

    #[command(flatten)]
    format: FormatFlag,

    /// How the results in an Inspect log reduce attempts, such as `mean` or `pass_at_3`; `none` turns reduction off
    /// (repeatable)
    #[arg(long, value_name = "NAME")]
    reducer: Vec<String>,

    /// Replace files that exist
    #[arg(long)]
    force: bool,
}

impl Convert {
    pub(crate) fn run(self) -> Result<Outcome, Failure> {
        let reducers = reducers(&self.reducer, |name| Ok(Reducer::parse(name)?))?;
        let target = Target::new(&self)?;
        let mut sources = Vec::new();
        for file in &self.files {
            sources.extend(Source::resolve(file)?);
        }
        let mut written = 0;
        // A file that is named is opened before anything is read: a wrong name should not cost an hour.
        let mut opened = match &target {
            Target::File(path) if sources.len() == 1 => Some(open(path, self.force)?),
            Target::File(path) => return Err(too_many(path, sources.len(), "files")),
            Target::Folder(folder) => {
                std::fs::create_dir_all(folder).map_err(|error| {
                    Failure::new(error.to_string()).at(format!("writing {}", folder.display())).hint("check the folder")
                })?;
                None
            }
        };
        for source in &sources {
            let runs = read(source, self.format.format.as_deref())?;
            if let (Target::File(path), true) = (&target, runs.len() > 1) {
                return Err(too_many(path, runs.len(), "runs"));
            }
            let count = runs.len();
            for (place, run) in runs.into_iter().enumerate() {
                let (path, mut out) = match (&target, opened.take()) {
                    (Target::Folder(folder), _) => {
                        let path = folder.join(file_name(source, &run, self.to.as_deref(), place, count));
                        (path.display().to_string(), open(&path, self.force)?)
                    }
                    (Target::File(path), Some(out)) => (path.display().to_string(), out),
                    (Target::File(path), None) => return Err(too_many(path, 2, "runs")),
                };
                let writer = choose_writer(self.to.as_deref(), &path, &run)?;
                let notes = convert(source, run, writer, reducers.clone(), &mut out)?;
                out.finish()?;
                written += 1;
                notes.iter().for_each(|note| eprintln!("note: {}", printable(note)));
            }
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
                let hint = "name the form with `--to`: a folder has no ending that says it";
                return Err(Failure::new("how to write is not said").at(format!("writing {output}")).hint(hint));
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

/// A `.json` file is a log if that is what was read, and a list of records otherwise. Nothing else is in doubt.
fn choose_writer(to: Option<&str>, path: &str, run: &RecordedRun) -> Result<&'static dyn Writer, Failure> {
    let name = path.to_lowercase();
    let is_json = name.trim_end_matches(".gz").trim_end_matches(".zst").ends_with(".json");
    let to = if to.is_none() && is_json && run.format == "inspect" { Some("inspect") } else { to };
    Ok(writer(to, path)?)
}

/// The name of the source with another ending, and with a number where one source holds several runs.
fn file_name(source: &Source, run: &RecordedRun, to: Option<&str>, place: usize, count: usize) -> String {
    let ending = match to {
        Some("csv") => "csv",
        Some("parquet") => "parquet",
        Some("inspect") => "eval",
        _ => "jsonl",
    };
    let name = source.file_name();
    let name = name.trim_end_matches(".gz").trim_end_matches(".zst");
    let stem = Path::new(name).file_stem().and_then(|stem| stem.to_str()).filter(|stem| *stem != "-");
    let stem = stem.or(run.task.as_deref()).unwrap_or("results").replace(['/', '\\'], "_");
    if count > 1 { format!("{stem}-{}.{ending}", place + 1) } else { format!("{stem}.{ending}") }
}
