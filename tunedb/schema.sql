-- schema.sql -- the tuned database, version 1; schema_2.sql has what version 2 adds.
--
-- Trials are the only truth. They are added and never changed, by code alone: triggers and views are refused everywhere, so that
-- a database from somewhere else can hold none. Every key is a SHA-256 of the row's own fields (keys.c), never a row number,
-- hence a union of two databases is a plain copy of rows. Times are whole picoseconds, ratios parts per million.
-- WITHOUT ROWID keeps a table in the order of its key: the trials of a run, and the standings of a signature, lie side by side.

-- What was tuned. The sizes are repeated beside the text for the search by distance.
CREATE TABLE signature (
  key BLOB PRIMARY KEY NOT NULL CHECK (length(key) = 32),
  text TEXT NOT NULL,
  op_text TEXT NOT NULL,
  op_class TEXT NOT NULL,
  n_in INTEGER NOT NULL,
  n_hidden INTEGER NOT NULL,
  n_out INTEGER NOT NULL,
  groups INTEGER NOT NULL,
  bucket INTEGER NOT NULL,
  skew TEXT NOT NULL,
  form TEXT NOT NULL,
  row_order TEXT NOT NULL,
  align_bytes INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX signature_by_shape ON signature (op_text, form, row_order, align_bytes, bucket, skew);
CREATE INDEX signature_by_class ON signature (op_class, bucket, form, row_order, align_bytes);

-- Where and how it was timed. clock: so far every time is measured; modelled ones never mix with them.
CREATE TABLE place (
  key BLOB PRIMARY KEY NOT NULL CHECK (length(key) = 32),
  device_class TEXT NOT NULL,
  policy TEXT NOT NULL,
  clock TEXT NOT NULL CHECK (clock IN ('measured', 'modelled'))
) STRICT, WITHOUT ROWID;

-- One search of one signature at one place by one process. id is random and the same in all batches of the search.
CREATE TABLE run (
  key BLOB PRIMARY KEY NOT NULL CHECK (length(key) = 32),
  signature BLOB NOT NULL REFERENCES signature (key),
  place BLOB NOT NULL REFERENCES place (key),
  id BLOB NOT NULL CHECK (length(id) = 32),
  toolchain TEXT NOT NULL,
  driver TEXT NOT NULL,
  conditions TEXT NOT NULL,
  version TEXT NOT NULL,
  started_utc_s INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX run_by_signature ON run (signature, place, started_utc_s);

CREATE TABLE variant (
  key BLOB PRIMARY KEY NOT NULL CHECK (length(key) = 32),
  family TEXT NOT NULL,
  revision INTEGER NOT NULL,
  params TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- One variant measured once. Times and ratios are 0 where the outcome is not 'ok'.
CREATE TABLE trial (
  run BLOB NOT NULL REFERENCES run (key),
  key BLOB NOT NULL CHECK (length(key) = 32),
  variant BLOB NOT NULL REFERENCES variant (key),
  rank INTEGER NOT NULL,
  is_default INTEGER NOT NULL CHECK (is_default IN (0, 1)),
  template_digest BLOB NOT NULL CHECK (length(template_digest) = 32),
  code BLOB NOT NULL CHECK (length(code) = 32),
  outcome TEXT NOT NULL CHECK (outcome IN ('ok', 'infeasible', 'compile_error', 'wrong', 'crashed', 'timed_out')),
  reason TEXT NOT NULL,
  final INTEGER NOT NULL CHECK (final IN (0, 1)),
  time_ps INTEGER NOT NULL,
  low_ps INTEGER NOT NULL,
  high_ps INTEGER NOT NULL,
  default_ps INTEGER NOT NULL,
  ratio_ppm INTEGER NOT NULL,
  ratio_low_ppm INTEGER NOT NULL,
  ratio_high_ppm INTEGER NOT NULL,
  n_samples INTEGER NOT NULL,
  error_share REAL NOT NULL,
  p1 REAL NOT NULL,
  p2 REAL NOT NULL,
  u_h REAL NOT NULL,
  alpha REAL NOT NULL,
  beta REAL NOT NULL,
  numeric_class TEXT NOT NULL,
  PRIMARY KEY (run, key)
) STRICT, WITHOUT ROWID;

-- Derived: one line for each variant that has a usable time, fastest first. run and trial: its trial of its newest run.
CREATE TABLE standing (
  signature BLOB NOT NULL REFERENCES signature (key),
  place BLOB NOT NULL REFERENCES place (key),
  ratio_ppm INTEGER NOT NULL,
  variant BLOB NOT NULL REFERENCES variant (key),
  run BLOB NOT NULL,
  trial BLOB NOT NULL,
  ratio_low_ppm INTEGER NOT NULL,
  ratio_high_ppm INTEGER NOT NULL,
  n_runs INTEGER NOT NULL,
  is_default INTEGER NOT NULL,
  rank INTEGER NOT NULL,
  p1 REAL NOT NULL,
  p2 REAL NOT NULL,
  u_h REAL NOT NULL,
  alpha REAL NOT NULL,
  beta REAL NOT NULL,
  numeric_class TEXT NOT NULL,
  PRIMARY KEY (signature, place, ratio_ppm, variant),
  FOREIGN KEY (run, trial) REFERENCES trial (run, key)
) STRICT, WITHOUT ROWID;

-- Derived: what wins without limits (NULL: nothing does), and how much was tried.
CREATE TABLE winner (
  signature BLOB NOT NULL REFERENCES signature (key),
  place BLOB NOT NULL REFERENCES place (key),
  variant BLOB REFERENCES variant (key),
  runner_up BLOB REFERENCES variant (key),
  n_trials INTEGER NOT NULL,
  complete INTEGER NOT NULL CHECK (complete IN (0, 1)),
  PRIMARY KEY (signature, place)
) STRICT, WITHOUT ROWID;

-- Lookups that found nothing: what to tune next.
CREATE TABLE miss (
  signature BLOB NOT NULL REFERENCES signature (key),
  place BLOB NOT NULL REFERENCES place (key),
  n INTEGER NOT NULL,
  last_utc_s INTEGER NOT NULL,
  PRIMARY KEY (signature, place)
) STRICT, WITHOUT ROWID;

-- A user's own choice: this variant for this signature; never this variant at this place.
CREATE TABLE pin (
  signature BLOB NOT NULL REFERENCES signature (key),
  place BLOB NOT NULL REFERENCES place (key),
  variant BLOB NOT NULL REFERENCES variant (key),
  reason TEXT NOT NULL,
  made_utc_s INTEGER NOT NULL,
  PRIMARY KEY (signature, place)
) STRICT, WITHOUT ROWID;
CREATE TABLE ban (
  variant BLOB NOT NULL REFERENCES variant (key),
  place BLOB NOT NULL REFERENCES place (key),
  reason TEXT NOT NULL,
  made_utc_s INTEGER NOT NULL,
  PRIMARY KEY (variant, place)
) STRICT, WITHOUT ROWID;

-- Which schema versions this file went through.
CREATE TABLE history (
  version INTEGER PRIMARY KEY,
  made_utc_s INTEGER NOT NULL,
  made_by TEXT NOT NULL
) STRICT;
