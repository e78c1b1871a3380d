//! Frames that no client sends: impossible sizes, other protocols, halves.

use ballast_tests::raw::Reply;
use ballast_wire::frame::ApiKey;

use crate::watch::Watch;

/// Size of a frame that Kafka still takes: `socket.request.max.bytes`.
const FRAME_BYTES_MAX: i32 = 100 << 20;

#[test]
fn impossible_sizes_and_other_protocols_are_shown_the_door() {
    let Some(watch) = Watch::start(&[]) else { return };
    watch.during(|broker| {
        for (what, bytes) in [
            ("size -1", (-1i32).to_be_bytes().to_vec()),
            ("size 0", vec![0; 4]),
            ("the least size", i32::MIN.to_be_bytes().to_vec()),
            ("the greatest size", i32::MAX.to_be_bytes().to_vec()),
            ("one byte more than allowed", (FRAME_BYTES_MAX + 1).to_be_bytes().to_vec()),
            ("HTTP", b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n".to_vec()),
            ("HTTP/2", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec()),
            ("TLS", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03".to_vec()),
            ("SSH", b"SSH-2.0-OpenSSH_9.7\r\n".to_vec()),
            ("a frame of one byte", b"\0\0\0\x01x".to_vec()),
            ("a header that is cut", b"\0\0\0\x06\0\x12\0\x03\0\0".to_vec()),
        ] {
            let mut connection = broker.connect();
            // It may be closed while we are still sending.
            let _ = connection.send(&bytes);
            assert_eq!(connection.reply(), Reply::Closed, "{what}");
        }
    });
}

#[test]
fn half_a_frame_is_no_request() {
    let Some(watch) = Watch::start(&[]) else { return };
    watch.during(|broker| {
        for cut in 1..25 {
            let mut connection = broker.connect();
            let whole = b"\0\0\0\x16\0\x12\0\x03\0\0\0\x07\0\x02me\0\x06tests\x041.0\0";
            connection.send(&whole[..cut]).unwrap();
            connection.half_close();
            assert_eq!(connection.reply(), Reply::Closed, "{cut} bytes of {}", whole.len());
        }
    });
}

#[test]
fn an_honest_request_before_nonsense_is_answered() {
    let Some(watch) = Watch::start(&[]) else { return };
    watch.during(|broker| {
        for nonsense in [&b"\xff\xff\xff\xff"[..], b"GET / HTTP/1.1\r\n\r\n", b"\0\0\0\x02\0\x03"] {
            let mut connection = broker.connect();
            let asked = connection.request(ApiKey::API_VERSIONS, 0, &[]).unwrap();
            let _ = connection.send(nonsense);
            assert_eq!(connection.frame()[..4], asked.to_be_bytes());
            assert_eq!(connection.reply(), Reply::Closed);
        }
    });
}

#[test]
fn clients_that_come_and_go_leave_nothing_behind() {
    let Some(watch) = Watch::start(&[]) else { return };
    watch.during(|broker| {
        for round in 0..2000 {
            let mut connection = broker.connect();
            match round % 4 {
                0 => {}
                1 => connection.send(b"\0\0").unwrap(),
                2 => connection.send(b"\0\0\x10\0\0\x03").unwrap(),
                // Gone before the answer comes.
                _ => drop(connection.request(ApiKey::API_VERSIONS, 0, &[])),
            }
        }
    });
}
