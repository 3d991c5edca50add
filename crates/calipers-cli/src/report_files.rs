//! Reports in files: `--output FORM=FILE`.

use crate::failure::Failure;
use crate::terminal::{FILE, allow_closed_pipe, for_log, print_text};
use calipers::io::OutputFile;
use calipers::render::Form;
use std::path::{Path, PathBuf};

/// The name of the form that shows a report with its samples in a browser.
const PAGE: &str = "html";

/// The reports to write in addition to what is printed, or in place of it.
pub(crate) struct ReportFiles<'a, R: 'static> {
    /// The forms that there are, besides a page.
    pub(crate) forms: &'static [Form<R>],
    /// Whether the report can be shown as a page.
    pub(crate) has_page: bool,
    /// `FORM=FILE`, as they were given.
    pub(crate) options: &'a [String],
    /// Whether `--json` is given too.
    pub(crate) json: bool,
    /// Files that are read, and must not be replaced.
    pub(crate) inputs: Vec<&'a str>,
}

/// One report to write.
struct ReportFile<'a, R: 'static> {
    /// As it was asked for.
    option: String,
    /// None for a page.
    form: Option<&'static Form<R>>,
    /// The file; `-` is standard output.
    file: &'a str,
}

/// The help of `--output`, with the forms of a report.
pub(crate) fn output_help<R>(forms: &[Form<R>], has_page: bool) -> String {
    let names: Vec<String> = names(forms, has_page).iter().map(|name| format!("{name}=FILE")).collect();
    format!(
        "Also write the report to files: {} (repeatable, or separated by commas). Files from an earlier run are removed \
         first; `-` replaces what is printed",
        names.join(", ")
    )
}

fn names<R>(forms: &[Form<R>], has_page: bool) -> Vec<&'static str> {
    forms.iter().map(|form| form.names[0]).chain(has_page.then_some(PAGE)).collect()
}

impl<'a, R> ReportFiles<'a, R> {
    /// Opens the reports to write, and removes those of an earlier run: without a verdict there is none to read.
    pub(crate) fn open(&self) -> Result<OpenReports<R>, Failure> {
        let files = self.resolve()?;
        let open = |one: &ReportFile<'_, R>| match one.file {
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
    fn resolve(&self) -> Result<Vec<ReportFile<'a, R>>, Failure> {
        let inputs: Vec<PathBuf> = self.inputs.iter().map(|file| identity(file)).collect();
        let mut all: Vec<ReportFile<'a, R>> = Vec::new();
        for option in self.options {
            let one = self.parse(option)?;
            if one.file != "-" && inputs.contains(&identity(one.file)) {
                let what = format!("`{}` would replace what is judged", one.option);
                return Err(Failure::new(what).hint("write the report to another file"));
            }
            all.push(one);
        }
        if self.json {
            all.push(ReportFile { option: "--json".to_owned(), form: Form::find(self.forms, "json"), file: "-" });
        }
        for (place, one) in all.iter().enumerate() {
            if let Some(other) = all[..place].iter().find(|other| is_one_file(one.file, other.file)) {
                let target = if one.file == "-" { "standard output" } else { one.file };
                let what = format!("`{}` and `{}` both write to `{target}`", other.option, one.option);
                return Err(Failure::new(what).hint("give each report a separate file"));
            }
        }
        Ok(all)
    }

    fn parse(&self, option: &'a str) -> Result<ReportFile<'a, R>, Failure> {
        let refuse = |what: String| Failure::new(what).hint(self.known_forms());
        let Some((name, file)) = option.split_once('=') else {
            return Err(refuse(format!("`--output {option}` names no format")));
        };
        let (name, file) = (name.trim(), file.trim());
        let form = Form::find(self.forms, name);
        if form.is_none() && !(self.has_page && name == PAGE) {
            return Err(refuse(format!("there is no format `{name}`")));
        }
        if file.is_empty() || Path::new(file).is_dir() {
            return Err(refuse(format!("`--output {option}` names no file")));
        }
        Ok(ReportFile { option: format!("--output {option}"), form, file })
    }

    fn known_forms(&self) -> String {
        let names = names(self.forms, self.has_page);
        let (last, first) = names.split_last().expect("there are forms");
        format!("write `--output markdown=comment.md`; the formats are {} and {last}", first.join(", "))
    }
}

/// Reports whose files are open, in the order in which they are written.
pub(crate) struct OpenReports<R: 'static>(Vec<(Option<&'static Form<R>>, OutputFile)>);

impl<R> OpenReports<R> {
    /// True when a page is to be written.
    pub(crate) fn has_page(&self) -> bool {
        self.0.iter().any(|(form, _)| form.is_none())
    }

    /// True when nothing but the text is printed, which names few of the samples.
    pub(crate) fn is_text_only(&self) -> bool {
        self.0.is_empty()
    }

    /// Writes the report in each form; the page is there if it [is to be written](Self::has_page). The text with its plot is
    /// printed unless a report goes to standard output in its place.
    pub(crate) fn write(self, report: &R, page: Option<&str>, text: impl FnOnce() -> String) -> Result<(), Failure> {
        let is_printed = self.0.iter().all(|(_, output)| output.name() != "-");
        for (form, output) in self.0 {
            let written = match form {
                Some(form) => (form.render)(report, FILE).map_err(|error| Failure::new(error.to_string()))?,
                None => page.expect("a page is made where it is to be written").to_owned(),
            };
            let is_log = output.name() == "-";
            output.finish_with(&if is_log { for_log(&written) } else { written.into() })?;
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
