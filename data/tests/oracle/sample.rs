//! States of a table at a distance, and random ones.

use sternhalma_data::{Board, Prefix, Rank};
use sternhalma_testutil::{Reference, encodings};

#[test]
fn states_at_a_distance_are_found_in_every_encoding() {
    let dir = tempfile::tempdir().unwrap();
    let reference = Reference::search(Prefix::whole(Board::new(4, 3).unwrap()));
    let mut samples = Vec::new();
    for encoding in encodings() {
        let table = reference.write(&dir.path().join(encoding.to_string()), encoding);
        for distance in 0..=table.max_distance().0 + 1 {
            let expected: Vec<Rank> = (0..)
                .zip(&reference.distances)
                .filter(|&(_, &found)| found == distance)
                .map(|(rank, _)| Rank(rank))
                .collect();
            let found: Vec<Rank> = table.states_at(distance).unwrap().collect::<Result<_, _>>().unwrap();
            assert_eq!(found, expected, "{encoding} {distance}");
            let mut sample = table.sample_at(distance, 1000, 7).unwrap();
            samples.push((distance, sample.clone()));
            sample.sort_unstable_by_key(|rank| rank.0);
            assert_eq!(sample, expected, "{encoding} {distance}");
            let few = table.sample_at(distance, 2, 7).unwrap();
            assert_eq!(few.len(), expected.len().min(2));
            assert!(few.iter().all(|rank| expected.contains(rank)));
        }
        assert_eq!(table.sample(5, 3), reference.write(&dir.path().join("x"), encodings()[0]).sample(5, 3));
    }
    // The form of the table makes no difference.
    assert!(samples.iter().all(|(distance, sample)| *sample == samples[usize::from(*distance)].1));
}
