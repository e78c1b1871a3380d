//! What the handlers of controller requests share: asking it within the client's time, and waiting until this broker has
//! taken in what was decided, so that the client's next request finds it done.

use std::time::Duration;

use ballast_core::controller::{Request, Response};
use tokio::time::timeout;

use super::call::Ctx;

/// The controller did not decide, or this broker did not follow, within the time that the client gave.
pub(super) struct TimedOut;

/// Asks the controller of this process: requests come to where it is active (`forward`).
pub(super) async fn ask(ctx: &Ctx, request: Request, timeout_ms: i32) -> Result<Response, TimedOut> {
    // A request without any time is the machine's to refuse: it answers at once.
    let time = Duration::from_millis(u64::try_from(timeout_ms).unwrap_or(0).max(1000));
    let asked = async {
        let answered = ctx.node.controller.ask_here(request).await;
        ctx.node.metadata.wait_for(answered.index).await;
        answered.response
    };
    timeout(time, asked).await.map_err(|_| TimedOut)
}
