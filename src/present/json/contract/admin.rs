//! Fields of what the admin port of a client says.

use super::Presence::*;
use super::Shape::*;
use super::{Field, field, known};

pub(super) const ADMIN: &[Field] = &[
    field(Always, "product", Text, "name of the program, such as `Envoy`"),
    known(Always, "version", Text, "version of the program"),
    known(Always, "state", Text, "state of the server, such as `LIVE`"),
    known(Always, "connected", Bool, "whether a control plane is connected"),
    field(
        Always,
        "certificates",
        List(&Object(CERTIFICATE)),
        "certificates in use, first the one that expires first",
    ),
];

const CERTIFICATE: &[Field] = &[
    field(Always, "path", Text, "path of the file; `<inline>`: it came over xDS"),
    field(Always, "serial", Text, "serial number in hexadecimal"),
    field(Always, "days_left", Integer, "days until the certificate expires"),
];

pub(super) const UPDATES: &[Field] = &[
    field(Always, "success", Count, "updates that were applied (`update_success`)"),
    field(Always, "rejected", Count, "updates that were rejected (`update_rejected`)"),
    field(Always, "failure", Count, "failures of the network or of the stream (`update_failure`)"),
    field(Always, "timeouts", Count, "first waits that ended without a response (`init_fetch_timeout`)"),
    known(
        Always,
        "version",
        Text,
        "version that was applied last (`version_text`), of listeners and clusters",
    ),
];
