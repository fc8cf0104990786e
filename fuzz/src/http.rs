//! The HTTP player under arbitrary input.
//!
//! The player must answer or close the connection, whatever a peer sends. A
//! parsed message must stay the same when it is printed and parsed again.

use std::sync::Arc;
use std::time::Instant;

use sternhalma_ggp::protocol::http::{Answer, converse};
use sternhalma_ggp::protocol::{Message, Reply};
use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};
use tokio::runtime::{Builder, Runtime};

thread_local! {
    static RUNTIME: Runtime = Builder::new_current_thread().enable_all().build().expect("a runtime");
}

/// Parses the bytes as a message, and sends them to a player over a connection.
pub fn target(bytes: &[u8]) {
    if let Ok(message) = String::from_utf8_lossy(bytes).parse() {
        assert_round_trip(&message);
    }
    let reply = RUNTIME.with(|runtime| runtime.block_on(exchange(bytes)));
    let reply = String::from_utf8(reply).expect("replies are text");
    let status = reply.get(..13).unwrap_or_default();
    let known = ["100", "200", "400", "405", "413", "414", "417", "431", "505"];
    assert!(
        reply.is_empty()
            || known.iter().any(|code| status == format!("HTTP/1.0 {code} ") || status == format!("HTTP/1.1 {code} ")),
        "{reply}"
    );
}

async fn exchange(bytes: &[u8]) -> Vec<u8> {
    let answer: Answer = Arc::new(|text, _| {
        assert_round_trip(&text.parse()?);
        Ok(Reply::Ready)
    });
    let (mut peer, stream) = duplex(1 << 16);
    let player = tokio::spawn(converse(stream, Instant::now(), answer));
    // The player may hang up before it has read everything.
    let _ = peer.write_all(bytes).await;
    let _ = peer.shutdown().await;
    let mut reply = Vec::new();
    let _ = peer.read_to_end(&mut reply).await;
    player.await.expect("the player does not panic");
    reply
}

fn assert_round_trip(message: &Message) {
    let printed = message.to_string();
    assert_eq!(printed.parse().as_ref(), Ok(message), "{printed}");
}
