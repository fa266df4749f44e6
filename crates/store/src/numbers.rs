//! Numbers that must not be mixed up: ids of rows, and time.

use rusqlite::types::{FromSql, FromSqlResult, ToSql, ToSqlOutput, ValueRef};

macro_rules! number {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub i64);

        impl ToSql for $name {
            fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
                self.0.to_sql()
            }
        }

        impl FromSql for $name {
            fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
                i64::column_result(value).map(Self)
            }
        }
    };
}

number! {
    /// A moment, in whole microseconds since the Unix epoch.
    Micros
}
number! {
    /// A source. Counted from 1 without holes, never used again.
    SourceId
}
number! {
    /// A site. Counted from 0 without holes, never used again.
    SiteId
}
number! {
    /// A host. Counted from 0 without holes, never used again.
    HostId
}
number! {
    /// A version, over all sources.
    VersionId
}
number! {
    /// Someone who is told of events.
    SinkId
}
number! {
    /// A wish of another process.
    WishId
}
