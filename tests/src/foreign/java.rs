//! Apache Kafka's own clients and tools, from Maven's artifacts (tests/interop/java/pom.xml).
//!
//! The jars are resolved once into the build folder; later runs find them there.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use super::{both, build_folder, find, run, skip};

/// Where the jars are, and the java that runs them.
pub struct Java {
    java: PathBuf,
    jars: PathBuf,
}

impl Java {
    /// Java with Kafka's jars, or a skip in the name of `test`.
    ///
    /// # Panics
    /// If Maven is there but cannot resolve the jars.
    #[must_use]
    pub fn new(test: &str) -> Option<Java> {
        let found = Java::found();
        if found.is_none() {
            skip(test, "java (17 or later) or mvn");
        }
        found
    }

    /// Java with Kafka's jars, if it and Maven are on the search path.
    ///
    /// # Panics
    /// As [`Java::new`].
    #[must_use]
    pub fn found() -> Option<Java> {
        let (java, maven) = (find("java")?, find("mvn")?);
        Some(Java { java, jars: resolve(&maven, "pom.xml", "interop-java") })
    }

    /// Java with the jars of `tests/interop/java/NAME.xml`, if it and Maven are on the search path.
    ///
    /// # Panics
    /// As [`Java::new`].
    #[must_use]
    pub fn with_pom(name: &str) -> Option<Java> {
        let (java, maven) = (find("java")?, find("mvn")?);
        Some(Java { java, jars: resolve(&maven, &format!("{name}.xml"), &format!("interop-java-{name}")) })
    }

    /// The folder of the jars.
    #[must_use]
    pub fn jars(&self) -> &Path {
        &self.jars
    }

    /// A program of our own, compiled into `classes`.
    #[must_use]
    pub fn program(&self, classes: &Path, class: &str, arguments: &[&str]) -> Command {
        let mut path = classes.as_os_str().to_owned();
        path.push(":");
        path.push(self.jars.join("*"));
        self.start(&path, class, arguments)
    }

    /// A command of `org.apache.kafka.tools`, such as `TopicCommand`.
    #[must_use]
    pub fn tool(&self, class: &str, arguments: &[&str]) -> Command {
        self.class(&format!("org.apache.kafka.tools.{class}"), arguments)
    }

    /// Any main class of the jars.
    #[must_use]
    pub fn class(&self, class: &str, arguments: &[&str]) -> Command {
        self.start(self.jars.join("*").as_os_str(), class, arguments)
    }

    fn start(&self, path: &OsStr, class: &str, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.java);
        // A short-lived tool starts fastest with the first compiler and the simplest collector.
        command.args(["-Xmx256m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xshare:auto"]);
        command.arg("-Dorg.slf4j.simpleLogger.defaultLogLevel=warn");
        command.arg("-cp").arg(path).arg(class).args(arguments);
        command
    }

    /// What a tool prints when it ends well.
    ///
    /// # Panics
    /// If it does not.
    pub fn output(&self, class: &str, arguments: &[&str]) -> String {
        run(&mut self.tool(class, arguments))
    }

    /// Runs a tool on a file as its input.
    ///
    /// # Panics
    /// If it cannot be started.
    #[must_use]
    pub fn with_input(&self, class: &str, arguments: &[&str], input: &Path) -> Output {
        let input = File::open(input).unwrap_or_else(|error| panic!("{}: {error}", input.display()));
        let mut command = self.tool(class, arguments);
        command.stdin(Stdio::from(input));
        command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"))
    }
}

/// Copies the jars to a folder beside the build's output, once.
fn resolve(maven: &Path, pom: &str, folder: &str) -> PathBuf {
    let pom = Path::new(env!("CARGO_MANIFEST_DIR")).join("interop/java").join(pom);
    let folder = build_folder().join(folder);
    let (jars, done) = (folder.join("jars"), folder.join("done"));
    fs::create_dir_all(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    // Tests run at the same time, in threads and in processes: one of them resolves.
    let lock = File::create(folder.join("lock")).expect("the folder can be written");
    lock.lock().expect("a file can be locked");
    let wanted = fs::read(&pom).unwrap_or_else(|error| panic!("{}: {error}", pom.display()));
    if fs::read(&done).ok().as_ref() != Some(&wanted) {
        let mut command = Command::new(maven);
        command.args(["-q", "-B", "-f"]).arg(&pom).arg("dependency:copy-dependencies");
        command.arg(format!("-DoutputDirectory={}", jars.display()));
        let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
        assert!(output.status.success(), "{command:?}: {}\n{}", output.status, both(&output));
        fs::write(&done, wanted).expect("the folder can be written");
    }
    jars
}
