//! Samples and dataset files.

use crate::attempt_objects::{MessageObject, input_value};
use crate::error::ArgumentError;
use crate::library::SharedContext;
use crate::limits::Time;
use crate::named_arguments::{NamedArguments, texts, whole, wrong};
use crate::score_objects::{id_value, items, metadata_in, metadata_value, short_text, to_starlark};
use crate::script_call::{Callee, FunctionSlot, session};
use allocative::Allocative;
use calipers_core::{
    Dataset, DatasetOrigin, Error, FileDataset, FileKind, Input, Message, Metadata, RecordMapping, Role, SampleFields,
    SampleId, Target, TaskSample, Value as CoreValue,
};
use starlark::any::ProvidesStaticType;
use starlark::collections::SmallMap;
use starlark::environment::{GlobalsBuilder, Methods, MethodsBuilder};
use starlark::eval::Evaluator;
use starlark::values::dict::DictRef;
use starlark::values::list::AllocList;
use starlark::values::none::NoneOr;
use starlark::values::{
    Heap, NoSerialize, StarlarkPagablePanic, StarlarkValue, UnpackValue, Value, ValueLike, starlark_value,
};
use starlark::{starlark_module, starlark_simple_value};
use std::fmt;
use std::sync::Arc;

/// A sample.
#[derive(Clone, Debug, Allocative, NoSerialize, ProvidesStaticType, StarlarkPagablePanic)]
pub(crate) struct SampleObject(#[allocative(skip)] TaskSample);

starlark_simple_value!(SampleObject);

impl fmt::Display for SampleObject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Sample({})", self.0.input.text())
    }
}

#[starlark_module]
fn sample_methods(builder: &mut MethodsBuilder) {
    #[starlark(attribute)]
    fn input<'v>(this: &SampleObject, heap: Heap<'v>) -> anyhow::Result<Value<'v>> {
        Ok(input_value(&this.0.input, heap))
    }

    #[starlark(attribute)]
    fn target<'v>(this: &SampleObject, heap: Heap<'v>) -> anyhow::Result<Value<'v>> {
        Ok(match &this.0.target.0[..] {
            [one] => heap.alloc(&**one),
            all => heap.alloc(AllocList(all.iter().map(|text| &**text).collect::<Vec<_>>())),
        })
    }

    #[starlark(attribute)]
    fn choices<'v>(this: &SampleObject, heap: Heap<'v>) -> anyhow::Result<Value<'v>> {
        Ok(heap.alloc(AllocList(this.0.choices.iter().map(|text| &**text).collect::<Vec<_>>())))
    }

    #[starlark(attribute)]
    fn id<'v>(this: &SampleObject, heap: Heap<'v>) -> anyhow::Result<Value<'v>> {
        Ok(this.0.id.as_ref().map_or_else(Value::new_none, |id| id_value(id, heap)))
    }

    #[starlark(attribute)]
    fn metadata<'v>(this: &SampleObject, heap: Heap<'v>) -> anyhow::Result<Value<'v>> {
        Ok(metadata_value(&this.0.metadata, heap))
    }
}

starlark::methods_static!(SAMPLE_METHODS = sample_methods);

#[starlark_value(type = "Sample")]
impl<'v> StarlarkValue<'v> for SampleObject {
    fn get_methods() -> Option<&'static Methods> {
        Some(SAMPLE_METHODS.methods())
    }
}

/// Which columns of a file mean what.
#[derive(Clone, Debug, Allocative, NoSerialize, ProvidesStaticType, StarlarkPagablePanic)]
pub(crate) struct FieldsObject(#[allocative(skip)] SampleFields);

starlark_simple_value!(FieldsObject);

impl fmt::Display for FieldsObject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "FieldSpec({}, {})", self.0.input, self.0.target)
    }
}

#[starlark_value(type = "FieldSpec")]
impl<'v> StarlarkValue<'v> for FieldsObject {}

/// Samples, or the file that they are in.
#[derive(Clone, Debug, Allocative, NoSerialize, ProvidesStaticType, StarlarkPagablePanic)]
pub(crate) struct DatasetObject(#[allocative(skip)] Dataset);

starlark_simple_value!(DatasetObject);

impl fmt::Display for DatasetObject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0.origin {
            DatasetOrigin::Samples(samples) => write!(f, "MemoryDataset({})", samples.len()),
            DatasetOrigin::File(file) => write!(f, "Dataset({})", file.path.display()),
        }
    }
}

#[starlark_value(type = "Dataset")]
impl<'v> StarlarkValue<'v> for DatasetObject {}

/// The dataset of a value: a dataset, or a list of samples.
pub(crate) fn dataset(value: Value<'_>) -> Result<Dataset, ArgumentError> {
    if let Some(dataset) = value.downcast_ref::<DatasetObject>() {
        return Ok(dataset.0.clone());
    }
    if let Some(sample) = value.downcast_ref::<SampleObject>() {
        return Ok(vec![sample.0.clone()].into());
    }
    if items(value).is_some() {
        return Ok(samples(value)?.into());
    }
    let hint = "give a list of samples, or `csv_dataset(\"file.csv\")`";
    Err(wrong("Task", "dataset", value, "a dataset").hint(hint))
}

/// The samples of a list.
fn samples(value: Value<'_>) -> Result<Vec<TaskSample>, ArgumentError> {
    let items =
        items(value).ok_or_else(|| ArgumentError::new(format!("{} is not a list of samples", short_text(value))))?;
    let sample = |(index, item): (usize, &Value<'_>)| match item.downcast_ref::<SampleObject>() {
        Some(sample) => Ok(sample.0.clone()),
        None => {
            let complaint = ArgumentError::new(format!("item {} is {}, not a Sample", index + 1, short_text(*item)));
            Err(complaint.hint("write `Sample(input = …, target = …)`"))
        }
    };
    items.iter().enumerate().map(sample).collect()
}

/// What a sample says: a text, or a list of messages.
fn input(value: Value<'_>) -> Result<Input, ArgumentError> {
    if let Some(text) = value.unpack_str() {
        return Ok(Input::Text(text.into()));
    }
    let Some(items) = items(value) else {
        return Err(wrong("Sample", "input", value, "a string or a list of messages"));
    };
    items.iter().map(|item| message(*item)).collect::<Result<_, _>>().map(Input::Messages)
}

/// A message, or a dict with its role and content.
fn message(value: Value<'_>) -> Result<Message, ArgumentError> {
    if let Some(message) = value.downcast_ref::<MessageObject>() {
        return Ok(message.0.clone());
    }
    let parts = DictRef::from_value(value).and_then(|dict| {
        let text = |key: &str| dict.get_str(key).and_then(Value::unpack_str).map(str::to_owned);
        Some((Role::parse(&text("role")?)?, text("content")?))
    });
    let Some((role, content)) = parts else {
        let complaint = ArgumentError::new(format!("{} is not a message", short_text(value)));
        let hint = "write {\"role\": \"user\", \"content\": \"…\"}; roles are system, user, assistant and tool";
        return Err(complaint.hint(hint));
    };
    Ok(Message::new(role, content))
}

fn sample_id(value: Value<'_>) -> Result<SampleId, ArgumentError> {
    if let Some(text) = value.unpack_str() {
        return Ok(text.into());
    }
    match i64::unpack_value(value) {
        Ok(Some(id)) if value.unpack_bool().is_none() => Ok(id.into()),
        _ => Err(wrong("Sample", "id", value, "a string or a whole number")),
    }
}

/// Texts of a parameter of a sample that may be one text or several.
fn several(name: &str, value: NoneOr<Value<'_>>) -> Result<Vec<Arc<str>>, ArgumentError> {
    let Some(value) = value.into_option() else { return Ok(Vec::new()) };
    let found = texts(value).ok_or_else(|| wrong("Sample", name, value, "a string or a list of strings"));
    let found = found.map_err(|complaint| complaint.hint("`str(x)` turns a number into a string"))?;
    Ok(found.into_iter().map(Into::into).collect())
}

/// A file of samples, with its options.
fn file<'v>(
    function: &'static str,
    kind: FileKind,
    path: &str,
    sample_fields: NoneOr<Value<'v>>,
    others: SmallMap<String, Value<'v>>,
    eval: &Evaluator<'v, '_, '_>,
) -> starlark::Result<DatasetObject> {
    if path.contains("://") {
        let complaint = ArgumentError::new(format!("`{path}` is an address, not a file"));
        return Err(complaint.hint("download it first, and name the file").into());
    }
    let options = NamedArguments::new(function, &["path", "sample_fields"], others);
    let mut file = FileDataset::new(path, kind);
    if let Some(fields) = sample_fields.into_option() {
        match fields.downcast_ref::<FieldsObject>() {
            Some(fields) => file.fields = fields.0.clone(),
            None => file.mapping = Some(mapping(function, fields, eval)?),
        }
    }
    file.auto_id = options.flag("auto_id")?;
    if kind == FileKind::Csv
        && let Some(delimiter) = options.text("delimiter")?
    {
        file.delimiter = one_character(&delimiter)?;
    }
    let mut dataset = Dataset::from(file);
    arrange(&mut dataset, &options)?;
    options.finish()?;
    Ok(DatasetObject(dataset))
}

fn one_character(delimiter: &str) -> Result<char, ArgumentError> {
    let mut characters = delimiter.chars();
    match (characters.next(), characters.next()) {
        (Some(one), None) => Ok(one),
        _ => {
            let mut complaint = ArgumentError::new("a delimiter is one character, such as `;`");
            complaint.focus = Some("delimiter".into());
            Err(complaint)
        }
    }
}

/// The name, order and number of samples. Shuffling has a seed, 0 by default, so the order is the same in every run.
fn arrange(dataset: &mut Dataset, options: &NamedArguments<'_>) -> Result<(), ArgumentError> {
    dataset.name = options.text("name")?;
    let seed = options.count("seed", 0)?.unwrap_or(0);
    dataset.shuffle = options.flag("shuffle")?.then_some(seed);
    dataset.shuffle_choices = match options.get("shuffle_choices") {
        None => None,
        Some(value) => match (value.unpack_bool(), whole(value)) {
            (Some(shuffle), _) => shuffle.then_some(seed),
            (None, Some(own_seed)) => Some(own_seed),
            _ => return Err(options.wrong("shuffle_choices", value, "`True`, `False` or a seed")),
        },
    };
    let limit = options.count("limit", 1)?;
    dataset.limit = limit.map(|limit| usize::try_from(limit).unwrap_or(usize::MAX));
    Ok(())
}

/// A function from a record to its samples.
fn mapping<'v>(by: &'static str, function: Value<'v>, eval: &Evaluator<'v, '_, '_>) -> starlark::Result<RecordMapping> {
    if !function.parameters_spec().is_some_and(|parameters| parameters.can_fill_with_args(1, &[])) {
        let wanted = "a `FieldSpec` or a function from a record to a `Sample`";
        return Err(wrong(by, "sample_fields", function, wanted).into());
    }
    let session = session(eval)?;
    let (slot, shared) = (session.keep(function, eval), session.shared.clone());
    Ok(RecordMapping::new(move |record| map_record(&shared, &slot, record)))
}

fn map_record(shared: &Arc<SharedContext>, slot: &FunctionSlot, record: &CoreValue) -> Result<Vec<TaskSample>, Error> {
    let callee = Callee { shared, slot, scores: 1, time: Time::PerCall };
    let made = callee.call(
        |heap| vec![to_starlark(record, heap)],
        |answer| match answer.downcast_ref::<SampleObject>() {
            Some(sample) => Ok(vec![sample.0.clone()]),
            None => samples(answer).map_err(|complaint| match items(answer) {
                Some(_) => complaint,
                None => {
                    ArgumentError::new(format!("a record gives {}, not a Sample or a list of them", short_text(answer)))
                        .hint("return `[]` to leave a record out")
                }
            }),
        },
    );
    Ok(made?)
}

#[starlark_module]
pub(crate) fn dataset_names(builder: &mut GlobalsBuilder) {
    /// A question with its right answers and metadata.
    #[starlark(as_type = SampleObject)]
    fn Sample<'v>(
        input: Value<'v>,
        #[starlark(default = NoneOr::None)] choices: NoneOr<Value<'v>>,
        #[starlark(default = NoneOr::None)] target: NoneOr<Value<'v>>,
        #[starlark(default = NoneOr::None)] id: NoneOr<Value<'v>>,
        #[starlark(default = NoneOr::None)] metadata: NoneOr<Value<'v>>,
    ) -> starlark::Result<SampleObject> {
        let metadata = metadata.into_option().map_or(Ok(None), metadata_in)?;
        Ok(SampleObject(self::TaskSample {
            id: id.into_option().map(sample_id).transpose()?,
            input: self::input(input)?,
            choices: several("choices", choices)?,
            target: Target(several("target", target)?),
            metadata: metadata.map_or_else(Metadata::default, |metadata| (*metadata).clone()),
        }))
    }

    /// Which columns of a file are the parts of a sample.
    #[starlark(as_type = FieldsObject)]
    fn FieldSpec<'v>(
        #[starlark(default = "input")] input: &str,
        #[starlark(default = "target")] target: &str,
        #[starlark(default = "choices")] choices: &str,
        #[starlark(default = "id")] id: &str,
        #[starlark(default = NoneOr::None)] metadata: NoneOr<Value<'v>>,
    ) -> starlark::Result<FieldsObject> {
        let columns = |value| texts(value).ok_or_else(|| wrong("FieldSpec", "metadata", value, "a list of columns"));
        Ok(FieldsObject(SampleFields {
            input: input.to_owned(),
            target: target.to_owned(),
            choices: choices.to_owned(),
            id: id.to_owned(),
            metadata: metadata.into_option().map(columns).transpose()?,
        }))
    }

    /// Samples listed in the task file.
    fn MemoryDataset<'v>(
        samples: Value<'v>,
        #[starlark(kwargs)] others: SmallMap<String, Value<'v>>,
    ) -> starlark::Result<DatasetObject> {
        let options = NamedArguments::new("MemoryDataset", &["samples"], others);
        let mut dataset = Dataset::from(self::samples(samples)?);
        arrange(&mut dataset, &options)?;
        options.finish()?;
        Ok(DatasetObject(dataset))
    }

    /// Samples from a file of comma-separated values.
    fn csv_dataset<'v>(
        path: &str,
        #[starlark(default = NoneOr::None)] sample_fields: NoneOr<Value<'v>>,
        #[starlark(kwargs)] others: SmallMap<String, Value<'v>>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<DatasetObject> {
        file("csv_dataset", FileKind::Csv, path, sample_fields, others, eval)
    }

    /// Samples from a file of JSON or JSON Lines.
    fn json_dataset<'v>(
        path: &str,
        #[starlark(default = NoneOr::None)] sample_fields: NoneOr<Value<'v>>,
        #[starlark(kwargs)] others: SmallMap<String, Value<'v>>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<DatasetObject> {
        file("json_dataset", FileKind::Json, path, sample_fields, others, eval)
    }

    /// Samples from a Parquet table.
    fn parquet_dataset<'v>(
        path: &str,
        #[starlark(default = NoneOr::None)] sample_fields: NoneOr<Value<'v>>,
        #[starlark(kwargs)] others: SmallMap<String, Value<'v>>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<DatasetObject> {
        file("parquet_dataset", FileKind::Parquet, path, sample_fields, others, eval)
    }

    /// Scenarios: samples with behaviours that are expected or must not be seen.
    fn scenarios<'v>(
        path: &str,
        #[starlark(kwargs)] others: SmallMap<String, Value<'v>>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<DatasetObject> {
        file("scenarios", FileKind::Scenarios, path, NoneOr::None, others, eval)
    }

    /// A system message.
    fn ChatMessageSystem(content: &str) -> anyhow::Result<MessageObject> {
        Ok(MessageObject(Message::system(content)))
    }

    /// A question.
    fn ChatMessageUser(content: &str) -> anyhow::Result<MessageObject> {
        Ok(MessageObject(Message::user(content)))
    }

    /// An answer.
    fn ChatMessageAssistant(content: &str) -> anyhow::Result<MessageObject> {
        Ok(MessageObject(Message::assistant(content)))
    }
}
