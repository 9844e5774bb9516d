//! The bundled target's manifest, which each protocol completes.

use std::path::Path;

use callmark_suite::engine::manifest::{Manifest, ManifestError};

use super::setting::Bundled;
use super::{breadcrumb, hub, toolbus, utp};

/// What the reference brings, each protocol once.
pub(super) fn all() -> Vec<Box<dyn Bundled>> {
    vec![
        Box::new(utp::UtpReference::default()),
        Box::new(hub::HubReference),
        Box::new(breadcrumb::BreadcrumbReference),
        Box::new(toolbus::ToolbusReference),
    ]
}

/// The bundled target's manifest. `program` is the `callmark` binary, which can serve the reference.
pub fn manifest(program: &Path) -> Result<Manifest, ManifestError> {
    let mut manifest = Manifest::parse("bundled.toml", include_str!("../bundled.toml"), Path::new("."))?;
    let serve = |words: &[&str]| -> Vec<String> {
        let words = ["serve"].iter().chain(words).map(|word| (*word).to_owned());
        std::iter::once(program.display().to_string()).chain(words).collect()
    };
    for protocol in all() {
        protocol.complete(&mut manifest, &serve);
    }
    Ok(manifest)
}

#[cfg(test)]
mod tests {
    use callmark_suite::engine::manifest::ManifestTable;
    use callmark_suite::families;

    #[test]
    fn the_reference_speaks_every_protocol() {
        let names: Vec<&str> = super::all().iter().map(|own| own.protocol()).collect();
        let mut known: Vec<&str> = families::ALL.protocols().map(ManifestTable::name).collect();
        known.sort_by_key(|name| names.iter().position(|own| own == name));
        assert_eq!(names, known);
    }
}
