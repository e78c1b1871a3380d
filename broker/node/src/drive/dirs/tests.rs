//! Which replicas the controller is told about.

use ballast_core::image::{Directories, Partition as State, Record, Recovery};
use ballast_log::disk::{Disk, RealDisk};
use ballast_log::{Log, LogConfig};

use super::*;
use crate::drive::partition::{Partition, Place};
use crate::drive::proposals::Proposals;

const ME: BrokerId = 1;
const TOPIC: Uuid = Uuid([1; 16]);
const HERE: Uuid = Uuid([2; 16]);

/// The metadata of one partition whose replica on this broker is in `directory`.
fn image(directory: Uuid) -> Image {
    let state = State {
        replicas: vec![9, ME],
        directories: vec![Uuid([5; 16]), directory],
        isr: vec![9],
        elr: vec![],
        last_known_elr: vec![],
        adding: vec![],
        removing: vec![],
        leader: 9,
        leader_epoch: 0,
        partition_epoch: 0,
        recovery: Recovery::Recovered,
    };
    let mut image = Image::default();
    let topic = Record::Topic { name: "t".into(), id: TOPIC };
    image.apply(1, &[topic, Record::Partition { topic: TOPIC, index: 0, state: Box::new(state) }]);
    image
}

#[test]
fn a_replica_is_told_about_until_the_metadata_says_where_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let disk: Arc<dyn Disk> = RealDisk::ephemeral();
    let log = Log::create(Arc::clone(&disk), folder.path().join("t-0"), Arc::new(LogConfig::default()), 0, 0).unwrap();
    let place = Place { topic: "t".into(), topic_id: TOPIC, index: 0, directory: HERE };
    let (proposals, _wishes) = Proposals::channel();
    let hosted = Hosted::default();
    hosted.insert(Arc::new(Partition::new(place, log, disk, 0, proposals)));

    let mut open = BTreeSet::from([(TOPIC, 0)]);
    let row = DirAssignment { dir: HERE, topic: TOPIC, index: 0 };
    for elsewhere in [Directories::UNASSIGNED, Uuid([3; 16])] {
        assert_eq!(due(&mut open, ME, &image(elsewhere), &hosted, |_| false), [row], "{elsewhere}");
        assert_eq!(open, [(TOPIC, 0)].into(), "asking is not being answered");
    }
    assert_eq!(due(&mut open, ME, &image(HERE), &hosted, |_| false), []);
    assert_eq!(open, [].into());
    open.insert((TOPIC, 1));
    assert_eq!(due(&mut open, ME, &image(HERE), &hosted, |_| false), [], "it is gone");
    assert_eq!(open, [].into());
}

#[test]
fn a_replica_without_a_log_is_lost_if_its_directory_may_have_failed_and_is_known_to_nobody() {
    let hosted = Hosted::default();
    let told = |directory, is_lost: bool| {
        let mut open = BTreeSet::from([(TOPIC, 0)]);
        due(&mut open, ME, &image(directory), &hosted, |_| is_lost)
    };
    let row = DirAssignment { dir: Directories::LOST, topic: TOPIC, index: 0 };
    assert_eq!(told(Directories::UNASSIGNED, true), [row]);
    assert_eq!(told(Directories::UNASSIGNED, false), [], "it is about to be made");
    assert_eq!(told(Directories::LOST, true), [], "that is known");
    assert_eq!(told(HERE, true), [], "the controller knows of the directory");
}
