//! `calipers schema`.

use crate::exit::Outcome;
use crate::failure::Failure;
use crate::terminal::print_text;
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
    /// `calipers plan --json`: `calipers.plan/1`
    Plan,
}

impl Schema {
    pub(crate) fn run(self) -> Result<Outcome, Failure> {
        let schema: Cow<'static, str> = match self.name {
            SchemaName::Results => calipers::render::results_schema().into(),
            SchemaName::Gate => calipers::render::GATE_SCHEMA.into(),
            SchemaName::Policy => calipers::policy::SCHEMA.into(),
            SchemaName::Baseline => calipers::io::BASELINE_SCHEMA.into(),
            SchemaName::Findings => calipers::render::findings_schema().into(),
            SchemaName::Raise => calipers::render::RAISE_SCHEMA.into(),
            SchemaName::Compare => calipers::render::compare_schema().into(),
            SchemaName::Plan => calipers::render::plan_schema().into(),
        };
        print_text(&schema)?;
        Ok(Outcome::Done)
    }
}
