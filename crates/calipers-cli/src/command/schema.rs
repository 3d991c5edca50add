//! `calipers schema`.

use crate::config_file;
use crate::exit::Outcome;
use crate::failure::Failure;
use crate::terminal::print_text;
use calipers::io::BaselineDocument;
use calipers::render::schema_text;
use clap::{Args, ValueEnum};
use std::borrow::Cow;

/// `calipers schema`
#[derive(Args, Debug)]
pub(crate) struct Schema {
    /// The output or the file
    #[arg(value_enum)]
    name: SchemaName,
}

/// Outputs and files that have a schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum SchemaName {
    /// `calipers score --json`: `calipers.results/1`
    Results,
    /// `calipers gate --json`: `calipers.gate/1`
    Gate,
    /// Policy files: `calipers.policy/1`
    Policy,
    /// Baselines: `calipers.baseline/1`
    Baseline,
    /// `calipers policy check --json`: `calipers.findings/1`
    Findings,
    /// `calipers baseline raise --json`: `calipers.raise/1`
    Raise,
    /// `calipers compare --json`: `calipers.compare/1`
    Compare,
    /// `calipers judge --json`: `calipers.judge/1`
    Judge,
    /// `calipers history list --json`: `calipers.history/1`
    History,
    /// A figure over time, from the API of `calipers view`: `calipers.trend/1`
    Trend,
    /// The samples of a run, from the same API: `calipers.samples/1`
    Samples,
    /// A sample with one of its attempts: `calipers.sample/1`
    Sample,
    /// A sample over all runs: `calipers.case/1`
    Case,
    /// The verdicts on runs: `calipers.verdicts/1`
    Verdicts,
    /// `calipers plan --json`: `calipers.plan/1`
    Plan,
    /// `calipers.toml`: `calipers.config/1`
    Config,
}

impl Schema {
    pub(crate) fn run(self) -> Result<Outcome, Failure> {
        let schema: Cow<'static, str> = match self.name {
            SchemaName::Results => calipers::render::results_schema().into(),
            SchemaName::Gate => calipers::render::gate_schema().into(),
            SchemaName::Policy => calipers::policy::SCHEMA.into(),
            SchemaName::Baseline => schema_text::<BaselineDocument>("baseline").into(),
            SchemaName::Findings => calipers::render::findings_schema().into(),
            SchemaName::Raise => calipers::render::raise_schema().into(),
            SchemaName::Compare => calipers::render::compare_schema().into(),
            SchemaName::Judge => calipers::render::judge_schema().into(),
            SchemaName::History => calipers::render::history_schema().into(),
            SchemaName::Trend => calipers::render::view::trend_schema().into(),
            SchemaName::Samples => calipers::render::view::samples_schema().into(),
            SchemaName::Sample => calipers::render::view::sample_schema().into(),
            SchemaName::Case => calipers::render::view::case_schema().into(),
            SchemaName::Verdicts => calipers::render::view::verdicts_schema().into(),
            SchemaName::Plan => calipers::render::plan_schema().into(),
            SchemaName::Config => config_file::schema().into(),
        };
        print_text(&schema)?;
        Ok(Outcome::Done)
    }
}
