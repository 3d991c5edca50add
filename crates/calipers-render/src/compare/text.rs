//! What changed between runs, on one screen: a line per metric first, then the samples, then what is worth knowing.

use crate::compare::words::{
    Words, attempts, category, caveats, change, decision, flakiness, incomparable, matching, ranking_level,
    restriction, settings as made_with,
};
use crate::numbers::{Scale as Numbers, count};
use crate::outcome_words::shortcoming_sentence;
use crate::results::caveats::known_thing;
use crate::screen::Screen;
use crate::text::{abridge, clean, left, right, shorten, shorten_apart, wrap};
use calipers_compare::{
    ChangeVerdict, CompareReport, DENOMINATOR, MetricComparison, Ranking, RunComparison, SampleChange, SampleChanges,
    SamplePair,
};
use calipers_core::{Figure, SampleId, Verdict};
use unicode_width::UnicodeWidthStr;

/// Lines of a list before the rest is counted.
const LINES_MAX: usize = 8;
/// Samples that are named before the rest is counted.
const NAMES_MAX: usize = 6;
/// Caveats before the rest is counted.
const CAVEATS_MAX: usize = 5;
/// As much of one text as is shown.
const TEXT_MAX: usize = 300;
/// As much of a name.
const NAME_MAX: usize = 28;

/// The comparison as text.
///
/// The first line is the verdict if the comparison is judged or nothing is known. Long lists are cut;
/// [`compare_json`](crate::compare_json) has everything.
#[must_use]
pub fn compare_text(report: &CompareReport, screen: Screen) -> String {
    let page = Page { report, screen };
    let mut sections = Vec::new();
    if report.is_judged || report.verdict == Verdict::Undecided {
        sections.push(page.verdict());
    }
    match &report.comparisons[..] {
        [one] => sections.extend(page.pair(one)),
        several => {
            sections.push(page.heading());
            sections.extend(page.metrics(several));
            sections.extend(several.iter().map(|comparison| page.summary(comparison)));
            sections.extend(report.rankings.iter().map(|ranking| page.ranking(ranking)));
        }
    }
    sections.extend([page.caveats(), page.settings()]);
    sections.retain(|section| !section.is_empty());
    screen.join_sections(&sections)
}

/// Parts in a row, and as many rows as they need; a part that is too long for a row is wrapped.
pub(crate) fn in_rows(parts: &[String], width: usize) -> Vec<String> {
    let mut rows: Vec<String> = Vec::new();
    for part in parts {
        let part = clean(&abridge(part, TEXT_MAX));
        match rows.last_mut() {
            Some(row) if row.width() + 3 + part.width() <= width => *row += &format!(" · {part}"),
            _ => rows.extend(wrap(&part, width)),
        }
    }
    rows
}

fn widest<'t>(texts: impl Iterator<Item = &'t str>) -> usize {
    texts.map(UnicodeWidthStr::width).max().unwrap_or(0)
}

/// A name from data, short enough for a column.
fn name(text: &str) -> String {
    shorten(&clean(&abridge(text, 200)), NAME_MAX)
}

/// Names from data that stand below one another. Different ones stay different.
fn column_names<T: ToString>(texts: impl Iterator<Item = T>) -> Vec<String> {
    let texts: Vec<String> = texts.map(|text| clean(&text.to_string())).collect();
    shorten_apart(&texts, NAME_MAX)
}

fn ids(all: &[SampleId]) -> String {
    let more = all.len().saturating_sub(NAMES_MAX);
    let shown = column_names(all.iter().take(NAMES_MAX)).join(", ");
    if more == 0 { shown } else { format!("{shown} and {} more", count(more as u64)) }
}

struct Page<'a> {
    report: &'a CompareReport,
    screen: Screen,
}

impl Page<'_> {
    fn bold(&self, text: &str) -> String {
        self.screen.style.bold(text)
    }

    fn dim(&self, text: &str) -> String {
        self.screen.style.dim(text)
    }

    /// Text after a start, with further lines below the text.
    fn hanging(&self, start: &str, text: &str) -> String {
        let margin = start.width();
        let text = clean(&abridge(text, TEXT_MAX));
        let lines = wrap(&text, self.screen.width.saturating_sub(margin).max(24));
        format!("{start}{}\n", lines.join(&format!("\n{}", " ".repeat(margin))))
    }

    fn title(&self, text: &str) -> String {
        wrap(&clean(text), self.screen.width).iter().map(|line| self.bold(line) + "\n").collect()
    }

    fn verdict(&self) -> String {
        let verdict = self.report.verdict;
        let word = verdict.name().to_uppercase();
        let margin = " ".repeat(word.len() + 2);
        let text = clean(&abridge(&decision(self.report), TEXT_MAX));
        let lines = wrap(&text, self.screen.width.saturating_sub(margin.len()).max(24));
        let lines: Vec<String> = lines.iter().map(|line| self.bold(line)).collect();
        format!("{}  {}\n", self.screen.style.verdict(verdict, &word), lines.join(&format!("\n{margin}")))
    }

    /// What is compared, and what of it.
    fn about(&self, comparison: &RunComparison) -> String {
        let short = |text: &str| shorten(&clean(text), self.screen.width / 2 - 8);
        let mut text = self.title(&format!("{} against {}", short(&comparison.candidate), short(&comparison.baseline)));
        text += &self.restriction_line();
        let parts = matching(comparison);
        in_rows(&parts, self.screen.width - 2).iter().for_each(|row| text += &format!("  {row}\n"));
        for (only, whose) in [
            (&comparison.matching.only_candidate, &comparison.candidate),
            (&comparison.matching.only_baseline, &comparison.baseline),
        ] {
            if !only.is_empty() && comparison.problem.is_none() {
                text += &self.hanging(&format!("  only in {}: ", short(whose)), &ids(only));
            }
        }
        text
    }

    fn restriction_line(&self) -> String {
        restriction(self.report).map_or_else(String::new, |restriction| self.hanging("  ", &restriction))
    }

    /// Two runs, all that there is to say.
    fn pair(&self, comparison: &RunComparison) -> Vec<String> {
        let lines = |metrics: &[MetricComparison]| {
            self.lines(&metrics.iter().map(|metric| (metric.metric.clone(), metric)).collect::<Vec<_>>())
        };
        let mut sections = Vec::new();
        // Where nothing can be told of any metric, the verdict says why.
        if comparison.problem.is_none() {
            sections.push(lines(&comparison.metrics));
        }
        sections.push(self.about(comparison));
        match &comparison.samples {
            Ok(samples) => sections.extend(self.samples(samples)),
            Err(why) if comparison.problem.is_none() => {
                sections.push(self.hanging("newly failing and fixed: not known, ", &incomparable(why)));
            }
            Err(_) => {}
        }
        sections.push(self.largest(comparison));
        sections.push(self.categories(comparison));
        if !comparison.resources.is_empty() {
            sections.push(format!(
                "{}\n{}",
                self.bold("time, tokens and cost of an attempt"),
                lines(&comparison.resources)
            ));
        }
        sections
    }

    /// A line per metric, and below it what else there is to say.
    fn lines(&self, rows: &[(String, &MetricComparison)]) -> String {
        let words: Vec<Words> = rows.iter().map(|(_, metric)| Words::of(metric, &self.report.settings)).collect();
        let labels = column_names(rows.iter().map(|(label, _)| label));
        let is_told = |words: &&Words| !words.change.is_empty();
        let widths = [
            widest(labels.iter().map(String::as_str)),
            widest(words.iter().filter(is_told).map(|words| &*words.change)),
            widest(words.iter().filter(is_told).map(|words| &*words.interval)),
        ];
        let start = widths.iter().sum::<usize>() + 6;
        let inline = |words: &Words| format!("{} ({})", words.verdict, words.p);
        let fits = words
            .iter()
            .filter(|words| is_told(words) && !words.p.is_empty())
            .all(|words| start + inline(words).width() <= self.screen.width);
        let mut text = String::new();
        for ((label, words), (_, metric)) in labels.iter().zip(&words).zip(rows) {
            if words.change.is_empty() {
                text += &self.hanging(&format!("{}  ", left(label, widths[0])), &words.verdict);
                continue;
            }
            let numbers = format!("{}  {}", right(&words.change, widths[1]), left(&words.interval, widths[2]));
            let verdict = self.paint_verdict(metric.verdict, &words.verdict);
            let begin = format!("{}  {numbers}  ", left(label, widths[0]));
            if metric.verdict == ChangeVerdict::Unknown {
                text += &self.hanging(&begin, &words.verdict);
            } else if fits && !words.p.is_empty() {
                text += &format!("{begin}{verdict} ({})\n", words.p);
            } else {
                text += &format!("{begin}{verdict}\n");
            }
            let mut parts: Vec<String> = Vec::new();
            parts.extend((!fits && !words.p.is_empty()).then(|| words.p.clone()));
            parts.extend((!words.sides.is_empty()).then(|| words.sides.clone()));
            parts.push(format!("n {}", count(metric.change.n)));
            let named =
                |figure: &Figure| figure.details.iter().find(|(name, _)| *name == DENOMINATOR).map(|found| found.1);
            if let Some((then, now)) = named(&metric.baseline).zip(named(&metric.candidate)) {
                parts.push(format!("shares of {} and {}", count(then as u64), count(now as u64)));
            }
            parts.extend(words.margin.clone());
            // Of several runs, the rest is in JSON.
            if self.report.comparisons.len() == 1 {
                parts.extend(words.details.iter().cloned());
            }
            for row in in_rows(&parts, self.screen.width.saturating_sub(2)) {
                text += &format!("  {}\n", self.dim(&row));
            }
        }
        text
    }

    fn paint_verdict(&self, change: ChangeVerdict, word: &str) -> String {
        match change {
            ChangeVerdict::Improved => self.screen.style.verdict(Verdict::Pass, word),
            ChangeVerdict::Regressed => self.screen.style.verdict(Verdict::Fail, word),
            ChangeVerdict::Changed => self.screen.style.verdict(Verdict::Undecided, word),
            ChangeVerdict::WithinNoise | ChangeVerdict::NoChangeDetected | ChangeVerdict::Unknown => word.to_owned(),
        }
    }

    fn samples(&self, samples: &SampleChanges) -> Vec<String> {
        let mut sections =
            vec![self.flips("newly failing", &samples.newly_failing), self.flips("newly fixed", &samples.newly_fixed)];
        let (now, before) = (samples.flaky_candidate, samples.flaky_baseline);
        if now.flaky + before.flaky > 0 {
            let title = format!("flaky: {} samples now, {} before", flakiness(now), flakiness(before));
            let rest: Vec<&SampleChange> = samples.only_flaky().collect();
            sections.push(self.title(&title) + &self.changes(&rest, false));
        }
        let mut still = vec![
            format!("still passing {}", count(samples.still_passing)),
            format!("still failing {}", count(samples.still_failing)),
        ];
        still.extend((samples.unknown > 0).then(|| format!("unknown in one run {}", count(samples.unknown))));
        sections.push(in_rows(&still, self.screen.width).iter().map(|row| format!("{row}\n")).collect());
        sections
    }

    fn flips(&self, title: &str, all: &[SampleChange]) -> String {
        if all.is_empty() {
            return String::new();
        }
        self.title(&format!("{title} ({})", count(all.len() as u64)))
            + &self.changes(&all.iter().collect::<Vec<_>>(), true)
    }

    /// Samples with the attempts that passed, before and now, and why one did not.
    fn changes(&self, all: &[&SampleChange], with_reason: bool) -> String {
        let shown = &all[..all.len().min(LINES_MAX)];
        let names = column_names(shown.iter().map(|sample| &sample.id));
        let rates: Vec<String> = shown
            .iter()
            .map(|sample| format!("{} → {}", attempts(sample.baseline), attempts(sample.candidate)))
            .collect();
        let widths = [widest(names.iter().map(String::as_str)), widest(rates.iter().map(String::as_str))];
        let mut text = String::new();
        for ((sample, id), rate) in shown.iter().zip(&names).zip(&rates) {
            let start = format!("  {}  {}  ", left(id, widths[0]), left(rate, widths[1]));
            let category = sample.category.as_ref().map(ToString::to_string);
            let flaky = (with_reason && sample.is_flaky()).then(|| "flaky".to_owned());
            let about: Vec<String> = category.into_iter().chain(flaky).collect();
            let reason = sample.reason.as_ref().filter(|_| with_reason).map(shortcoming_sentence);
            let words: Vec<String> =
                [Some(about.join(", ")), reason].into_iter().flatten().filter(|words| !words.is_empty()).collect();
            let words = words.join(": ");
            text += &if words.is_empty() { format!("{}\n", start.trim_end()) } else { self.hanging(&start, &words) };
        }
        if all.len() > shown.len() {
            text += &format!("  and {} more{}\n", count((all.len() - shown.len()) as u64), self.screen.where_all());
        }
        text
    }

    /// The largest changes of the first metric that is a mean over samples, unless passes and failures say it all.
    fn largest(&self, comparison: &RunComparison) -> String {
        let Some(metric) = comparison.metrics.iter().find(|metric| !metric.pairs.is_empty()) else {
            return String::new();
        };
        let largest = metric.largest(NAMES_MAX);
        if metric.discordance.is_some() || largest.is_empty() {
            return String::new();
        }
        let numbers = |pair: &SamplePair| Numbers::of(metric.unit, pair.candidate.max(pair.baseline));
        let names = column_names(largest.iter().map(|pair| &pair.id));
        let changes: Vec<String> =
            largest.iter().map(|pair| numbers(pair).of_differences().change(pair.difference())).collect();
        let widths = [widest(names.iter().map(String::as_str)), widest(changes.iter().map(String::as_str))];
        let mut text = self.title(&format!("largest changes of {}", name(&metric.metric)));
        for ((pair, id), change) in largest.iter().zip(&names).zip(&changes) {
            let sides = format!("{} → {}", numbers(pair).text(pair.baseline), numbers(pair).text(pair.candidate));
            text += &format!("  {}  {}  {sides}\n", left(id, widths[0]), right(change, widths[1]));
        }
        text
    }

    /// The change by category, of the first metric that has it.
    fn categories(&self, comparison: &RunComparison) -> String {
        let Some(metric) = comparison.metrics.iter().find(|metric| metric.categories.len() > 1) else {
            return String::new();
        };
        let shown = &metric.categories[..metric.categories.len().min(LINES_MAX)];
        let names = column_names(shown.iter().map(|found| &found.category));
        let cells: Vec<(String, String)> = shown.iter().map(|found| category(found, metric)).collect();
        let widths = [
            widest(names.iter().map(String::as_str)),
            widest(cells.iter().map(|(change, _)| &**change)),
            widest(cells.iter().map(|(_, interval)| &**interval)),
        ];
        let mut text = self.title(&format!("{} by category (to look at: not tested)", name(&metric.metric)));
        for ((found, name), (change, interval)) in shown.iter().zip(&names).zip(&cells) {
            let numbers = format!("{}  {}", right(change, widths[1]), left(interval, widths[2]));
            text += &format!("  {}  {numbers}  n {}\n", left(name, widths[0]), count(found.change.n));
        }
        if metric.categories.len() > shown.len() {
            text += &format!(
                "  and {} more{}\n",
                count((metric.categories.len() - shown.len()) as u64),
                self.screen.where_all()
            );
        }
        text
    }

    fn heading(&self) -> String {
        let candidate = self.report.comparisons.first().map_or("", |comparison| &comparison.candidate);
        let others = self.report.comparisons.len();
        let title = format!("{} against {others} runs", shorten(&clean(candidate), self.screen.width / 2));
        self.title(&title) + &self.restriction_line()
    }

    /// Each metric against every baseline.
    fn metrics(&self, comparisons: &[RunComparison]) -> Vec<String> {
        let metrics = comparisons.first().map_or(0, |comparison| comparison.metrics.len());
        let resources = comparisons.iter().flat_map(|comparison| &comparison.resources);
        let mut spent: Vec<&str> = Vec::new();
        resources.for_each(|metric| {
            if !spent.contains(&&*metric.metric) {
                spent.push(&metric.metric);
            }
        });
        let table = |title: &str, rows: Vec<(String, &MetricComparison)>| self.title(title) + &self.lines(&rows);
        let of_metric = |place: usize| {
            let rows = comparisons.iter().map(|comparison| (comparison.baseline.clone(), &comparison.metrics[place]));
            table(&name(&comparisons[0].metrics[place].metric), rows.collect())
        };
        let of_resource = |field: &&str| {
            let find =
                |comparison: &'_ RunComparison| comparison.resources.iter().position(|metric| metric.metric == *field);
            let rows = comparisons.iter().filter_map(|comparison| {
                let place = find(comparison)?;
                Some((comparison.baseline.clone(), &comparison.resources[place]))
            });
            table(field, rows.collect())
        };
        (0..metrics).map(of_metric).chain(spent.iter().map(of_resource)).collect()
    }

    /// One baseline of several, in short.
    fn summary(&self, comparison: &RunComparison) -> String {
        let mut text = self.title(&format!("against {}", shorten(&clean(&comparison.baseline), self.screen.width - 8)));
        let mut parts = matching(comparison);
        if let Ok(samples) = &comparison.samples {
            for (title, all) in [("newly failing", &samples.newly_failing), ("newly fixed", &samples.newly_fixed)] {
                let names: Vec<SampleId> = all.iter().map(|sample| sample.id.clone()).collect();
                let named = if names.is_empty() { "none".to_owned() } else { ids(&names) };
                parts.push(format!("{title} ({}): {named}", count(all.len() as u64)));
            }
        }
        parts.extend(comparison.problem.as_ref().map(incomparable));
        in_rows(&parts, self.screen.width - 2).iter().for_each(|row| text += &format!("  {row}\n"));
        text
    }

    fn ranking(&self, ranking: &Ranking) -> String {
        let rows = match &ranking.rows {
            Ok(rows) => rows,
            Err(why) => return self.hanging(&format!("no ranking by {}: ", name(&ranking.metric)), &incomparable(why)),
        };
        let title = format!("ranking by {} over the samples that all have", name(&ranking.metric));
        let mut text = self.title(&match ranking_level(rows) {
            Some(level) => format!("{title}, intervals at {level} each"),
            None => title,
        });
        let names = column_names(rows.iter().map(|row| &row.run));
        let width = widest(names.iter().map(String::as_str));
        for (name, row) in names.iter().zip(rows) {
            let rank = match (row.best_rank, row.worst_rank) {
                (best, worst) if best == worst => format!("{best}"),
                (best, worst) => format!("{best}–{worst}"),
            };
            let numbers = Numbers::of(ranking.unit, row.figure.value.clone().unwrap_or(0.0));
            let estimate = crate::gate::words::estimate(&row.figure, ranking.unit);
            let interval = crate::gate::words::interval(&row.figure, numbers);
            text += &format!(
                "  {}  {}  {}  {interval}  n {}\n",
                left(&rank, 5),
                left(name, width),
                right(&estimate, 7),
                count(row.figure.n)
            );
        }
        text
    }

    fn caveats(&self) -> String {
        let all = caveats(self.report);
        if all.is_empty() {
            return String::new();
        }
        let mut text = format!("{}\n", self.bold("worth knowing"));
        for (what, next) in all.iter().take(CAVEATS_MAX) {
            let next = next.as_ref().map(|next| abridge(next, TEXT_MAX));
            text += &known_thing(&abridge(what, TEXT_MAX), next.as_deref(), self.screen);
        }
        if all.len() > CAVEATS_MAX {
            text += &format!("  and {} more{}\n", all.len() - CAVEATS_MAX, self.screen.where_all());
        }
        text
    }

    fn settings(&self) -> String {
        in_rows(&made_with(self.report), self.screen.width).iter().map(|row| self.dim(row) + "\n").collect()
    }
}

/// The change of a metric for a plot, and how it is written.
pub(crate) fn plot_point(metric: &MetricComparison) -> Option<(f64, Option<f64>, Option<f64>, String)> {
    let value = metric.change.value.clone().ok()?;
    let interval = metric.change.interval?;
    let (shown, _) = change(&metric.change, metric.scale, metric.unit);
    Some((value, interval.lower, interval.upper, shown))
}
