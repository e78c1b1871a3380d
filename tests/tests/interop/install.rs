//! Toolchains are found, client packages are installed: once, into `<target>/interop`.
//!
//! Holds: an installed folder carries a copy of what it was made from (`done`), written last. When that changes, or an
//! installation was interrupted, it is made again. Caches of the package managers live here as well: nothing is left
//! elsewhere on the machine.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

use ballast_tests::foreign::{both, build_folder, find};

/// The folder where clients are installed.
pub(crate) struct Cache {
    root: PathBuf,
}

impl Cache {
    pub(crate) fn new() -> Cache {
        Cache { root: build_folder().join("interop") }
    }

    /// A folder in it.
    pub(crate) fn folder(&self, name: &str) -> PathBuf {
        let folder = self.root.join(name);
        fs::create_dir_all(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
        folder
    }

    /// The interpreter of a virtual environment with the packages of `python/NAME.txt`.
    pub(crate) fn python(&self, name: &str) -> Result<PathBuf, String> {
        let python = tool("python3")?;
        let wanted = sources().join(format!("python/{name}.txt"));
        let venv = self.folder(&format!("python-{name}"));
        let interpreter = venv.join("bin/python");
        once(&venv, &wanted, || {
            run(Command::new(&python).args(["-m", "venv"]).arg(&venv))?;
            let mut pip = Command::new(&interpreter);
            pip.args(["-m", "pip", "install", "-q", "--disable-pip-version-check", "--cache-dir"]);
            run(pip.arg(self.folder("pip")).arg("-r").arg(&wanted))
        })?;
        Ok(interpreter)
    }

    /// A `node` that finds the packages of `node/NAME.json`.
    pub(crate) fn node(&self, name: &str, script: &str) -> Result<Command, String> {
        let (node, npm) = (tool("node")?, tool("npm")?);
        let wanted = sources().join(format!("node/{name}.json"));
        let folder = self.folder(&format!("node-{name}"));
        once(&folder, &wanted, || {
            fs::copy(&wanted, folder.join("package.json")).map_err(|error| error.to_string())?;
            let mut install = Command::new(&npm);
            install.args(["install", "--no-audit", "--no-fund", "--loglevel=error", "--cache"]);
            // A prebuilt library would be fetched from elsewhere: it is built from the package's own sources.
            install.arg(self.folder("npm")).env("CKJS_LINKING", "dynamic").current_dir(&folder);
            run(&mut install)
        })?;
        let mut command = Command::new(node);
        command.arg(sources().join("node").join(script)).env("NODE_PATH", folder.join("node_modules"));
        Ok(command)
    }

    /// A program of the Go module.
    pub(crate) fn go(&self, package: &str) -> Result<Command, String> {
        let go = tool("go")?;
        let program = self.folder("go/bin").join(package);
        let mut build = Command::new(go);
        build.args(["build", "-buildvcs=false", "-mod=readonly", "-modcacherw", "-o"]).arg(&program);
        build.arg(format!("./{package}")).current_dir(sources().join("go"));
        build.env("GOMODCACHE", self.folder("go/mod")).env("GOCACHE", self.folder("go/build"));
        // Go itself knows what has changed.
        run(&mut build)?;
        Ok(Command::new(program))
    }

    /// A program of the Rust workspace of its own.
    pub(crate) fn rust(&self, package: &str) -> Result<Command, String> {
        let target = self.folder("rust");
        let mut build = Command::new(tool("cargo")?);
        build.args(["build", "-q", "--locked", "--target-dir"]).arg(&target).current_dir(sources().join("rust"));
        run(&mut build)?;
        Ok(Command::new(target.join("debug").join(package)))
    }

    /// A folder with the classes of the Java sources of `folder` (below tests/interop/java), compiled against `jars`.
    pub(crate) fn classes(&self, folder: &str, jars: &Path) -> Result<PathBuf, String> {
        let classes = self.folder(&format!("java-{folder}"));
        let mut compile = Command::new(tool("javac")?);
        compile.arg("-d").arg(&classes).arg("-cp").arg(jars.join("*"));
        let sources = sources().join("java").join(folder);
        for entry in fs::read_dir(&sources).map_err(|error| format!("{}: {error}", sources.display()))? {
            let path = entry.map_err(|error| error.to_string())?.path();
            if path.extension().is_some_and(|extension| extension == "java") {
                compile.arg(path);
            }
        }
        run(&mut compile)?;
        Ok(classes)
    }
}

/// The folder of the scenarios.
pub(crate) fn sources() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("interop")
}

/// A program on the search path.
pub(crate) fn tool(name: &str) -> Result<PathBuf, String> {
    find(name).ok_or_else(|| format!("{name} is missing"))
}

/// Does `install` unless the folder was made from what `wanted` says.
fn once(folder: &Path, wanted: &Path, install: impl FnOnce() -> Result<(), String>) -> Result<(), String> {
    // Two test runs may share the folder: one of them installs.
    let lock = File::create(folder.with_extension("lock")).map_err(|error| error.to_string())?;
    lock.lock().map_err(|error| error.to_string())?;
    let wanted = fs::read(wanted).map_err(|error| format!("{}: {error}", wanted.display()))?;
    let done = folder.join("done");
    if fs::read(&done).ok().as_ref() == Some(&wanted) {
        return Ok(());
    }
    println!("    installing into {}", folder.display());
    install()?;
    fs::write(&done, wanted).map_err(|error| error.to_string())
}

fn run(command: &mut Command) -> Result<(), String> {
    let output = command.output().map_err(|error| format!("{command:?}: {error}"))?;
    let trouble = || format!("{command:?}: {}\n{}", output.status, both(&output));
    if output.status.success() { Ok(()) } else { Err(trouble()) }
}
