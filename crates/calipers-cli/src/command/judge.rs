//! `calipers judge`: how well a judge agrees with people, and what its rate really is.

use crate::exit::Outcome;
use crate::failure::Failure;
use crate::flags::{FormatFlag, LevelFlag, ScriptFlags, SelectionFlags};
use crate::reading::{load_run, print_notes};
use crate::report_files::{ReportFiles, output_help};
use crate::selection;
use crate::terminal::screen;
use calipers::Selection;
use calipers::judge::{JudgeOptions, JudgeReport, assess, load_labels};
use calipers::render::{JUDGE_FORMS, judge_text};
use clap::Args;

/// `calipers judge`
///
/// Labels are joined to the results by `id`, and by `epoch` if the labels have one. The labelled samples must be a random
/// choice.
#[derive(Args, Debug)]
pub(crate) struct Judge {
    /// Results scored by a judge: files, folders or patterns; `-` is standard input
    #[arg(required = true)]
    files: Vec<String>,

    /// Human labels for some of the samples: records with `id` and `label`, in any format that is read
    #[arg(short, long, value_name = "FILE")]
    labels: String,

    /// What the columns of the labels mean, such as `id=question,score=verdict` (repeatable)
    #[arg(long, value_name = "NAME=COLUMN")]
    label_columns: Vec<String>,

    /// Also show each group of samples with the same value of this metadata [default: category, if there is one]
    #[arg(long, value_name = "KEY")]
    by: Option<String>,

    #[command(flatten)]
    selection: SelectionFlags,

    #[command(flatten)]
    level: LevelFlag,

    #[command(flatten)]
    format: FormatFlag,

    #[arg(short, long, value_name = "FORM=FILE", value_delimiter = ',', help = output_help(JUDGE_FORMS, false))]
    output: Vec<String>,

    /// Print JSON (`calipers.judge/1`)
    #[arg(long)]
    json: bool,
}

impl Judge {
    pub(crate) fn run(self) -> Result<Outcome, Failure> {
        let inputs = self.files.iter().chain([&self.labels]).map(String::as_str).collect();
        let files = ReportFiles { forms: JUDGE_FORMS, has_page: false, options: &self.output, json: self.json, inputs };
        // A wrong name fails before any work is done.
        let outputs = files.open()?;
        let report = self.assess()?;
        outputs.write(&report, None, || judge_text(&report, screen()))?;
        Ok(Outcome::Done)
    }

    fn assess(&self) -> Result<JudgeReport, Failure> {
        let scripts = ScriptFlags { load: Vec::new(), script_time: 0 };
        let selection = selection::resolve(&self.selection, &self.format, self.level.level, &scripts)?;
        let options = JudgeOptions { by: self.by.clone() };
        let run = load_run(&self.files, &selection, &options.needs(&selection))?;
        print_notes(&run);
        let columns = selection::columns_by("--label-columns", &self.label_columns)?;
        let labels = Selection { columns: columns.into(), ..Selection::default() };
        let sources = selection::sources(std::slice::from_ref(&self.labels), &labels)?;
        let labels = load_labels(&self.labels, &labels.with_sources(sources))
            .map_err(|error| Failure::from(error).hint_with_flag("--columns", "--label-columns"))?;
        print_notes(&labels);
        Ok(assess(&run, &labels, &selection, &options)?)
    }
}
