//! The open connections.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use tokio::sync::Notify;

/// The open connections, of which there is a limited number.
#[derive(Debug)]
pub struct Connections {
    most: usize,
    open: Mutex<Open>,
}

#[derive(Debug, Default)]
struct Open {
    next: u64,
    by_id: HashMap<u64, Arc<Connection>>,
}

/// An open connection.
#[derive(Debug)]
pub struct Connection {
    /// The requests that are being answered.
    answering: AtomicUsize,
    /// When the connection was opened or its last request was answered.
    waiting_since: Mutex<Instant>,
    close: Notify,
}

/// The place of an open connection, which its drop frees.
#[derive(Debug)]
pub struct Place {
    connections: Arc<Connections>,
    id: u64,
    /// The connection.
    pub connection: Arc<Connection>,
}

/// A request that is being answered.
#[derive(Debug)]
pub struct InUse(Arc<Connection>);

impl Connections {
    /// Creates a list of up to `most` connections.
    pub fn new(most: usize) -> Arc<Connections> {
        Arc::new(Connections { most, open: Mutex::default() })
    }

    /// Adds a connection. If there are too many, closes the one that has waited longest without a complete
    /// request, which is that of an idle or slow client. Returns `None` if all are being answered.
    pub fn admit(self: &Arc<Connections>) -> Option<Place> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if open.by_id.len() >= self.most {
            let waiting = open.by_id.iter().filter(|(_, connection)| connection.answering.load(Relaxed) == 0);
            let (&longest, _) = waiting.min_by_key(|(_, connection)| connection.waiting_since())?;
            open.by_id.remove(&longest)?.close.notify_one();
        }
        let (id, connection) = (open.next, Arc::new(Connection::new()));
        open.next += 1;
        open.by_id.insert(id, connection.clone());
        Some(Place { connections: self.clone(), id, connection })
    }

    /// Returns the number of open connections.
    pub fn count(&self) -> usize {
        self.open.lock().unwrap_or_else(PoisonError::into_inner).by_id.len()
    }
}

impl Connection {
    fn new() -> Connection {
        let waiting_since = Mutex::new(Instant::now());
        Connection { answering: AtomicUsize::new(0), waiting_since, close: Notify::new() }
    }

    /// Begins to answer a request.
    pub fn begin(self: &Arc<Connection>) -> InUse {
        self.answering.fetch_add(1, Relaxed);
        InUse(self.clone())
    }

    /// Waits until the connection must be closed.
    pub async fn closed(&self) {
        self.close.notified().await;
    }

    fn waiting_since(&self) -> Instant {
        *self.waiting_since.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for InUse {
    fn drop(&mut self) {
        *self.0.waiting_since.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
        self.0.answering.fetch_sub(1, Relaxed);
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.connections.open.lock().unwrap_or_else(PoisonError::into_inner).by_id.remove(&self.id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_further_connection_replaces_the_one_that_waits_longest() {
        let connections = Connections::new(3);
        let places: Vec<Place> = (0..3).map(|_| connections.admit().unwrap()).collect();
        let first = places[0].connection.begin();
        drop(places[1].connection.begin());
        // The third has waited since it was opened, the second since its request was answered.
        let fourth = connections.admit().unwrap();
        assert_eq!(connections.count(), 3);
        let closed = |place: &Place| !connections.open.lock().unwrap().by_id.contains_key(&place.id);
        assert_eq!(places.iter().map(closed).collect::<Vec<_>>(), [false, false, true]);
        let (second, fourth) = (places[1].connection.begin(), (fourth.connection.begin(), fourth));
        assert!(connections.admit().is_none());
        drop((first, second));
        assert!(connections.admit().is_some());
        drop((places, fourth));
        assert_eq!(connections.count(), 0);
    }
}
