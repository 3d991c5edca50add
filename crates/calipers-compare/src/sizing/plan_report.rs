//! A plan and what it rests on. Renderers compute nothing.

use super::{Pilot, Sizing, SizingQuestion};
use calipers_core::Unit;

/// What was asked, by what it was planned, and the answers.
#[derive(Clone, Debug)]
pub struct PlanReport {
    /// What was asked, with the spread that was planned by.
    pub question: SizingQuestion,
    /// Where that spread comes from.
    pub basis: PlanBasis,
    /// The unit of what is planned for.
    pub unit: Unit,
    /// The answers.
    pub sizing: Sizing,
    /// What planned it.
    pub tool: String,
}

/// Where a plan's idea of the scores comes from.
#[derive(Clone, Debug)]
pub enum PlanBasis {
    /// It was assumed.
    Assumed,
    /// A run showed it.
    Run(Box<PilotRun>),
}

/// A run that a plan rests on.
#[derive(Clone, Debug)]
pub struct PilotRun {
    /// The name used in reports.
    pub name: String,
    /// What was read as what: a name of ours and the column, where they differ.
    pub columns: Vec<(String, String)>,
    /// The metric, with its parameters if it has any.
    pub metric: String,
    /// The unit of its values.
    pub unit: Unit,
    /// What it showed.
    pub pilot: Pilot,
    /// A second run on the same samples, that shows what two runs share.
    pub against: Option<String>,
    /// Only samples whose metadata has these values.
    pub filter: Vec<(String, String)>,
    /// Only these scorers.
    pub scorers: Vec<String>,
}
