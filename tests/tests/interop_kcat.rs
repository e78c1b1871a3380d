//! kcat (an old librdkafka) against a real broker process.

use ballast_tests::foreign::kcat::Kcat;
use ballast_tests::process::Serve;

#[test]
fn kcat_writes_and_reads_every_codec_with_and_without_keys() {
    let mut broker = Serve::start(&["num.partitions=2"]);
    let Some(kcat) = Kcat::new("interop_kcat", &broker.bootstrap) else { return };
    let listing = kcat.output(&["-L", "-J"]);
    assert!(listing.contains(r#""brokers":[{"id":1"#), "{listing}");
    for codec in ["none", "gzip", "snappy", "lz4", "zstd"] {
        let lines: String = (0..50).map(|i| format!("k{i}:{codec}-{i}-ünïcode\n")).collect();
        kcat.produce(&["-t", codec, "-K", ":", "-z", codec, "-p", "1"], lines.as_bytes());
        kcat.produce(&["-t", codec, "-z", codec, "-p", "0"], b"one\ntwo\nthree\n");
        assert_eq!(kcat.consume(codec, 1, "%k:%s\n"), lines, "{codec}");
        assert_eq!(kcat.consume(codec, 0, "%o %s\n"), "0 one\n1 two\n2 three\n", "{codec}");
    }
    assert!(broker.stop().success(), "{}", broker.log());
    broker.restart();
    assert_eq!(kcat.consume("zstd", 0, "%s,"), "one,two,three,", "after a restart");
    let by_time = kcat.output(&["-Q", "-t", "zstd:0:1"]);
    assert!(by_time.contains("zstd [0] offset 0"), "{by_time}");
}
