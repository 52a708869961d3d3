-- schema_2.sql -- what version 2 adds to schema.sql: tables of this machine's own, never exported. A new database gets both
-- files; one of version 1 gets this one.

-- Runs that came from elsewhere, by import or merge, and from which file. A run without a row was made here.
CREATE TABLE origin (
  run BLOB PRIMARY KEY NOT NULL REFERENCES run (key),
  source TEXT NOT NULL,
  imported_utc_s INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- What was compiled and verified here, and what came of it. subject: all that the variant's code depends on beside the place
-- (the op without its groups, weight form, alignment, order). Variant and place may be known from another layer alone.
CREATE TABLE checked (
  subject BLOB NOT NULL CHECK (length(subject) = 32),
  place BLOB NOT NULL CHECK (length(place) = 32),
  variant BLOB NOT NULL CHECK (length(variant) = 32),
  template_digest BLOB NOT NULL CHECK (length(template_digest) = 32),
  toolchain TEXT NOT NULL,
  driver TEXT NOT NULL,
  outcome TEXT NOT NULL CHECK (outcome IN ('ok', 'infeasible', 'compile_error', 'wrong', 'crashed', 'timed_out')),
  utc_s INTEGER NOT NULL,
  PRIMARY KEY (subject, place, variant, template_digest, toolchain, driver)
) STRICT, WITHOUT ROWID;

-- Who tunes what just now: a lease, renewed while the holder lives. The signature need not be stored yet.
CREATE TABLE claim (
  signature BLOB NOT NULL CHECK (length(signature) = 32),
  place BLOB NOT NULL CHECK (length(place) = 32),
  holder BLOB NOT NULL CHECK (length(holder) = 32),
  pid INTEGER NOT NULL,
  host_boot TEXT NOT NULL,
  expires_utc_s INTEGER NOT NULL,
  PRIMARY KEY (signature, place)
) STRICT, WITHOUT ROWID;
