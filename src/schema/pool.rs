use std::collections::HashMap;
use std::sync::OnceLock;

use foldhash::fast::RandomState;
use prost_reflect::{
    DescriptorError, DescriptorPool, ExtensionDescriptor, FieldDescriptor, MessageDescriptor, Value,
};

use super::builtin;
use super::table::{FieldInfo, FieldKind, MessageTable};
use super::validate::MessageRules;
use crate::wire::pb::field_bit;

/// One descriptor pool and the walker's tables over it, each made when its type is first met.
#[derive(Debug)]
pub(super) struct Pool {
    pub descriptors: DescriptorPool,
    places: HashMap<Box<str>, u32, RandomState>,
    messages: Vec<MessageDescriptor>,
    tables: Vec<OnceLock<MessageTable>>,
    /// Constraints of each, read when it is first checked.
    rules: Vec<OnceLock<MessageRules>>,
    sensitive: Vec<ExtensionDescriptor>,
    /// A user's: what the built-in descriptors call secret is secret here too, even where this set lacks the mark.
    user: bool,
    /// By place, whether a secret can be inside.
    reach: OnceLock<Box<[bool]>>,
    /// By place, the fields it can be in, a bit each.
    secret_fields: Vec<OnceLock<u64>>,
}

/// The options that mark a field as secret.
const SENSITIVE_OPTIONS: [&str; 2] = ["udpa.annotations.sensitive", "xds.annotations.v3.sensitive"];

/// Fields that hold secrets although the API does not mark them.
const UNMARKED_SECRET_FIELDS: [&str; 13] = [
    "CallCredentials.access_token",
    "CallCredentials.google_refresh_token",
    "ServiceAccountJWTAccessCredentials.json_key",
    "ServiceAccountJwtAccessCredentials.json_key",
    "GoogleIAMCredentials.authorization_token",
    "GoogleIamCredentials.authorization_token",
    "GoogleRefreshTokenCredentials.token",
    "AccessTokenCredentials.token",
    "LightstepConfig.access_token",
    "aws_lambda.v3.Credentials.secret_access_key",
    "aws_lambda.v3.Credentials.session_token",
    "RedisProxyExternalAuthRequest.password",
    "api.v2.auth.TlsSessionTicketKeys.keys",
];

impl Pool {
    pub fn decode(set: &[u8]) -> Result<Pool, DescriptorError> {
        Ok(Pool::new(DescriptorPool::decode(set)?))
    }

    pub fn new(descriptors: DescriptorPool) -> Pool {
        let messages: Vec<_> = descriptors.all_messages().collect();
        let places = messages.iter().zip(0..).map(|(message, i)| (message.full_name().into(), i)).collect();
        let tables = messages.iter().map(|_| OnceLock::new()).collect();
        let rules = messages.iter().map(|_| OnceLock::new()).collect();
        let sensitive =
            SENSITIVE_OPTIONS.iter().filter_map(|name| descriptors.get_extension_by_name(name)).collect();
        let (user, reach) = (false, OnceLock::new());
        let secret_fields = messages.iter().map(|_| OnceLock::new()).collect();
        Pool { descriptors, places, messages, tables, rules, sensitive, user, reach, secret_fields }
    }

    /// Marks a user's set.
    pub fn into_user_set(self) -> Pool {
        Pool { user: true, ..self }
    }

    pub fn index_of(&self, name: &str) -> Option<u32> {
        self.places.get(name).copied()
    }

    pub fn table(&self, place: u32) -> Option<&MessageTable> {
        let message = self.messages.get(place as usize)?;
        let table = self.tables.get(place as usize)?;
        Some(table.get_or_init(|| {
            let place = |message: &MessageDescriptor| self.index_of(message.full_name()).unwrap_or(u32::MAX);
            MessageTable::new(message, &place, &|field| self.is_secret(field))
        }))
    }

    /// The constraints of the message at this place.
    pub fn rules(&self, place: u32) -> Option<&MessageRules> {
        let message = self.messages.get(place as usize)?;
        Some(self.rules.get(place as usize)?.get_or_init(|| MessageRules::new(self, message)))
    }

    pub fn find(&self, name: &str) -> Option<&MessageTable> {
        self.table(self.index_of(name)?)
    }

    pub fn message(&self, name: &str) -> Option<MessageDescriptor> {
        self.messages.get(self.index_of(name)? as usize).cloned()
    }

    /// All messages, in the order of their places.
    pub fn messages(&self) -> &[MessageDescriptor] {
        &self.messages
    }

    /// Whether the field's value is a secret: marked so, or known to be.
    pub fn is_secret(&self, field: &FieldDescriptor) -> bool {
        let marked = field.field_descriptor_proto().options.is_some() && {
            let options = field.options();
            self.sensitive.iter().any(|mark| matches!(*options.get_extension(mark), Value::Bool(true)))
        };
        let known = || {
            let theirs = builtin::v3().message(field.parent_message().full_name());
            let theirs = theirs.and_then(|message| message.get_field(field.number()));
            theirs.is_some_and(|field| builtin::v3().is_secret(&field))
        };
        marked
            || UNMARKED_SECRET_FIELDS.iter().any(|end| field.full_name().ends_with(end))
            || (self.user && known())
    }

    /// Whether a message of this type can hold a secret: in a field of its own, or deeper, or in an `Any`.
    pub fn can_hold_secret(&self, place: u32) -> bool {
        let reach = self.reach.get_or_init(|| self.compute_secret_reach());
        reach.get(place as usize).copied().unwrap_or(false)
    }

    /// The [`field_bit`]s of the fields that are secret or can hold a secret: most fields are neither.
    pub fn secret_fields(&self, place: u32) -> u64 {
        let found = || {
            let holds = |field: &&FieldInfo| field.sensitive || self.kind_can_hold_secret(&field.kind);
            let fields = self.table(place).map_or(&[][..], |table| &table.fields);
            fields.iter().filter(holds).fold(0, |bits, field| bits | field_bit(field.number))
        };
        self.secret_fields.get(place as usize).map_or(0, |fields| *fields.get_or_init(found))
    }

    /// Whether a value of this kind can hold a secret somewhere inside.
    pub fn kind_can_hold_secret(&self, kind: &FieldKind) -> bool {
        match kind {
            FieldKind::Message(place) => self.can_hold_secret(*place),
            FieldKind::Map(entry) => self.kind_can_hold_secret(&entry.1),
            _ => false,
        }
    }

    /// Marks what holds secrets itself, then again and again what holds something marked.
    fn compute_secret_reach(&self) -> Box<[bool]> {
        let mut holders: Vec<Vec<u32>> = vec![Vec::new(); self.messages.len()];
        let mut reach = vec![false; self.messages.len()];
        let mut todo = Vec::new();
        for (message, place) in self.messages.iter().zip(0u32..) {
            let mut marked = message.full_name() == "google.protobuf.Any";
            for field in message.fields() {
                marked |= self.is_secret(&field);
                if let prost_reflect::Kind::Message(inner) = field.kind()
                    && let Some(inner) = self.index_of(inner.full_name())
                {
                    holders[inner as usize].push(place);
                }
            }
            if marked {
                todo.push(place);
            }
        }
        while let Some(place) = todo.pop() {
            if !std::mem::replace(&mut reach[place as usize], true) {
                todo.extend(&holders[place as usize]);
            }
        }
        reach.into()
    }
}
