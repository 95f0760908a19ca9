import { createServer, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"
import { Chunk, Effect, Option, Stream } from "effect"
import { AccountId, EntityId, StoreId } from "../../../src/model/Ids.ts"
import { layerDemoShopsMemory } from "../../../src/platform/demo/DemoShops.memory.ts"
import { DemoShops } from "../../../src/platform/demo/DemoShops.ts"
import type { PlatformRecord } from "../../../src/platform/PlatformRecord.ts"
import type { Publication, Published } from "../../../src/platform/Publication.ts"
import type { ShopFailure } from "../../../src/testing/index.ts"

const pageSize = 20

const toIds = ({ platformIds }: Published) => ({ ids: Object.fromEntries(platformIds) })

/** The API of Plainshop over HTTP, with one shop for each key. Shops keep their records as those of the demo do. */
export class PlainshopServer {
  readonly #shops = Effect.runSync(Effect.provide(DemoShops, layerDemoShopsMemory))
  readonly #keys = new Map<string, { readonly accountId: AccountId; readonly storeId: StoreId }>()
  readonly #failures = new Map<string, ShopFailure>()
  readonly #removed = new Map<string, Set<string>>()
  readonly #created = new Map<string, Set<string>>()
  readonly #server = createServer((request, response) => {
    const chunks: Array<Buffer> = []
    request.on("data", (chunk: Buffer) => chunks.push(chunk))
    request.on("end", () => {
      const key = String(request.headers.authorization ?? "").replace("Bearer ", "")
      const url = new URL(request.url ?? "/", "http://shop")
      void this.#answer(key, url, Buffer.concat(chunks).toString(), response)
    })
  })

  static readonly make = Effect.acquireRelease(
    Effect.async<PlainshopServer>((resume) => {
      const one = new PlainshopServer()
      one.#server.listen(0, "127.0.0.1", () => resume(Effect.succeed(one)))
    }),
    (one) =>
      Effect.async<void>((resume) => {
        one.#server.close(() => resume(Effect.void))
        one.#server.closeAllConnections()
      })
  )

  get origin() {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  open(key: string) {
    this.#keys.set(key, { accountId: AccountId.make(crypto.randomUUID()), storeId: StoreId.make(crypto.randomUUID()) })
  }

  fail(key: string, failure: ShopFailure | undefined) {
    if (failure === undefined) this.#failures.delete(key)
    else this.#failures.set(key, failure)
  }

  remove(key: string, platformId: string) {
    this.#removed.set(key, new Set(this.#removed.get(key)).add(platformId))
  }

  /** Writes records as the shop's staff does. */
  put(key: string, records: ReadonlyArray<PlatformRecord>) {
    const shop = this.#keys.get(key)
    return shop === undefined ? Effect.dieMessage("no shop") : this.#shops.put(shop, records)
  }

  created(key: string) {
    return this.#created.get(key)?.size ?? 0
  }

  async #answer(key: string, url: URL, body: string, response: ServerResponse) {
    const shop = this.#keys.get(key)
    const failure = this.#failures.get(key)
    const answer = (status: number, value: unknown = {}) =>
      response.writeHead(status, { "content-type": "application/json", "retry-after": "0" }).end(JSON.stringify(value))
    if (shop === undefined || failure === "revoked") return answer(401)
    if (failure === "throttled") return answer(429)
    const isThere = ({ platformId }: PlatformRecord) => this.#removed.get(key)?.has(platformId) !== true
    const [, collection, id = ""] = url.pathname.split("/")
    const records = async () =>
      Chunk.toReadonlyArray(await Effect.runPromise(Stream.runCollect(this.#shops.records(shop)))).filter(isThere)
    switch (collection) {
      case "shop":
        return answer(200, {
          domain: "tern.plainshop.example",
          name: "Tern",
          primaryLocale: "en",
          locales: ["en", "de"],
          currency: "EUR"
        })
      case "channels":
        return answer(200, [
          {
            id: "web",
            name: "Web",
            handle: "web",
            catalog_kind: "app",
            auto_publish: true,
            supports_future_publishing: false
          }
        ])
      case "records": {
        const start = Number(url.searchParams.get("after") ?? "0")
        const all = await records()
        const next = start + pageSize < all.length ? String(start + pageSize) : null
        return answer(200, { records: all.slice(start, start + pageSize), next })
      }
      case "entities": {
        const found = (await records()).find(({ entityId }) => entityId === EntityId.make(id))
        return found === undefined ? answer(404) : answer(200, found)
      }
      case "same":
        return answer(200, await Effect.runPromise(this.#shops.same(shop, JSON.parse(body) as Publication)))
      case "publications":
        return body === "" ? this.#readBack(shop, id, answer) : this.#publish(key, shop, body, answer, response)
      default:
        return answer(404)
    }
  }

  async #readBack(
    shop: { readonly accountId: AccountId; readonly storeId: StoreId },
    publicationKey: string,
    answer: (status: number, value?: unknown) => unknown
  ) {
    const applied = await Effect.runPromise(this.#shops.applied(shop, publicationKey))
    return Option.isNone(applied) ? answer(404) : answer(200, toIds(applied.value))
  }

  async #publish(
    key: string,
    shop: { readonly accountId: AccountId; readonly storeId: StoreId },
    body: string,
    answer: (status: number, value?: unknown) => unknown,
    response: ServerResponse
  ) {
    const failure = this.#failures.get(key)
    if (failure === "down") return answer(503)
    if (failure === "throttledOnce") {
      this.#failures.delete(key)
      return answer(429)
    }
    const publication = JSON.parse(body) as Publication
    if (publication._tag === "Product" && publication.attributes.title === undefined)
      return answer(422, { code: "TITLE_MISSING", message: "A product needs a title", field: "title" })
    const published = await Effect.runPromise(this.#shops.apply(shop, publication))
    if (publication._tag === "Product" && publication.platformId === null)
      this.#created.set(key, new Set(this.#created.get(key)).add(published.platformIds.get(publication.entityId) ?? ""))
    return failure === "lost" ? response.destroy() : answer(200, toIds(published))
  }
}
