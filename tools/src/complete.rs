//! What the shell offers while a command is typed: beside the words of the command line itself, the names of topics and
//! groups, as the cluster has them now.
//!
//! Holds: a cluster that does not answer within [`PATIENCE`] costs the user that much and no names; nothing is printed.

use std::ffi::OsStr;
use std::future::Future;
use std::io;
use std::time::Duration;

use ballast_client::{Admin, ClientConfig, Cluster, World};
use clap::CommandFactory as _;
use clap::ValueEnum;
use clap_complete::CompleteEnv;
use clap_complete::engine::CompletionCandidate;
use clap_complete::env::{Bash, EnvCompleter, Fish, Zsh};

use crate::cli::Cli;
use crate::connect::BOOTSTRAP_DEFAULT;
use crate::error::Failure;

const PROGRAM: &str = "ballast";
/// The variable in which a shell says that it wants completions, and which shell it is.
const VARIABLE: &str = "COMPLETE";
/// Somebody has pressed a key and waits.
const PATIENCE: Duration = Duration::from_millis(1_500);

/// A shell that we can help.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Shell {
    /// Put `source <(ballast completions bash)` into ~/.bashrc.
    Bash,
    /// Put `source <(ballast completions zsh)` into ~/.zshrc, after compinit.
    Zsh,
    /// Put `ballast completions fish | source` into ~/.config/fish/config.fish.
    Fish,
}

/// Answers a shell that asks for completions, and ends the process; returns if none does.
pub(crate) fn answer_shell() {
    CompleteEnv::with_factory(Cli::command).var(VARIABLE).complete();
}

/// Prints the script by which a shell comes to ask this program.
pub(crate) fn print_script(shell: Shell) -> Result<(), Failure> {
    let completer: &dyn EnvCompleter = match shell {
        Shell::Bash => &Bash,
        Shell::Zsh => &Zsh,
        Shell::Fish => &Fish,
    };
    Ok(completer.write_registration(VARIABLE, PROGRAM, PROGRAM, PROGRAM, &mut io::stdout())?)
}

/// Names of topics that begin as the word does.
pub(crate) fn topics(word: &OsStr) -> Vec<CompletionCandidate> {
    names(word, |cluster| async move { Ok(cluster.all_topics().await?.topics.keys().cloned().collect()) })
}

/// Names of groups that begin as the word does.
pub(crate) fn groups(word: &OsStr) -> Vec<CompletionCandidate> {
    names(word, |cluster| async move {
        Ok(Admin::new(cluster).list_groups().await?.into_iter().map(|group| group.id).collect())
    })
}

fn names<F>(word: &OsStr, ask: impl FnOnce(Cluster) -> F) -> Vec<CompletionCandidate>
where
    F: Future<Output = Result<Vec<String>, Failure>>,
{
    let Some(word) = word.to_str() else { return Vec::new() };
    let words: Vec<String> = std::env::args().collect();
    let bootstrap = bootstrap(&words).unwrap_or_else(|| BOOTSTRAP_DEFAULT.to_owned());
    let asked = || {
        let mut config = ClientConfig::new(&bootstrap)?;
        config.api_timeout = PATIENCE;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let cluster = Cluster::new(config, World::real());
        runtime.block_on(async { tokio::time::timeout(PATIENCE, ask(cluster)).await.map_err(Failure::new)? })
    };
    // Nobody reads a message now: what cannot be had is not offered.
    let all: Vec<String> = asked().unwrap_or_default();
    all.into_iter().filter(|name| name.starts_with(word)).map(CompletionCandidate::new).collect()
}

/// The cluster of the command that is being typed: the shell hands over all its words.
fn bootstrap(words: &[String]) -> Option<String> {
    let mut words = words.iter();
    while let Some(word) = words.next() {
        match word.as_str() {
            "-b" | "--bootstrap-server" => return words.next().cloned(),
            other => {
                let value = other.strip_prefix("--bootstrap-server=").or_else(|| other.strip_prefix("-b"));
                if let Some(value) = value.filter(|value| !value.is_empty()) {
                    return Some(value.to_owned());
                }
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cluster_is_that_of_the_words_typed_so_far() {
        let of = |line: &str| bootstrap(&line.split(' ').map(str::to_owned).collect::<Vec<_>>());
        assert_eq!(of("ballast -b a:1 topic describe"), Some("a:1".to_owned()));
        assert_eq!(of("ballast topic describe --bootstrap-server=b:2 x"), Some("b:2".to_owned()));
        assert_eq!(of("ballast topic -bc:3 describe"), Some("c:3".to_owned()));
        assert_eq!(of("ballast topic describe"), None);
        assert_eq!(of("ballast topic describe -b"), None);
    }
}
