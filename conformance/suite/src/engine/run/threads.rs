//! Threads of a run, whose stacks are large enough for what is judged on them.

use std::num::NonZero;
use std::sync::Mutex;

use tokio::runtime::Handle;
use tokio::sync::oneshot;

use crate::transcript::{StepContext, lock};

/// Stack of a thread that judges, in bytes: as large as that of a main thread.
pub(super) const STACK: usize = 8 * 1024 * 1024;

/// Does work on a thread with a stack that is large enough for it. Without a thread nothing comes of it, and the verdict
/// says so. It ends where it is when nobody waits for it any more: whoever breaks a run off ends the target next, and what
/// scenarios would say of that is no finding.
pub(super) fn on_a_thread<F>(
    runtime: Handle,
    work: impl FnOnce() -> F + Send + 'static,
) -> oneshot::Receiver<F::Output>
where
    F: Future<Output: Send + 'static>,
{
    let (mut done, doing) = oneshot::channel();
    let work = move || {
        let output = runtime.block_on(async {
            tokio::select! {
                biased;
                () = done.closed() => None,
                output = work() => Some(output),
            }
        });
        // Nobody waits any more where the run was broken off.
        let _ = output.map(|output| done.send(output));
    };
    let _ = std::thread::Builder::new().name("lane".to_owned()).stack_size(STACK).spawn(work);
    doing
}

/// Does work on each of the items, as many at a time as there are processors: for what is left of a run when nothing else
/// is. Where no more threads are to be had, this one does it all.
pub(super) fn on_all_processors<I>(items: impl ExactSizeIterator<Item = I> + Send, work: impl Fn(I) + Sync) {
    let processors = std::thread::available_parallelism().map_or(1, NonZero::get);
    let threads = processors.min(items.len());
    let items = Mutex::new(items);
    let work = || {
        loop {
            // A statement of its own, so that the lock is not held while there is work.
            let next = lock(&items).next();
            let Some(item) = next else { return };
            work(item);
        }
    };
    let context = StepContext::current();
    std::thread::scope(|scope| {
        for _ in 1..threads {
            let thread = std::thread::Builder::new().stack_size(STACK);
            let _ = thread.spawn_scoped(scope, || context.run(work));
        }
        work();
    });
}
