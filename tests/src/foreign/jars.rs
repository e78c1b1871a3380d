//! Jars: Apache Kafka's clients, tools and broker, and what else runs on Java, from Maven's artifacts (tests/interop/java).
//!
//! Holds: those of a pom are resolved once into the build folder, whoever asks first, and again only when the pom changes.
//!
//! Read next: `java` (the tools), `kafka` (the broker).

use std::ffi::OsStr;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

use super::{both, build_folder, find};

/// Where the jars are, and the java that runs them.
#[derive(Debug, Clone)]
pub struct Jars {
    java: PathBuf,
    folder: PathBuf,
}

impl Jars {
    /// The jars of `pom.xml`, Apache Kafka's, if java and Maven are on the search path.
    ///
    /// # Errors
    /// Maven is there but cannot resolve them.
    pub fn find() -> Result<Option<Jars>, String> {
        Jars::of("pom.xml", "interop-java")
    }

    /// The jars of `NAME.xml`, if java and Maven are on the search path.
    ///
    /// # Errors
    /// As [`Jars::find`].
    pub fn with_pom(name: &str) -> Result<Option<Jars>, String> {
        Jars::of(&format!("{name}.xml"), &format!("interop-java-{name}"))
    }

    fn of(pom: &str, folder: &str) -> Result<Option<Jars>, String> {
        let (Some(java), Some(maven)) = (find("java"), find("mvn")) else { return Ok(None) };
        Ok(Some(Jars { java, folder: resolve(&maven, pom, folder)? }))
    }

    /// The folder that they lie in.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// A java with these flags and all jars on its class path.
    #[must_use]
    pub fn java(&self, flags: &[&str]) -> Command {
        self.java_with(flags, self.folder.join("*").as_os_str())
    }

    /// A java with these flags and this class path.
    #[must_use]
    pub fn java_with(&self, flags: &[&str], path: &OsStr) -> Command {
        let mut command = Command::new(&self.java);
        command.args(flags).arg("-Dorg.slf4j.simpleLogger.defaultLogLevel=warn");
        command.arg("-cp").arg(path);
        command
    }
}

/// Copies the jars to a folder beside the build's output, once.
fn resolve(maven: &Path, pom: &str, folder: &str) -> Result<PathBuf, String> {
    let pom = Path::new(env!("CARGO_MANIFEST_DIR")).join("interop/java").join(pom);
    let folder = build_folder().join(folder);
    let (jars, done) = (folder.join("jars"), folder.join("done"));
    let failed = |path: &Path| {
        let path = path.display().to_string();
        move |error| format!("{path}: {error}")
    };
    fs::create_dir_all(&folder).map_err(failed(&folder))?;
    // Tests run at the same time, in threads and in processes: one of them resolves.
    let lock = File::create(folder.join("lock")).map_err(failed(&folder))?;
    lock.lock().map_err(failed(&folder))?;
    let wanted = fs::read(&pom).map_err(failed(&pom))?;
    if fs::read(&done).ok().as_ref() != Some(&wanted) {
        let mut command = Command::new(maven);
        command.args(["-q", "-B", "-f"]).arg(&pom).arg("dependency:copy-dependencies");
        command.arg(format!("-DoutputDirectory={}", jars.display()));
        let output = command.output().map_err(failed(maven))?;
        if !output.status.success() {
            return Err(format!("{command:?}: {}\n{}", output.status, both(&output)));
        }
        fs::write(&done, wanted).map_err(failed(&done))?;
    }
    Ok(jars)
}
