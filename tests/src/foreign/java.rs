//! Apache Kafka's own clients and tools.

use std::ffi::OsStr;
use std::fs::File;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use super::jars::Jars;
use super::{run, skip};

/// Java with Kafka's jars.
pub struct Java(Jars);

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
        Jars::find().unwrap_or_else(|error| panic!("{error}")).map(Java)
    }

    /// Java with the jars of `tests/interop/java/NAME.xml`, if it and Maven are on the search path.
    ///
    /// # Panics
    /// As [`Java::new`].
    #[must_use]
    pub fn with_pom(name: &str) -> Option<Java> {
        Jars::with_pom(name).unwrap_or_else(|error| panic!("{error}")).map(Java)
    }

    /// The folder of the jars.
    #[must_use]
    pub fn jars(&self) -> &Path {
        self.0.folder()
    }

    /// A program of our own, compiled into `classes`.
    #[must_use]
    pub fn program(&self, classes: &Path, class: &str, arguments: &[&str]) -> Command {
        let mut path = classes.as_os_str().to_owned();
        path.push(":");
        path.push(self.jars().join("*"));
        self.start(&path, class, arguments)
    }

    /// A program of our own that is one file, `NAME.java` in tests/interop/java/programs; java compiles it as it starts.
    #[must_use]
    pub fn source(&self, name: &str, arguments: &[&str]) -> Command {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("interop/java/programs").join(format!("{name}.java"));
        let source = source.to_str().expect("the checkout's path is UTF-8");
        self.start(self.jars().join("*").as_os_str(), source, arguments)
    }

    /// A command of `org.apache.kafka.tools`, such as `TopicCommand`.
    #[must_use]
    pub fn tool(&self, class: &str, arguments: &[&str]) -> Command {
        self.class(&format!("org.apache.kafka.tools.{class}"), arguments)
    }

    /// Any main class of the jars.
    #[must_use]
    pub fn class(&self, class: &str, arguments: &[&str]) -> Command {
        self.start(self.jars().join("*").as_os_str(), class, arguments)
    }

    fn start(&self, path: &OsStr, class: &str, arguments: &[&str]) -> Command {
        // A short-lived tool starts fastest with the first compiler and the simplest collector.
        let flags = ["-Xmx256m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xshare:auto"];
        let mut command = self.0.java_with(&flags, path);
        command.arg(class).args(arguments);
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
