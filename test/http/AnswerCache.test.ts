import { HttpClient, HttpClientRequest } from "@effect/platform"
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import * as fc from "fast-check"
import { DraftsRepo } from "../../src/drafts/DraftsRepo.ts"
import type { AccountId, StoreId } from "../../src/model/Ids.ts"
import { Programs } from "../../src/programs/Programs.ts"
import { StoresRepo } from "../../src/stores/StoresRepo.ts"
import {
  actingAs,
  anAccount,
  anEntity,
  CatalogChange,
  CatalogChanges,
  Stores,
  testServer
} from "../../src/testing/index.ts"
import { amount } from "../support/Volume.ts"

const seed = Number(process.env.TEST_SEED ?? Date.now() % 1_000_000_000)

/** The operations between two reads. The number selects products, stores and titles. */
const operation = fc.record({
  kind: fc.constantFrom(
    "create",
    "rename",
    "override",
    "inherit",
    "accept",
    "refuse",
    "join",
    "leave",
    "collect",
    "link",
    "unlink",
    "import",
    "nothing"
  ),
  pick: fc.nat({ max: 1_000 })
})

layer(testServer({ perKey: 100_000, perAccount: 100_000 }), { excludeTestServices: true })(
  "answers from memory",
  (it) => {
    it.effect("equal a full render after every random operation", () =>
      Effect.gen(function* () {
        const operations = fc.sample(operation, { numRuns: amount(120, 1_000), seed })
        const changes = yield* CatalogChanges
        const programs = yield* Programs
        const client = yield* HttpClient.HttpClient
        const { link, unlink } = yield* Stores
        const drafts = yield* DraftsRepo
        const storesRepo = yield* StoresRepo
        /** Ends an import as its last transaction does. */
        const imported = (accountId: AccountId, storeId: StoreId) =>
          Effect.zipRight(storesRepo.recordImport(accountId, storeId), drafts.raise(accountId))
        const account = yield* anAccount({ domains: ["a.example", "b.example"] })
        let reads = 0
        let shortcuts = 0
        yield* Effect.gen(function* () {
          const stores = [...account.stores]
          const collection = yield* anEntity("collection", { title: "All" })
          const products = [yield* anEntity("product", { title: "First" }, { on: account.stores })]
          const tags = new Map<string, string>()

          const carryOut = ({ kind, pick }: { readonly kind: string; readonly pick: number }) =>
            Effect.gen(function* () {
              const entityId = products[pick % products.length]
              const storeId = stores[pick % stores.length]?.id
              assert(entityId !== undefined && storeId !== undefined)
              const apply = (change: CatalogChange) => Effect.ignore(changes.apply([change]))
              const title = `Title ${pick % 7}`
              switch (kind) {
                case "create":
                  products.push(yield* anEntity("product", { title }, { on: account.stores }))
                  return
                case "rename":
                  return yield* apply(CatalogChange.SetAttributes({ entityId, values: { title } }))
                case "override":
                  return yield* apply(CatalogChange.SetOverrides({ entityId, storeId, values: { title } }))
                case "inherit":
                  return yield* apply(CatalogChange.SetOverrides({ entityId, storeId, values: { title: null } }))
                case "accept":
                  return yield* apply(CatalogChange.AcceptPublish({ entityId, storeId }))
                case "refuse":
                  return yield* apply(
                    CatalogChange.RefusePublish({ entityId, storeId, error: { code: "x", message: title } })
                  )
                case "join":
                  return yield* apply(CatalogChange.AddToStore({ entityId, storeId }))
                case "leave":
                  return yield* apply(CatalogChange.RemoveFromStore({ entityId, storeId }))
                case "collect":
                  return yield* apply(
                    CatalogChange.SetMembers({
                      collectionId: collection,
                      productIds: products.slice(0, pick % (products.length + 1))
                    })
                  )
                case "link":
                  return yield* link({ domain: `s${pick % 3}.example` }).pipe(
                    Effect.map(({ store }) => stores.push(store)),
                    Effect.ignore
                  )
                case "unlink":
                  return yield* Effect.ignore(unlink(`s${pick % 3}.example`))
                case "import":
                  return yield* imported(account.accountId, storeId)
                default:
                  return
              }
            })

          /** Reads a target twice: with its last ETag, and without one. */
          const read = (target: string, rendered: unknown) =>
            Effect.gen(function* () {
              for (const known of [tags.get(target), undefined]) {
                const request = HttpClientRequest.get(target).pipe(
                  HttpClientRequest.bearerToken(account.token),
                  known === undefined ? (same) => same : HttpClientRequest.setHeader("if-none-match", known)
                )
                const response = yield* client.execute(request)
                reads += 1
                if (response.status === 304) {
                  shortcuts += 1
                  // The content of a 304 is not seen: the read without an ETag checks it.
                  assert.strictEqual(response.headers.etag, known)
                  continue
                }
                assert.deepStrictEqual(yield* response.json, rendered, target)
                const etag = response.headers.etag ?? ""
                if (known === undefined && tags.has(target)) assert.strictEqual(etag, tags.get(target), target)
                tags.set(target, etag)
              }
            })

          for (const each of operations) {
            yield* carryOut(each)
            const id = products[each.pick % products.length]
            assert(id !== undefined)
            const list = yield* programs.listProducts({ urlParams: { limit: 50 } })
            yield* read("/api/v1/products", JSON.parse(list.text))
            yield* read(`/api/v1/products/${id}`, yield* programs.getProduct({ path: { id } }))
            yield* read(`/api/v1/products/${id}/stores`, yield* programs.listProductVersions({ path: { id } }))
            yield* read(
              `/api/v1/collections/${collection}`,
              yield* programs.getCollection({ path: { id: collection } })
            )
            yield* read("/api/v1/stores", yield* programs.listStores())
          }
        }).pipe(actingAs(account.actor))
        assert.strictEqual(reads, operations.length * 5 * 2, `seed ${seed}`)
        assert.isAbove(shortcuts, 0.8 * operations.length, `seed ${seed}`)
      }).pipe(
        Effect.tapErrorCause(() => Effect.logError(`TEST_SEED=${seed}`)),
        Effect.scoped
      )
    )
  }
)
