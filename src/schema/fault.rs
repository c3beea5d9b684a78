use std::fmt::{self, Write};

/// Something in a message that can't be read as the schema says.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    #[error("invalid UTF-8")]
    InvalidUtf8,
    #[error("not a protobuf field at byte {offset}")]
    Damaged { offset: usize },
    #[error("no descriptor for {0}")]
    UnknownType(String),
    #[error("{0} fields that the descriptor lacks")]
    UnknownFields(usize),
    #[error("nested deeper than 100 levels")]
    TooDeep,
}

/// A [`Fault`] and the field it is in: `clusters[0].transport_socket.typed_config`; empty for the message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FaultAt {
    pub path: String,
    pub fault: Fault,
}

impl fmt::Display for FaultAt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.path.is_empty() { self.fault.fmt(f) } else { write!(f, "{}: {}", self.path, self.fault) }
    }
}

/// Collects faults if anyone asked for them, the first hundred of a message.
pub(super) struct Faults<'a>(Option<&'a mut Vec<FaultAt>>);

const MAX_FAULTS: usize = 100;

impl<'a> Faults<'a> {
    pub fn ignore() -> Self {
        Faults(None)
    }

    pub fn collect(into: &'a mut Vec<FaultAt>) -> Self {
        Faults(Some(into))
    }

    pub fn reborrow(&mut self) -> Faults<'_> {
        Faults(self.0.as_deref_mut())
    }

    pub fn add(&mut self, path: &FieldPath, fault: impl FnOnce() -> Fault) {
        if let Some(list) = self.0.as_mut().filter(|list| list.len() < MAX_FAULTS) {
            list.push(FaultAt { path: path.to_string(), fault: fault() });
        }
    }
}

/// Where the walker stands: a chain of steps on its stack, put into words only when a fault is found.
pub(super) struct FieldPath<'p> {
    up: Option<&'p FieldPath<'p>>,
    step: PathElement<'p>,
    /// Messages open around this place.
    pub depth: u32,
}

pub(super) enum PathElement<'p> {
    Root,
    Field(&'p str),
    Index(usize),
    Key(&'p str),
    /// The payload of an `Any`, by its message name.
    Any(&'p str),
}

impl<'p> FieldPath<'p> {
    pub fn root() -> Self {
        FieldPath { up: None, step: PathElement::Root, depth: 0 }
    }

    /// A field of the message at this place.
    pub fn field(&'p self, name: &'p str) -> FieldPath<'p> {
        FieldPath { up: Some(self), step: PathElement::Field(name), depth: self.depth + 1 }
    }

    pub fn step(&'p self, step: PathElement<'p>) -> FieldPath<'p> {
        FieldPath { up: Some(self), step, depth: self.depth }
    }

    pub fn deeper(mut self) -> FieldPath<'p> {
        self.depth += 1;
        self
    }
}

impl fmt::Display for FieldPath<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut chain = Vec::new();
        let mut at = Some(self);
        while let Some(path) = at {
            chain.push(&path.step);
            at = path.up;
        }
        let mut first = true;
        for step in chain.into_iter().rev() {
            match step {
                PathElement::Root => continue,
                PathElement::Index(index) => write!(f, "[{index}]")?,
                PathElement::Key(key) => write!(f, "[{key:?}]")?,
                PathElement::Any(name) => write!(f, "({})", name.rsplit('.').next().unwrap_or(name))?,
                PathElement::Field(name) => {
                    if !first {
                        f.write_char('.')?;
                    }
                    f.write_str(name)?;
                }
            }
            first = false;
        }
        Ok(())
    }
}
