//! `init`: write a commented manifest.

use std::io::Write as _;

use crate::args::InitArguments;
use crate::exit::{self, Failure};

const TEMPLATE: &str = include_str!("init.toml");

/// Runs it.
pub(crate) fn run(arguments: &InitArguments) -> Result<u8, Failure> {
    let shown = arguments.file.display();
    let mut file =
        std::fs::OpenOptions::new().write(true).create_new(true).open(&arguments.file).map_err(|error| {
            let failure = Failure::usage(format!("`{shown}` cannot be written: {error}"));
            if error.kind() == std::io::ErrorKind::AlreadyExists {
                failure.hint("it is left as it is; name another file")
            } else {
                failure
            }
        })?;
    file.write_all(TEMPLATE.as_bytes())
        .map_err(|error| Failure::usage(format!("`{shown}` cannot be written: {error}")))?;
    eprintln!("wrote `{shown}`; next: fill it in, then `callmark doctor --target {shown}`");
    Ok(exit::CONFORMANT)
}

#[cfg(test)]
mod tests {
    use callmark_suite::manifest::Manifest;

    #[test]
    fn the_template_is_a_sound_manifest() {
        let manifest = Manifest::parse("init.toml", super::TEMPLATE, std::path::Path::new("."));
        assert_eq!(manifest.expect("a sound manifest").profiles(), ["utp.tool-service"]);
    }
}
