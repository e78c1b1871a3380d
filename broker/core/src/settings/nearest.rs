//! Which known name did somebody mean? Edit distance over a few hundred names, computed only once a name is wrong.

/// The candidate with the fewest edits (insert, delete, replace, swap of neighbours) from `name`, if it needs at most a
/// third of the name's length.
#[must_use]
pub fn nearest<'a>(name: &str, candidates: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    // Names come from files and from the network: a very long one is no typo.
    if name.len() > 200 {
        return None;
    }
    let limit = (name.chars().count() / 3).max(1);
    candidates
        .map(|candidate| (distance(name, candidate), candidate))
        .filter(|(distance, _)| *distance <= limit)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// Optimal string alignment distance.
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut before: Vec<usize> = Vec::new();
    let mut above: Vec<usize> = (0..=b.len()).collect();
    for i in 1..=a.len() {
        let mut row = vec![i; b.len() + 1];
        for j in 1..=b.len() {
            let replace = above[j - 1] + usize::from(a[i - 1] != b[j - 1]);
            row[j] = replace.min(above[j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                row[j] = row[j].min(before[j - 2] + 1);
            }
        }
        before = std::mem::replace(&mut above, row);
    }
    above[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_typo_finds_the_name_that_was_meant() {
        let names = ["retention.ms", "retention.bytes", "segment.ms"];
        assert_eq!(nearest("retenton.ms", names.into_iter()), Some("retention.ms"));
        assert_eq!(nearest("segmnet.ms", names.into_iter()), Some("segment.ms"));
        assert_eq!(nearest("retention.byte", names.into_iter()), Some("retention.bytes"));
    }

    #[test]
    fn a_name_that_is_like_nothing_finds_nothing() {
        assert_eq!(nearest("colour", ["retention.ms"].into_iter()), None);
        assert_eq!(nearest(&"x".repeat(10_000), ["retention.ms"].into_iter()), None);
    }

    #[test]
    fn swapped_neighbours_are_one_edit() {
        assert_eq!(distance("abcd", "abdc"), 1);
        assert_eq!(distance("", "abc"), 3);
        assert_eq!(distance("same", "same"), 0);
    }
}
