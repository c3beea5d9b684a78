use std::collections::{HashMap, HashSet};
use std::sync::{Arc, OnceLock};

use prost_reflect::{DescriptorError, DescriptorPool, FieldDescriptor, Kind, MessageDescriptor, Value};

use super::builtin;
use super::descriptors::Descriptors;
use crate::json::named_value::{NamedValue, is_channel_argument, is_key_set};
use crate::secret_names::SecretNames;
use crate::table::{FieldInfo, FieldKind, JsonForm, MessageTable};
use crate::validate::MessageRules;
use xdscope_wire::pb::field_bit;

/// A set of descriptors with lookup tables, indexed by message. Each is made on first use.
#[derive(Debug)]
pub(crate) struct Pool {
    pub descriptors: Arc<Descriptors>,
    tables: Box<[OnceLock<MessageTable>]>,
    /// Constraints by message.
    rules: Box<[OnceLock<MessageRules>]>,
    /// Whether a user supplied the set. Fields that are secret in the built-in set are then secret
    /// here, too, even without the option.
    is_user_set: bool,
    /// Names of secrets that a user added.
    names: Arc<SecretNames>,
    /// By message, whether a value can contain a secret.
    secret_reach: Box<[OnceLock<bool>]>,
    /// By message, a bit for each field that can contain a secret.
    secret_fields: Box<[OnceLock<u64>]>,
}

/// Names of the options that mark a field as secret.
const SENSITIVE_OPTIONS: [&str; 2] = ["udpa.annotations.sensitive", "xds.annotations.v3.sensitive"];

/// Fields that hold secrets although the API does not mark them as sensitive.
const UNMARKED_SECRET_FIELDS: [&str; 15] = [
    "CallCredentials.access_token",
    "CallCredentials.google_refresh_token",
    "ServiceAccountJWTAccessCredentials.json_key",
    "ServiceAccountJwtAccessCredentials.json_key",
    "GoogleIAMCredentials.authorization_token",
    "GoogleIamCredentials.authorization_token",
    "GoogleRefreshTokenCredentials.token",
    "AccessTokenCredentials.token",
    "LightstepConfig.access_token",
    "InlineCredentialProvider.access_key_id",
    "aws_lambda.v3.Credentials.access_key_id",
    "aws_lambda.v3.Credentials.secret_access_key",
    "aws_lambda.v3.Credentials.session_token",
    "RedisProxyExternalAuthRequest.password",
    "api.v2.auth.TlsSessionTicketKeys.keys",
];

/// Returns an empty place for each message.
fn places<T>(messages: usize) -> Box<[OnceLock<T>]> {
    (0..messages).map(|_| OnceLock::new()).collect()
}

impl Pool {
    pub(crate) fn decode(set: &[u8]) -> Result<Pool, DescriptorError> {
        Ok(Pool::new(Arc::new(Descriptors::of_pool(DescriptorPool::decode(set)?))))
    }

    pub(crate) fn new(descriptors: Arc<Descriptors>) -> Pool {
        let messages = descriptors.names().len();
        Pool {
            descriptors,
            tables: places(messages),
            rules: places(messages),
            is_user_set: false,
            names: Arc::default(),
            secret_reach: places(messages),
            secret_fields: places(messages),
        }
    }

    /// Marks the pool as supplied by a user.
    pub(crate) fn into_user_set(self) -> Pool {
        Pool { is_user_set: true, ..self }
    }

    /// Adds names of secrets, before the pool is used.
    pub(crate) fn with_names(self, names: Arc<SecretNames>) -> Pool {
        Pool { names, ..self }
    }

    /// Whether the pool was supplied by a user or a server.
    pub(crate) fn is_user_set(&self) -> bool {
        self.is_user_set
    }

    pub(crate) fn index_of(&self, name: &str) -> Option<u32> {
        self.descriptors.index_of(name)
    }

    pub(crate) fn table(&self, place: u32) -> Option<&MessageTable> {
        let slot = self.tables.get(place as usize)?;
        if let Some(table) = slot.get() {
            return Some(table);
        }
        let message = self.message_at(place)?;
        Some(slot.get_or_init(|| {
            let place = |message: &MessageDescriptor| self.index_of(message.full_name()).unwrap_or(u32::MAX);
            MessageTable::new(&message, &place, &|field| self.is_secret(field))
        }))
    }

    /// Returns the constraints of the message with this index.
    pub(crate) fn rules(&self, place: u32) -> Option<&MessageRules> {
        let slot = self.rules.get(place as usize)?;
        if let Some(rules) = slot.get() {
            return Some(rules);
        }
        let message = self.message_at(place)?;
        Some(slot.get_or_init(|| MessageRules::new(&message)))
    }

    pub(crate) fn find(&self, name: &str) -> Option<&MessageTable> {
        self.table(self.index_of(name)?)
    }

    pub(crate) fn message(&self, name: &str) -> Option<MessageDescriptor> {
        self.message_at(self.index_of(name)?)
    }

    /// Returns the message with this index.
    pub(crate) fn message_at(&self, place: u32) -> Option<MessageDescriptor> {
        self.descriptors.message(place)
    }

    /// Loads the whole set. Returns its messages, in the order of their indexes.
    #[cfg(test)]
    pub(crate) fn messages(&self) -> Vec<MessageDescriptor> {
        let all = self.descriptors.all();
        self.descriptors.names().filter_map(|name| all.get_message_by_name(name)).collect()
    }

    /// Whether the value of a field is a secret, by its options or by name.
    pub(crate) fn is_secret(&self, field: &FieldDescriptor) -> bool {
        let marked = field.field_descriptor_proto().options.is_some() && {
            let options = field.options();
            let is_set = |name| {
                let option = field.parent_pool().get_extension_by_name(name);
                option.is_some_and(|option| matches!(*options.get_extension(&option), Value::Bool(true)))
            };
            SENSITIVE_OPTIONS.into_iter().any(is_set)
        };
        let is_secret_in_builtin_set = || {
            let message = builtin::v3().message(field.parent_message().full_name());
            let builtin_field = message.and_then(|message| message.get_field(field.number()));
            builtin_field.is_some_and(|field| builtin::v3().is_secret(&field))
        };
        marked
            || UNMARKED_SECRET_FIELDS.iter().any(|suffix| field.full_name().ends_with(suffix))
            || self.names.is_field(field.full_name())
            || (self.is_user_set && (is_secret_in_builtin_set() || self.is_secret_by_name(field)))
    }

    /// Whether the name of a text in a message of a user tells that the text is a secret.
    fn is_secret_by_name(&self, field: &FieldDescriptor) -> bool {
        matches!(field.kind(), Kind::String | Kind::Bytes)
            && !field.is_map()
            && builtin::v3().index_of(field.parent_message().full_name()).is_none()
            && self.names.is_key(field.name())
    }

    /// Whether a message of this type can hold a secret in a field, a nested message or an `Any`.
    pub(crate) fn can_hold_secret(&self, place: u32) -> bool {
        let Some(reach) = self.secret_reach.get(place as usize) else { return false };
        if reach.get().is_none() {
            self.find_secret_reach(place);
        }
        reach.get().copied().unwrap_or(false)
    }

    /// Returns the [`field_bit`]s of the fields that are secret or can hold a secret.
    pub(crate) fn secret_fields(&self, place: u32) -> u64 {
        let compute = || {
            let holds = |field: &&FieldInfo| {
                field.is_secret || field.is_key_set || self.kind_can_hold_secret(&field.kind)
            };
            let fields = self.table(place).map_or(&[][..], |table| &table.fields);
            fields.iter().filter(holds).fold(0, |bits, field| bits | field_bit(field.number))
        };
        self.secret_fields.get(place as usize).map_or(0, |fields| *fields.get_or_init(compute))
    }

    /// Whether a value of this kind can hold a secret.
    pub(crate) fn kind_can_hold_secret(&self, kind: &FieldKind) -> bool {
        match kind {
            FieldKind::Message(place) => self.can_hold_secret(*place),
            FieldKind::Map(entry) => match &entry.1 {
                FieldKind::String | FieldKind::Bytes => true,
                FieldKind::Message(place) if self.is_channel_argument(*place) => true,
                kind => self.kind_can_hold_secret(kind),
            },
            _ => false,
        }
    }

    /// Whether a message is an argument of a Google gRPC channel.
    pub(crate) fn is_channel_argument(&self, place: u32) -> bool {
        self.descriptors.name(place).is_some_and(is_channel_argument)
    }

    /// Determines whether a message, and each message that it can contain, can hold a secret.
    ///
    /// Marks the messages with secret fields, then the messages that contain marked messages.
    fn find_secret_reach(&self, root: u32) {
        let Some(message) = self.message_at(root) else { return };
        let (mut found, mut seen) = (vec![(root, message)], HashSet::from([root]));
        let mut holders: HashMap<u32, Vec<u32>> = HashMap::new();
        let mut todo = Vec::new();
        let mut next = 0;
        while let Some((place, message)) = found.get(next).cloned() {
            next += 1;
            if let Some(reach) = self.secret_reach.get(place as usize).and_then(OnceLock::get) {
                todo.extend(reach.then_some(place));
                continue;
            }
            let mut is_marked = JsonForm::of(message.full_name()).can_hold_anything()
                || NamedValue::of(&message).is_some()
                || self.is_user_set && builtin::can_hold_secret(message.full_name());
            for field in message.fields() {
                // The keys of such maps are names.
                is_marked = is_marked
                    || is_key_set(&field)
                    || is_map_of_named_values(&field)
                    || self.is_secret(&field);
                if let Kind::Message(inner) = field.kind()
                    && let Some(at) = self.index_of(inner.full_name())
                {
                    holders.entry(at).or_default().push(place);
                    if seen.insert(at) {
                        found.push((at, inner));
                    }
                }
            }
            todo.extend(is_marked.then_some(place));
        }
        let mut reach = HashSet::new();
        while let Some(place) = todo.pop() {
            if reach.insert(place) {
                todo.extend(holders.get(&place).into_iter().flatten());
            }
        }
        for (place, _) in found {
            if let Some(slot) = self.secret_reach.get(place as usize) {
                // Another thread may have found the same.
                let _ = slot.set(reach.contains(&place));
            }
        }
    }
}

fn is_map_of_named_values(field: &FieldDescriptor) -> bool {
    let Kind::Message(entry) = field.kind() else { return false };
    field.is_map()
        && match entry.map_entry_value_field().kind() {
            Kind::String | Kind::Bytes => true,
            Kind::Message(value) => is_channel_argument(value.full_name()),
            _ => false,
        }
}
