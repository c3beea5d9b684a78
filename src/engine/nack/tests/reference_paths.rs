//! The paths of references lead to the names.

use proptest::collection;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::nack::value_at;
use xdscope_schema::Schema;
use xdscope_schema::links::{ReferenceFinder, links_of};
use xdscope_wire::event::{ApiVersion, Kind};

proptest! {
    #[test]
    fn paths_lead_to_the_names(names in collection::vec("[a-z|.0-9]{1,12}", 1..8)) {
        let routes: Vec<Value> = names.iter().map(|name| json!({"route": {"cluster": name}})).collect();
        let body = json!({"@type": Kind::Rds.type_url(ApiVersion::V3).unwrap().as_str(),
            "virtual_hosts": [{"routes": routes}]});
        let schema = Schema::builtin();
        let links = links_of(&schema, &body);
        prop_assert_eq!(links.len(), names.len());
        let any = schema.encode("google.protobuf.Any", &body).unwrap();
        let fast: Vec<_> = ReferenceFinder::new(schema).references(&any).into_iter().map(|found| found.name).collect();
        prop_assert_eq!(&fast, &names);
        for (link, name) in links.iter().zip(&names) {
            prop_assert_eq!(&link.name, name);
            prop_assert_eq!(value_at(&body, &link.path), Some(&Value::from(name.as_str())));
        }
    }
}
