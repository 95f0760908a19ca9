import { SqlClient } from "@effect/sql"
import { Effect, Layer, Logger, Redacted } from "effect"
import * as Database from "../../../src/database/Database.ts"
import { EntityId } from "../../../src/model/Ids.ts"
import { mintId } from "../../../src/runtime/Identifiers.ts"
import { RepositoriesOnDatabase, Services } from "../../../src/Services.ts"
import { actingAs, anAccount, CatalogChange, CatalogChanges } from "../../../src/testing/index.ts"
import { catalog, postgresVersionOf, recreate, urlOf } from "../harness/Catalog.ts"
import { progress } from "../harness/Progress.ts"
import { ratio, table } from "../harness/Report.ts"
import { median, spreadOf } from "../harness/Statistics.ts"
import type { Scenario } from "./Scenario.ts"

const database = "catalog_bench_notes"
const pairs = 1_000
const maxRatio = 1.1

/** An account with one product on one store, and a function that writes it. */
const aWriter = (domain: string) =>
  Effect.gen(function* () {
    const { accountId, actor, stores } = yield* anAccount({ domains: [domain] })
    const entityId = yield* mintId(EntityId)
    const { apply } = yield* CatalogChanges
    yield* apply([
      CatalogChange.CreateEntity({ id: entityId, kind: "product", parentId: null, values: { title: "Tent" } }),
      ...stores.map(({ id: storeId }) => CatalogChange.AddToStore({ entityId, storeId }))
    ]).pipe(actingAs(actor))
    const write = (n: number) =>
      Effect.gen(function* () {
        const startedAt = performance.now()
        yield* apply([CatalogChange.SetAttributes({ entityId, values: { title: `Tent ${n}` } })])
        return performance.now() - startedAt
      }).pipe(actingAs(actor))
    return { accountId, write }
  })

/** The additional time of a draft write for inserting a note, which the feed of changes and scans read. */
export const draftNotes: Scenario = {
  name: "draft-notes",
  title: "Draft writes with notes",
  run: async ({ rounds }) => {
    await recreate(database)
    const url = urlOf(database)
    await catalog(url, "migrate")
    const measured = Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const [noted, plain] = [yield* aWriter("noted.example"), yield* aWriter("plain.example")]
      // The trigger drops the notes of one account, so the difference is the insert of the row, its index entries and
      // its log.
      yield* sql.unsafe(`
        CREATE FUNCTION drop_note() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NULL; END $$;
        CREATE TRIGGER drop_note BEFORE INSERT ON change_note FOR EACH ROW
          WHEN (NEW.account_id = '${plain.accountId}') EXECUTE FUNCTION drop_note()`)
      const ratios: Array<number> = []
      const millis: Array<number> = []
      for (let round = 0; round <= rounds; round++) {
        const times = { noted: [] as Array<number>, plain: [] as Array<number> }
        for (let n = 0; n < pairs; n++)
          for (const which of n % 2 === 0 ? (["noted", "plain"] as const) : (["plain", "noted"] as const))
            times[which].push(yield* (which === "noted" ? noted : plain).write(round * pairs + n))
        progress(
          `round ${round}: ${median(times.noted).toFixed(2)} ms with a note, ${median(times.plain).toFixed(2)} without`
        )
        // The first round fills caches.
        if (round === 0) continue
        ratios.push(median(times.noted) / median(times.plain))
        millis.push(median(times.plain))
      }
      return { ratios, millis }
    })
    const { millis, ratios } = await Effect.runPromise(
      measured.pipe(
        Effect.provide(
          Services.pipe(
            Layer.provideMerge(RepositoriesOnDatabase),
            Layer.provideMerge(Database.layerServer({ url: Redacted.make(url), maxConnections: 2 })),
            Layer.provide(Logger.remove(Logger.defaultLogger))
          )
        ),
        Effect.scoped
      )
    )
    const { max, median: middle, min } = spreadOf(ratios)
    return {
      report: [
        `A title of one product is written ${pairs} times a round in each of two accounts, in turns; ${rounds} rounds. Median without notes: ${median(millis).toFixed(2)} ms.`,
        table(
          ["", "median", "min", "max", "target", "met"],
          [
            [
              "with notes / without",
              ratio(middle),
              ratio(min),
              ratio(max),
              `≤ ${ratio(maxRatio)}`,
              middle <= maxRatio ? "yes" : "no"
            ]
          ]
        )
      ].join("\n\n"),
      postgresVersion: await postgresVersionOf(url)
    }
  }
}
