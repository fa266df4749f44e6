-- what is watched; ids of sites and hosts are dense because the journal speaks of ordinals
CREATE TABLE site (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE) STRICT;
CREATE TABLE host (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE) STRICT;
CREATE TABLE source (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    url TEXT NOT NULL,
    site INTEGER NOT NULL REFERENCES site,
    host INTEGER NOT NULL REFERENCES host,
    tags TEXT NOT NULL,
    importance REAL NOT NULL,
    spec TEXT NOT NULL,
    origin TEXT NOT NULL,
    added_at INTEGER NOT NULL,
    removed_at INTEGER
) STRICT;
CREATE UNIQUE INDEX source_watched ON source (url, spec) WHERE removed_at IS NULL;
-- apart from its source, so that a poll rewrites a short row
CREATE TABLE state (
    source INTEGER PRIMARY KEY REFERENCES source,
    polled_at INTEGER,
    seen_at INTEGER,
    changed_at INTEGER,
    verdict TEXT,
    outcome TEXT,
    version INTEGER,
    etag TEXT,
    last_modified TEXT,
    fingerprint BLOB,
    failures INTEGER NOT NULL DEFAULT 0
) STRICT;

-- what happened
CREATE TABLE journal (
    n INTEGER PRIMARY KEY,
    at INTEGER NOT NULL,
    kind INTEGER NOT NULL,
    source INTEGER,
    detail BLOB
) STRICT;
CREATE INDEX journal_of_source ON journal (source) WHERE source IS NOT NULL;
CREATE TABLE snapshot (
    n INTEGER PRIMARY KEY,
    code TEXT NOT NULL,
    hash BLOB NOT NULL,
    state BLOB NOT NULL
) STRICT;
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;

-- what it said; blobs have no foreign keys, since whether one is still named is asked by index when it is released
CREATE TABLE blob (
    id INTEGER PRIMARY KEY,
    hash BLOB NOT NULL UNIQUE,
    base INTEGER,
    place INTEGER NOT NULL,
    depth INTEGER NOT NULL,
    size INTEGER NOT NULL,
    data BLOB NOT NULL
) STRICT;
CREATE INDEX blob_base ON blob (base) WHERE base IS NOT NULL;
CREATE TABLE space (bytes INTEGER NOT NULL) STRICT;
INSERT INTO space VALUES (0);
CREATE TABLE version (
    id INTEGER PRIMARY KEY,
    source INTEGER NOT NULL REFERENCES source,
    number INTEGER NOT NULL,
    at INTEGER NOT NULL,
    n INTEGER NOT NULL,
    body INTEGER,
    text INTEGER,
    headers TEXT NOT NULL,
    media_type TEXT,
    status INTEGER NOT NULL,
    size INTEGER NOT NULL,
    fingerprint BLOB NOT NULL,
    title TEXT,
    superseded INTEGER NOT NULL DEFAULT 0,
    dropped_at INTEGER,
    UNIQUE (source, number)
) STRICT;
CREATE INDEX version_body ON version (body) WHERE body IS NOT NULL;
CREATE INDEX version_text ON version (text) WHERE text IS NOT NULL;
CREATE INDEX version_droppable ON version (at) WHERE superseded = 1 AND dropped_at IS NULL;

-- who has still to hear of it; states of a delivery: 0 waiting, 1 ready, 2 done, 3 dead
CREATE TABLE sink (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE) STRICT;
CREATE TABLE event (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    at INTEGER NOT NULL,
    source INTEGER,
    kind TEXT NOT NULL,
    payload TEXT NOT NULL
) STRICT;
CREATE TABLE delivery (
    seq INTEGER NOT NULL REFERENCES event ON DELETE CASCADE,
    sink INTEGER NOT NULL,
    source INTEGER,
    state INTEGER NOT NULL,
    attempts INTEGER NOT NULL DEFAULT 0,
    next_at INTEGER NOT NULL,
    error TEXT,
    finished_at INTEGER,
    PRIMARY KEY (seq, sink)
) STRICT, WITHOUT ROWID;
CREATE INDEX delivery_ready ON delivery (sink, next_at, seq) WHERE state = 1;
CREATE INDEX delivery_open ON delivery (sink, source, seq) WHERE state < 2;
CREATE INDEX delivery_dead ON delivery (sink, seq) WHERE state = 3;

-- what others want
CREATE TABLE wish (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    at INTEGER NOT NULL,
    what TEXT NOT NULL,
    answer TEXT,
    answered_at INTEGER
) STRICT;
CREATE INDEX wish_open ON wish (id) WHERE answered_at IS NULL;
