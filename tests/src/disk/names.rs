//! The folders of the double: what names stand for now, and what they stand for if power fails.
//!
//! Each folder keeps its synced names and the changes since, in order. A crash keeps some first part of them, each folder
//! for itself; renaming within one folder is one change. A folder is shared by the trees that name it, so that renaming
//! it does not touch what is inside.

use std::collections::BTreeMap;
use std::io;
use std::path::{Component, Path};
use std::sync::Arc;

use parking_lot::Mutex;

use super::Crash;
use super::file::FileData;
use super::rng::Rng;

/// A file, whatever its name.
pub(super) type FileRef = Arc<Mutex<FileData>>;
type DirRef = Arc<Mutex<DirData>>;
/// New meanings of names, all or nothing.
type Change = Vec<(String, Option<Node>)>;

/// What a name stands for.
#[derive(Clone)]
pub(super) enum Node {
    File(FileRef),
    Dir(DirRef),
}

#[derive(Default)]
pub(super) struct DirData {
    now: BTreeMap<String, Node>,
    synced: BTreeMap<String, Node>,
    pending: Vec<Change>,
}

impl DirData {
    fn change(&mut self, change: Change) {
        for (name, node) in &change {
            match node {
                Some(node) => self.now.insert(name.clone(), node.clone()),
                None => self.now.remove(name),
            };
        }
        self.pending.push(change);
    }
}

/// All folders, from `/` down.
#[derive(Default)]
pub(super) struct Names {
    root: DirRef,
}

impl Names {
    /// The file of this name.
    pub(super) fn file(&self, path: &Path) -> io::Result<FileRef> {
        match self.node(path)? {
            Node::File(file) => Ok(file),
            Node::Dir(_) => Err(io::ErrorKind::IsADirectory.into()),
        }
    }

    /// Names a file anew; one that had the name is handed back.
    pub(super) fn put_file(&self, path: &Path, file: &FileRef) -> io::Result<Option<FileRef>> {
        let (dir, name) = self.parent(path)?;
        let mut dir = dir.lock();
        let old = match dir.now.get(&name) {
            Some(Node::Dir(_)) => return Err(io::ErrorKind::IsADirectory.into()),
            Some(Node::File(old)) => Some(Arc::clone(old)),
            None => None,
        };
        dir.change(vec![(name, Some(Node::File(Arc::clone(file))))]);
        Ok(old)
    }

    pub(super) fn create_dir(&self, path: &Path) -> io::Result<()> {
        let mut at = Arc::clone(&self.root);
        for name in parts(path)? {
            let mut dir = at.lock();
            let next = match dir.now.get(&name) {
                Some(Node::Dir(next)) => Arc::clone(next),
                Some(Node::File(_)) => return Err(io::ErrorKind::NotADirectory.into()),
                None => {
                    let next = DirRef::default();
                    dir.change(vec![(name, Some(Node::Dir(Arc::clone(&next))))]);
                    next
                }
            };
            drop(dir);
            at = next;
        }
        Ok(())
    }

    /// Names and nodes of a folder, in order.
    pub(super) fn list(&self, path: &Path) -> io::Result<Vec<(String, Node)>> {
        let dir = self.dir(path)?;
        let dir = dir.lock();
        Ok(dir.now.iter().map(|(name, node)| (name.clone(), node.clone())).collect())
    }

    /// Moves a name; a file that had the new one is handed back.
    pub(super) fn rename(&self, from: &Path, to: &Path) -> io::Result<Option<FileRef>> {
        let node = self.node(from)?;
        let (from_dir, from_name) = self.parent(from)?;
        let (to_dir, to_name) = self.parent(to)?;
        let old = to_dir.lock().now.get(&to_name).cloned();
        let replaced = match (&node, old) {
            (_, None) => None,
            (Node::File(_), Some(Node::File(old))) => Some(old),
            (Node::Dir(_), Some(Node::Dir(old))) if old.lock().now.is_empty() => None,
            (Node::Dir(_), Some(Node::Dir(_))) => return Err(io::ErrorKind::DirectoryNotEmpty.into()),
            (Node::Dir(_), Some(Node::File(_))) => return Err(io::ErrorKind::NotADirectory.into()),
            (Node::File(_), Some(Node::Dir(_))) => return Err(io::ErrorKind::IsADirectory.into()),
        };
        if Arc::ptr_eq(&from_dir, &to_dir) {
            from_dir.lock().change(vec![(from_name, None), (to_name, Some(node))]);
        } else {
            to_dir.lock().change(vec![(to_name, Some(node))]);
            from_dir.lock().change(vec![(from_name, None)]);
        }
        Ok(replaced)
    }

    pub(super) fn remove_file(&self, path: &Path) -> io::Result<FileRef> {
        let file = self.file(path)?;
        let (dir, name) = self.parent(path)?;
        dir.lock().change(vec![(name, None)]);
        Ok(file)
    }

    /// Removes a folder, its files first, one change each; hands the files back.
    pub(super) fn remove_dir(&self, path: &Path) -> io::Result<Vec<FileRef>> {
        let dir = self.dir(path)?;
        let (parent, name) = self.parent(path)?;
        let mut files = Vec::new();
        empty(&dir, &mut files);
        parent.lock().change(vec![(name, None)]);
        Ok(files)
    }

    pub(super) fn sync_dir(&self, path: &Path) -> io::Result<()> {
        let dir = self.dir(path)?;
        let mut dir = dir.lock();
        dir.synced = dir.now.clone();
        dir.pending.clear();
        Ok(())
    }

    /// Becomes what a crash leaves; hands back every file that still has a name, once for each.
    pub(super) fn lose(&self, crash: Crash, rng: &mut Rng) -> Vec<FileRef> {
        let mut files = Vec::new();
        lose_below(&self.root, crash, rng, &mut files);
        files
    }

    fn node(&self, path: &Path) -> io::Result<Node> {
        let (dir, name) = self.parent(path)?;
        let dir = dir.lock();
        dir.now.get(&name).cloned().ok_or_else(|| not_found(path))
    }

    fn dir(&self, path: &Path) -> io::Result<DirRef> {
        let mut at = Arc::clone(&self.root);
        for name in parts(path)? {
            let next = match at.lock().now.get(&name) {
                Some(Node::Dir(next)) => Arc::clone(next),
                Some(Node::File(_)) => return Err(io::ErrorKind::NotADirectory.into()),
                None => return Err(not_found(path)),
            };
            at = next;
        }
        Ok(at)
    }

    fn parent(&self, path: &Path) -> io::Result<(DirRef, String)> {
        let name = parts(path)?.pop().ok_or(io::ErrorKind::InvalidInput)?;
        let parent = path.parent().unwrap_or(Path::new(""));
        Ok((self.dir(parent)?, name))
    }
}

fn empty(dir: &DirRef, files: &mut Vec<FileRef>) {
    let nodes: Vec<(String, Node)> = dir.lock().now.clone().into_iter().collect();
    for (name, node) in nodes {
        match node {
            Node::File(file) => files.push(file),
            Node::Dir(below) => empty(&below, files),
        }
        dir.lock().change(vec![(name, None)]);
    }
}

fn lose_below(dir: &DirRef, crash: Crash, rng: &mut Rng, files: &mut Vec<FileRef>) {
    let mut dir = dir.lock();
    let pending = std::mem::take(&mut dir.pending);
    let kept = match crash {
        Crash::Process | Crash::Fray => pending.len(),
        Crash::LoseUnsynced => 0,
        Crash::Tear => rng.up_to(pending.len() as u64) as usize,
    };
    if crash == Crash::Process {
        // The machine lives: nothing is lost, and nothing more is safe than before.
        dir.pending = pending;
    } else {
        dir.now = std::mem::take(&mut dir.synced);
        for change in pending.into_iter().take(kept) {
            dir.change(change);
        }
        dir.pending.clear();
        dir.synced = dir.now.clone();
    }
    for node in dir.now.values() {
        match node {
            Node::File(file) => files.push(Arc::clone(file)),
            Node::Dir(below) => lose_below(below, crash, rng, files),
        }
    }
}

/// The names on the way to a path; `.` and the root add nothing.
fn parts(path: &Path) -> io::Result<Vec<String>> {
    let mut parts = Vec::new();
    for component in path.components() {
        match component {
            Component::Normal(name) => parts.push(name.to_string_lossy().into_owned()),
            Component::RootDir | Component::CurDir => {}
            Component::ParentDir | Component::Prefix(_) => return Err(io::ErrorKind::InvalidInput.into()),
        }
    }
    Ok(parts)
}

fn not_found(path: &Path) -> io::Error {
    io::Error::new(io::ErrorKind::NotFound, format!("{} is not there", path.display()))
}
