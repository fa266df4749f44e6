-- what collections listed: a row of spell is one time of presence of one object
CREATE TABLE look (
    source INTEGER NOT NULL REFERENCES source,
    at INTEGER NOT NULL,
    updated INTEGER NOT NULL, -- objects that had changed and stayed
    PRIMARY KEY (source, at)
) STRICT, WITHOUT ROWID;
CREATE TABLE spell (
    id INTEGER PRIMARY KEY,
    source INTEGER NOT NULL REFERENCES source,
    key TEXT NOT NULL,
    category TEXT NOT NULL,
    version INTEGER NOT NULL,
    first_at INTEGER NOT NULL,
    gone_at INTEGER
) STRICT;
CREATE INDEX spell_of_source ON spell (source, first_at);
CREATE UNIQUE INDEX spell_here ON spell (source, key) WHERE gone_at IS NULL;
