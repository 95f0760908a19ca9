import { SqlClient } from "@effect/sql"
import { Effect, Layer, Logger, Redacted } from "effect"
import * as Database from "../../../src/database/Database.ts"
import type { Actor } from "../../../src/model/Actor.ts"
import { EntityId, WebhookId } from "../../../src/model/Ids.ts"
import { mintId } from "../../../src/runtime/Identifiers.ts"
import { RepositoriesOnDatabase, Services } from "../../../src/Services.ts"
import { SecretKeySource } from "../../../src/stores/SecretBox.ts"
import { actingAs, anAccount, CatalogChange, CatalogChanges } from "../../../src/testing/index.ts"
import { PrivateReceivers } from "../../../src/webhooks/Addresses.ts"
import { Webhooks } from "../../../src/webhooks/Webhooks.ts"
import { WebhookWorker } from "../../../src/webhooks/WebhookWorker.ts"
import { catalog, postgresVersionOf, recreate, urlOf } from "../harness/Catalog.ts"
import { ServerProcess, script } from "../harness/Processes.ts"
import { progress } from "../harness/Progress.ts"
import { ratio, table } from "../harness/Report.ts"
import { median, spreadOf } from "../harness/Statistics.ts"
import type { Scenario } from "./Scenario.ts"

const database = "catalog_bench_notes"
const pairs = 1_000
/** Writes of a turn of the account with a webhook, or of the one without. Each has two turns a round. */
const writesATurn = 500
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
    return { accountId, actor, write }
  })

/** Adds a webhook that receives every change. `delivered` waits until it has delivered them all. */
const aWebhook = (url: string, actor: Actor) =>
  Effect.gen(function* () {
    const webhooks = yield* Webhooks
    const id = yield* mintId(WebhookId)
    yield* webhooks.create(id, { url, topics: [] })
    const delivered = webhooks
      .get(id)
      .pipe(
        Effect.delay("50 millis"),
        Effect.repeat({ until: ({ last_seq, position, waiting }) => position === last_seq && waiting === 0 }),
        actingAs(actor),
        Effect.orDie
      )
    return { delivered }
  }).pipe(actingAs(actor), Effect.orDie)

/** The mean time of the writes of a turn, in which webhooks deliver meanwhile. */
const turn = (write: (n: number) => Effect.Effect<number, unknown, never>, first: number) =>
  Effect.gen(function* () {
    let sum = 0
    for (let n = first; n < first + writesATurn; n++) sum += yield* write(n)
    return sum / writesATurn
  })

/**
 * The additional time of a draft write for inserting a note, which the feed of changes and scans read; and for the feed and a webhook
 * together, while the process that writes also delivers.
 */
export const draftNotes: Scenario = {
  name: "draft-notes",
  title: "Draft writes with notes and webhooks",
  run: async ({ rounds }) => {
    await recreate(database)
    const url = urlOf(database)
    await catalog(url, "migrate")
    const receiver = await ServerProcess.start(script("harness/receiverProcess.ts"), {})
    const measured = Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const [noted, plain] = [yield* aWriter("noted.example"), yield* aWriter("plain.example")]
      const hooked = yield* aWriter("hooked.example")
      const { delivered } = yield* aWebhook(receiver.url, hooked.actor)
      yield* Effect.forkScoped((yield* WebhookWorker).work)
      // The trigger drops the notes of one account, so the difference is the insert of the row, its index entries and
      // its log.
      yield* sql.unsafe(`
        CREATE FUNCTION drop_note() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NULL; END $$;
        CREATE TRIGGER drop_note BEFORE INSERT ON change_note FOR EACH ROW
          WHEN (NEW.account_id = '${plain.accountId}') EXECUTE FUNCTION drop_note()`)
      const ratios: Array<number> = []
      const ratiosOfWebhooks: Array<number> = []
      const millis: Array<number> = []
      for (let round = 0; round <= rounds; round++) {
        const times = { noted: [] as Array<number>, plain: [] as Array<number> }
        for (let n = 0; n < pairs; n++)
          for (const which of n % 2 === 0 ? (["noted", "plain"] as const) : (["plain", "noted"] as const))
            times[which].push(yield* (which === "noted" ? noted : plain).write(round * pairs + n))
        progress(
          `round ${round}: ${median(times.noted).toFixed(2)} ms with a note, ${median(times.plain).toFixed(2)} without`
        )
        const means = { hooked: 0, plain: 0 }
        for (const which of ["plain", "hooked", "hooked", "plain"] as const) {
          means[which] += yield* turn((which === "hooked" ? hooked : plain).write, round * writesATurn)
          yield* delivered
        }
        progress(
          `round ${round}: ${(means.hooked / 2).toFixed(2)} ms with feed and webhook, ${(means.plain / 2).toFixed(2)} without`
        )
        // The first round fills caches.
        if (round === 0) continue
        ratiosOfWebhooks.push(means.hooked / means.plain)
        ratios.push(median(times.noted) / median(times.plain))
        millis.push(median(times.plain))
      }
      return { ratios, ratiosOfWebhooks, millis }
    })
    const { millis, ratios, ratiosOfWebhooks } = await Effect.runPromise(
      measured.pipe(
        Effect.provide(
          Services.pipe(
            Layer.provideMerge(RepositoriesOnDatabase),
            Layer.provideMerge(Database.layerServer({ url: Redacted.make(url), maxConnections: 4 })),
            Layer.provide(Layer.succeed(PrivateReceivers, [new URL(receiver.url).host])),
            Layer.provide(Layer.succeed(SecretKeySource, { _tag: "Setting", key: Redacted.make("ab".repeat(32)) })),
            Layer.provide(Logger.remove(Logger.defaultLogger))
          )
        ),
        Effect.scoped
      )
    ).finally(() => receiver.stop())
    const rowOf = (title: string, all: ReadonlyArray<number>) => {
      const { max, median: middle, min } = spreadOf(all)
      return [title, ...[middle, min, max].map(ratio), `≤ ${ratio(maxRatio)}`, middle <= maxRatio ? "yes" : "no"]
    }
    return {
      report: [
        `A title of one product is written ${pairs} times a round in each of two accounts, in turns; ${rounds} rounds. Median without notes: ${median(millis).toFixed(2)} ms.`,
        `With a webhook: ${4 * writesATurn} writes a round in turns of ${writesATurn}; the means of the turns are compared. The process that writes delivers every change to a receiver in another process.`,
        table(
          ["", "median", "min", "max", "target", "met"],
          [rowOf("with notes / without", ratios), rowOf("with notes and a webhook / without both", ratiosOfWebhooks)]
        )
      ].join("\n\n"),
      postgresVersion: await postgresVersionOf(url)
    }
  }
}
