//! A place in a log, as commands take it: `beginning`, `end`, an offset, or a time.

use ballast_client::consumer::StartAt;
use ballast_net::{Clock as _, SystemClock};
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp, civil};

/// Reads `--from` and `--to`.
pub(crate) fn parse(text: &str) -> Result<StartAt, String> {
    match text {
        "beginning" | "earliest" => Ok(StartAt::Beginning),
        "end" | "latest" => Ok(StartAt::End),
        _ => match text.strip_prefix('@') {
            Some(time) => parse_time(time, SystemClock.now_ms()).map(StartAt::Time),
            None => match text.parse::<i64>() {
                Ok(offset) if offset >= 0 => Ok(StartAt::Offset(offset)),
                _ => Err("expected beginning, end, an offset, or @TIME".to_owned()),
            },
        },
    }
}

/// Milliseconds since 1970 of a number, an instant, a local date or time, or a span before `now_ms`.
fn parse_time(text: &str, now_ms: i64) -> Result<i64, String> {
    if let Ok(ms) = text.parse::<i64>()
        && ms >= 0
    {
        return Ok(ms);
    }
    if text.starts_with('-')
        && let Ok(span) = text.parse::<SignedDuration>()
    {
        return Ok(now_ms.saturating_add(i64::try_from(span.as_millis()).unwrap_or(i64::MIN)).max(0));
    }
    if let Ok(instant) = text.parse::<Timestamp>() {
        return Ok(instant.as_millisecond());
    }
    let local = text.parse::<civil::DateTime>().map_err(|_| {
        format!("{text:?} is no time: expected ms since 1970, 2026-11-29T22:00Z, 2026-11-29T22:00 or -1h")
    })?;
    let zoned = local.to_zoned_datetime(TimeZone::system()).map_err(|e| e.to_string())?;
    Ok(zoned.timestamp().as_millisecond())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_way_to_say_where_is_understood() {
        assert_eq!(parse("beginning"), Ok(StartAt::Beginning));
        assert_eq!(parse("end"), Ok(StartAt::End));
        assert_eq!(parse("42"), Ok(StartAt::Offset(42)));
        assert_eq!(parse("@1700000000000"), Ok(StartAt::Time(1_700_000_000_000)));
        assert_eq!(parse("@2023-11-14T22:13:20Z"), Ok(StartAt::Time(1_700_000_000_000)));
        for bad in ["", "-1", "start", "@", "@yesterday"] {
            assert!(parse(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn a_span_counts_back_from_now() {
        assert_eq!(parse_time("-1h", 10_000_000), Ok(10_000_000 - 3_600_000));
        assert_eq!(parse_time("-1h", 5), Ok(0));
    }
}
