//! Reports in files: `--output FORM=FILE`.

use crate::failure::Failure;
use crate::terminal::{allow_closed_pipe, for_log, print_text};
use calipers::io::OutputFile;
use std::path::{Path, PathBuf};

/// A form that a report can be written in, by its names: the first is the one that hints use.
pub(crate) type NamedForm<T> = (&'static [&'static str], T);

/// The reports to write in addition to what is printed, or in place of it.
pub(crate) struct ReportFiles<'a, T: 'static> {
    /// The forms that there are.
    pub(crate) forms: &'static [NamedForm<T>],
    /// `FORM=FILE`, as they were given.
    pub(crate) options: &'a [String],
    /// The form of `--json`, if that is given too.
    pub(crate) json: Option<T>,
    /// Files that are read, and must not be replaced.
    pub(crate) inputs: Vec<&'a str>,
}

/// One report to write.
struct ReportFile<'a, T> {
    /// As it was asked for.
    option: String,
    form: T,
    /// The file; `-` is standard output.
    file: &'a str,
}

impl<'a, T: Copy> ReportFiles<'a, T> {
    /// Opens the reports to write, and removes those of an earlier run: without a verdict there is none to read.
    pub(crate) fn open(&self) -> Result<OpenReports<T>, Failure> {
        let files = self.resolve()?;
        let open = |one: &ReportFile<'_, T>| match one.file {
            "-" => Ok((one.form, OutputFile::stdout())),
            file => OutputFile::create(file, true).map(|output| (one.form, output)),
        };
        let opened: Vec<_> = files.iter().map(open).collect();
        for (_, output) in opened.iter().flatten() {
            output.clear()?;
        }
        Ok(OpenReports(opened.into_iter().collect::<Result<_, _>>()?))
    }

    /// The reports by file. No file is an input too, or written twice.
    fn resolve(&self) -> Result<Vec<ReportFile<'a, T>>, Failure> {
        let inputs: Vec<PathBuf> = self.inputs.iter().map(|file| identity(file)).collect();
        let mut all: Vec<ReportFile<'a, T>> = Vec::new();
        for option in self.options {
            let one = self.parse(option)?;
            if one.file != "-" && inputs.contains(&identity(one.file)) {
                let what = format!("`{}` would replace what is judged", one.option);
                return Err(Failure::new(what).hint("write the report to another file"));
            }
            all.push(one);
        }
        if let Some(form) = self.json {
            all.push(ReportFile { option: "--json".to_owned(), form, file: "-" });
        }
        for (place, one) in all.iter().enumerate() {
            if let Some(other) = all[..place].iter().find(|other| is_one_file(one.file, other.file)) {
                let target = if one.file == "-" { "standard output" } else { one.file };
                let what = format!("`{}` and `{}` both write to `{target}`", other.option, one.option);
                return Err(Failure::new(what).hint("give each report its own file"));
            }
        }
        Ok(all)
    }

    fn parse(&self, option: &'a str) -> Result<ReportFile<'a, T>, Failure> {
        let refuse = |what: String| Failure::new(what).hint(self.known_forms());
        let Some((form, file)) = option.split_once('=') else {
            return Err(refuse(format!("`--output {option}` names no form")));
        };
        let (form, file) = (form.trim(), file.trim());
        let Some((_, form)) = self.forms.iter().find(|(names, _)| names.contains(&form)) else {
            return Err(refuse(format!("there is no form `{form}`")));
        };
        if file.is_empty() || Path::new(file).is_dir() {
            return Err(refuse(format!("`--output {option}` names no file")));
        }
        Ok(ReportFile { option: format!("--output {option}"), form: *form, file })
    }

    fn known_forms(&self) -> String {
        let names: Vec<&str> = self.forms.iter().map(|(names, _)| names[0]).collect();
        let (last, first) = names.split_last().expect("there are forms");
        format!("write `--output markdown=comment.md`; the forms are {} and {last}", first.join(", "))
    }
}

/// Reports whose files are open, in the order in which they are written.
pub(crate) struct OpenReports<T>(Vec<(T, OutputFile)>);

impl<T: Copy + PartialEq> OpenReports<T> {
    /// True when a report is written in this form.
    pub(crate) fn has(&self, form: T) -> bool {
        self.0.iter().any(|(known, _)| *known == form)
    }

    /// Writes each report as it is rendered in its form. The text with its plot is printed unless a report goes to standard
    /// output in its place.
    pub(crate) fn write(
        self,
        render: impl Fn(T) -> Result<String, Failure>,
        text: impl FnOnce() -> String,
    ) -> Result<(), Failure> {
        let is_printed = self.0.iter().all(|(_, output)| output.name() != "-");
        for (form, output) in self.0 {
            let report = render(form)?;
            let is_log = output.name() == "-";
            output.finish_with(&if is_log { for_log(&report) } else { report.into() })?;
        }
        if is_printed { allow_closed_pipe(print_text(&text())) } else { Ok(()) }
    }
}

/// What a path leads to, whether it is there yet or not.
pub(crate) fn identity(file: &str) -> PathBuf {
    let path = Path::new(file);
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let named = || Some(std::fs::canonicalize(folder).ok()?.join(path.file_name()?));
    std::fs::canonicalize(path).ok().or_else(named).unwrap_or_else(|| path.to_path_buf())
}

/// True when one of two reports would take the place of the other. A device takes any number of them.
fn is_one_file(one: &str, other: &str) -> bool {
    let is_device = |file: &str| std::fs::metadata(file).is_ok_and(|found| !found.is_file());
    match (one, other) {
        ("-", "-") => true,
        ("-", _) | (_, "-") => false,
        _ => identity(one) == identity(other) && !is_device(one),
    }
}
