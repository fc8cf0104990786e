//! A server whose every answer is a constant, to compare the speed of the interface with:
//! `cargo run --release --example constant -p sternhalma-server PORT BYTES`.

use axum::Router;
use axum::http::header::CONTENT_TYPE;
use axum::routing::get;

#[tokio::main]
async fn main() -> std::io::Result<()> {
    let numbers: Vec<usize> = std::env::args().skip(1).filter_map(|argument| argument.parse().ok()).collect();
    let [port, bytes] = numbers[..] else {
        return Err(std::io::Error::other("expected a port and a number of bytes"));
    };
    let body: &'static str = "x".repeat(bytes).leak();
    let router = Router::new().route("/", get(move || async move { ([(CONTENT_TYPE, "application/json")], body) }));
    let listener = tokio::net::TcpListener::bind(("127.0.0.1", port as u16)).await?;
    println!("http://{}/", listener.local_addr()?);
    axum::serve(listener, router).await
}
