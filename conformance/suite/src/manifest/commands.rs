//! The command lines of a manifest: what the suite starts to certify a target.

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::{Manifest, Transport};

/// A command line that is run to certify some profiles.
#[derive(Clone, Debug)]
pub struct CommandLine<'a> {
    /// Program and arguments.
    pub words: &'a [String],
    /// Where it runs.
    pub directory: PathBuf,
    /// Further environment.
    pub environment: &'a BTreeMap<String, String>,
}

impl Manifest {
    /// What is started where these profiles are certified.
    pub fn command_lines(&self, profiles: &[String]) -> Vec<CommandLine<'_>> {
        let any = |of: fn(&str) -> bool| profiles.iter().any(|profile| of(profile));
        let mut all = Vec::new();
        if let Some(utp) = &self.utp {
            if any(|profile| profile.starts_with("utp.") && profile != "utp.registry") {
                all.push((utp.start.as_ref(), utp.working_dir.as_ref(), &utp.env));
            }
            if let Some(own) = utp.registry.as_ref().filter(|_| any(|profile| profile == "utp.registry")) {
                all.push((own.start.as_ref(), own.working_dir.as_ref(), &own.env));
            }
        }
        if let Some(own) = self.toolbus.as_ref().filter(|_| any(|profile| profile.starts_with("toolbus."))) {
            let words = match own.transport() {
                Transport::Stdio => own.command.as_ref(),
                Transport::Http => own.start.as_ref(),
            };
            all.push((words, own.cwd.as_ref(), &own.env));
        }
        if let Some(hub) = &self.hub {
            if any(|profile| profile == "hub.server") {
                all.push((hub.start.as_ref(), hub.cwd.as_ref(), &hub.env));
            }
            if let Some(own) = hub.agent.as_ref().filter(|_| any(|profile| profile == "hub.agent")) {
                all.push((own.start.as_ref(), own.cwd.as_ref(), &own.env));
                all.push((own.drive.command.as_ref(), own.cwd.as_ref(), &own.env));
            }
        }
        if let Some(own) = &self.breadcrumb {
            if any(|profile| profile.starts_with("breadcrumb.") && profile != "breadcrumb.agent") {
                all.push((own.start.as_ref(), own.cwd.as_ref(), &own.env));
            }
            if let Some(own) = own.agent.as_ref().filter(|_| any(|profile| profile == "breadcrumb.agent")) {
                all.push((own.start.as_ref(), own.cwd.as_ref(), &own.env));
                let command = own.drive.as_ref().and_then(|drive| drive.command.as_ref());
                all.push((command, own.cwd.as_ref(), &own.env));
            }
        }
        let directory = |cwd: Option<&PathBuf>| {
            cwd.map_or_else(|| self.directory.clone(), |own| self.directory.join(own))
        };
        let there = all.into_iter().filter_map(|(words, cwd, environment)| {
            let words = words.filter(|words| !words.is_empty())?;
            Some(CommandLine { words, directory: directory(cwd), environment })
        });
        there.collect()
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn only_what_a_selected_profile_starts_is_named() {
        let text = "[target]\nname = \"a\"\n[utp]\nstart = [\"./utp\"]\nworking_dir = \"bus\"\n[utp.tool-service]\n\
                    [toolbus]\ncommand = [\"mcp\", \"--stdio\"]\nstart = [\"mcp\"]\nurl = \"http://{listen}\"\n\
                    [hub]\nbase_url = \"http://127.0.0.1:1\"\nsecret = \"hush\"\n\
                    [hub.agent]\ndrive.command = [\"hook\"]\n";
        let manifest = Manifest::parse("callmark.toml", text, Path::new("/home")).expect("a sound manifest");
        let check = |profiles: &[&str], wanted: &[(&str, &str)]| {
            let profiles: Vec<String> = profiles.iter().map(|&profile| profile.to_owned()).collect();
            let lines = manifest.command_lines(&profiles);
            let lines: Vec<(String, &Path)> =
                lines.iter().map(|line| (line.words.join(" "), &*line.directory)).collect();
            let wanted: Vec<(String, &Path)> = wanted
                .iter()
                .map(|(words, directory)| ((*words).to_owned(), Path::new(*directory)))
                .collect();
            assert_eq!(lines, wanted);
        };
        check(&["utp.tool-service"], &[("./utp", "/home/bus")]);
        check(&["utp.registry", "hub.server"], &[]);
        check(&["hub.agent", "toolbus.server"], &[("mcp --stdio", "/home"), ("hook", "/home")]);
    }
}
