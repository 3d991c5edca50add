//! A judge as a comment on a pull request.
//!
//! Text from data is escaped, as in the comment of a verdict, and no block begins with it.

use super::words::{
    ASSUMPTION, FigureRow, agreement, coverage, describe_unjoined, group_cells, group_heads, halving, heading,
    interval_head, method, rates,
};
use crate::gate::markdown::{LENGTH_MAX, TABLE_MAX, escape, line, put, table};
use crate::numbers::count;
use crate::words::{caveat_next_step, caveat_sentence};
use calipers_compare::labelled::JudgeReport;

/// The first line of the comment, by which it is found and updated in place.
pub const JUDGE_MARKER: &str = "<!-- calipers judge -->";

/// The report as Markdown: less than 65,000 characters, with [`JUDGE_MARKER`] first.
#[must_use]
pub fn judge_markdown(report: &JudgeReport) -> String {
    let mut page = format!("{JUDGE_MARKER}\n> [!NOTE]\n> {}\n", escape(&heading(report)));
    put(&mut page, &format!(">\n> {}\n", escape(&coverage(report))), TABLE_MAX);
    let header = format!("| | value | {} | n |\n|---|--:|---|--:|", interval_head(report));
    table(&mut page, &header, &cells(&rates(report)), TABLE_MAX);
    if let Some(sentence) = halving(report) {
        put(&mut page, &format!("\n{}\n", escape(&sentence)), TABLE_MAX);
    }
    table(&mut page, &header, &cells(&agreement(&report.all, report)), TABLE_MAX);
    if !report.groups.is_empty() {
        let heads = line(group_heads(report).iter().map(|head| escape(head)));
        let header = format!("{heads}\n|---|--:|--:|--:|--:|---|");
        let group =
            |(name, group): &(String, _)| line(group_cells(name, group, report).iter().map(|cell| escape(cell)));
        let rows: Vec<String> = report.groups.iter().map(group).collect();
        table(&mut page, &header, &rows, TABLE_MAX);
    }
    let mut known = describe_unjoined(report);
    known.extend(report.caveats.iter().map(|caveat| match caveat_next_step(caveat) {
        Some(step) => format!("{}: {step}", caveat_sentence(caveat)),
        None => caveat_sentence(caveat),
    }));
    if !known.is_empty() {
        put(&mut page, "\n**Worth knowing**\n\n", LENGTH_MAX);
    }
    for sentence in known {
        put(&mut page, &format!("- {}\n", escape(&sentence)), LENGTH_MAX);
    }
    put(
        &mut page,
        &format!("\n{}\n\n<sub>{} · {}</sub>\n", escape(ASSUMPTION), escape(&method(report)), escape(&report.tool)),
        LENGTH_MAX,
    );
    page
}

fn cells(rows: &[FigureRow]) -> Vec<String> {
    let cells = |row: &FigureRow| line([escape(row.name), escape(&row.value), escape(&row.interval), count(row.n)]);
    rows.iter().map(cells).collect()
}
