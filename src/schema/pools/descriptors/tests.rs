use prost::Message as _;
use prost_reflect::DynamicMessage;

use super::*;
use crate::pools::builtin;
use crate::tests::set_of;

const CLUSTER: &str = "envoy.config.cluster.v3.Cluster";
const NODE: &str = "envoy.config.core.v3.Node";

fn message(descriptors: &Descriptors, name: &str) -> MessageDescriptor {
    descriptors.message(descriptors.index_of(name).expect(name)).expect(name)
}

#[test]
fn knows_names_before_files_are_loaded() {
    let set = set_of(builtin::v3());
    let pool = DescriptorPool::decode(&set[..]).expect("a set");
    let descriptors = Descriptors::of_set(set);
    assert!(descriptors.names().eq(pool.all_messages().map(|message| message.full_name().to_owned())));
    let index = descriptors.index_of(CLUSTER).expect("a message");
    assert_eq!(descriptors.name(index), Some(CLUSTER));
    assert_eq!(descriptors.index_of("envoy.config.cluster.v3.Clusters"), None);
    assert_eq!(descriptors.loaded_files(), 0);
}

#[test]
fn loads_a_file_and_its_imports() {
    let descriptors = Descriptors::of_set(set_of(builtin::v3()));
    let all = descriptors.files.len();
    message(&descriptors, NODE);
    let first = descriptors.loaded_files();
    assert!(first < all / 10, "{first} of {all} files for a node");
    message(&descriptors, CLUSTER);
    let then = descriptors.loaded_files();
    assert!(first < then && then < all / 4, "{then} of {all} files for a cluster");
    message(&descriptors, NODE);
    message(&descriptors, "envoy.config.cluster.v3.Cluster.RingHashLbConfig");
    assert_eq!(descriptors.loaded_files(), then, "the files are loaded");
    assert!(descriptors.file("envoy/config/route/v3/route.proto").is_some());
    assert!(descriptors.loaded_files() > then);
    assert_eq!(descriptors.file("no/such.proto"), None);
}

/// Returns everything about a message that depends on other files.
fn shape(message: &MessageDescriptor) -> Vec<String> {
    let fields = message.fields().map(|field| {
        let options = field.options();
        let rules = field.parent_pool().get_extension_by_name("validate.rules");
        let rules = rules.map(|rules| options.get_extension(&rules).to_string());
        format!("{} {:?} {:?} {options} {rules:?}", field.full_name(), field.kind(), field.default_value())
    });
    fields.chain([message.options().to_string()]).collect()
}

#[test]
fn messages_do_not_depend_on_the_files_that_are_loaded() {
    let set = set_of(builtin::v3());
    let pool = DescriptorPool::decode(&set[..]).expect("a set");
    let names: Vec<_> = pool.all_messages().map(|message| message.full_name().to_owned()).collect();
    for name in names.iter().step_by(97) {
        let descriptors = Descriptors::of_set(set.clone());
        let alone = message(&descriptors, name);
        let among_all = pool.get_message_by_name(name).expect("a message");
        // The options of a message need not be among the files of the message.
        if alone.parent_pool().get_extension_by_name("validate.rules").is_some() {
            assert_eq!(shape(&alone), shape(&among_all), "{name}");
        }
        assert_eq!(alone.descriptor_proto(), among_all.descriptor_proto());
    }
}

#[test]
fn earlier_descriptors_stay_usable() {
    let descriptors = Descriptors::of_set(set_of(builtin::v3()));
    let node = message(&descriptors, NODE);
    message(&descriptors, CLUSTER);
    let decoded = DynamicMessage::decode(node, &b"\x0a\x01n"[..]).expect("a node");
    let again = DynamicMessage::decode(message(&descriptors, NODE), &decoded.encode_to_vec()[..]);
    assert_eq!(again.expect("a node").to_string(), decoded.to_string());
}

/// A program that keeps a descriptor of each message copies the pool each time.
#[test]
fn copies_a_bounded_number_of_files() {
    let descriptors = Descriptors::of_set(set_of(builtin::v3()));
    let count = descriptors.names().len() as u32;
    let kept: Vec<_> = (0..count).rev().filter_map(|index| descriptors.message(index)).collect();
    assert_eq!(kept.len() as u32, count);
    let loaded = descriptors.loaded();
    let most = (MAX_COPIED_SETS + 1) * descriptors.files.len();
    assert!(loaded.copied <= most, "{} of {most}", loaded.copied);
    assert!(loaded.set.is_empty(), "all files are loaded");
}
