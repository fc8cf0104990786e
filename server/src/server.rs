//! The listener, and the life of a connection.

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::middleware::from_fn_with_state;
use hyper::body::Incoming;
use hyper::service::{Service, service_fn};
use hyper::{Request, server};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use thiserror::Error;
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::watch;
use tokio::time::{sleep, timeout};

use crate::api;
use crate::app::App;
use crate::body::{Bodies, receive_body};
use crate::connections::{Connections, Place};
use crate::guard::{Guard, MAX_HEAD, guard};
use crate::hosts::HostName;
use crate::log::{RequestLog, log_request};
use crate::options::{ClientLimits, ServerOptions};
use crate::page::asset;
use crate::rulesheets::RulesheetFile;

/// The interval at which the server tests whether to stop.
const LOOK: Duration = Duration::from_millis(50);

/// The time that requests have to end when the server stops.
const STOP_TIME: Duration = Duration::from_secs(5);

/// The answer to connections while every connection is in use.
const FULL: &[u8] = b"HTTP/1.1 503 Service Unavailable\r\ncontent-type: application/json\r\nretry-after: 1\r\n\
content-length: 53\r\nconnection: close\r\n\r\n{\"error\":\"too many requests at a time\",\"code\":\"busy\"}";

/// The reason why a server cannot start.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum BindError {
    /// The address is not available.
    #[error("cannot listen on {bind}:{port}")]
    Address {
        /// The address or name.
        bind: HostName,
        /// The port.
        port: u16,
        /// The cause.
        source: io::Error,
    },
    /// The system does not start threads.
    #[error("cannot start threads")]
    Threads(#[source] io::Error),
}

/// A server that listens, and answers once it [runs](Server::run).
pub struct Server {
    runtime: Runtime,
    listener: TcpListener,
    address: SocketAddr,
    guard: Arc<Guard>,
    app: Arc<App>,
    router: Router,
    limits: ClientLimits,
}

impl Server {
    /// Listens at the address of the options.
    ///
    /// # Errors
    /// If the address is not available, or the system has no threads.
    pub fn bind(options: ServerOptions) -> Result<Server, BindError> {
        let runtime = Builder::new_multi_thread()
            .worker_threads(options.threads.max(1))
            // One for each search.
            .max_blocking_threads(options.threads.max(1) + 1)
            .enable_all()
            .build()
            .map_err(BindError::Threads)?;
        let (bind, port) = (options.bind.clone(), options.port);
        let refused = |source| BindError::Address { bind: bind.clone(), port, source };
        let listener = runtime.block_on(TcpListener::bind(format!("{bind}:{port}"))).map_err(refused)?;
        let address = listener.local_addr().map_err(refused)?;
        let guard = Arc::new(Guard::new(&options, address));
        let app =
            Arc::new(App::new(&options, guard.clone()).map_err(|error| BindError::Threads(io::Error::other(error)))?);
        let router = router(&options, &app, &guard);
        Ok(Server { runtime, listener, address, guard, app, router, limits: options.limits })
    }

    /// Returns the address of the server.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns the token that requests must contain, if other machines can connect.
    pub fn token(&self) -> Option<&str> {
        self.guard.token()
    }

    /// Returns the URL of the page for a browser on this machine, which contains the token.
    pub fn url(&self) -> String {
        self.guard.own_page() + &self.guard.access()
    }

    /// Returns the URLs of the page for browsers on other machines, which contain the token. A server that listens on
    /// an address that stands for all those of the machine has one for each of its networks.
    pub fn other_urls(&self) -> Vec<String> {
        self.guard.other_pages().iter().map(|page| format!("{page}{}", self.guard.access())).collect()
    }

    /// Returns the rulesheets of the directory, each with the first error that keeps it from being played.
    ///
    /// # Errors
    /// If the directory cannot be read.
    pub fn rulesheet_files(&self) -> io::Result<Vec<RulesheetFile>> {
        self.app.rulesheets.survey()
    }

    /// Answers requests until `stop` is set. Then ends searches and builds, and waits some seconds for the
    /// requests that are being answered. Builds out of core keep their work.
    pub fn run(self, stop: &AtomicBool) {
        let Server { runtime, listener, app, router, limits, .. } = self;
        let (stopping, stopped) = watch::channel(false);
        let connections = Connections::new(limits.connections);
        runtime.block_on(async {
            let mut accept = pin!(accept(listener, router, limits, &connections, stopped));
            while !stop.load(Relaxed) && timeout(LOOK, &mut accept).await.is_err() {}
        });
        let _ = stopping.send(true);
        app.stop();
        runtime.block_on(async {
            let ended = async {
                while connections.count() > 0 {
                    sleep(LOOK).await;
                }
            };
            let _ = timeout(STOP_TIME, ended).await;
        });
        runtime.shutdown_background();
    }
}

/// Returns the routes and the layers around them, the outermost last.
fn router(options: &ServerOptions, app: &Arc<App>, checks: &Arc<Guard>) -> Router {
    let bodies = Arc::new(Bodies::new(&options.limits));
    api::router(app.clone())
        .fallback(asset)
        .layer(DefaultBodyLimit::disable())
        .layer(from_fn_with_state(bodies, receive_body))
        .layer(from_fn_with_state(checks.clone(), guard))
        .layer(from_fn_with_state(RequestLog::new(options.log.clone()), log_request))
}

async fn accept(
    listener: TcpListener,
    router: Router,
    limits: ClientLimits,
    connections: &Arc<Connections>,
    stopped: watch::Receiver<bool>,
) {
    loop {
        match listener.accept().await {
            Ok((stream, _)) => match connections.admit() {
                Some(place) => drop(tokio::spawn(serve(stream, place, router.clone(), limits, stopped.clone()))),
                None => refuse(&stream),
            },
            // There are no file handles left or the peer has disconnected; other connections may succeed.
            Err(_) => sleep(LOOK).await,
        }
    }
}

/// Answers a connection that has no place, as far as that does not wait.
fn refuse(stream: &TcpStream) {
    let _ = stream.try_write(FULL);
}

/// Serves a connection until the client or the server ends it.
async fn serve(
    stream: TcpStream,
    place: Place,
    router: Router,
    limits: ClientLimits,
    mut stopped: watch::Receiver<bool>,
) {
    let _ = stream.set_nodelay(true);
    let routes = TowerToHyperService::new(router);
    let connection = place.connection.clone();
    let service = service_fn(move |mut request: Request<Incoming>| {
        request.extensions_mut().insert(connection.clone());
        let answer = routes.call(request);
        async move { Ok::<_, Infallible>(answer.await.unwrap_or_else(|never| match never {})) }
    });
    let mut http = server::conn::http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(limits.head_time).max_buf_size(MAX_HEAD);
    let mut serving = pin!(http.serve_connection(TokioIo::new(stream), service));
    tokio::select! {
        _ = serving.as_mut() => return,
        () = place.connection.closed() => return,
        _ = stopped.wait_for(|&stopped| stopped) => serving.as_mut().graceful_shutdown(),
    }
    let _ = timeout(STOP_TIME, serving).await;
}
