//! `init`: write a commented manifest.

use std::io::Write as _;

use callmark_suite::spec::edition;

use crate::args::{InitArguments, Kind};
use crate::exit::{self, Failure};

const UTP: &str = include_str!("init.toml");
const TOOLBUS: &str = include_str!("init-toolbus.toml");
const HUB: &str = include_str!("init-hub.toml");
const AGENT: &str = include_str!("init-agent.toml");
const RUNTIME: &str = include_str!("init-runtime.toml");
const PMO: &str = include_str!("init-pmo.toml");
const OPENAPI: &str = include_str!("init-openapi.toml");
const REGISTRY: &str = include_str!("init-registry.toml");
const BREADCRUMB: &str = include_str!("init-breadcrumb.toml");
const BREADCRUMB_AGENT: &str = include_str!("init-breadcrumb-agent.toml");

fn template(kind: Kind) -> &'static str {
    match kind {
        Kind::Utp => UTP,
        Kind::Toolbus => TOOLBUS,
        Kind::Hub => HUB,
        Kind::Agent => AGENT,
        Kind::Runtime => RUNTIME,
        Kind::Pmo => PMO,
        Kind::Openapi => OPENAPI,
        Kind::Registry => REGISTRY,
        Kind::Breadcrumb => BREADCRUMB,
        Kind::BreadcrumbAgent => BREADCRUMB_AGENT,
    }
}

/// The template with the newest edition in it, so that a stricter suite fails nobody who changed nothing.
fn text(kind: Kind) -> String {
    let template = template(kind);
    let Some(newest) = edition::names().pop() else { return template.to_owned() };
    let comment = "# whose checks count; what a later suite adds is only reported";
    template.replacen(
        "\n[target]\n",
        &format!("\nedition = \"{newest}\"{:20} {comment}\n\n[target]\n", ""),
        1,
    )
}

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
    file.write_all(text(arguments.kind).as_bytes())
        .map_err(|error| Failure::usage(format!("`{shown}` cannot be written: {error}")))?;
    eprintln!("wrote `{shown}`; next: fill it in, then `callmark doctor --target {shown}`");
    Ok(exit::CONFORMANT)
}

#[cfg(test)]
mod tests {
    use callmark_suite::engine::manifest::Manifest;

    use crate::args::Kind;

    #[test]
    fn the_templates_are_sound_manifests() {
        let check = |kind: Kind, profiles: &[&str]| {
            let manifest = Manifest::parse("init.toml", &super::text(kind), std::path::Path::new("."));
            let manifest = manifest.expect("a sound manifest");
            assert_eq!(manifest.profiles(), profiles);
            assert_eq!(manifest.edition.as_deref(), callmark_suite::spec::edition::names().pop(), "{kind:?}");
        };
        check(Kind::Utp, &["utp.tool-service"]);
        check(Kind::Toolbus, &["toolbus.server", "toolbus.artifacts"]);
        check(Kind::Hub, &["hub.server"]);
        check(Kind::Agent, &["hub.agent"]);
        check(Kind::Runtime, &["utp.execution", "utp.worker"]);
        check(Kind::Pmo, &["utp.pmo"]);
        check(Kind::Openapi, &["utp.openapi"]);
        check(Kind::Registry, &["utp.registry"]);
        check(Kind::Breadcrumb, &["breadcrumb.runner", "breadcrumb.tools", "breadcrumb.workflow"]);
        check(Kind::BreadcrumbAgent, &["breadcrumb.agent"]);
    }
}
