//! `calipers metrics`: what can be computed, and what each metric means.

use crate::exit::Outcome;
use crate::failure::Failure;
use crate::terminal::{print_json, print_text};
use calipers::Registry;
use calipers::render::{metric_json, metric_list_json, metric_list_text, metric_text};
use clap::Args;

/// `calipers metrics`
#[derive(Args, Debug)]
pub(crate) struct Metrics {
    /// The metric to explain, such as `latency_p95`
    name: Option<String>,

    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Metrics {
    pub(crate) fn run(self) -> Result<Outcome, Failure> {
        let registry = Registry::builtin();
        match &self.name {
            None => match self.json {
                true => print_json(&metric_list_json(&registry))?,
                false => print_text(&metric_list_text(&registry))?,
            },
            Some(name) => {
                let unknown = || Failure::from(registry.unknown(name)).hint_if_none("`calipers metrics` lists them");
                let about = registry.about(name).ok_or_else(unknown)?;
                if self.json { print_json(&metric_json(about))? } else { print_text(&metric_text(about))? }
            }
        }
        Ok(Outcome::Done)
    }
}

#[cfg(all(test, feature = "eval"))]
mod tests {
    use super::*;
    use crate::command::{Arguments, Command};
    use calipers::metric::About;
    use calipers::script::Library;
    use clap::Parser;

    /// The words of a command, as a shell would take them apart.
    fn words(command: &str) -> Vec<String> {
        let mut words = vec![String::new()];
        let mut is_quoted = false;
        for c in command.chars() {
            match c {
                '\'' => is_quoted = !is_quoted,
                ' ' if !is_quoted => words.push(String::new()),
                c => words.last_mut().expect("there is always a word").push(c),
            }
        }
        words
    }

    #[test]
    fn every_metric_is_explained_with_a_command_that_can_be_run() {
        let registry = Registry::builtin();
        for name in registry.names() {
            let about = registry.about(name).unwrap_or_else(|| panic!("{name} has nothing to say"));
            assert_eq!(about.name, name);
            let texts = [about.summary, about.usage, about.tells, about.misleads, about.formula, about.interval];
            assert!(texts.iter().chain(&[about.range, about.use_case]).all(|text| !text.is_empty()), "{name}");
            let arguments = Arguments::try_parse_from(words(about.example)).unwrap_or_else(|error| panic!("{error}"));
            let Command::Score(score) = arguments.command else { panic!("{name}: {}", about.example) };
            let metrics: Vec<_> = score
                .metric
                .iter()
                .flat_map(|expression| Library::builtin().metrics(expression).unwrap_or_else(|error| panic!("{error}")))
                .collect();
            let named =
                |metric: &calipers::plan::MetricSpec| metric.metrics().iter().any(|metric| metric.name() == name);
            assert!(metrics.iter().any(named), "{name}: {}", about.example);
            calipers::script::Library::builtin()
                .metrics(name_or_usage(about))
                .unwrap_or_else(|error| panic!("{error}"));
        }
    }

    /// How it is written, unless it needs an argument.
    fn name_or_usage(about: &About) -> &str {
        let arguments = about.usage.split_once('(').map_or("", |(_, arguments)| arguments.trim_end_matches(')'));
        let needs_arguments = arguments.split(", ").any(|argument| !argument.is_empty() && !argument.contains('='));
        if needs_arguments { "accuracy" } else { about.usage }
    }
}
