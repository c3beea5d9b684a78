use super::holds;

const CDS: &str = "node n\nstream 1 delta cds\n";

#[track_caller]
fn cds(text: &str) {
    holds(&format!("{CDS}{text}"));
}

#[test]
fn tracks_delta_wildcard_changes() {
    cds(">
         expect message 1 subscribe class=initial
         expect state 1 cds wait wildcard=legacy names=[]
         > sub=[A]
         expect message 2 subscribe class=spontaneous added=[A]
         expect state 1 cds wildcard=legacy names=[A]
         > unsub=[*]
         expect message 3 unsubscribe class=spontaneous
         expect state 1 cds wildcard=none names=[A]
         > unsub=[A]
         expect state 1 cds idle wildcard=none names=[]");
}

#[test]
fn tracks_delta_session() {
    cds("> sub=[wa wb]
         < n=1 [wa@1 wb@1]
         expect message 2 push answers=1 added=[wa wb]
         > n=1
         expect message 3 ack class=ack answers=2
         < n=2 [wb~2@2]
         expect message 4 push changed=[wb] answers=
         > n=2 nack=\"bad\"
         expect message 5 nack class=nack answers=4
         > sub=[wc]
         expect message 6 subscribe class=spontaneous
         < n=3 [wc@1]
         expect message 7 push answers=6
         > n=3
         expect state 1 cds synced pending=[] nack_count=1
         expect resource 1 cds wa present version=1 acked_version=1 refused=false
         expect resource 1 cds wb present version=2 acked_version=1 refused=true
         expect resource 1 cds wc present version=1 acked_version=1
         < n=4 [wb~3@3]
         expect resource 1 cds wb present version=3 acked_version=1 refused=false
         > n=4
         expect resource 1 cds wb present version=3 acked_version=3 refused=false");
}

#[test]
fn accepts_verdicts_in_any_order() {
    cds("> sub=[a b]
         < n=1 [a@1]
         < n=2 [b@1]
         > n=2 nack=\"bad\"
         expect state 1 cds nack pending=[1]
         > n=1
         expect state 1 cds nack pending=[]
         expect resource 1 cds a acked_version=1
         < n=3 [b~2@2]
         > n=3
         expect state 1 cds synced open_nack=");
}

#[test]
fn late_nack_keeps_newer_version() {
    cds("> sub=[a]
         < n=1 [a@1]
         < n=2 [a~2@2]
         > n=2
         > n=1 nack=\"bad\"
         expect state 1 cds synced nack_count=1 open_nack=
         expect resource 1 cds a refused=false acked_version=2");
}

#[test]
fn owes_resource_after_repeated_subscription() {
    cds("> sub=[x]
         < n=1 [x@1]
         > n=1
         > sub=[x]
         expect message 4 subscribe class=spontaneous added=[]
         advance 14900ms
         expect state 1 cds wait missing=[] owed_again=[x]
         advance 100ms
         expect state 1 cds miss missing=[] resources=1
         expect resource 1 cds x present
         < n=2 [x@1]
         expect message 5 resend answers=4 same=1
         > n=2
         expect state 1 cds synced missing=[]");
}

#[test]
fn keeps_wildcard_member_after_unsubscribe() {
    let start = ">
         < n=1 [A@1 B@1]
         > n=1
         > sub=[C]
         < n=2 [C@1]
         > n=2
         > unsub=[C]
         expect message 7 unsubscribe removed=[C]
         expect resource 1 cds C present
         ";
    cds(&format!(
        "{start}< n=3 rm=[C]
         expect message 8 push removed=[C]
         expect resource 1 cds C removed"
    ));
    cds(&format!(
        "{start}< n=3 [C@1]
         expect message 8 resend
         expect resource 1 cds C present origin=wildcard"
    ));
}

#[test]
fn detects_missing_resource_in_both_styles() {
    cds("> sub=[q r s]
         < n=1 [r@1] rm=[q]
         expect message 2 push added=[r] removed=[q]
         expect state 1 cds missing=[q s] absent=[q]
         > n=1
         < n=2 [s unset]
         > n=2
         expect state 1 cds synced missing=[q s] absent=[q s] resources=1
         expect resource 1 cds q absent absent_by=server
         expect resource 1 cds r present
         expect resource 1 cds s absent absent_by=legacy
         < n=3 [q@1]
         expect message 6 push added=[q]
         expect resource 1 cds q present
         < n=4 rm=[q]
         expect resource 1 cds q removed
         expect state 1 cds missing=[s] absent=[q s]");
}

#[test]
fn tolerates_protocol_slips() {
    cds("> sub=[a]
         < n=1 [a@1]
         > n=1
         > unsub=[zz]
         expect message 4 unsubscribe class=spontaneous removed=[]
         > sub=[b] n=1
         expect message 5 subscribe class=settled_nonce added=[b] answers=
         expect state 1 cds names=[a b]
         > sub=[c] irv={a:1}
         expect message 6 subscribe class=spontaneous
         > sub=[d] unsub=[d]
         expect state 1 cds names=[a b c d]
         > n=77
         expect message 8 repeat class=unknown_nonce");
}

#[test]
fn resolves_aliases() {
    holds(
        "stream 1 delta vhds
         > sub=[rc/foo.com]
         expect resource 1 vhds rc/foo.com waiting
         < n=1 [rc/site@1 aliases=[rc/foo.com rc/bar.com]]
         expect state 1 vhds missing=[] resources=1 names=[rc/foo.com]
         expect resource 1 vhds rc/site present aliases=[rc/foo.com rc/bar.com] origin=named
         > n=1
         > unsub=[rc/bar.com]
         expect state 1 vhds idle names=[] resources=0
         expect resource 1 vhds rc/site released",
    );
}

#[test]
fn expires_delta_resource_after_ttl() {
    let start = "node n feature=xds.config.supports-resource-ttl
         stream 1 delta cds
         +0s > sub=[r]
         +0s < n=1 [r@1 ttl=10s]
         +0s > n=1
         expect resource 1 cds r present ttl_deadline=10
         ";
    holds(&format!(
        "{start}+8s < n=2 [r@1 unset ttl=10s]
         expect message 4 heartbeat same=0
         expect resource 1 cds r present ttl_deadline=18
         expect state 1 cds sent pending=[2]
         > n=2
         +15s < n=3 [r@1 unset ttl=20s]
         > n=3
         expect resource 1 cds r present ttl_deadline=35
         +30s < n=4 [r@1]
         expect message 8 resend same=1
         > n=4
         expect resource 1 cds r present ttl_deadline= version=1
         advance 100s
         expect resource 1 cds r present"
    ));
    holds(&format!(
        "{start}advance 9s
         advance 900ms
         expect resource 1 cds r present
         advance 100ms
         expect resource 1 cds r expired
         expect state 1 cds resources=0
         +11s < n=2 [r@1 unset ttl=10s]
         expect resource 1 cds r expired
         +12s < n=3 [r@1 ttl=10s]
         expect message 5 push added=[r]
         expect resource 1 cds r present ttl_deadline=22"
    ));
    holds(&format!(
        "{start}+8s < n=2 [r@2 unset ttl=10s]
         expect resource 1 cds r present version=1 ttl_deadline=10"
    ));
}

#[test]
fn tracks_glob_members_and_redirects() {
    let start = r#"stream 1 delta lds
         > sub=["xdstp://a/envoy.config.listener.v3.Listener/my/*?t=1"]
         expect resource 1 lds "xdstp://a/envoy.config.listener.v3.Listener/my/*?t=1" waiting
         < n=1 ["xdstp://a/envoy.config.listener.v3.Listener/my/foo?t=1"@1 "xdstp://a/envoy.config.listener.v3.Listener/my/bar?t=1"=>"xdstp://a/envoy.config.listener.v3.Listener/baz"@42]
         > n=1
         expect state 1 lds synced missing=[] resources=2
         expect resource 1 lds "xdstp://a/envoy.config.listener.v3.Listener/my/foo?t=1" present origin=glob
         expect resource 1 lds "xdstp://a/envoy.config.listener.v3.Listener/my/bar?t=1" redirected
         "#;
    holds(start);
    holds(&format!(
        r#"{start}< n=2 rm=["xdstp://a/envoy.config.listener.v3.Listener/my/*?t=1"]
         expect state 1 lds resources=2
         > n=2
         expect state 1 lds resources=0
         expect resource 1 lds "xdstp://a/envoy.config.listener.v3.Listener/my/foo?t=1" removed
         expect resource 1 lds "xdstp://a/envoy.config.listener.v3.Listener/my/*?t=1" empty absent_by=server"#
    ));
}

#[test]
fn first_unsubscribe_is_ambiguous_wildcard() {
    cds("> unsub=[x]
         expect message 1 class=initial
         expect state 1 cds wildcard=ambiguous
         < n=1 [y@1]
         expect state 1 cds wildcard=legacy
         expect resource 1 cds y present origin=wildcard");
}

#[test]
fn releases_members_after_leaving_wildcard() {
    cds("> sub=[* A]
         < n=1 [A@1 B@1]
         > n=1
         > unsub=[*]
         expect state 1 cds wildcard=none names=[A] resources=1
         expect resource 1 cds A present origin=named
         expect resource 1 cds B released origin=wildcard
         < n=2 [B~2@2]
         expect resource 1 cds B released version=2");
}

/// docs/protocol.md#f-23: the client has dropped the members of the wildcard, so that the server
/// owes them when the client requests the wildcard again.
#[test]
fn wildcard_requested_again_owes_its_members() {
    holds(
        "stream 1 delta cds
         >
         < n=1 [a@1 b@1]
         > n=1
         > unsub=[*]
         expect resource 1 cds a released
         > sub=[*]
         expect resource 1 cds a waiting
         expect state 1 cds wait resources=0
         advance 16s
         expect state 1 cds miss
         expect resource 1 cds b absent absent_by=timer
         < n=3 [b@1]
         > n=3
         expect message 6 push added=[b]
         expect state 1 cds synced resources=1
         expect resource 1 cds a released",
    );
}

/// docs/protocol.md#f-23: a server without resources answers a wildcard with nothing.
#[test]
fn empty_response_to_a_wildcard_owes_no_members() {
    holds(
        "stream 1 delta cds
         > sub=[*]
         < n=1 [a@1]
         > n=1
         > sub=[b] unsub=[*]
         < n=2 [b@1]
         > n=2
         > sub=[*]
         expect resource 1 cds a waiting
         < n=3 []
         > n=3
         advance 16s
         expect state 1 cds synced resources=1
         expect resource 1 cds a released",
    );
}

/// docs/protocol.md#l-07: a server need not answer a wildcard for endpoints.
#[test]
fn wildcard_for_endpoints_owes_nothing() {
    holds(
        "stream 1 delta-ads
         > eds
         > rds sub=[*]
         > type.googleapis.com/acme.Thing
         advance 20s
         expect state 1 eds idle wildcard=legacy missing=[]
         expect state 1 rds idle wildcard=explicit
         expect state 1 type.googleapis.com/acme.Thing idle wildcard=legacy",
    );
}

/// The only resource of a type of another plane has no name: a new content replaces the old one.
#[test]
fn unnamed_resource_of_another_plane_is_replaced() {
    let url = "type.googleapis.com/istio.networking.nds.v1.NameTable";
    holds(&format!(
        "stream 1 delta-ads
         > {url}
         < {url} n=a [raw:CgExEj4KNXR5cGUuZ29vZ2xlYXBpcy5jb20vaXN0aW8ubmV0d29ya2luZy5uZHMudjEuTmFtZVRhYmxlEgUKA2E6MQ==]
         > {url} n=a
         < {url} n=b [raw:CgEyEj4KNXR5cGUuZ29vZ2xlYXBpcy5jb20vaXN0aW8ubmV0d29ya2luZy5uZHMudjEuTmFtZVRhYmxlEgUKA2I6Mg==]
         > {url} n=b
         expect state 1 {url} synced resources=1
         expect no resource-name-empty"
    ));
}
