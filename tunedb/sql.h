/* sql.h -- every prepared statement: name, text. Values are bound, columns read, in the order written here. */
#ifndef RGT_TUNEDB_SQL_H
#define RGT_TUNEDB_SQL_H

#define RGT_SQL_RUN_COLUMNS "r.key, r.id, r.toolchain, r.driver, r.conditions, r.version, r.started_utc_s "
#define RGT_SQL_SIGNATURE_COLUMNS                                                                                        \
  "g.key, g.text, g.op_text, g.op_class, g.n_in, g.n_hidden, g.n_out, g.groups, g.bucket, g.skew, g.form, g.row_order, " \
  "g.align_bytes "
#define RGT_SQL_TRIAL_COLUMNS                                                                                                \
  "t.key, t.variant, v.family, v.revision, v.params, t.rank, t.is_default, t.template_digest, t.code, t.outcome, t.reason, " \
  "t.final, t.time_ps, t.low_ps, t.high_ps, t.default_ps, t.ratio_ppm, t.ratio_low_ppm, t.ratio_high_ppm, t.n_samples, "     \
  "t.error_share, t.p1, t.p2, t.u_h, t.alpha, t.beta, t.numeric_class "
/* CROSS JOIN keeps the order: a run's trials, then each one's variant. */
#define RGT_SQL_TRIALS "SELECT " RGT_SQL_TRIAL_COLUMNS "FROM trial t CROSS JOIN variant v ON v.key = t.variant WHERE t.run = ?"

#define RGT_SQL_LIST(X)                                                                                                        \
  X(RGT_SQL_BEGIN, "BEGIN")                                                                                                    \
  X(RGT_SQL_BEGIN_IMMEDIATE, "BEGIN IMMEDIATE")                                                                                \
  X(RGT_SQL_COMMIT, "COMMIT")                                                                                                  \
  X(RGT_SQL_ROLLBACK, "ROLLBACK")                                                                                              \
  X(RGT_SQL_PUT_SIGNATURE, "INSERT INTO signature VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?) ON CONFLICT (key) DO NOTHING")            \
  X(RGT_SQL_PUT_PLACE, "INSERT INTO place VALUES (?,?,?,?) ON CONFLICT (key) DO NOTHING")                                      \
  X(RGT_SQL_PUT_RUN, "INSERT INTO run VALUES (?,?,?,?,?,?,?,?,?) ON CONFLICT (key) DO NOTHING")                                \
  X(RGT_SQL_PUT_VARIANT, "INSERT INTO variant VALUES (?,?,?,?) ON CONFLICT (key) DO NOTHING")                                  \
  X(RGT_SQL_PUT_TRIAL,                                                                                                         \
    "INSERT INTO trial VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?) ON CONFLICT (run, key) DO NOTHING")          \
  X(RGT_SQL_CLEAR_STANDINGS, "DELETE FROM standing WHERE signature = ? AND place = ?")                                         \
  X(RGT_SQL_CLEAR_WINNER, "DELETE FROM winner WHERE signature = ? AND place = ?")                                              \
  X(RGT_SQL_PUT_STANDING, "INSERT INTO standing VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)")                                   \
  X(RGT_SQL_PUT_WINNER, "INSERT INTO winner VALUES (?,?,?,?,?,?)")                                                             \
  X(RGT_SQL_PUT_MISS,                                                                                                          \
    "INSERT INTO miss VALUES (?,?,1,?) ON CONFLICT (signature, place) DO UPDATE SET n = n + 1, last_utc_s = "                  \
    "max(last_utc_s, excluded.last_utc_s)")                                                                                    \
  X(RGT_SQL_MISSES,                                                                                                            \
    "SELECT g.text, p.device_class, p.policy, m.n, m.last_utc_s FROM miss m JOIN signature g ON g.key = m.signature JOIN "     \
    "place p ON p.key = m.place WHERE NOT EXISTS (SELECT 1 FROM winner w WHERE w.signature = m.signature AND w.place = "       \
    "m.place AND w.variant IS NOT NULL) ORDER BY m.n DESC, g.text, p.device_class, p.policy")                                  \
  X(RGT_SQL_RUNS,                                                                                                              \
    "SELECT " RGT_SQL_RUN_COLUMNS "FROM run r WHERE r.signature = ? AND r.place = ? ORDER BY r.started_utc_s, r.id, r.key")    \
  X(RGT_SQL_RUN_TRIALS, RGT_SQL_TRIALS " ORDER BY t.key")                                                                      \
  X(RGT_SQL_RUN_TRIALS_BACKWARDS, RGT_SQL_TRIALS " ORDER BY t.key DESC")                                                       \
  X(RGT_SQL_STANDINGS,                                                                                                         \
    "SELECT s.ratio_ppm, s.ratio_low_ppm, s.ratio_high_ppm, s.variant, v.family, v.revision, v.params, s.run, s.trial, "       \
    "s.n_runs, s.is_default, s.rank, s.p1, s.p2, s.u_h, s.alpha, s.beta, s.numeric_class FROM standing s CROSS JOIN variant "  \
    "v "                                                                                                                       \
    "ON v.key = s.variant WHERE s.signature = ? AND s.place = ? ORDER BY s.ratio_ppm, s.variant")                              \
  X(RGT_SQL_STANDING_TRIAL, "SELECT r.toolchain, r.driver, " RGT_SQL_TRIAL_COLUMNS                                             \
                            "FROM trial t CROSS JOIN variant v ON v.key = t.variant CROSS JOIN run r ON "                      \
                            "r.key = t.run WHERE t.run = ? AND t.key = ?")                                                     \
  X(RGT_SQL_WINNER, "SELECT variant, runner_up, n_trials, complete FROM winner WHERE signature = ? AND place = ?")             \
  X(RGT_SQL_SKEWS, "SELECT g.key, g.text, g.skew FROM signature g WHERE g.op_text = ? AND g.form = ? AND g.row_order = ? AND " \
                   "g.align_bytes = ? AND "                                                                                    \
                   "g.bucket = ? ORDER BY g.skew, g.key")                                                                      \
  X(RGT_SQL_BUCKETS,                                                                                                           \
    "SELECT DISTINCT g.bucket FROM signature g WHERE g.op_text = ?1 AND g.form = ?2 AND g.row_order = ?3 AND g.align_bytes = " \
    "?4 AND (g.skew = ?5 OR ?5 = 'unknown') AND EXISTS (SELECT 1 FROM winner w WHERE w.signature = g.key AND w.place = ?6) "   \
    "ORDER BY g.bucket")                                                                                                       \
  X(RGT_SQL_POLICIES,                                                                                                          \
    "SELECT p.policy FROM place p WHERE p.device_class = ?1 AND p.clock = 'measured' AND EXISTS (SELECT 1 FROM winner w JOIN " \
    "signature g ON g.key = w.signature WHERE w.place = p.key AND w.variant IS NOT NULL AND g.op_text = ?2 AND g.form = ?3 "   \
    "AND g.row_order = ?4 AND g.align_bytes = ?5 AND (g.skew = ?6 OR ?6 = 'unknown')) ORDER BY p.policy")                      \
  X(RGT_SQL_NEAR,                                                                                                              \
    "SELECT " RGT_SQL_SIGNATURE_COLUMNS "FROM signature g WHERE g.op_class = ? AND g.bucket = ? AND g.form = ? AND "           \
    "g.row_order = ?")                                                                                  \
  X(RGT_SQL_WINNERS,                                                                                                           \
    "SELECT w.signature, w.place, g.text, p.device_class, p.policy FROM winner w JOIN signature g ON g.key = w.signature "     \
    "JOIN place p ON p.key = w.place WHERE w.variant IS NOT NULL ORDER BY g.text, p.device_class, p.policy, g.key, p.key")     \
  X(RGT_SQL_SCENES,                                                                                                            \
    "SELECT signature, place FROM run UNION SELECT signature, place FROM standing UNION SELECT signature, place FROM winner")  \
  X(RGT_SQL_ALL_SIGNATURES, "SELECT " RGT_SQL_SIGNATURE_COLUMNS "FROM signature g")                                            \
  X(RGT_SQL_ALL_PLACES, "SELECT key, device_class, policy, clock FROM place")                                                  \
  X(RGT_SQL_ALL_VARIANTS, "SELECT key, family, revision, params FROM variant")                                                 \
  X(RGT_SQL_ALL_RUNS, "SELECT " RGT_SQL_RUN_COLUMNS ", r.signature, r.place FROM run r ORDER BY r.key")                        \
  X(RGT_SQL_ALL_RUNS_BACKWARDS, "SELECT " RGT_SQL_RUN_COLUMNS ", r.signature, r.place FROM run r ORDER BY r.key DESC")         \
  X(RGT_SQL_ONE_SIGNATURE, "SELECT " RGT_SQL_SIGNATURE_COLUMNS "FROM signature g WHERE g.key = ?")                             \
  X(RGT_SQL_ONE_PLACE, "SELECT key, device_class, policy, clock FROM place WHERE key = ?")                                     \
  X(RGT_SQL_ONE_VARIANT, "SELECT family, revision, params FROM variant WHERE key = ?")                                         \
  X(RGT_SQL_ALL_PINS, "SELECT signature, place, variant, reason, made_utc_s FROM pin")                                         \
  X(RGT_SQL_ALL_BANS, "SELECT variant, place, variant, reason, made_utc_s FROM ban")                                           \
  X(RGT_SQL_COPIED_TRIALS,                                                                                                     \
    "SELECT t.run, " RGT_SQL_TRIAL_COLUMNS "FROM trial t LEFT JOIN variant v ON v.key = t.variant ORDER BY t.run, t.key")      \
  X(RGT_SQL_PUT_ORIGIN, "INSERT INTO origin VALUES (?,?,?) ON CONFLICT (run) DO NOTHING")                                      \
  X(RGT_SQL_CLAIM, "SELECT holder, pid, host_boot, expires_utc_s FROM claim WHERE signature = ? AND place = ?")                \
  X(RGT_SQL_PUT_CLAIM,                                                                                                         \
    "INSERT INTO claim VALUES (?,?,?,?,?,?) ON CONFLICT (signature, place) DO UPDATE SET holder = excluded.holder, pid = "     \
    "excluded.pid, host_boot = excluded.host_boot, expires_utc_s = excluded.expires_utc_s")                                    \
  X(RGT_SQL_DROP_CLAIMS, "DELETE FROM claim WHERE holder = ? OR expires_utc_s <= ?")                                            \
  X(RGT_SQL_DROP_STANDINGS, "DELETE FROM standing")                                                                            \
  X(RGT_SQL_DROP_WINNERS, "DELETE FROM winner")                                                                                \
  X(RGT_SQL_CONDITIONS,                                                                                                        \
    "SELECT DISTINCT r.toolchain, r.driver, t.template_digest FROM run r CROSS JOIN trial t ON t.run = r.key WHERE "           \
    "r.signature = ? AND r.place = ? AND t.variant = ? AND t.outcome = 'ok'")                                                  \
  X(RGT_SQL_DEVICES,                                                                                                           \
    "SELECT p.device_class, p.policy FROM place p WHERE p.device_class <> ?1 AND p.clock = 'measured' AND EXISTS (SELECT 1 "   \
    "FROM winner w JOIN signature g ON g.key = w.signature WHERE w.place = p.key AND w.variant IS NOT NULL AND g.op_text = "   \
    "?2 AND g.form = ?3 AND g.row_order = ?4 AND g.align_bytes = ?5 AND (g.skew = ?6 OR ?6 = 'unknown')) ORDER BY "            \
    "p.device_class, p.policy")                                                                                                \
  X(RGT_SQL_PUT_PIN,                                                                                                           \
    "INSERT INTO pin VALUES (?,?,?,?,?) ON CONFLICT (signature, place) DO UPDATE SET variant = excluded.variant, reason = "    \
    "excluded.reason, made_utc_s = excluded.made_utc_s")                                                                       \
  X(RGT_SQL_DROP_PIN, "DELETE FROM pin WHERE signature = ? AND place = ?")                                                     \
  X(RGT_SQL_PINS,                                                                                                              \
    "SELECT g.text, g.bucket, g.skew, g.form, g.row_order, g.align_bytes, p.device_class, v.family, v.revision, v.params, "    \
    "n.reason, n.made_utc_s FROM pin n JOIN signature g ON g.key = n.signature JOIN place p ON p.key = n.place JOIN variant "  \
    "v ON v.key = n.variant WHERE (?1 IS NULL OR g.op_text = ?1) AND (?2 IS NULL OR p.device_class = ?2) ORDER BY g.op_text, " \
    "g.bucket, g.text, p.device_class, n.signature, n.place")                                                                  \
  X(RGT_SQL_PUT_BAN,                                                                                                           \
    "INSERT INTO ban VALUES (?,?,?,?) ON CONFLICT (variant, place) DO UPDATE SET reason = excluded.reason, made_utc_s = "      \
    "excluded.made_utc_s")                                                                                                     \
  X(RGT_SQL_DROP_BAN, "DELETE FROM ban WHERE variant = ? AND place = ?")                                                       \
  X(RGT_SQL_BANS,                                                                                                              \
    "SELECT p.device_class, v.family, v.revision, v.params, b.reason, b.made_utc_s FROM ban b JOIN place p ON p.key = "        \
    "b.place JOIN variant v ON v.key = b.variant WHERE (?1 IS NULL OR p.device_class = ?1) ORDER BY v.family, v.params, "      \
    "v.revision, p.device_class, b.place")                                                                                     \
  X(RGT_SQL_PUT_CHECKED,                                                                                                       \
    "INSERT INTO checked VALUES (?,?,?,?,?,?,?,?) ON CONFLICT DO UPDATE SET outcome = excluded.outcome, utc_s = "              \
    "excluded.utc_s")                                                                                                          \
  X(RGT_SQL_CHECKED,                                                                                                           \
    "SELECT variant, template_digest, toolchain, driver, outcome FROM checked WHERE subject = ? AND place = ?")                \
  X(RGT_SQL_QUICK_CHECK, "PRAGMA quick_check(1)")                                                                              \
  X(RGT_SQL_FOREIGN_KEY_CHECK, "PRAGMA foreign_key_check")                                                                     \
  X(RGT_SQL_TRIAL_KEYS, "SELECT run, key FROM trial ORDER BY run, key")                                                        \
  X(RGT_SQL_SCHEMA, "SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY type, name")                                 \
  X(RGT_SQL_UNKNOWN_OBJECTS, "SELECT type, name FROM sqlite_schema WHERE type NOT IN ('table', 'index') ORDER BY name LIMIT "  \
                             "1")

#endif
