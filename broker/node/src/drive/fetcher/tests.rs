//! Where partitions are placed.

use super::*;

#[test]
fn partitions_spread_over_fetchers_as_apache_kafka_spreads_them() {
    // abs(31 * "orders".hashCode() + partition) % 4
    let hash = hash::java_string("orders").wrapping_mul(31);
    for index in 0..8 {
        let expected = hash.wrapping_add(index).unsigned_abs() as usize % 4;
        assert_eq!(fetcher_of("orders", index, 4), expected, "{index}");
        assert_eq!(fetcher_of("orders", index, 1), 0);
    }
}
