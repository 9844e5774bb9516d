//! `init`: write a commented manifest, and a target that works.

mod skeleton;

use std::io::Write as _;
use std::path::Path;

use callmark_schemas::SchemaName;
use callmark_suite::families;
use callmark_suite::spec::edition;
use callmark_suite::spec::revision::split;

use crate::args::{InitArguments, Kind, Purpose};
use crate::exit::{self, Failure};
use crate::setup::known_profile;

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

/// The template for a profile of another revision than the first.
fn revised(purpose: &Purpose, revision: &str) -> Result<String, Failure> {
    known_profile(&purpose.name)?;
    let template = template(purpose.kind);
    let family = families::ALL.of(split(&purpose.name).0);
    let first = family.map(|family| family.protocol().first_revisions()).unwrap_or_default();
    Ok(match first {
        // One of UTP stands in subjects as well.
        [first] => template
            .replace(
                &format!("protocol_version = \"{first}\""),
                &format!("protocol_version = \"{revision}\""),
            )
            .replace(&format!("cg.{first}."), &format!("cg.{revision}.")),
        // Those of MCP are listed.
        _ => template.replacen("\n[toolbus]\n", &format!("\n[toolbus]\nrevisions = [\"{revision}\"]\n"), 1),
    })
}

/// The name under which the schema is written.
const SCHEMA: &str = "callmark.schema.json";

/// The first line, by which editors find the schema: the file beside the manifest, or that of the release.
fn schema_line(is_beside: bool) -> String {
    if is_beside {
        return format!("#:schema ./{SCHEMA}\n");
    }
    // Where GitHub serves the files of a tag.
    let files =
        env!("CARGO_PKG_REPOSITORY").replacen("https://github.com", "https://raw.githubusercontent.com", 1);
    format!(
        "#:schema {files}/v{}/schemas/{}.schema.json\n",
        env!("CARGO_PKG_VERSION"),
        SchemaName::Manifest.path()
    )
}

/// A manifest with the newest edition in it, so that a stricter suite fails nobody who changed nothing.
fn text(template: &str, is_schema_beside: bool) -> String {
    let line = schema_line(is_schema_beside);
    let Some(newest) = edition::names().pop() else { return line + template };
    let comment = "# whose checks count; what a later suite adds is only reported";
    line + &template.replacen(
        "\n[target]\n",
        &format!("\nedition = \"{newest}\"{:20} {comment}\n\n[target]\n", ""),
        1,
    )
}

/// Runs it.
pub(crate) fn run(arguments: &InitArguments) -> Result<u8, Failure> {
    let InitArguments { file, purpose, lang, schema } = arguments;
    let skeleton = lang.map(|language| skeleton::find(purpose.kind, language)).transpose()?;
    let directory = file.parent().unwrap_or(Path::new(""));
    let template = match (&purpose.revision, skeleton) {
        (None, Some(skeleton)) => skeleton.manifest.to_owned(),
        (None, None) => template(purpose.kind).to_owned(),
        (Some(revision), None) => revised(purpose, revision)?,
        (Some(_), Some(_)) => {
            return Err(Failure::usage("a target to start from has the revision of its example")
                .hint(format!("leave out `--lang`, or name `{}`", split(&purpose.name).0)));
        }
    };
    let mut files = vec![(file.clone(), text(&template, *schema))];
    if *schema {
        files.push((directory.join(SCHEMA), SchemaName::Manifest.source().to_owned()));
    }
    let others = skeleton.map(|skeleton| skeleton.files).unwrap_or_default();
    files.extend(others.iter().map(|(name, text)| (directory.join(name), (*text).to_owned())));
    // Nothing is written where one of them is there already.
    if let Some((there, _)) = files.iter().find(|(path, _)| path.symlink_metadata().is_ok()) {
        return Err(Failure::usage(format!("`{}` is there already", there.display()))
            .hint("it is left as it is, and nothing is written; name another file, in another directory"));
    }
    for (path, text) in &files {
        write_new(path, text)?;
    }
    let shown = file.display();
    match skeleton {
        None => eprintln!("wrote `{shown}`; next: fill it in, then `callmark doctor --target {shown}`"),
        Some(skeleton) => {
            let names: Vec<String> = files.iter().map(|(path, _)| path.display().to_string()).collect();
            eprintln!("wrote {}", names.join(", "));
            eprintln!("next, in that directory:");
            let manifest = file.file_name().unwrap_or_default().display();
            let doctor = format!("callmark doctor --target {manifest}");
            let certify = format!("callmark certify --target {manifest} --watch");
            for line in skeleton.prepare.into_iter().chain([doctor.as_str(), certify.as_str()]) {
                eprintln!("  {line}");
            }
            eprintln!("It conforms as it is: change its tools into yours, and what breaks is shown at once.");
        }
    }
    Ok(exit::CONFORMANT)
}

fn write_new(path: &Path, text: &str) -> Result<(), Failure> {
    let file = std::fs::OpenOptions::new().write(true).create_new(true).open(path);
    file.and_then(|mut file| file.write_all(text.as_bytes()))
        .map_err(|error| Failure::usage(format!("`{}` cannot be written: {error}", path.display())))
}

#[cfg(test)]
mod tests {
    use callmark_suite::engine::manifest::Manifest;
    use callmark_suite::families;
    use clap::ValueEnum as _;

    use super::split;
    use crate::args::{Kind, Purpose};

    #[test]
    fn a_profile_names_its_kind() {
        for profile in families::ALL.profiles() {
            let (base, revision) = split(profile.id);
            let kind = Kind::from_str(base, false).expect(profile.id);
            let template = match revision {
                None => super::template(kind).to_owned(),
                Some(revision) => {
                    let (name, own) = (profile.id.to_owned(), Some(revision.to_owned()));
                    super::revised(&Purpose { name, kind, revision: own }, revision).expect("a profile")
                }
            };
            let text = super::text(&template, false);
            let manifest =
                Manifest::parse("init.toml", &text, std::path::Path::new(".")).expect("a manifest");
            // What a capture is judged by has a table that is commented out.
            assert!(manifest.profiles().contains(&profile.id) || base == "utp.schema", "{}", profile.id);
        }
    }

    #[test]
    fn the_templates_are_sound_manifests() {
        let check = |kind: Kind, profiles: &[&str]| {
            let manifest = Manifest::parse(
                "init.toml",
                &super::text(super::template(kind), false),
                std::path::Path::new("."),
            );
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
