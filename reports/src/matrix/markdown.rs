//! The matrix as a CI job's summary: counts first, then what went wrong, then everything, folded.
//!
//! GitHub cuts what is longer than a megabyte, so the full table ends before that and says so.

use std::fmt::Write as _;

use super::{ANY_RULE, Matrix, MutantResult};
use crate::markdown::escape::{Place, code, prose};

/// Bytes after which the full table ends.
const ROOM: usize = 800 * 1024;

/// The matrix as Markdown.
pub fn matrix_markdown(matrix: &Matrix) -> String {
    let summary = &matrix.summary;
    let mut out = String::new();
    // Writing to a string cannot fail.
    let _ = writeln!(
        out,
        "# Sabotage: {} of {} mutants killed\n\n\
         {} survived, {} with undeclared collateral; specificity {}: so many fail their own rule and nothing \
         undeclared.\n",
        summary.killed,
        summary.mutants,
        summary.survived,
        summary.with_undeclared_collateral,
        summary.specificity()
    );
    let profiles = matrix.profiles();
    out.push_str("| profile | mutants | killed | survived | undeclared collateral | specificity |\n");
    out.push_str("|---|---:|---:|---:|---:|---:|\n");
    for (name, _, own) in &profiles {
        let _ = writeln!(
            out,
            "| {} | {} | {} | {} | {} | {} |",
            code(name, Place::Cell),
            own.mutants,
            own.killed,
            own.survived,
            own.with_undeclared_collateral,
            own.specificity()
        );
    }
    out.push('\n');
    listed(&mut out, "Survived", matrix, |mutant| !mutant.killed);
    listed(&mut out, "Undeclared collateral", matrix, |mutant| !mutant.undeclared_collateral.is_empty());
    by_jobs(&mut out, matrix);
    let _ = writeln!(out, "<details>\n<summary>All {} mutants</summary>\n", summary.mutants);
    for (name, mutants, _) in &profiles {
        let _ = writeln!(out, "## {}\n\n{HEADER}", code(name, Place::Line));
        for mutant in mutants {
            if out.len() > ROOM {
                out.push_str("\nThe rest is in the JSON.\n\n</details>\n");
                return out;
            }
            row(&mut out, mutant);
        }
        out.push('\n');
    }
    out.push_str("</details>\n");
    out
}

const HEADER: &str = "| rule | mutant | an implementation that … | killed | collateral | declared |\n\
                      |---|---|---|---|---|---|";

/// Those of one kind, whatever their profile.
fn listed(out: &mut String, title: &str, matrix: &Matrix, which: fn(&MutantResult) -> bool) {
    let own: Vec<&MutantResult> = matrix.mutants.iter().filter(|mutant| which(mutant)).collect();
    if own.is_empty() {
        return;
    }
    let _ = writeln!(out, "## {title}\n\n{HEADER}");
    for mutant in own {
        row(out, mutant);
    }
    out.push('\n');
}

/// Those that broke other rules with another number of scenarios at a time.
fn by_jobs(out: &mut String, matrix: &Matrix) {
    let mut rows = matrix
        .mutants
        .iter()
        .flat_map(|mutant| mutant.by_jobs.iter().map(move |broken| (mutant, broken)))
        .peekable();
    if rows.peek().is_none() {
        return;
    }
    out.push_str(
        "## Other rules with another number of scenarios at a time\n\n\
         | rule | mutant | at a time | rules that failed |\n|---|---|---:|---|\n",
    );
    for (mutant, broken) in rows {
        let rules: Vec<String> = broken.rules.iter().map(|rule| code(rule, Place::Cell)).collect();
        let _ = writeln!(
            out,
            "| {} | {} | {} | {} |",
            code(&mutant.rule, Place::Cell),
            code(&mutant.id, Place::Cell),
            broken.jobs,
            rules.join(" ")
        );
    }
    out.push('\n');
}

fn row(out: &mut String, mutant: &MutantResult) {
    let codes = |names: &[String]| -> String {
        let names: Vec<String> = names
            .iter()
            .map(|name| if name == ANY_RULE { "any".to_owned() } else { code(name, Place::Cell) })
            .collect();
        names.join(" ")
    };
    let noticed: Vec<String> = mutant
        .collateral
        .iter()
        .map(|rule| {
            let undeclared = mutant.undeclared_collateral.contains(rule);
            format!("{}{}", code(rule, Place::Cell), if undeclared { " (undeclared)" } else { "" })
        })
        .collect();
    let _ = writeln!(
        out,
        "| {} | {} | {} | {} | {} | {} |",
        code(&mutant.rule, Place::Cell),
        code(&mutant.id, Place::Cell),
        prose(&mutant.does, Place::Cell),
        if mutant.killed { "yes".to_owned() } else { format!("**no**, {}", mutant.outcome.name()) },
        noticed.join(" "),
        codes(&mutant.declared_collateral)
    );
}
