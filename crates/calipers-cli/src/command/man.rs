//! `calipers man`: one page holds all that can be asked for.

use crate::command::Arguments;
use crate::exit::Outcome;
use crate::failure::Failure;
use crate::terminal::print;
use clap::{Args, CommandFactory};
use std::io::{self, Write};

/// `calipers man`
#[derive(Args, Debug)]
pub(crate) struct Man {}

impl Man {
    pub(crate) fn run(self) -> Result<Outcome, Failure> {
        print(write_page)?;
        Ok(Outcome::Done)
    }
}

/// The page of the program, then a section for each command.
fn write_page(out: &mut dyn Write) -> io::Result<()> {
    let mut program = Arguments::command();
    program.build();
    let page = clap_mangen::Man::new(program.clone());
    page.render_title(out)?;
    page.render_name_section(out)?;
    page.render_synopsis_section(out)?;
    page.render_options_section(out)?;
    write_sections(out, "CALIPERS", &program)?;
    out.write_all(EXIT_STATUS.as_bytes())?;
    write_examples(out)?;
    page.render_version_section(out)
}

const EXIT_STATUS: &str = "\
.SH \"EXIT STATUS\"
.TP
.B 0
done; for \\fBgate\\fR and \\fBeval \\-\\-gate\\fR, the policy passes
.TP
.B 1
the policy fails; for \\fBcompare \\-\\-fail\\-on regression\\fR, a metric regressed
.TP
.B 2
a mistake in the usage, the configuration or the input
.TP
.B 3
undecided: the results do not show whether the policy holds, or nothing could be compared
";

/// What people do most, and the command for it.
const EXAMPLES: [(&str, &str); 7] = [
    ("Score the results of a run, with intervals", "calipers score results.jsonl"),
    (
        "Read a table whose columns have other names",
        "calipers score results.csv --columns id=question_id,score=is_correct",
    ),
    (
        "Judge a run by a policy, for a CI job",
        "calipers gate results.jsonl --policy policy.yaml --output junit=gate.xml",
    ),
    ("Compare a new run with an old one, sample by sample", "calipers compare new.jsonl old.jsonl"),
    ("Write an HTML report", "calipers report results.jsonl -o report.html"),
    ("Plan how many samples detect a change of 3 points", "calipers plan results.jsonl --difference 0.03"),
    ("Explain a metric", "calipers metrics latency_p95"),
];

fn write_examples(out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, ".SH EXAMPLES")?;
    for (what, command) in EXAMPLES {
        writeln!(out, "{what}:\n.PP\n.nf\n.RS\n{}\n.RE\n.fi\n.PP", command.replace('-', "\\-"))?;
    }
    Ok(())
}

/// A section for each command below this one, and for the commands below those.
fn write_sections(out: &mut dyn Write, name: &str, above: &clap::Command) -> io::Result<()> {
    let is_public = |command: &&clap::Command| !command.is_hide_set() && command.get_name() != "help";
    for command in above.get_subcommands().filter(is_public) {
        let name = format!("{name} {}", command.get_name().to_uppercase());
        writeln!(out, ".SH \"{name}\"")?;
        let page = clap_mangen::Man::new(command.clone());
        let mut text = Vec::new();
        page.render_description_section(&mut text)?;
        page.render_synopsis_section(&mut text)?;
        page.render_options_section(&mut text)?;
        // What would be a section of a separate page is part of a section here.
        out.write_all(String::from_utf8_lossy(&text).replace(".SH ", ".SS ").as_bytes())?;
        write_sections(out, &name, command)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[test]
    fn the_examples_can_be_typed() {
        for (_, command) in EXAMPLES {
            Arguments::try_parse_from(command.split(' ')).unwrap_or_else(|error| panic!("{command}: {error}"));
        }
    }
}
