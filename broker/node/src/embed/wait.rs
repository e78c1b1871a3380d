//! Waiting without a runtime: for one future in a test that is a plain function, for several futures at once on any runtime.

use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::Thread;

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// Blocks until `future` is done. It must not need a runtime of the calling thread.
pub(super) fn block_on<F: Future>(future: F) -> F::Output {
    let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
    let mut context = Context::from_waker(&waker);
    let mut future = pin!(future);
    loop {
        match future.as_mut().poll(&mut context) {
            Poll::Ready(output) => return output,
            Poll::Pending => std::thread::park(),
        }
    }
}

/// One of several futures, and what it gave once it is done.
struct Lane<F: Future> {
    future: Pin<Box<F>>,
    output: Option<F::Output>,
}

/// Runs all of them side by side; their outputs in their order.
pub(super) async fn all<F: Future>(futures: impl IntoIterator<Item = F>) -> Vec<F::Output> {
    let lane = |future| Lane { future: Box::pin(future), output: None };
    let mut lanes: Vec<Lane<F>> = futures.into_iter().map(lane).collect();
    poll_fn(|context| {
        let mut done = true;
        for lane in lanes.iter_mut().filter(|lane| lane.output.is_none()) {
            match lane.future.as_mut().poll(context) {
                Poll::Ready(value) => lane.output = Some(value),
                Poll::Pending => done = false,
            }
        }
        if done { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
    lanes.into_iter().filter_map(|lane| lane.output).collect()
}
