//! Our own broker: `ballast serve`, the release build.

use std::path::{Path, PathBuf};
use std::process::Command;

use ballast_tests::foreign::kafka::Site;
use ballast_tests::process::build_folders;

use super::run;
use crate::Failure;

/// The program `ballast`.
#[derive(Debug, Clone)]
pub struct Ballast {
    program: PathBuf,
    /// `key=value`, on top of what a node asks for.
    settings: Vec<String>,
}

impl Ballast {
    /// The program at `given`, with these settings (`key=value`); without it, the release build of this checkout, brought up
    /// to date.
    ///
    /// # Errors
    /// It does not build.
    pub fn find(given: Option<&Path>, settings: &[String]) -> Result<Ballast, Failure> {
        let settings = settings.to_vec();
        if let Some(program) = given {
            return Ok(Ballast { program: program.to_owned(), settings });
        }
        let (target, _) = build_folders();
        let manifest = Path::new(env!("CARGO_MANIFEST_DIR")).join("../Cargo.toml");
        let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        command.args(["build", "--release", "-p", "ballast-cli", "--manifest-path"]).arg(manifest);
        command.arg("--target-dir").arg(&target);
        run(&mut command)?;
        Ok(Ballast { program: target.join("release/ballast"), settings })
    }

    pub(super) fn serve(&self, site: &Site) -> Command {
        let mut command = Command::new(&self.program);
        command.arg("serve").arg("--data-dir").arg(site.data());
        command.arg("--listen").arg(format!("127.0.0.1:{}", site.port)).args(["--http", "127.0.0.1:0"]);
        if site.has_peers() {
            command.arg("--node-id").arg(site.id.to_string()).arg("--quorum").arg(site.voters());
            command.arg("--controller").arg(format!("127.0.0.1:{}", site.controller_port()));
        }
        let of_site = site.settings.iter().map(|(key, value)| format!("{key}={value}"));
        for setting in of_site.chain(self.settings.iter().cloned()) {
            command.arg("--set").arg(setting);
        }
        command
    }
}
