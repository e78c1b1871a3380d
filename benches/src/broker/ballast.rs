//! Our own broker: `ballast serve`, the release build.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::{Site, build_folders, run};
use crate::Failure;

/// The program `ballast`.
#[derive(Debug, Clone)]
pub struct Ballast {
    program: PathBuf,
}

impl Ballast {
    /// The program at `given`; without it, the release build of this checkout, brought up to date.
    ///
    /// # Errors
    /// It does not build.
    pub fn find(given: Option<&Path>) -> Result<Ballast, Failure> {
        if let Some(program) = given {
            return Ok(Ballast { program: program.to_owned() });
        }
        let (target, _) = build_folders()?;
        let manifest = Path::new(env!("CARGO_MANIFEST_DIR")).join("../Cargo.toml");
        let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        command.args(["build", "--release", "-p", "ballast-cli", "--manifest-path"]).arg(manifest);
        command.arg("--target-dir").arg(&target);
        run(&mut command)?;
        Ok(Ballast { program: target.join("release/ballast") })
    }

    pub(super) fn serve(&self, site: &Site) -> Command {
        let mut command = Command::new(&self.program);
        command.arg("serve").arg("--data-dir").arg(site.data());
        command.arg("--listen").arg(format!("127.0.0.1:{}", site.port)).args(["--http", "127.0.0.1:0"]);
        for (key, value) in &site.settings {
            command.arg("--set").arg(format!("{key}={value}"));
        }
        command
    }
}
