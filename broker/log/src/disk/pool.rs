//! The threads of a disk: a few, started when work comes, joined when the disk is dropped.

use std::collections::VecDeque;
use std::sync::Arc;
use std::thread::JoinHandle;

use parking_lot::{Condvar, Mutex};

use super::Job;

/// Threads that run [`Job`]s.
#[derive(Debug)]
pub(super) struct Pool {
    shared: Arc<Shared>,
    threads: Mutex<Vec<JoinHandle<()>>>,
    threads_max: usize,
}

#[derive(Default)]
struct Shared {
    queue: Mutex<Queue>,
    changed: Condvar,
}

#[derive(Default)]
struct Queue {
    jobs: VecDeque<Job>,
    idle: usize,
    closed: bool,
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let queue = self.queue.lock();
        write!(f, "{} jobs, {} idle threads", queue.jobs.len(), queue.idle)
    }
}

impl Pool {
    /// No thread yet, and never more than `threads_max` (at least one).
    pub(super) fn new(threads_max: usize) -> Pool {
        Pool { shared: Arc::default(), threads: Mutex::default(), threads_max: threads_max.max(1) }
    }

    /// Queues a job, and starts a thread if all are busy and one more is allowed.
    pub(super) fn spawn(&self, job: Job) {
        let mut queue = self.shared.queue.lock();
        queue.jobs.push_back(job);
        let short_of_hands = queue.jobs.len() > queue.idle;
        drop(queue);
        self.shared.changed.notify_one();
        if short_of_hands {
            self.start_thread();
        }
    }

    fn start_thread(&self) {
        let mut threads = self.threads.lock();
        // A thread that a panicking job took along makes room for another.
        threads.retain(|thread| !thread.is_finished());
        if threads.len() >= self.threads_max {
            return;
        }
        let shared = Arc::clone(&self.shared);
        let thread = std::thread::Builder::new().name("ballast-disk".to_owned());
        #[expect(clippy::disallowed_methods, reason = "this is where the disk's threads come from")]
        match thread.spawn(move || shared.work()) {
            Ok(thread) => threads.push(thread),
            // The threads that are there will get to it.
            Err(error) if !threads.is_empty() => tracing::warn!(%error, "no further thread for the disk"),
            Err(error) => {
                tracing::warn!(%error, "no thread for the disk: its work is done by whoever asks for it");
                drop(threads);
                self.shared.work_off();
            }
        }
    }
}

impl Drop for Pool {
    /// Finishes what is queued, then ends the threads.
    fn drop(&mut self) {
        self.shared.queue.lock().closed = true;
        self.shared.changed.notify_all();
        let myself = std::thread::current().id();
        for thread in self.threads.lock().drain(..) {
            // The last handle of the disk may go with a job: that thread ends by itself. A thread that panicked has said so.
            if thread.thread().id() != myself {
                drop(thread.join());
            }
        }
    }
}

impl Shared {
    fn work(&self) {
        loop {
            let job = {
                let mut queue = self.queue.lock();
                loop {
                    if let Some(job) = queue.jobs.pop_front() {
                        break job;
                    }
                    if queue.closed {
                        return;
                    }
                    queue.idle += 1;
                    self.changed.wait(&mut queue);
                    queue.idle -= 1;
                }
            };
            job();
        }
    }

    fn work_off(&self) {
        loop {
            let Some(job) = self.queue.lock().jobs.pop_front() else { return };
            job();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::mpsc;

    use super::*;

    #[test]
    fn dropping_the_pool_finishes_what_was_queued() {
        let done = Arc::new(AtomicUsize::new(0));
        let pool = Pool::new(2);
        for _ in 0..100 {
            let done = Arc::clone(&done);
            pool.spawn(Box::new(move || {
                done.fetch_add(1, Ordering::Relaxed);
            }));
        }
        drop(pool);
        assert_eq!(done.load(Ordering::Relaxed), 100);
    }

    #[test]
    fn a_blocked_job_stops_no_other_while_threads_are_allowed() {
        let pool = Pool::new(2);
        let (release, blocked) = mpsc::channel::<()>();
        let (tell, told) = mpsc::channel();
        pool.spawn(Box::new(move || {
            blocked.recv().unwrap_err();
        }));
        pool.spawn(Box::new(move || tell.send(()).unwrap()));
        told.recv().unwrap();
        drop(release);
    }

    #[test]
    fn threads_start_with_the_first_job_and_never_exceed_their_number() {
        let pool = Pool::new(3);
        assert_eq!(pool.threads.lock().len(), 0);
        for _ in 0..50 {
            pool.spawn(Box::new(|| {}));
            assert!(pool.threads.lock().len() <= 3);
        }
    }

    #[test]
    fn a_panicking_job_takes_only_its_own_thread_along() {
        let pool = Pool::new(1);
        pool.spawn(Box::new(|| panic!("planted")));
        let (tell, told) = mpsc::channel();
        while !pool.threads.lock().iter().all(JoinHandle::is_finished) {
            std::thread::yield_now();
        }
        pool.spawn(Box::new(move || tell.send(()).unwrap()));
        told.recv().unwrap();
    }
}
