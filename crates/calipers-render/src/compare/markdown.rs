//! A comparison as a comment on a pull request: the answer, the metrics, the samples that changed, and the rest folded away.
//!
//! Text from data is escaped, as in the comment of a verdict, and no block begins with it.

use crate::compare::words::{
    Words, attempts, category, caveats, decision, flakiness, matching, metric_sentence, ranking_level, restriction,
    settings as made_with,
};
use crate::gate::markdown::{LENGTH_MAX, TABLE_MAX, escape, line, put, table};
use crate::gate::words::{estimate, first_of, interval};
use crate::numbers::{Scale as Numbers, count, percent};
use crate::outcome_words::shortcoming_sentence;
use calipers_compare::{ChangeVerdict, CompareReport, MetricComparison, Ranking, RunComparison, SampleChange};
use calipers_core::{Verdict, defuse};

/// The first line of the comment, by which it is found and updated in place.
pub const COMPARE_MARKER: &str = "<!-- calipers compare -->";

/// Samples of a list before the rest is counted.
const ROWS_MAX: usize = 20;
/// Samples that are named in a line.
const NAMES_MAX: usize = 10;

/// The comparison as Markdown: less than 65,000 characters, with [`COMPARE_MARKER`] first.
#[must_use]
pub fn compare_markdown(report: &CompareReport) -> String {
    let mut page = Page { text: format!("{COMPARE_MARKER}\n"), report };
    page.answer();
    for comparison in &report.comparisons {
        page.comparison(comparison);
    }
    for ranking in &report.rankings {
        page.ranking(ranking);
    }
    page.details();
    page.settings();
    defuse(&page.text, false).into_owned()
}

struct Page<'a> {
    text: String,
    report: &'a CompareReport,
}

impl Page<'_> {
    fn put(&mut self, text: &str) -> bool {
        put(&mut self.text, text, TABLE_MAX)
    }

    fn table(&mut self, header: &str, rows: &[String]) {
        table(&mut self.text, header, rows, TABLE_MAX);
    }

    fn answer(&mut self) {
        let report = self.report;
        let metrics = || report.comparisons.iter().flat_map(|comparison| &comparison.metrics);
        let count = |wanted: ChangeVerdict| metrics().filter(|metric| metric.verdict == wanted).count();
        let (alert, word) = match report.verdict {
            Verdict::Fail => ("CAUTION", "REGRESSED"),
            Verdict::Undecided => ("WARNING", "UNDECIDED"),
            Verdict::Pass if count(ChangeVerdict::Improved) > 0 => ("TIP", "IMPROVED"),
            Verdict::Pass => ("NOTE", "NO REGRESSION"),
        };
        let told = match metrics().find(|metric| metric.verdict == ChangeVerdict::Improved) {
            Some(metric) if report.verdict == Verdict::Pass => metric_sentence(metric),
            _ => decision(report),
        };
        self.text += &format!("> [!{alert}]\n> **{word}**: {}\n", escape(&told));
        if let Some(restriction) = restriction(report) {
            self.text += &format!(">\n> **{}**\n", escape(&restriction));
        }
    }

    fn comparison(&mut self, comparison: &RunComparison) {
        let about: Vec<String> = matching(comparison).iter().map(|part| escape(part)).collect();
        let (candidate, baseline) = (escape(&comparison.candidate), escape(&comparison.baseline));
        self.put(&format!("\n**{candidate}** against **{baseline}**: {}\n", about.join(", ")));
        if comparison.problem.is_some() {
            return;
        }
        let header = self.header();
        let rows: Vec<String> = comparison.metrics.iter().map(|metric| self.row(metric)).collect();
        self.table(&header, &rows);
        let Ok(samples) = &comparison.samples else { return };
        self.names("Newly failing", &samples.newly_failing);
        self.names("Newly fixed", &samples.newly_fixed);
    }

    fn header(&self) -> String {
        let level = percent(self.report.settings.level);
        format!("| metric | before → now | change | {level} interval | n | answer |\n|---|---|--:|---|--:|---|")
    }

    fn row(&self, metric: &MetricComparison) -> String {
        let words = Words::of(metric, &self.report.settings);
        let verdict = match metric.verdict {
            ChangeVerdict::Regressed | ChangeVerdict::Improved => format!("**{}**", escape(&words.verdict)),
            _ => escape(&words.verdict),
        };
        let p = if words.p.is_empty() { String::new() } else { format!(" ({})", escape(&words.p)) };
        let details: String =
            words.margin.iter().chain(&words.details).map(|part| format!("<br>{}", escape(part))).collect();
        line([
            format!("{}{details}", escape(&metric.metric)),
            escape(&words.sides),
            escape(&words.change),
            escape(&words.interval),
            count(metric.change.n),
            verdict + &p,
        ])
    }

    fn names(&mut self, title: &str, all: &[SampleChange]) {
        if all.is_empty() {
            return;
        }
        let name = |sample: &SampleChange| {
            let flaky = if sample.is_flaky() { " (flaky)" } else { "" };
            format!("{}{flaky}", escape(&sample.id.to_string()))
        };
        let names: Vec<String> = all.iter().map(name).collect();
        self.put(&format!("\n**{title}** ({}): {}\n", all.len(), first_of(&names, NAMES_MAX)));
    }

    fn ranking(&mut self, ranking: &Ranking) {
        let Ok(rows) = &ranking.rows else { return };
        let level = ranking_level(rows).map_or_else(String::new, |level| format!(" ({level} each)"));
        let row = |(place, ranked): (usize, &calipers_compare::RankedRun)| {
            let numbers = Numbers::of(ranking.unit, ranked.figure.value.clone().unwrap_or(0.0));
            line([
                format!("{}", place + 1),
                escape(&ranked.run),
                escape(&estimate(&ranked.figure, ranking.unit)),
                escape(&interval(&ranked.figure, numbers)),
                format!("{}–{}", ranked.best_rank, ranked.worst_rank),
            ])
        };
        let rows: Vec<String> = rows.iter().enumerate().map(row).collect();
        let header =
            format!("| | run | {} | interval{level} | ranks |\n|--:|---|--:|---|---|", escape(&ranking.metric));
        self.table(&header, &rows);
    }

    /// What is folded away: why samples fail, flaky ones, categories, resources and caveats.
    fn details(&mut self) {
        let open = "\n<details><summary>Details</summary>\n";
        let begin = self.text.len();
        if !self.put(open) {
            return;
        }
        let opened = self.text.len();
        for comparison in &self.report.comparisons {
            self.samples(comparison);
            self.categories(comparison);
            let rows: Vec<String> = comparison.resources.iter().map(|metric| self.row(metric)).collect();
            let header = self.header();
            self.table(&header, &rows);
        }
        let rows: Vec<String> = caveats(self.report)
            .iter()
            .map(|(what, next)| line([escape(what), next.as_ref().map_or_else(String::new, |next| escape(next))]))
            .collect();
        self.table("| worth knowing | next step |\n|---|---|", &rows);
        if self.text.len() == opened {
            self.text.truncate(begin);
        } else {
            self.text += "\n</details>\n";
        }
    }

    fn samples(&mut self, comparison: &RunComparison) {
        let Ok(samples) = &comparison.samples else { return };
        let row = |what: &str, sample: &SampleChange| {
            line([
                what.to_owned(),
                escape(&sample.id.to_string()),
                escape(sample.category.as_deref().unwrap_or_default()),
                attempts(sample.baseline),
                attempts(sample.candidate),
                escape(&sample.reason.as_ref().map(shortcoming_sentence).unwrap_or_default()),
            ])
        };
        let only_flaky: Vec<&SampleChange> = samples.only_flaky().collect();
        let lists: [(&str, Vec<&SampleChange>); 3] = [
            ("failing", samples.newly_failing.iter().collect()),
            ("fixed", samples.newly_fixed.iter().collect()),
            ("flaky", only_flaky),
        ];
        let rows: Vec<String> =
            lists.iter().flat_map(|(what, all)| all.iter().take(ROWS_MAX).map(|one| row(what, one))).collect();
        self.table("| | sample | category | passed before | passed now | why |\n|---|---|---|--:|--:|---|", &rows);
        let (now, before) = (samples.flaky_candidate, samples.flaky_baseline);
        if now.repeated + before.repeated > 0 {
            self.put(&format!("\nFlaky samples: {} now, {} before.\n", flakiness(now), flakiness(before)));
        }
    }

    fn categories(&mut self, comparison: &RunComparison) {
        for metric in comparison.metrics.iter().filter(|metric| metric.categories.len() > 1) {
            let row = |found: &calipers_compare::CategoryChange| {
                let (change, interval) = category(found, metric);
                line([escape(&found.category), escape(&change), escape(&interval), count(found.change.n)])
            };
            let rows: Vec<String> = metric.categories.iter().map(row).collect();
            let header =
                format!("| {} by category | change | interval | n |\n|---|--:|---|--:|", escape(&metric.metric));
            self.table(&header, &rows);
        }
    }

    fn settings(&mut self) {
        let mut parts: Vec<String> = made_with(self.report).iter().map(|part| escape(part)).collect();
        for run in &self.report.provenance.runs {
            let about: Vec<String> = [&run.task, &run.model].into_iter().flatten().map(|part| escape(part)).collect();
            parts.extend((!about.is_empty()).then(|| format!("{}: {}", escape(&run.name), about.join(", "))));
        }
        put(&mut self.text, &format!("\n<sub>{}</sub>\n", parts.join(" · ")), LENGTH_MAX);
    }
}
