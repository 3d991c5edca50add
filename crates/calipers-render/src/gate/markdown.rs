//! A verdict as a comment on a pull request, in GitHub's Markdown: the verdict, what did not pass, and the rest folded
//! away.
//!
//! Text from data is escaped, so that it can neither lay out the comment nor mention, link or embed anything. No block
//! begins with such text, so that what has a meaning only at the beginning of a line needs no escape.

use crate::gate::cells::Cells;
use crate::gate::reason_words::gate_decision;
use crate::gate::words::{
    baseline, changes, coverage, estimate, interval, interval_header, missing_from, provenance, remarks, restriction,
    scenarios,
};
use crate::numbers::{Scale, number};
use crate::outcome_words::{outcome_word, shortcoming_sentence};
use crate::text::{abridge, clean};
use crate::words::{caveat_next_step, caveat_sentence, undefined_sentence};
use calipers_core::{ScenarioOutcome, Unit, Verdict, defuse, pluralize};
use calipers_gate::policy::Level;
use calipers_gate::{CompositeResult, GateReport, GateResult, ScenarioCheck};

/// The first line of the comment, by which it is found and updated in place.
pub const GATE_MARKER: &str = "<!-- calipers gate -->";

/// GitHub takes 65,536 characters; bytes are counted here, and there are at least as many.
pub(crate) const LENGTH_MAX: usize = 60_000;
/// Of that, what the lists before the table of all gates may take.
const FIRST_MAX: usize = 30_000;
/// What a table may take beyond that, so that what follows it has room.
pub(crate) const TABLE_MAX: usize = 50_000;
/// As much of one text as is shown.
const TEXT_MAX: usize = 300;
/// Scenarios that are named before the rest is counted.
const NAMES_MAX: usize = 10;

/// The verdict as Markdown: less than 65,000 characters, with [`GATE_MARKER`] first.
#[must_use]
pub fn gate_markdown(report: &GateReport) -> String {
    let mut page = Page { text: format!("{GATE_MARKER}\n"), report };
    page.verdict();
    page.missed_gates();
    page.required_scenarios();
    page.changes();
    page.coverage();
    page.details();
    page.provenance();
    defuse(&page.text, false).into_owned()
}

struct Page<'a> {
    text: String,
    report: &'a GateReport,
}

impl Page<'_> {
    fn put(&mut self, text: &str, max: usize) -> bool {
        put(&mut self.text, text, max)
    }

    fn table(&mut self, header: &str, rows: &[String], max: usize) {
        table(&mut self.text, header, rows, max);
    }

    fn verdict(&mut self) {
        let report = self.report;
        let alert = match report.verdict {
            Verdict::Fail => "CAUTION",
            Verdict::Undecided => "WARNING",
            Verdict::Pass if report.gates.iter().any(|gate| gate.verdict != Verdict::Pass) => "NOTE",
            Verdict::Pass => "TIP",
        };
        let word = report.verdict.name().to_uppercase();
        self.text += &format!("> [!{alert}]\n> **{word}**: {}\n", escape(&gate_decision(report)));
        if let Some(restriction) = restriction(report) {
            self.text += &format!(">\n> **{}**\n", escape(&restriction));
        }
    }

    fn missed_gates(&mut self) {
        let report = self.report;
        let rows: Vec<String> =
            report.gates.iter().filter(|gate| gate.verdict != Verdict::Pass).map(|gate| row(gate, report)).collect();
        self.table(&gates_header(report), &rows, FIRST_MAX);
    }

    fn required_scenarios(&mut self) {
        let missed = |check: &&ScenarioCheck| check.outcome != Some(ScenarioOutcome::Passed);
        let missed: Vec<String> = self.report.required.iter().filter(missed).map(required_scenario).collect();
        self.names("Required scenarios that did not pass", &missed);
    }

    fn changes(&mut self) {
        let Some(found) = &self.report.baseline else { return };
        for (title, names) in changes(found) {
            let names: Vec<String> = names.iter().map(|name| escape(name)).collect();
            let title = match title {
                "newly failing" => "Newly failing",
                "newly passing" => "Newly passing",
                "added" => "Not in the baseline",
                _ => "Only in the baseline",
            };
            self.names(title, &names);
        }
    }

    /// Names in one paragraph, if there are any.
    fn names(&mut self, title: &str, names: &[String]) {
        if names.is_empty() {
            return;
        }
        let text = format!("\n**{title}** ({}): {}\n", names.len(), crate::gate::words::first_of(names, NAMES_MAX));
        if !self.put(&text, FIRST_MAX) {
            self.put(&format!("\n**{title}**: {}\n", names.len()), LENGTH_MAX);
        }
    }

    fn coverage(&mut self) {
        let found = &self.report.coverage;
        self.text += &format!("\n{}: {}\n", scenarios(found), coverage(found).join(", "));
        let missing: Vec<String> = found.missing.iter().map(|id| escape(id)).collect();
        let title = missing_from(found);
        let mut letters = title.chars();
        let title: String = letters.next().map(|first| first.to_ascii_uppercase()).into_iter().chain(letters).collect();
        self.names(&escape(&title), &missing);
    }

    fn details(&mut self) {
        let report = self.report;
        let open = "\n<details><summary>";
        let is_shown = report.gates.iter().all(|gate| gate.verdict != Verdict::Pass);
        self.text += &if is_shown {
            format!("{open}Details</summary>\n")
        } else {
            format!("{open}{}</summary>\n", pluralize(report.gates.len(), "gate"))
        };
        let begin = self.text.len();
        if !is_shown {
            let rows: Vec<String> = report.gates.iter().map(|gate| row(gate, report)).collect();
            self.table(&gates_header(report), &rows, TABLE_MAX);
        }
        self.categories();
        for composite in &report.composites {
            self.composite(composite);
        }
        self.differences();
        self.caveats();
        if self.text.len() == begin {
            let end = self.text.rfind(open).expect("it was just opened");
            self.text.truncate(end);
        } else {
            self.text += "\n</details>\n";
        }
    }

    fn categories(&mut self) {
        let without_gate = self.report.categories.iter().filter(|category| category.gate.is_none());
        let rows: Vec<String> = without_gate
            .map(|category| {
                let weight = category.weight.map_or_else(String::new, |weight| weight.to_string());
                let figure = &category.figure;
                let numbers =
                    [estimate(figure, Unit::Rate), interval(figure, Scale::Percent), figure.n.to_string(), weight];
                line([escape(&category.category)].into_iter().chain(numbers.iter().map(|cell| escape(cell))))
            })
            .collect();
        self.table("| category | pass rate | interval | n | weight |\n|---|--:|---|--:|--:|", &rows, TABLE_MAX);
    }

    fn composite(&mut self, composite: &CompositeResult) {
        let title = format!(
            "**{}**: {} {}",
            escape(&composite.name),
            escape(&estimate(&composite.figure, Unit::Plain)),
            escape(&interval(&composite.figure, Scale::Number))
        );
        if !self.put(&format!("\n{}\n", title.trim_end()), TABLE_MAX) {
            return;
        }
        let rows: Vec<String> = composite
            .terms
            .iter()
            .map(|term| line([escape(&term.text), term.value.map_or_else(|| "–".to_owned(), number)]))
            .collect();
        self.table("| term | adds |\n|---|--:|", &rows, TABLE_MAX);
    }

    fn differences(&mut self) {
        let Some(found) = &self.report.baseline else { return };
        let rows: Vec<String> = found
            .differences
            .iter()
            .map(|difference| {
                let scale = Scale::of(difference.unit, difference.baseline);
                let figure = &difference.difference;
                let change = match &figure.value {
                    Ok(change) => scale.of_differences().signed(*change),
                    Err(why) => format!("undefined: {}", undefined_sentence(why)),
                };
                let now = difference.candidate.map_or_else(|| "–".to_owned(), |now| scale.text(now));
                let interval = interval(figure, scale.of_differences());
                let cells = [&*difference.metric, &scale.text(difference.baseline), &now, &change, &interval];
                line(cells.map(escape))
            })
            .collect();
        if !rows.is_empty() {
            self.put(&format!("\nAgainst {}:\n", escape(&baseline(found))), TABLE_MAX);
        }
        self.table("| metric | baseline | now | change | interval |\n|---|--:|--:|--:|---|", &rows, TABLE_MAX);
    }

    fn caveats(&mut self) {
        let of_run = self.report.caveats.iter().map(|caveat| (caveat, Vec::new()));
        let rows: Vec<String> = of_run
            .chain(self.report.gate_caveats())
            .map(|(caveat, gates)| {
                let (what, next) = (caveat_sentence(caveat), caveat_next_step(caveat));
                let gates: Vec<String> = gates.iter().map(|gate| escape(gate)).collect();
                let gates = crate::gate::words::first_of(&gates, NAMES_MAX);
                line([escape(&what), next.map_or_else(String::new, |next| escape(&next)), gates])
            })
            .collect();
        self.table("| worth knowing | next step | gates |\n|---|---|---|", &rows, TABLE_MAX);
    }

    fn provenance(&mut self) {
        let parts: Vec<String> = provenance(self.report).iter().map(|part| escape(part)).collect();
        self.put(&format!("\n<sub>{}</sub>\n", parts.join(" · ")), LENGTH_MAX);
    }
}

/// Appends unless the page would be longer than it may be.
pub(crate) fn put(page: &mut String, text: &str, max: usize) -> bool {
    let fits = page.len() + text.len() <= max;
    if fits {
        *page += text;
    }
    fits
}

/// Rows under a header, as many as fit, and how many more there are.
pub(crate) fn table(page: &mut String, header: &str, rows: &[String], max: usize) {
    if rows.is_empty() || !put(page, &format!("\n{header}\n"), max) {
        return;
    }
    let shown = rows.iter().take_while(|row| put(page, &format!("{row}\n"), max)).count();
    if shown < rows.len() {
        *page += &format!("\nand {} more\n", rows.len() - shown);
    }
}

fn gates_header(report: &GateReport) -> String {
    let interval = interval_header(report);
    format!("| gate | estimate | {interval} | threshold | margin | n | verdict |\n|---|--:|---|---|--:|--:|---|")
}

fn row(gate: &GateResult, report: &GateReport) -> String {
    let cells = Cells::of(gate);
    let remarks: String = remarks(gate, report).iter().map(|remark| format!("<br>{}", escape(remark))).collect();
    let verdict = match (gate.verdict, gate.level) {
        (Verdict::Pass, _) => "pass".to_owned(),
        (verdict, Level::Blocking) => format!("**{verdict}**"),
        (verdict, Level::Warning) => format!("{verdict} (warning)"),
    };
    // Words go where the estimate would be, and the cells that follow from it stay empty.
    let mut estimate = if cells.words.is_empty() { cells.estimate.clone() } else { cells.words.clone() };
    if !cells.without_weights.is_empty() {
        estimate += &format!(" ({} unweighted)", cells.without_weights);
    }
    line([
        format!("{}{remarks}", escape(&cells.name)),
        escape(&estimate),
        escape(&cells.interval),
        escape(cells.requirement()),
        escape(&cells.margin),
        cells.n.clone(),
        verdict,
    ])
}

/// A row of a table.
pub(crate) fn line(cells: impl IntoIterator<Item = String>) -> String {
    cells.into_iter().fold("|".to_owned(), |line, cell| format!("{line} {cell} |"))
}

/// A required scenario that did not pass, and why.
fn required_scenario(check: &ScenarioCheck) -> String {
    let mut text = format!("{} {}", escape(&check.id), outcome_word(check.outcome));
    if check.passed.1 > 1 {
        text += &format!(" ({} of {} attempts passed)", check.passed.0, check.passed.1);
    }
    if let Some(reason) = &check.reason {
        text += &format!(": {}", escape(&shortcoming_sentence(reason)));
    }
    text
}

/// Text from data, so that it is shown as it is.
///
/// A mention, a reference to an issue and a link are found in what is shown, so that an escape does not help: a space
/// without width breaks them. A dollar sign would begin a formula.
pub(crate) fn escape(text: &str) -> String {
    const BREAK: &str = "&#8203;";
    let text = text.replace(['\r', '\n', '\t'], " ");
    let text = clean(&abridge(&text, TEXT_MAX));
    let mut escaped = String::with_capacity(text.len());
    let mut before = ' ';
    let mut letters = text.chars().peekable();
    while let Some(c) = letters.next() {
        let is_inside = before.is_alphanumeric() && letters.peek().is_some_and(|next| next.is_alphanumeric());
        match c {
            '&' => escaped += "&amp;",
            '<' => escaped += "&lt;",
            '>' => escaped += "&gt;",
            '$' => escaped += "&#36;",
            // Within a word, as in `safety_rate`, it has no meaning.
            '_' if is_inside => escaped.push('_'),
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '~' => escaped.extend(['\\', c]),
            '@' | '#' => escaped.extend([&c.to_string(), BREAK]),
            // `https://`, `www.` and `GH-1`.
            ':' if letters.peek() == Some(&'/') => escaped.extend([":", BREAK]),
            '.' if ends_with(&escaped, "www") => escaped.extend([BREAK, "."]),
            '-' if ends_with(&escaped, "gh") && letters.peek().is_some_and(char::is_ascii_digit) => {
                escaped.extend([BREAK, "-"]);
            }
            c => escaped.push(c),
        }
        before = c;
    }
    escaped
}

fn ends_with(text: &str, end: &str) -> bool {
    let tail = text.len().checked_sub(end.len()).and_then(|at| text.get(at..));
    tail.is_some_and(|tail| tail.eq_ignore_ascii_case(end))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_from_data_is_shown_as_it_is() {
        for (text, want) in [
            ("safety_rate ≥ 100 %", "safety_rate ≥ 100 %"),
            ("_a_ *b* `c` ~d~", "\\_a\\_ \\*b\\* \\`c\\` \\~d\\~"),
            ("a|b\n# c", "a\\|b #&#8203; c"),
            ("<script>&amp;", "&lt;script&gt;&amp;amp;"),
            ("@everyone #12 GH-3", "@&#8203;everyone #&#8203;12 GH&#8203;-3"),
            ("[x](https://e.org) www.e.org", "\\[x\\](https:&#8203;//e.org) www&#8203;.e.org"),
            ("raw.json high-level", "raw.json high-level"),
            ("costs $1 and $2", "costs &#36;1 and &#36;2"),
            ("\u{1b}[31m\u{202e}", "\u{fffd}\\[31m\u{fffd}"),
        ] {
            assert_eq!(escape(text), want);
        }
    }
}
