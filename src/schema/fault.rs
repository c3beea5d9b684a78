use std::fmt::{self, Write};

/// A part of a message that does not match the descriptor.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// A string that is not valid UTF-8.
    #[error("invalid UTF-8")]
    InvalidUtf8,
    /// Bytes that are not a protobuf field.
    #[error("not a protobuf field at byte {offset}")]
    Damaged {
        /// Byte offset in the message.
        offset: usize,
    },
    /// An `Any` whose type is unknown.
    #[error("no descriptor for {0}")]
    UnknownType(String),
    /// The number of fields that the descriptor lacks.
    #[error("{0} fields that the descriptor lacks")]
    UnknownFields(usize),
    /// A message nested deeper than the limit.
    #[error("nested deeper than 100 levels")]
    TooDeep,
}

/// A [`Fault`] with the path of its field.
///
/// Example path: `clusters[0].transport_socket.typed_config`. The path of the message itself is
/// empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FaultAt {
    /// Path of the field.
    pub path: String,
    /// The fault.
    pub fault: Fault,
}

impl fmt::Display for FaultAt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.path.is_empty() { self.fault.fmt(f) } else { write!(f, "{}: {}", self.path, self.fault) }
    }
}

/// A collector for the first [`MAX_FAULTS`] faults of a message. Can be disabled.
pub(super) struct Faults<'a>(Option<&'a mut Vec<FaultAt>>);

const MAX_FAULTS: usize = 100;

impl<'a> Faults<'a> {
    pub(super) fn ignore() -> Self {
        Faults(None)
    }

    pub(super) fn collect(into: &'a mut Vec<FaultAt>) -> Self {
        Faults(Some(into))
    }

    pub(super) fn reborrow(&mut self) -> Faults<'_> {
        Faults(self.0.as_deref_mut())
    }

    pub(super) fn add(&mut self, path: &FieldPath, fault: impl FnOnce() -> Fault) {
        if let Some(list) = self.0.as_mut().filter(|list| list.len() < MAX_FAULTS) {
            list.push(FaultAt { path: path.to_string(), fault: fault() });
        }
    }
}

/// The current position of the walker in a message.
///
/// A linked list on the walker's stack, which is formatted only when the walker finds a fault.
pub(super) struct FieldPath<'p> {
    parent: Option<&'p FieldPath<'p>>,
    element: PathElement<'p>,
    /// Number of enclosing messages.
    pub depth: u32,
}

pub(super) enum PathElement<'p> {
    Root,
    Field(&'p str),
    Index(usize),
    Key(&'p str),
    /// The payload of an `Any`, by message name.
    Any(&'p str),
}

impl<'p> FieldPath<'p> {
    pub(super) fn root() -> Self {
        FieldPath { parent: None, element: PathElement::Root, depth: 0 }
    }

    /// Returns the path of a field in the message at this path.
    pub(super) fn field(&'p self, name: &'p str) -> FieldPath<'p> {
        FieldPath { parent: Some(self), element: PathElement::Field(name), depth: self.depth + 1 }
    }

    pub(super) fn child(&'p self, element: PathElement<'p>) -> FieldPath<'p> {
        FieldPath { parent: Some(self), element, depth: self.depth }
    }

    pub(super) fn deeper(mut self) -> FieldPath<'p> {
        self.depth += 1;
        self
    }
}

impl fmt::Display for FieldPath<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut chain = Vec::new();
        let mut at = Some(self);
        while let Some(path) = at {
            chain.push(&path.element);
            at = path.parent;
        }
        let mut first = true;
        for element in chain.into_iter().rev() {
            match element {
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
