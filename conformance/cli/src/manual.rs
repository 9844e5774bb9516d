//! `completions` and `man`: what is made from the one table of flags.

use std::io::Write as _;
use std::path::Path;

use clap::CommandFactory as _;

use crate::args::{Arguments, CompletionsArguments, ManArguments};
use crate::console;
use crate::exit::{self, Failure};

const PROGRAM: &str = "callmark";

/// Prints the completions of a shell.
pub(crate) fn completions(arguments: &CompletionsArguments) -> Result<u8, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut Arguments::command(), PROGRAM, &mut script);
    print(&script)
}

/// Prints the manual page, or writes one for each command into a directory.
pub(crate) fn man(arguments: &ManArguments) -> Result<u8, Failure> {
    if let Some(directory) = &arguments.out {
        write_pages(directory).map_err(|error| {
            Failure::usage(format!("the pages cannot be written to `{}`: {error}", directory.display()))
        })?;
        return Ok(exit::CONFORMANT);
    }
    let mut page = Vec::new();
    clap_mangen::Man::new(Arguments::command()).render(&mut page).map_err(Failure::internal)?;
    print(&page)
}

fn write_pages(directory: &Path) -> std::io::Result<()> {
    std::fs::create_dir_all(directory)?;
    clap_mangen::generate_to(Arguments::command(), directory)
}

fn print(bytes: &[u8]) -> Result<u8, Failure> {
    let mut out = std::io::stdout().lock();
    match out.write_all(bytes).and_then(|()| out.flush()) {
        Err(error) => {
            drop(out);
            console::cannot_write(&error)
        }
        Ok(()) => Ok(exit::CONFORMANT),
    }
}

#[cfg(test)]
mod tests {
    use super::write_pages;

    #[test]
    fn every_command_has_a_page() {
        let directory = tempfile::tempdir().expect("a directory");
        write_pages(directory.path()).expect("the pages");
        for name in ["callmark.1", "callmark-certify.1", "callmark-sabotage.1"] {
            let page = std::fs::read_to_string(directory.path().join(name)).expect("a page");
            assert!(page.contains(".SH NAME"), "{name}");
        }
    }
}
