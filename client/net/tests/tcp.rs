//! The TCP transport over real sockets on free ports: order and completeness of every kind of piece.
#![expect(clippy::unwrap_used, reason = "a test that cannot set up its sockets should stop")]

use std::collections::VecDeque;
use std::future::poll_fn;
use std::io::{self, Write as _};
use std::sync::Arc;
use std::time::Duration;

use ballast_net::{Connection, SENDFILE_BYTES_MIN, TcpTransport, Transport, send_all};
use ballast_wire::{Chunk, FileRange};
use bytes::Bytes;
use tokio::io::AsyncReadExt;

async fn pair() -> (Connection, Connection) {
    let mut listener = TcpTransport.listen("127.0.0.1", 0, None).await.unwrap();
    let address = listener.local_addr();
    let (client, server) = tokio::join!(TcpTransport.connect("127.0.0.1", address.port()), listener.accept());
    (client.unwrap(), server.unwrap())
}

fn pattern(len: usize, seed: usize) -> Vec<u8> {
    (0..len).map(|i| ((i * 31 + seed * 17) >> 3) as u8).collect()
}

fn file_of(bytes: &[u8]) -> Arc<std::fs::File> {
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(bytes).unwrap();
    Arc::new(file)
}

fn in_file(file: &Arc<std::fs::File>, position: u64, len: usize) -> Chunk {
    Chunk::File { range: FileRange { file: file.clone(), position, len }, mapped: None }
}

#[tokio::test]
async fn every_kind_of_piece_arrives_whole_and_in_order() {
    let (mut client, server) = pair().await;
    let on_disk = pattern(3 << 20, 1);
    let file = file_of(&on_disk);
    let mapped = Bytes::from(on_disk[100..5_100].to_vec());
    let pieces: VecDeque<Chunk> = [
        Chunk::from(Vec::new()),
        Chunk::from(pattern(90, 2)),
        in_file(&file, 7, 2 << 20),
        Chunk::from(pattern(5, 3)),
        in_file(&file, 50, 1000),
        Chunk::File { range: FileRange { file: file.clone(), position: 100, len: 5_000 }, mapped: Some(mapped) },
        Chunk::from(Vec::new()),
        in_file(&file, 0, SENDFILE_BYTES_MIN),
        in_file(&file, 1, SENDFILE_BYTES_MIN - 1),
    ]
    .into();
    let expected: Vec<u8> = pieces.iter().flat_map(|p| p.bytes().unwrap()).collect();

    let send = tokio::spawn(async move {
        let Connection { reader, mut writer, .. } = server;
        send_all(&mut *writer, pieces).await.unwrap();
        poll_fn(|cx| writer.poll_shutdown(cx)).await.unwrap();
        reader
    });
    let mut got = Vec::new();
    // A slow reader fills the socket's buffer, so that the sender has to wait in the middle of every kind of piece.
    let mut buffer = vec![0; 40_000];
    loop {
        let n = client.reader.read(&mut buffer).await.unwrap();
        if n == 0 {
            break;
        }
        got.extend_from_slice(&buffer[..n]);
        if got.len() < 1 << 20 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }
    send.await.unwrap();
    assert_eq!(got.len(), expected.len());
    assert!(got == expected, "bytes differ");
}

#[tokio::test]
async fn ten_thousand_small_pieces_arrive_in_order() {
    let (mut client, mut server) = pair().await;
    let pieces: VecDeque<Chunk> = (0..10_000u32).map(|i| Chunk::from(i.to_be_bytes().to_vec())).collect();
    let send = tokio::spawn(async move {
        send_all(&mut *server.writer, pieces).await.unwrap();
        server
    });
    let mut got = vec![0; 40_000];
    client.reader.read_exact(&mut got).await.unwrap();
    let numbers: Vec<u32> = got.chunks(4).map(|c| u32::from_be_bytes(c.try_into().unwrap())).collect();
    assert!(numbers.iter().copied().eq(0..10_000));
    send.await.unwrap();
}

#[tokio::test]
async fn a_file_that_ends_early_breaks_the_connection_instead_of_sending_less() {
    let (_client, mut server) = pair().await;
    let file = file_of(&pattern(100_000, 1));
    let error = send_all(&mut *server.writer, [in_file(&file, 0, 200_000)].into()).await.unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof);
    let error = send_all(&mut *server.writer, [in_file(&file, 99_999, 2)].into()).await.unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof);
}

#[tokio::test]
async fn a_peer_that_went_away_is_an_error_not_a_wait() {
    let (client, mut server) = pair().await;
    drop(client);
    let mut sent = 0;
    let error = loop {
        match send_all(&mut *server.writer, [Chunk::from(pattern(1 << 20, 1))].into()).await {
            Ok(()) => sent += 1,
            Err(e) => break e,
        }
        assert!(sent < 100, "the peer is gone, yet {sent} MiB went out");
    };
    assert!(matches!(error.kind(), io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset), "{error}");
}

#[tokio::test]
async fn shutting_down_lets_the_peer_read_to_the_end_and_still_answer() {
    let (mut client, mut server) = pair().await;
    send_all(&mut *client.writer, [Chunk::from(b"ask".to_vec())].into()).await.unwrap();
    poll_fn(|cx| client.writer.poll_shutdown(cx)).await.unwrap();
    let mut asked = String::new();
    server.reader.read_to_string(&mut asked).await.unwrap();
    assert_eq!(asked, "ask");
    send_all(&mut *server.writer, [Chunk::from(b"answer".to_vec())].into()).await.unwrap();
    drop(server);
    let mut answer = String::new();
    client.reader.read_to_string(&mut answer).await.unwrap();
    assert_eq!(answer, "answer");
}

#[tokio::test]
async fn names_are_resolved_and_both_ends_know_each_other() {
    let mut listener = TcpTransport.listen("localhost", 0, None).await.unwrap();
    let address = listener.local_addr();
    assert_ne!(address.port(), 0);
    let (client, server) = tokio::join!(TcpTransport.connect("localhost", address.port()), listener.accept());
    let (client, server) = (client.unwrap(), server.unwrap());
    assert_eq!((client.local, client.peer), (server.peer, server.local));
    assert!(TcpTransport.connect("no-such-host.invalid", 9092).await.is_err());
}

#[tokio::test]
async fn a_port_can_be_taken_again_while_old_connections_linger() {
    let mut listener = TcpTransport.listen("127.0.0.1", 0, None).await.unwrap();
    let port = listener.local_addr().port();
    let (client, server) = tokio::join!(TcpTransport.connect("127.0.0.1", port), listener.accept());
    // The listening side closes first: its end goes to TIME_WAIT.
    drop(server.unwrap());
    drop(listener);
    drop(client.unwrap());
    TcpTransport.listen("127.0.0.1", port, None).await.unwrap();
}
