use super::files::scripts;
use super::*;
use crate::event::Kind;
use crate::lint;
use crate::store::Options;

#[test]
fn every_expectation_of_every_script_holds() {
    let mut wrong = Vec::new();
    let mut expectations = 0;
    for (path, text) in scripts() {
        let file = path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
        let script = parse(&text, &file).unwrap_or_else(|error| panic!("{error}"));
        expectations += script.lines.iter().filter(|line| matches!(line.item, Item::Expect(_))).count();
        let failures = check(&script, &Plain, Options::default(), rules(), None);
        let failures = failures.unwrap_or_else(|error| panic!("{error}"));
        wrong.extend(failures.into_iter().map(|failure| format!("{file}: {failure}")));
    }
    assert!(expectations > 200, "the scripts say what they expect");
    assert!(wrong.is_empty(), "{} of {expectations} do not hold:\n{}", wrong.len(), wrong.join("\n"));
}

/// Rules that see the references of content which [`Plain`] has encoded.
fn rules() -> lint::Options {
    let links = std::sync::Arc::new(|any: &[u8]| {
        let value = Fields::new(any).map_while(Result::ok).find(|field| field.number == 2);
        let json = value.and_then(|value| Plain.decode("", value.bytes())).unwrap_or_default();
        let mut out = Vec::new();
        references(&json, &mut out);
        out
    });
    lint::Options { links: Some(links), ..lint::Options::default() }
}

/// By the names of fields: fixtures use no others.
fn references(value: &Value, out: &mut Vec<(Kind, String)>) {
    let Value::Object(map) = value else {
        return value.as_array().into_iter().flatten().for_each(|item| references(item, out));
    };
    for (key, inner) in map {
        let kind = match key.as_str() {
            "cluster" => Kind::Cds,
            "route_config_name" => Kind::Rds,
            "service_name" => Kind::Eds,
            _ => {
                references(inner, out);
                continue;
            }
        };
        out.extend(inner.as_str().map(|name| (kind, name.to_owned())));
    }
    let whole = map.get("eds_cluster_config").filter(|eds| eds.get("service_name").is_none());
    let name = map.get("name").and_then(Value::as_str).filter(|_| whole.is_some());
    out.extend(name.map(|name| (Kind::Eds, name.to_owned())));
    let weighted = map.get("weighted_clusters").and_then(|all| all.get("clusters")).and_then(Value::as_array);
    let names = weighted.into_iter().flatten().filter_map(|one| one.get("name")?.as_str());
    out.extend(names.map(|name| (Kind::Cds, name.to_owned())));
}
