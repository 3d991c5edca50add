//! Plain values in place of those that Parquet cannot hold, or not as what they are: durations in milliseconds, which is what `latency_ms`
//! means, other times as text, decimals as numbers, and nothing as text.
//!
//! Parquet would keep times as whole numbers, in a unit that depends on who made the table. A mean of such numbers looks like a score.

use arrow_array::cast::AsArray;
use arrow_array::temporal_conversions::{as_date, as_datetime, as_time};
use arrow_array::types::{
    ArrowPrimitiveType, Date32Type, Date64Type, Decimal32Type, Decimal64Type, Decimal128Type, Decimal256Type,
    DecimalType, DurationMicrosecondType, DurationMillisecondType, DurationNanosecondType, DurationSecondType,
    Time32MillisecondType, Time32SecondType, Time64MicrosecondType, Time64NanosecondType, TimestampMicrosecondType,
    TimestampMillisecondType, TimestampNanosecondType, TimestampSecondType,
};
use arrow_array::{
    Array, ArrayRef, FixedSizeListArray, Float64Array, LargeListArray, ListArray, PrimitiveArray, RecordBatch,
    StringArray, StructArray,
};
use arrow_schema::{DataType, Field, FieldRef, Schema, TimeUnit};
use std::fmt::Display;
use std::sync::Arc;

/// What the metadata of a column says if its numbers are durations in milliseconds.
const DURATION: (&str, &str) = ("calipers", "duration");

/// A column of durations, which are numbers of milliseconds: a measurement, and never a score.
#[must_use]
pub fn duration_column(name: &str) -> Field {
    let field = Field::new(name, DataType::Float64, true);
    field.with_metadata([(DURATION.0.to_owned(), DURATION.1.to_owned())].into())
}

/// True for a column that holds durations, itself or in its parts.
pub(crate) fn holds_durations(field: &Field) -> bool {
    field.metadata().get(DURATION.0).is_some_and(|kind| kind == DURATION.1)
        || match field.data_type() {
            DataType::Struct(fields) => fields.iter().any(|field| holds_durations(field)),
            DataType::List(item) | DataType::LargeList(item) | DataType::FixedSizeList(item, _) => {
                holds_durations(item)
            }
            _ => false,
        }
}

/// The same table with plain values.
pub(super) fn with_plain_columns(batch: RecordBatch) -> RecordBatch {
    let schema = batch.schema();
    if !schema.fields().iter().any(|field| is_special(field.data_type())) {
        return batch;
    }
    let (fields, columns): (Vec<FieldRef>, Vec<ArrayRef>) =
        schema.fields().iter().zip(batch.columns()).map(|(field, column)| plain_column(field, column)).unzip();
    let schema = Arc::new(Schema::new_with_metadata(fields, schema.metadata().clone()));
    // Lengths and kinds are those of the columns: nothing can be in the way.
    RecordBatch::try_new(schema, columns).unwrap_or(batch)
}

fn is_special(kind: &DataType) -> bool {
    match kind {
        DataType::Duration(_)
        | DataType::Timestamp(..)
        | DataType::Date32
        | DataType::Date64
        | DataType::Time32(_)
        | DataType::Time64(_)
        | DataType::Decimal32(..)
        | DataType::Decimal64(..)
        | DataType::Decimal128(..)
        | DataType::Decimal256(..)
        | DataType::Null => true,
        DataType::Struct(fields) => fields.iter().any(|field| is_special(field.data_type())),
        DataType::List(item) | DataType::LargeList(item) | DataType::FixedSizeList(item, _) => {
            is_special(item.data_type())
        }
        DataType::Dictionary(_, values) => is_special(values),
        _ => false,
    }
}

fn plain_column(field: &FieldRef, column: &ArrayRef) -> (FieldRef, ArrayRef) {
    if !is_special(field.data_type()) {
        return (field.clone(), column.clone());
    }
    let plain = plain(column);
    let mut metadata = field.metadata().clone();
    if is_duration(field.data_type()) {
        metadata.insert(DURATION.0.to_owned(), DURATION.1.to_owned());
    }
    let made = Field::new(field.name(), plain.data_type().clone(), true).with_metadata(metadata);
    (Arc::new(made), plain)
}

fn is_duration(kind: &DataType) -> bool {
    match kind {
        DataType::Duration(_) => true,
        DataType::Dictionary(_, values) => is_duration(values),
        _ => false,
    }
}

fn plain(array: &ArrayRef) -> ArrayRef {
    match array.data_type() {
        DataType::Duration(unit) => match unit {
            TimeUnit::Second => milliseconds::<DurationSecondType>(array, 1e-3),
            TimeUnit::Millisecond => milliseconds::<DurationMillisecondType>(array, 1.0),
            TimeUnit::Microsecond => milliseconds::<DurationMicrosecondType>(array, 1e3),
            TimeUnit::Nanosecond => milliseconds::<DurationNanosecondType>(array, 1e6),
        },
        DataType::Timestamp(unit, zone) => {
            let zone = if zone.is_some() { "Z" } else { "" };
            match unit {
                TimeUnit::Second => timestamps::<TimestampSecondType>(array, zone),
                TimeUnit::Millisecond => timestamps::<TimestampMillisecondType>(array, zone),
                TimeUnit::Microsecond => timestamps::<TimestampMicrosecondType>(array, zone),
                TimeUnit::Nanosecond => timestamps::<TimestampNanosecondType>(array, zone),
            }
        }
        DataType::Date32 => texts::<Date32Type, _>(array, |days| as_date::<Date32Type>(i64::from(days))),
        DataType::Date64 => texts::<Date64Type, _>(array, as_date::<Date64Type>),
        DataType::Time32(TimeUnit::Second) => {
            texts::<Time32SecondType, _>(array, |time| as_time::<Time32SecondType>(i64::from(time)))
        }
        DataType::Time32(_) => {
            texts::<Time32MillisecondType, _>(array, |time| as_time::<Time32MillisecondType>(i64::from(time)))
        }
        DataType::Time64(TimeUnit::Microsecond) => {
            texts::<Time64MicrosecondType, _>(array, as_time::<Time64MicrosecondType>)
        }
        DataType::Time64(_) => texts::<Time64NanosecondType, _>(array, as_time::<Time64NanosecondType>),
        DataType::Decimal32(..) => numbers::<Decimal32Type>(array),
        DataType::Decimal64(..) => numbers::<Decimal64Type>(array),
        DataType::Decimal128(..) => numbers::<Decimal128Type>(array),
        DataType::Decimal256(..) => numbers::<Decimal256Type>(array),
        DataType::Null => Arc::new(StringArray::new_null(array.len())),
        DataType::Struct(fields) => {
            let parts = array.as_struct();
            let (fields, columns): (Vec<_>, Vec<_>) =
                fields.iter().zip(parts.columns()).map(|(field, column)| plain_column(field, column)).unzip();
            made(StructArray::try_new(fields.into(), columns, parts.nulls().cloned()), array)
        }
        DataType::List(item) => {
            let lists = array.as_list::<i32>();
            let (item, values) = plain_column(item, lists.values());
            made(ListArray::try_new(item, lists.offsets().clone(), values, lists.nulls().cloned()), array)
        }
        DataType::LargeList(item) => {
            let lists = array.as_list::<i64>();
            let (item, values) = plain_column(item, lists.values());
            made(LargeListArray::try_new(item, lists.offsets().clone(), values, lists.nulls().cloned()), array)
        }
        DataType::FixedSizeList(item, size) => {
            let lists = array.as_fixed_size_list();
            let (item, values) = plain_column(item, lists.values());
            made(FixedSizeListArray::try_new(item, *size, values, lists.nulls().cloned()), array)
        }
        DataType::Dictionary(..) => {
            let coded = array.as_any_dictionary();
            let values = plain(coded.values());
            coded.with_values(values)
        }
        _ => array.clone(),
    }
}

fn made<A: Array + 'static, E>(made: Result<A, E>, otherwise: &ArrayRef) -> ArrayRef {
    made.map_or_else(|_| otherwise.clone(), |made| Arc::new(made))
}

fn milliseconds<T: ArrowPrimitiveType<Native = i64>>(array: &ArrayRef, parts_per_ms: f64) -> ArrayRef {
    let times: &PrimitiveArray<T> = array.as_primitive();
    Arc::new(times.iter().map(|time| time.map(|time| time as f64 / parts_per_ms)).collect::<Float64Array>())
}

/// The numbers that are nearest to decimals.
fn numbers<T: DecimalType>(array: &ArrayRef) -> ArrayRef {
    let decimals: &PrimitiveArray<T> = array.as_primitive();
    let number = |place| (!decimals.is_null(place)).then(|| decimals.value_as_string(place).parse().ok()).flatten();
    Arc::new((0..decimals.len()).map(number).collect::<Float64Array>())
}

fn timestamps<T>(array: &ArrayRef, zone: &str) -> ArrayRef
where
    T: ArrowPrimitiveType<Native = i64> + arrow_array::types::ArrowTimestampType,
{
    texts::<T, _>(array, |time| {
        as_datetime::<T>(time).map(|time| format!("{}{zone}", time.format("%Y-%m-%dT%H:%M:%S%.f")))
    })
}

/// Each value as text. One that is out of every calendar stays the number that it is.
fn texts<T, D>(array: &ArrayRef, text: impl Fn(T::Native) -> Option<D>) -> ArrayRef
where
    T: ArrowPrimitiveType<Native: Display>,
    D: Display,
{
    let times: &PrimitiveArray<T> = array.as_primitive();
    let one = |time: T::Native| text(time).map_or_else(|| time.to_string(), |text| text.to_string());
    Arc::new(times.iter().map(|time| time.map(one)).collect::<StringArray>())
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::types::Int32Type;
    use arrow_array::{
        Date32Array, Decimal128Array, DictionaryArray, DurationNanosecondArray, DurationSecondArray, Int32Array,
        NullArray, TimestampMicrosecondArray, TimestampSecondArray,
    };

    fn plain_of(column: ArrayRef) -> ArrayRef {
        let batch = RecordBatch::try_from_iter_with_nullable([("time", column, true)]).unwrap();
        with_plain_columns(batch).column(0).clone()
    }

    fn words(column: ArrayRef) -> Vec<Option<String>> {
        plain_of(column).as_string::<i32>().iter().map(|text| text.map(str::to_owned)).collect()
    }

    #[test]
    fn a_duration_is_in_milliseconds_whatever_its_unit() {
        let columns: [ArrayRef; 2] = [
            Arc::new(DurationSecondArray::from(vec![Some(2), None])),
            Arc::new(DurationNanosecondArray::from(vec![Some(2_000_000_000), None])),
        ];
        for column in columns {
            assert_eq!(*plain_of(column), Float64Array::from(vec![Some(2000.0), None]));
        }
    }

    #[test]
    fn a_time_is_text_and_one_beyond_every_calendar_its_number() {
        let dates = Arc::new(Date32Array::from(vec![Some(19_723), None, Some(i32::MAX)]));
        assert_eq!(words(dates), [Some("2024-01-01".into()), None, Some("2147483647".into())]);
        let zoned = TimestampMicrosecondArray::from(vec![1_500_000]).with_timezone("Europe/Paris");
        assert_eq!(words(Arc::new(zoned)), [Some("1970-01-01T00:00:01.500Z".into())]);
        let far = TimestampSecondArray::from(vec![i64::MAX, 0]);
        assert_eq!(words(Arc::new(far)), [Some(i64::MAX.to_string()), Some("1970-01-01T00:00:00".into())]);
    }

    #[test]
    fn a_decimal_is_a_number_and_a_column_of_nothing_is_text() {
        // As many digits behind the point as there are digits.
        let decimals = Decimal128Array::from(vec![Some(5), None]).with_precision_and_scale(1, 1).unwrap();
        assert_eq!(*plain_of(Arc::new(decimals)), Float64Array::from(vec![Some(0.5), None]));
        assert_eq!(words(Arc::new(NullArray::new(2))), [None, None]);
    }

    #[test]
    fn times_inside_other_columns_are_found() {
        let seconds: ArrayRef = Arc::new(DurationSecondArray::from(vec![1, 2]));
        let field = |kind: &DataType| Arc::new(Field::new("took", kind.clone(), true));
        let parts = StructArray::from(vec![(field(seconds.data_type()), seconds.clone())]);
        let parts = plain_of(Arc::new(parts));
        assert_eq!(**parts.as_struct().column(0), Float64Array::from(vec![1000.0, 2000.0]));
        let coded = DictionaryArray::<Int32Type>::try_new(Int32Array::from(vec![1, 0]), seconds.clone()).unwrap();
        let values = plain_of(Arc::new(coded));
        assert_eq!(**values.as_any_dictionary().values(), Float64Array::from(vec![1000.0, 2000.0]));
        let list = FixedSizeListArray::new(field(seconds.data_type()), 2, seconds, None);
        let values = plain_of(Arc::new(list));
        assert_eq!(**values.as_fixed_size_list().values(), Float64Array::from(vec![1000.0, 2000.0]));
    }
}
