//! The command lines of a manifest: what the suite starts to certify a target.

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::Manifest;

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

/// What a table has run.
#[derive(Clone, Copy, Debug)]
pub struct Command<'a> {
    /// Program and arguments, where the suite runs it.
    pub words: Option<&'a Vec<String>>,
    /// Where it runs, from the manifest's directory.
    pub cwd: Option<&'a PathBuf>,
    /// Further environment.
    pub environment: &'a BTreeMap<String, String>,
}

impl Manifest {
    /// What is started where these profiles are certified.
    pub fn command_lines(&self, profiles: &[String]) -> Vec<CommandLine<'_>> {
        let is_selected = |profile: &str| profiles.iter().any(|own| own == profile);
        let commands = self.sections().flat_map(|section| section.commands(&is_selected));
        let there = commands.filter_map(|command| {
            Some(CommandLine {
                words: command.words.filter(|words| !words.is_empty())?,
                directory: command.cwd.map_or_else(|| self.directory.clone(), |own| self.directory.join(own)),
                environment: command.environment,
            })
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
        check(&["hub.agent", "toolbus.server"], &[("hook", "/home"), ("mcp --stdio", "/home")]);
    }
}
