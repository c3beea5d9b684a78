//! Named faults: failures that control planes and clients really had, built from actions.

use super::FaultError;
use xdscope_wire::text::near::nearest;

/// A failure with a name.
#[derive(Debug, PartialEq, Eq)]
pub struct NamedFault {
    /// The first word of the fault.
    pub name: &'static str,
    /// The arguments; `{0}` in the rule stands for the first one.
    pub args: &'static [&'static str],
    /// The fault that it stands for.
    pub rule: &'static str,
    /// The effect, in one sentence.
    pub about: &'static str,
}

impl NamedFault {
    /// Returns the name with its arguments: `eds-unanswered CLUSTER`.
    pub fn form(&self) -> String {
        std::iter::once(self.name).chain(self.args.iter().copied()).collect::<Vec<_>>().join(" ")
    }
}

/// All named faults.
pub static LIBRARY: [NamedFault; 13] = [
    NamedFault {
        name: "eds-unanswered",
        args: &["CLUSTER"],
        rule: "type:eds kind:push => omit {0}",
        about: "The endpoints of one cluster are never sent.",
    },
    NamedFault {
        name: "cds-unchanged",
        args: &[],
        rule: "type:cds kind:push => reannounce",
        about: "The clusters are announced again without a change, right after each push.",
    },
    NamedFault {
        name: "removed-before-added",
        args: &["TYPE", "NAME"],
        rule: "type:{0} kind:push => reannounce {1}",
        about: "A push with the resource comes first without it, and then with it.",
    },
    NamedFault {
        name: "duplicate-name",
        args: &["TYPE", "NAME"],
        rule: "type:{0} kind:push => repeat {1}",
        about: "A resource is in the push twice.",
    },
    NamedFault {
        name: "ack-withheld",
        args: &["TYPE"],
        rule: "type:{0} kind:push => drop-ack",
        about: "The server never gets an answer to its pushes.",
    },
    NamedFault {
        name: "wildcard-lost",
        args: &["TYPE", "NAME"],
        rule: "type:{0} dir:req => rename * {1}",
        about: "The server takes the subscription to all resources for one to this resource.",
    },
    NamedFault {
        name: "versions-forgotten",
        args: &[],
        rule: "kind:subscribe => forget",
        about: "Clients that connect again state no versions of the resources that they have.",
    },
    NamedFault {
        name: "stale-nonce",
        args: &["TYPE"],
        rule: "type:{0} kind:push => stale-nonce",
        about: "The answer to each push carries the nonce of the push before.",
    },
    NamedFault {
        name: "constant-nonce",
        args: &["TYPE"],
        rule: "type:{0} kind:push => set nonce=constant",
        about: "All pushes have the same nonce.",
    },
    NamedFault {
        name: "over-4mib",
        args: &["TYPE"],
        rule: "type:{0} kind:push => pad 4200000",
        about: "Pushes are larger than 4 MiB, the default receive limit of gRPC.",
    },
    NamedFault {
        name: "token-expired",
        args: &[],
        rule: "=> status UNAUTHENTICATED the token has expired",
        about: "Streams end with UNAUTHENTICATED at their next message.",
    },
    NamedFault {
        name: "server-max-age",
        args: &["TIME"],
        rule: "kind:subscribe => goaway {0}",
        about: "Streams end at this age with GOAWAY and UNAVAILABLE.",
    },
    NamedFault {
        name: "thundering-reconnect",
        args: &[],
        rule: "=> reset all times=1",
        about: "All streams are reset in the same moment, once.",
    },
];

/// Returns the fault of a name.
pub(super) fn named(name: &str) -> Option<&'static NamedFault> {
    LIBRARY.iter().find(|fault| fault.name == name)
}

/// Returns the fault that a name with its arguments and options stands for.
///
/// `words` have a mark whether each begins with a quote. Options follow the arguments.
pub(super) fn expand(words: &[(String, bool)]) -> Result<String, FaultError> {
    let name = words.first().map_or("", |(name, _)| name.as_str());
    let fault = named(name).ok_or_else(|| {
        let known = LIBRARY.iter().map(|fault| fault.name);
        nearest(name, known, 1).first().map_or(FaultError::NoArrow, |near| FaultError::SimilarName(near))
    })?;
    let is_option = |(word, is_quoted): &(String, bool)| !is_quoted && word.contains('=');
    let args = &words[1..];
    let (args, options) =
        if args.len() < fault.args.len() { (args, &[][..]) } else { args.split_at(fault.args.len()) };
    if args.len() < fault.args.len() || args.iter().any(is_option) || !options.iter().all(is_option) {
        return Err(FaultError::NamedArguments(fault));
    }
    let (mut filter, mut action) = fault
        .rule
        .split_once("=>")
        .map_or_else(Default::default, |(filter, action)| (filter.to_owned(), action.to_owned()));
    for (i, (arg, _)) in args.iter().enumerate() {
        let place = format!("{{{i}}}");
        filter = filter.replace(&place, arg);
        action = action.replace(&place, &format!("\"{arg}\""));
    }
    for (option, _) in options {
        action.push(' ');
        action.push_str(option);
    }
    Ok(format!("{filter}=>{action}"))
}
