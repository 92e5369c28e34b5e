use serde_json::{Map, Value as Json};

use crate::identity::ContractAddress;
use crate::registry::{EncodeError, Timestamp};

use super::encode::{no_variant, same_count};
use super::value::parse_duration;
use super::{leb128, FieldValues, Fields, Type, Value};

impl Type {
    /// The bytes of a value given in schema JSON, as the official tools read it. Numbers may also be decimal strings, which is
    /// how numbers above 2^53 survive other tools.
    ///
    /// # Errors
    /// [`EncodeError`], which names the place in the JSON.
    pub fn encode_json(&self, json: &Json) -> Result<Vec<u8>, EncodeError> {
        self.encode(&self.value_from_json(json)?)
    }

    /// Reads a value of this type from schema JSON.
    ///
    /// # Errors
    /// [`EncodeError::Mismatch`] where the JSON is not what the type wants.
    pub fn value_from_json(&self, json: &Json) -> Result<Value, EncodeError> {
        let wanted = |what: &'static str| EncodeError::mismatch(format!("{what} is expected here"));
        Ok(match self {
            Self::Unit => Value::Unit,
            Self::Bool => Value::Bool(json.as_bool().ok_or_else(|| wanted("true or false"))?),
            Self::U8 | Self::U16 | Self::U32 | Self::U64 => Value::Unsigned(self.number(json)?),
            Self::I8 | Self::I16 | Self::I32 | Self::I64 => {
                let number =
                    json.as_i64().or_else(|| decimal(json)).ok_or_else(|| wanted("a whole number of the type's size"))?;
                Value::Signed(number)
            }
            Self::U128 => Value::U128(decimal(json).or(json.as_u64().map(u128::from)).ok_or_else(|| wanted("a whole number"))?),
            Self::I128 => Value::I128(decimal(json).or(json.as_i64().map(i128::from)).ok_or_else(|| wanted("a whole number"))?),
            Self::Amount => {
                Value::Amount(decimal(json).or(json.as_u64()).ok_or_else(|| wanted("an amount of microCCD in decimal digits"))?)
            }
            Self::AccountAddress => {
                let account = json.as_str().and_then(|text| text.parse().ok());
                Value::Account(account.ok_or_else(|| wanted("an account address in base58"))?)
            }
            Self::ContractAddress => {
                Value::Contract(contract(json).ok_or_else(|| wanted("a contract address {\"index\": …, \"subindex\": …}"))?)
            }
            Self::Timestamp => {
                let time = json.as_str().and_then(Timestamp::from_schema_json);
                Value::Timestamp(time.ok_or_else(|| wanted("a time in RFC 3339 after 1970"))?)
            }
            Self::Duration => {
                let duration = json.as_str().and_then(parse_duration);
                Value::Duration(duration.ok_or_else(|| wanted("a duration such as 10d 1h 42s"))?)
            }
            Self::Pair(left, right) => match json.as_array().map(Vec::as_slice) {
                Some([first, second]) => {
                    let first = left.value_from_json(first).map_err(|error| error.inside("0"))?;
                    let second = right.value_from_json(second).map_err(|error| error.inside("1"))?;
                    Value::Pair(Box::new((first, second)))
                }
                _ => return Err(wanted("an array of two values")),
            },
            Self::List(_, item) | Self::Set(_, item) => list(item, array(json)?)?,
            Self::Array(count, item) => {
                let items = array(json)?;
                same_count(*count, items.len())?;
                list(item, items)?
            }
            Self::Map(_, key, value) => {
                let mut entries = Vec::new();
                for (position, entry) in array(json)?.iter().enumerate() {
                    let read =
                        |ty: &Type, json: &Json| ty.value_from_json(json).map_err(|error| error.inside(&position.to_string()));
                    match entry.as_array().map(Vec::as_slice) {
                        Some([first, second]) => entries.push((read(key, first)?, read(value, second)?)),
                        _ => return Err(wanted("an array of a key and a value").inside(&position.to_string())),
                    }
                }
                Value::Map(entries)
            }
            Self::Struct(fields) => Value::Struct(field_values(fields, json)?),
            Self::Enum(variants) => {
                let (name, content) = variant(json)?;
                let (_, fields) = variants.iter().find(|(known, _)| known == name).ok_or_else(|| no_variant(name))?;
                Value::Enum(name.clone(), field_values(fields, content).map_err(|error| error.inside(name))?)
            }
            Self::TaggedEnum(variants) => {
                let (name, content) = variant(json)?;
                let (_, fields) = variants.values().find(|(known, _)| known == name).ok_or_else(|| no_variant(name))?;
                Value::Enum(name.clone(), field_values(fields, content).map_err(|error| error.inside(name))?)
            }
            Self::String(_) => Value::Text(json.as_str().ok_or_else(|| wanted("a text"))?.to_string()),
            Self::ContractName(_) => {
                let object = object_of(json, 1, "{\"contract\": …}")?;
                Value::ContractName(text_field(object, "contract")?)
            }
            Self::ReceiveName(_) => {
                let object = object_of(json, 2, "{\"contract\": …, \"func\": …}")?;
                Value::ReceiveName { contract: text_field(object, "contract")?, func: text_field(object, "func")? }
            }
            Self::ULeb128(limit) => integer(json, *limit, false)?,
            Self::ILeb128(limit) => integer(json, *limit, true)?,
            Self::ByteList(_) => Value::Bytes(hexadecimal(json)?),
            Self::ByteArray(count) => {
                let bytes = hexadecimal(json)?;
                same_count(*count, bytes.len())?;
                Value::Bytes(bytes)
            }
        })
    }

    fn number(&self, json: &Json) -> Result<u64, EncodeError> {
        let limit = match self {
            Self::U8 => u64::from(u8::MAX),
            Self::U16 => u64::from(u16::MAX),
            Self::U32 => u64::from(u32::MAX),
            _ => u64::MAX,
        };
        let number = json.as_u64().or_else(|| decimal(json)).filter(|number| *number <= limit);
        number.ok_or_else(|| EncodeError::mismatch(format!("a whole number from 0 to {limit} is expected here")))
    }
}

/// A number in a string of decimal digits.
fn decimal<T: std::str::FromStr>(json: &Json) -> Option<T> {
    json.as_str().filter(|text| !text.starts_with('+')).and_then(|text| text.parse().ok())
}

fn integer(json: &Json, limit: u32, signed: bool) -> Result<Value, EncodeError> {
    let digits = match json {
        Json::Number(number) => number.to_string(),
        other => other.as_str().unwrap_or_default().to_string(),
    };
    leb128::encode(&digits, limit, signed)?;
    Ok(Value::Integer(digits))
}

fn contract(json: &Json) -> Option<ContractAddress> {
    let object = json.as_object().filter(|object| object.len() <= 2)?;
    let number = |json: &Json| json.as_u64().or_else(|| decimal(json));
    let subindex = match object.get("subindex") {
        Some(json) => number(json)?,
        None => 0,
    };
    Some(ContractAddress::new(number(object.get("index")?)?, subindex))
}

fn array(json: &Json) -> Result<&[Json], EncodeError> {
    json.as_array().map(Vec::as_slice).ok_or_else(|| EncodeError::mismatch("an array is expected here"))
}

fn list(item: &Type, items: &[Json]) -> Result<Value, EncodeError> {
    let at = |position: usize| move |error: EncodeError| error.inside(&position.to_string());
    if *item == Type::U8 {
        let byte = |(position, json)| item.number(json).map(|number| number as u8).map_err(at(position));
        return items.iter().enumerate().map(byte).collect::<Result<_, _>>().map(Value::Numbers);
    }
    let value = |(position, json)| item.value_from_json(json).map_err(at(position));
    items.iter().enumerate().map(value).collect::<Result<_, _>>().map(Value::List)
}

fn hexadecimal(json: &Json) -> Result<Vec<u8>, EncodeError> {
    let bytes = json.as_str().and_then(|text| hex::decode(text).ok());
    bytes.ok_or_else(|| EncodeError::mismatch("bytes in hexadecimal digits are expected here"))
}

fn variant(json: &Json) -> Result<(&String, &Json), EncodeError> {
    let only = json.as_object().filter(|object| object.len() == 1).and_then(|object| object.iter().next());
    only.ok_or_else(|| EncodeError::mismatch("an object with one variant, such as {\"None\": []}, is expected here"))
}

fn object_of<'a>(json: &'a Json, fields: usize, form: &'static str) -> Result<&'a Map<String, Json>, EncodeError> {
    let object = json.as_object().filter(|object| object.len() == fields);
    object.ok_or_else(|| EncodeError::mismatch(format!("an object {form} is expected here")))
}

fn text_field(object: &Map<String, Json>, name: &str) -> Result<String, EncodeError> {
    let text = object.get(name).and_then(Json::as_str);
    text.map(str::to_string).ok_or_else(|| EncodeError::mismatch(format!("the field {name} must be a text")))
}

fn field_values(fields: &Fields, json: &Json) -> Result<FieldValues, EncodeError> {
    match fields {
        Fields::Named(fields) => {
            let object = json.as_object().ok_or_else(|| EncodeError::mismatch("an object is expected here"))?;
            if let Some(unknown) = object.keys().find(|key| fields.iter().all(|(name, _)| name != *key)) {
                return Err(EncodeError::mismatch(format!("there is no field {unknown}")));
            }
            let value = |(name, ty): &(String, Type)| {
                let json = object.get(name).ok_or_else(|| EncodeError::mismatch(format!("the field {name} is missing")))?;
                Ok((name.clone(), ty.value_from_json(json).map_err(|error| error.inside(name))?))
            };
            fields.iter().map(value).collect::<Result<_, _>>().map(FieldValues::Named)
        }
        Fields::Unnamed(types) => {
            let values = array(json)?;
            same_count(types.len() as u32, values.len())?;
            let value = |(position, (ty, json)): (usize, (&Type, &Json))| {
                ty.value_from_json(json).map_err(|error| error.inside(&position.to_string()))
            };
            types.iter().zip(values).enumerate().map(value).collect::<Result<_, _>>().map(FieldValues::Unnamed)
        }
        Fields::None => Ok(FieldValues::None),
    }
}
