//! The events of a search that wait until the client reads them.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use tokio_stream::Stream;

/// The most reports that wait. It is larger than the number of lines, so that a line always has one to drop.
const MOST: usize = 256;

/// The sender of the events. The stream ends when the sender is dropped.
pub struct Reports<E>(Arc<Mutex<Waiting<E>>>);

/// The stream of the events.
pub struct ReportStream<E>(Arc<Mutex<Waiting<E>>>);

struct Waiting<E> {
    /// The reports, each with its line.
    reports: VecDeque<(usize, E)>,
    /// The last event.
    last: Option<E>,
    is_closed: bool,
    reader: Option<Waker>,
}

/// Creates a sender and its stream.
pub fn reports<E>() -> (Reports<E>, ReportStream<E>) {
    let waiting = Waiting { reports: VecDeque::new(), last: None, is_closed: false, reader: None };
    let shared = Arc::new(Mutex::new(waiting));
    (Reports(shared.clone()), ReportStream(shared))
}

impl<E> Reports<E> {
    /// Sends a report about a line. If the client reads slowly, an older report about the same line as a later one is
    /// dropped. The call never waits.
    pub fn report(&self, line: usize, event: E) {
        self.change(|waiting| {
            if waiting.reports.len() >= MOST {
                let again = |at: usize, of: usize| {
                    of == line || waiting.reports.iter().skip(at + 1).any(|(other, _)| *other == of)
                };
                let old = waiting.reports.iter().enumerate().position(|(at, (of, _))| again(at, *of));
                waiting.reports.remove(old.unwrap_or(0));
            }
            waiting.reports.push_back((line, event));
        });
    }

    /// Sends the last event, which follows all reports.
    pub fn end(&self, event: E) {
        self.change(|waiting| waiting.last = Some(event));
    }

    fn change(&self, change: impl FnOnce(&mut Waiting<E>)) {
        let mut waiting = lock(&self.0);
        change(&mut waiting);
        if let Some(reader) = waiting.reader.take() {
            reader.wake();
        }
    }
}

impl<E> Drop for Reports<E> {
    fn drop(&mut self) {
        self.change(|waiting| waiting.is_closed = true);
    }
}

impl<E> Stream for ReportStream<E> {
    type Item = E;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<E>> {
        let mut waiting = lock(&self.0);
        let next = waiting.reports.pop_front().map(|(_, event)| event);
        match next.or_else(|| waiting.last.take()) {
            Some(event) => Poll::Ready(Some(event)),
            None if waiting.is_closed => Poll::Ready(None),
            None => {
                waiting.reader = Some(context.waker().clone());
                Poll::Pending
            }
        }
    }
}

fn lock<E>(shared: &Mutex<Waiting<E>>) -> MutexGuard<'_, Waiting<E>> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use tokio_stream::StreamExt;

    use super::*;

    #[tokio::test]
    async fn slow_readers_get_the_last_report_of_each_line_and_the_end() {
        let (sender, stream) = reports();
        for number in 0..10_000 {
            sender.report(number % 100, (number % 100, number));
        }
        sender.end((0, 0));
        drop(sender);
        let events: Vec<(usize, usize)> = stream.collect().await;
        assert_eq!((events.len(), events[MOST]), (MOST + 1, (0, 0)));
        assert!(events[..MOST].is_sorted_by_key(|&(_, number)| number));
        for line in 0..100 {
            assert!(events.contains(&(line, 9900 + line)), "{line}");
        }
    }

    #[tokio::test]
    async fn fast_readers_get_every_event() {
        let (sender, stream) = reports();
        let send = async {
            for number in 0..1000 {
                sender.report(0, number);
                tokio::task::yield_now().await;
            }
            sender.end(1000);
            drop(sender);
        };
        let ((), events) = tokio::join!(send, stream.collect::<Vec<_>>());
        assert_eq!(events, (0..=1000).collect::<Vec<_>>());
    }
}
