import { Context, Effect, Layer } from "effect"
import { Accounts } from "../access/Accounts.ts"
import { ApiKeys } from "../access/ApiKeys.ts"
import { Transaction } from "../database/Transaction.ts"
import { ownersOf } from "../drafts/CatalogChange.ts"
import { CatalogChanges } from "../drafts/CatalogChanges.ts"
import { emptyNote } from "../drafts/ChangeNote.ts"
import { DraftsRepo } from "../drafts/DraftsRepo.ts"
import { changesOfAll } from "../drafts/FeedChanges.ts"
import { DropsRepo } from "../drops/DropsRepo.ts"
import { CurrentActor } from "../model/Actor.ts"
import { DemoShops } from "../platform/demo/DemoShops.ts"
import { Publishing } from "../publishing/Publishing.ts"
import { StoresRepo } from "../stores/StoresRepo.ts"
import { demoChanges, demoDrops, demoStores } from "./DemoCatalog.ts"
import { makeDemoMirror } from "./DemoMirror.ts"
import { acceptedRecords, awaitingPublish, withNames } from "./DemoShopRecords.ts"

const make = Effect.gen(function* () {
  const accounts = yield* Accounts
  const changes = yield* CatalogChanges
  const drafts = yield* DraftsRepo
  const fillMirror = yield* makeDemoMirror
  const drops = yield* DropsRepo
  const keys = yield* ApiKeys
  const publishing = yield* Publishing
  const shops = yield* DemoShops
  const stores = yield* StoresRepo
  const transaction = yield* Transaction

  return {
    /** Creates another demo account in one transaction. */
    create: Effect.gen(function* () {
      const account = yield* accounts.create("Demo: Tarn & Tern")
      const linked = demoStores(account.id)
      yield* Effect.forEach(linked, (store) => stores.link(account.id, store), { discard: true })
      // The account's version must rise: answers that list stores change, although no entity does.
      yield* drafts.raise(account.id, undefined, {
        ...emptyNote,
        changes: linked.flatMap(({ id }) => changesOfAll("store.linked", "store", [id], id))
      })
      const content = withNames(demoChanges(linked))
      const owners = [...new Set(content.flat().flatMap(ownersOf))]
      yield* Effect.gen(function* () {
        yield* Effect.forEach(content, changes.apply, { discard: true })
        const { aggregates } = yield* drafts.read(account.id, owners, [])
        yield* Effect.forEach(
          linked,
          ({ id }) => shops.put({ accountId: account.id, storeId: id }, acceptedRecords(aggregates, id)),
          { discard: true }
        )
        yield* fillMirror(account.id, linked)
        const actor = yield* CurrentActor
        for (const { id, isOver, planned } of demoDrops(linked, yield* drops.now)) {
          yield* drops.insert(account.id, id, planned, actor)
          if (isOver)
            yield* drops.move(
              { accountId: account.id, id },
              {
                status: "reverted",
                next: null,
                effects: [],
                outcomes: planned.changes.map((_, ordinal) => ({ ordinal, outcome: "reverted", error: null }))
              }
            )
        }
        yield* Effect.forEach(
          awaitingPublish(aggregates),
          ({ entityId, storeId }) => publishing.request(entityId, storeId),
          {
            discard: true
          }
        )
        yield* fillMirror(account.id, linked)
      }).pipe(Effect.provideService(CurrentActor, { _tag: "Cli", accountId: account.id }))
      const key = yield* keys.create(account.id, {
        name: "Demo key",
        scopes: ["pim:read", "pim:write"],
        expiresAt: null
      })
      return { account, key }
    }).pipe(
      // The content is part of the source code. An invalid change is therefore a defect.
      Effect.orDie,
      transaction.run,
      Effect.withSpan("Demo.create")
    )
  }
})

/**
 * Creates a demo account: three stores, a catalog and an API key. The demo shops get the values that the stores have accepted.
 * Store versions with the status `pending` get publish requests, which workers run later.
 */
export class Demo extends Context.Tag("catalog/Demo")<Demo, Effect.Effect.Success<typeof make>>() {
  static readonly layer = Layer.effect(Demo, make)
}
