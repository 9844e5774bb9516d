//! `certify --list`: the scenarios that would run.

use callmark_reports::pretty_json;
use callmark_suite::engine::run::{Library, Selection};
use serde_json::json;

use crate::args::{CertifyArguments, Format};
use crate::exit::{self, Failure};

/// Prints them in the order of the features: id, rules and title, a line or an object each.
pub(crate) fn list(
    library: &Library,
    selection: &Selection,
    arguments: &CertifyArguments,
) -> Result<u8, Failure> {
    let cases = library.select(selection);
    match arguments.format {
        Format::Human => {
            for case in &cases {
                println!("{}  {}  {}", case.id, case.rules.join(","), case.name);
            }
        }
        Format::Json => {
            let rows: Vec<_> = cases
                .iter()
                .map(|case| {
                    json!({
                        "id": case.id, "name": case.name, "profile": case.profile, "rules": case.rules,
                        "file": case.at.file, "line": case.at.line, "needs": case.capabilities,
                    })
                })
                .collect();
            print!("{}", pretty_json(&rows).map_err(Failure::internal)?);
        }
    }
    Ok(exit::CONFORMANT)
}
