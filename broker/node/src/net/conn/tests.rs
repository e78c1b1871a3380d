//! A connection to a service that writes down what it is asked to do, and when.

use std::net::SocketAddr;

use parking_lot::Mutex;

use super::*;

/// Keeps what is sent.
struct Sink(Arc<Mutex<Vec<u8>>>);

impl SendHalf for Sink {
    fn poll_send(&mut self, _: &mut Context<'_>, pieces: &mut VecDeque<Chunk>) -> Poll<io::Result<()>> {
        pieces.drain(..).for_each(|piece| self.0.lock().extend_from_slice(&piece.bytes().unwrap()));
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

/// Frames are a letter each, of which capitals gather. The answer is the letter; to `!` none can be given, to `~` not now.
struct Diary(Arc<Mutex<Vec<String>>>);

impl Service for Diary {
    fn start(&self, frame: Frame) -> Result<Started, String> {
        let letter = frame.bytes[0];
        self.0.lock().push(format!("start {}", letter as char));
        let diary = Arc::clone(&self.0);
        let answer = Box::pin(async move {
            diary.lock().push(format!("carry out {}", letter as char));
            match letter {
                b'!' => Answer::Close("what is that".to_owned()),
                b'~' => Answer::Away("not now"),
                letter => Answer::Send([Chunk::from(bytes::Bytes::from(vec![letter]))].into()),
            }
        });
        Ok(Started { answer, overlaps: letter.is_ascii_uppercase() })
    }

    fn gathers(&self, frame: &[u8]) -> bool {
        frame[0].is_ascii_uppercase()
    }
}

/// What is done for these letters, which come in at once, and what is answered.
async fn served(letters: &str) -> (Vec<String>, String) {
    let (ended, diary, answers) = ended(letters).await;
    assert!(matches!(ended, CloseReason::Peer), "{ended}");
    (diary, answers)
}

/// The same, and why the connection ended.
async fn ended(letters: &str) -> (CloseReason, Vec<String>, String) {
    let (diary, sent) = <(Arc<Mutex<Vec<String>>>, Arc<Mutex<Vec<u8>>>)>::default();
    let stream: Vec<u8> = letters.bytes().flat_map(|letter| [0, 0, 0, 1, letter]).collect();
    let nowhere = SocketAddr::from(([127, 0, 0, 1], 1));
    let connection = Connection {
        reader: Box::new(io::Cursor::new(stream)),
        writer: Box::new(Sink(Arc::clone(&sent))),
        peer: nowhere,
        local: nowhere,
    };
    let limits =
        ConnLimits { frame_bytes_max: 1 << 10, idle_max: Duration::from_secs(60), budget: Budget::new(1 << 20) };
    let ended = serve(connection, Diary(Arc::clone(&diary)), limits, std::future::pending()).await;
    let answers = String::from_utf8(sent.lock().clone()).unwrap();
    let diary = diary.lock().clone();
    (ended, diary, answers)
}

#[tokio::test]
async fn requests_that_gather_start_together_before_any_is_carried_out() {
    let (diary, answers) = served("ABC").await;
    assert_eq!(diary, ["start A", "start B", "start C", "carry out A", "carry out B", "carry out C"]);
    assert_eq!(answers, "ABC");
}

#[tokio::test]
async fn a_request_that_does_not_gather_sees_all_before_it_carried_out() {
    let (diary, answers) = served("ABcD").await;
    let expected =
        ["start A", "start B", "carry out A", "carry out B", "start c", "carry out c", "start D", "carry out D"];
    assert_eq!((diary.join(", "), answers), (expected.join(", "), "ABcD".into()));
}

#[tokio::test]
async fn no_more_gather_than_may_be_unanswered() {
    let letters = "A".repeat(IN_FLIGHT_MAX + 3);
    let (diary, answers) = served(&letters).await;
    let gathered = diary.iter().take_while(|line| line.starts_with("start")).count();
    assert_eq!((gathered, answers), (IN_FLIGHT_MAX, letters));
}

#[tokio::test]
async fn what_cannot_be_answered_ends_the_connection_and_is_worth_a_warning_if_who_asks_is_at_fault() {
    for (letters, why, is_notable) in [("a!b", "what is that", true), ("a~b", "not now", false)] {
        let (ended, _, answers) = ended(letters).await;
        assert_eq!((ended.to_string().as_str(), ended.is_notable(), answers.as_str()), (why, is_notable, "a"));
    }
}
