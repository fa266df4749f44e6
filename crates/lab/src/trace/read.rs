//! From columns to a trace, checking every claim: ids once, references that lead somewhere, order, signs.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use super::table::{Numbers, Table};
use super::{Error, Kind, Site, Source, Trace};

impl Trace {
    /// Reads and checks the trace in a directory.
    pub fn read(dir: &Path) -> Result<Self, Error> {
        if !dir.is_dir() {
            return Err(Error::NoDirectory(dir.to_owned()));
        }
        let open = |stem, columns: &[&'static str]| Table::open(dir, stem, columns, &["name"]);
        let sites = match open("sites", &["site_id", "start", "end"])? {
            Some(table) => Some(read_sites(table)?),
            None => None,
        };
        let sources =
            open("sources", &["source_id", "site_id", "host_id", "first_seen", "last_seen"])?
                .ok_or_else(|| Error::Missing(dir.to_owned(), "sources"))?;
        let (sources, by_id) = read_sources(sources, sites.as_deref())?;
        let updates = open("updates", &["source_id", "site_id", "t", "kind"])?
            .ok_or_else(|| Error::Missing(dir.to_owned(), "updates"))?;
        let (offsets, updates) = read_updates(updates, &sources, &by_id)?;
        Ok(Self { sources, sites: sites.unwrap_or_default(), offsets, updates })
    }
}

/// The last second of the year 9999.
const LATEST: i64 = 253_402_300_799;

pub(crate) fn id(
    table: &Table,
    column: &'static str,
    row: usize,
    value: i64,
) -> Result<u32, Error> {
    u32::try_from(value)
        .map_err(|_| table.row(column, row, format!("{value} is not an id from 0 to {}", u32::MAX)))
}

pub(crate) fn time(
    table: &Table,
    column: &'static str,
    row: usize,
    value: i64,
) -> Result<i64, Error> {
    if value > LATEST {
        let problem =
            format!("{value} lies beyond the year 9999; times are seconds, not milliseconds");
        return Err(table.row(column, row, problem));
    }
    if value >= 0 {
        return Ok(value);
    }
    Err(table.row(column, row, format!("{value} lies before 1970; times are seconds since then")))
}

fn read_sites(mut table: Table) -> Result<Vec<Site>, Error> {
    let ids = table.required("site_id")?;
    let (starts, ends) = (table.required("start")?, table.required("end")?);
    let names = table.text("name");
    let mut seen = HashMap::new();
    let mut sites = Vec::with_capacity(ids.len());
    for row in 0..ids.len() {
        let site = id(&table, "site_id", row, ids[row])?;
        if let Some(before) = seen.insert(site, row) {
            return Err(table.row(
                "site_id",
                row,
                format!("{site} stands in row {} already", before + 1),
            ));
        }
        let start = time(&table, "start", row, starts[row])?;
        let end = time(&table, "end", row, ends[row])?;
        if end < start {
            return Err(table.row("end", row, format!("{end} lies before the start, {start}")));
        }
        let name = names.as_ref().map(|names| names[row].clone());
        sites.push(Site { id: site, start, end, name });
    }
    Ok(sites)
}

fn read_sources(
    mut table: Table,
    sites: Option<&[Site]>,
) -> Result<(Vec<Source>, HashMap<u32, usize>), Error> {
    let (ids, site_ids) = (table.required("source_id")?, table.required("site_id")?);
    let [hosts, first, last] =
        ["host_id", "first_seen", "last_seen"].map(|column| table.optional(column));
    let cell =
        |column: &Option<Numbers>, row: usize| column.as_ref().and_then(|numbers| numbers[row]);
    let known: Option<HashSet<u32>> = sites.map(|sites| sites.iter().map(|site| site.id).collect());
    let mut by_id = HashMap::with_capacity(ids.len());
    let mut sources = Vec::with_capacity(ids.len());
    for row in 0..ids.len() {
        let source = id(&table, "source_id", row, ids[row])?;
        let site = id(&table, "site_id", row, site_ids[row])?;
        if let Some(before) = by_id.insert(source, row) {
            return Err(table.row(
                "source_id",
                row,
                format!("{source} stands in row {} already", before + 1),
            ));
        }
        if known.as_ref().is_some_and(|known| !known.contains(&site)) {
            return Err(table.row(
                "site_id",
                row,
                format!("there is no site {site} in the sites file"),
            ));
        }
        let host = cell(&hosts, row)
            .map(|host| id(&table, "host_id", row, host))
            .transpose()?
            .unwrap_or(site);
        let first_seen =
            cell(&first, row).map(|t| time(&table, "first_seen", row, t)).transpose()?;
        let last_seen = cell(&last, row).map(|t| time(&table, "last_seen", row, t)).transpose()?;
        if let (Some(first), Some(last)) = (first_seen, last_seen)
            && last < first
        {
            return Err(table.row(
                "last_seen",
                row,
                format!("{last} lies before first_seen, {first}"),
            ));
        }
        sources.push(Source { id: source, site, host, first_seen, last_seen });
    }
    Ok((sources, by_id))
}

type Updates = (Vec<usize>, Vec<(i64, Kind)>);

fn read_updates(
    mut table: Table,
    sources: &[Source],
    by_id: &HashMap<u32, usize>,
) -> Result<Updates, Error> {
    let (ids, times) = (table.required("source_id")?, table.required("t")?);
    let (site_ids, kinds) = (table.optional("site_id"), table.optional("kind"));
    let mut counts = vec![0usize; sources.len()];
    let mut owners = Vec::with_capacity(ids.len());
    let mut updates: Vec<(i64, Kind)> = Vec::with_capacity(ids.len());
    for row in 0..ids.len() {
        let t = time(&table, "t", row, times[row])?;
        let same_source = row > 0 && ids[row] == ids[row - 1];
        let owner = if same_source {
            owners[row - 1]
        } else {
            let source = id(&table, "source_id", row, ids[row])?;
            *by_id.get(&source).ok_or_else(|| {
                table.row(
                    "source_id",
                    row,
                    format!("there is no source {source} in the sources file"),
                )
            })?
        };
        if row > 0 && (ids[row], t) < (ids[row - 1], times[row - 1]) {
            let column = if same_source { "t" } else { "source_id" };
            return Err(table.row(
                column,
                row,
                "is out of order; rows must be sorted by source_id, then t",
            ));
        }
        if let Some(site) = site_ids.as_ref().and_then(|numbers| numbers[row])
            && site != i64::from(sources[owner].site)
        {
            let problem =
                format!("is {site}, but the source belongs to site {}", sources[owner].site);
            return Err(table.row("site_id", row, problem));
        }
        let kind = kind(&table, row, kinds.as_ref())?;
        let tied = (1..=row).take_while(|back| {
            same_source && ids[row - back] == ids[row] && times[row - back] == t
        });
        if tied.into_iter().any(|back| updates[row - back].1 == kind) {
            return Err(table.row(
                "t",
                row,
                format!("repeats an earlier row: {} of the same source at {t}", kind.word()),
            ));
        }
        counts[owner] += 1;
        owners.push(owner);
        updates.push((t, kind));
    }
    Ok(by_owner(&counts, &owners, updates))
}

fn kind(table: &Table, row: usize, kinds: Option<&Numbers>) -> Result<Kind, Error> {
    let Some(kinds) = kinds else { return Ok(Kind::Change) };
    let code = kinds[row].ok_or_else(|| table.row("kind", row, "is empty"))?;
    let known = usize::try_from(code).ok().and_then(|code| Kind::ALL.get(code));
    known
        .copied()
        .ok_or_else(|| table.row("kind", row, format!("{code} is not a kind from 0 to 4")))
}

/// Rows are sorted by source id, sources stand as the sources file lists them: bring the first into the
/// order of the second.
fn by_owner(counts: &[usize], owners: &[usize], updates: Vec<(i64, Kind)>) -> Updates {
    let mut offsets = Vec::with_capacity(counts.len() + 1);
    let mut total = 0;
    offsets.push(0);
    for count in counts {
        total += count;
        offsets.push(total);
    }
    if owners.is_sorted() {
        return (offsets, updates);
    }
    let mut place = offsets.clone();
    let mut ordered = updates.clone();
    for (owner, update) in owners.iter().zip(updates) {
        ordered[place[*owner]] = update;
        place[*owner] += 1;
    }
    (offsets, ordered)
}
