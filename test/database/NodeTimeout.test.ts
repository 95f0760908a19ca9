import { SqlClient } from "@effect/sql"
import { assert, describe, layer } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { catalog } from "../support/CommandLine.ts"
import { isClusterThere, layerServer, serverAnswers, TestDatabaseUrl } from "../support/TestDatabase.ts"

/** What `status` reads of Citus, with a node that answers after 1.5 s. */
const nodeOfCitus = `
  SET LOCAL allow_system_table_mods = on;
  CREATE TABLE pg_catalog.pg_dist_partition AS
    SELECT 'account_state'::regclass AS logicalrelid, 'h'::"char" AS partmethod, 's'::"char" AS repmodel;
  CREATE TABLE pg_catalog.pg_dist_node AS
    SELECT 'slow'::text AS nodename, 5432 AS nodeport, 1 AS groupid, true AS shouldhaveshards, 'primary'::text AS noderole;
  CREATE TABLE pg_catalog.pg_dist_shard_placement AS SELECT 'slow'::text AS nodename, 5432 AS nodeport, 1::bigint AS shardid;
  CREATE FUNCTION get_shard_id_for_distribution_column(text, uuid) RETURNS bigint LANGUAGE sql AS 'SELECT 1::bigint';
  CREATE FUNCTION citus_check_connection_to_node(text, integer) RETURNS boolean LANGUAGE sql VOLATILE
    AS $$ SELECT current_setting('citus.node_connection_timeout')::integer >= 1500 $$`

describe.skipIf(!serverAnswers || isClusterThere)("the check of a node", () => {
  layer(layerServer, { excludeTestServices: true })((it) => {
    it.effect("of `catalog status` lasts for NODE_TIMEOUT_MS", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        yield* sql.withTransaction(sql.unsafe(nodeOfCitus))
        const DATABASE_URL = Redacted.value(yield* TestDatabaseUrl)
        for (const [NODE_TIMEOUT_MS, answer] of [
          ["1400", "does not answer"],
          ["1600", "answers"]
        ] as const)
          assert.deepStrictEqual(yield* catalog(["status"], { DATABASE_URL, NODE_TIMEOUT_MS }), {
            code: 0,
            stdout: `Node slow:5432 ${answer}: 0 accounts\n`,
            stderr: ""
          })
      })
    )
  })
})
