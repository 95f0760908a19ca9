import { SqlClient } from "@effect/sql"
import { Array as Arr, Effect, Schedule } from "effect"
import { Imports } from "../../src/imports/Imports.ts"
import { type ImportId, ImportId as ImportIdOf, type StoreId, StoreId as StoreIdOf } from "../../src/model/Ids.ts"
import { DemoShops } from "../../src/platform/demo/DemoShops.ts"
import { actingAs, Stores } from "../../src/testing/index.ts"
import { csrfOf, textOf } from "../console/Merchant.ts"
import { orHangs } from "../support/HangLimit.ts"
import { held } from "../support/ShopRecords.ts"
import { amount } from "../support/Volume.ts"
import type { Client } from "./ClusterClients.ts"
import { aPageUserOf, fill, inTurns, open, type PageUser, type Processes, patiently } from "./ClusterPages.ts"

/** A file of products, or the records of a demo store. */
type Source = "file" | "refresh"

/** Products of a source, each with a variant. In the long run an import of a file has several transactions. */
export const sizes: Readonly<Record<Source, number>> = { file: amount(120, 1_200), refresh: amount(60, 300) }
const letters: Readonly<Record<Source, string>> = { file: "p", refresh: "q" }

/** An account whose user imports files and refreshes a store. All products of a source have the same title. */
export interface Supplier extends PageUser {
  /** The store without a platform. */
  readonly filesId: StoreId
  /** The applied imports. */
  readonly done: Record<Source, number>
  /** Why imports ended before any of them was applied. */
  readonly refusals: Array<string>
  /** The title that the last applied import has set. */
  readonly titles: Record<Source, string>
  /** The title of the import that was begun last. */
  readonly coming: Record<Source, string>
}

const handlesOf = (source: Source) => Arr.makeBy(sizes[source], (index) => `${letters[source]}-${index}`)

const fileWith = (title: string) =>
  [
    "Handle,Title,Variant SKU,Variant Price",
    ...handlesOf("file").map((handle) => `${handle},${title},${handle}-S,10.00`)
  ].join("\n")

/** Edits the products in the shop. */
const putInShop = (user: Pick<PageUser, "accountId" | "storeId">, title: string) =>
  Effect.flatMap(DemoShops, ({ put }) =>
    put(
      { accountId: user.accountId, storeId: StoreIdOf.make(user.storeId) },
      handlesOf("refresh").flatMap((handle) => [
        held("product", `product/${handle}`, { handle, title }),
        held("variant", `variant/${handle}`, { sku: `${handle}-S`, price: "10.00" }, { parentId: `product/${handle}` })
      ])
    )
  )

const quiet = () => Effect.void

/** A supplier whose account has the products of both sources. */
export const aSupplierOf = (client: Client) =>
  Effect.gen(function* () {
    const user = yield* aPageUserOf(client)
    const { link, list } = yield* Stores
    const imports = yield* Imports
    const { store: files } = yield* link({ domain: `files-${client.accountId.slice(0, 8)}.example` })
    const shop = (yield* list).find(({ id }) => id === client.storeId)
    yield* putInShop(user, "r0")
    const first = yield* imports.startCsv(
      { name: "f0.csv", content: new TextEncoder().encode(fileWith("f0")) },
      files.domain
    )
    yield* Effect.repeat(imports.get(first.id), {
      until: ({ phase }) => phase === "reviewing",
      schedule: Schedule.spaced("50 millis")
    }).pipe(orHangs(() => "The first import is never under review."))
    yield* imports.accept(first.id, quiet)
    const { id } = yield* imports.refresh(shop?.domain ?? "", quiet)
    yield* imports.accept(id, quiet)
    const supplier: Supplier = {
      ...user,
      filesId: files.id,
      done: { file: 0, refresh: 0 },
      refusals: [],
      titles: { file: "f0", refresh: "r0" },
      coming: { file: "f0", refresh: "r0" }
    }
    return supplier
  }).pipe(actingAs(client.actor), Effect.orDie)

/** The products of a source with each title, and how often an import has changed titles. */
const found = ({ accountId }: Supplier, source: Source, id: ImportId) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const handles = `${letters[source]}-%`
    const titles = yield* sql<{ readonly title: string; readonly count: number }>`
      SELECT e.attributes #>> '{title,value}' AS title, count(*)::integer AS count
      FROM entity e JOIN store_version v ON v.account_id = e.account_id AND v.entity_id = e.id
      WHERE e.account_id = ${accountId} AND v.account_id = ${accountId} AND e.kind = 'product'
        AND e.attributes #>> '{handle,value}' LIKE ${handles}
        AND v.accepted #>> '{attributes,title,value}' = e.attributes #>> '{title,value}' AND v.overrides = '{}'
      GROUP BY 1`
    const [changed] = yield* sql<{ readonly times: number; readonly products: number }>`
      SELECT count(*)::integer AS times, count(DISTINCT h.entity_id)::integer AS products
      FROM entity_history h
      WHERE h.account_id = ${accountId} AND h.import_id = ${id} AND h.changes @> '[{"key":"title"}]'`
    return { titles: Object.fromEntries(titles.map(({ count, title }) => [title, count])), ...changed }
  })

const phases = ["Being read", "Under review", "Being applied", "Applied", "Discarded", "Failed"] as const

/** The reasons for which kills may end an import before any of it was applied. */
const refusal =
  /The process that read the (?:file|store) stopped; (?:import|refresh) it again\.|The import was interrupted\.|Applying the import was interrupted \d+ times; 0 of/

/** Checks that an import that has ended was applied to each product once, or to none. */
const judge = (supplier: Supplier, source: Source, id: ImportId, phase: string, text: string) =>
  Effect.gen(function* () {
    const isApplied = phase === "Applied"
    if (isApplied) {
      supplier.done[source] += 1
      supplier.titles[source] = supplier.coming[source]
    } else {
      const [reason] = refusal.exec(text) ?? []
      if (reason === undefined) supplier.wrong.push(`import ${id}: ${text}`)
      else supplier.refusals.push(reason)
    }
    const size = sizes[source]
    const expected = {
      titles: { [supplier.titles[source]]: size },
      times: isApplied ? size : 0,
      products: isApplied ? size : 0
    }
    const there = yield* patiently(found(supplier, source, id))
    if (JSON.stringify(there) !== JSON.stringify(expected))
      supplier.wrong.push(`import ${id}, ${phase}: ${JSON.stringify(there)} instead of ${JSON.stringify(expected)}`)
  })

/** Accepts an import, and waits for its end. */
const follow = (processes: Processes, supplier: Supplier, id: ImportId) =>
  Effect.gen(function* () {
    for (;;) {
      const { conflicts } = supplier
      const page = yield* open(processes, supplier, `/import?id=${id}`)
      if (supplier.conflicts > conflicts) return void supplier.wrong.push(`import ${id} is gone`)
      const text = page === undefined ? "" : textOf(page)
      const phase = phases.find((each) => text.includes(`State ${each} Store `))
      if (page !== undefined && phase === undefined)
        return void supplier.wrong.push(`import ${id} has no state: ${text}`)
      if (phase === "Under review") yield* fill(processes, supplier, page, "/import/accept", {})
      if (phase === "Applied" || phase === "Discarded" || phase === "Failed")
        return yield* judge(supplier, text.includes("Source The file") ? "file" : "refresh", id, phase, text)
      yield* Effect.sleep("200 millis")
    }
  }).pipe(orHangs(() => `The import ${id} never ended.`))

const boundary = "a-form-with-a-file"

const upload = (csrf: string, storeId: StoreId, title: string) => {
  const part = (head: string, value: string) =>
    `--${boundary}\r\nContent-Disposition: form-data; name=${head}\r\n\r\n${value}\r\n`
  return {
    type: `multipart/form-data; boundary=${boundary}`,
    body: `${part('"csrf"', csrf)}${part('"store_id"', storeId)}${part(
      `"file"; filename="${title}.csv"\r\nContent-Type: text/csv`,
      fileWith(title)
    )}--${boundary}--\r\n`
  }
}

const importOn = (text: string | undefined) => {
  const [, id] = /\/import\?id=([0-9a-f-]{36})/.exec(text ?? "") ?? []
  return id === undefined ? undefined : ImportIdOf.make(id)
}

/** Begins an import, or continues with the one that was begun without an answer. */
const supply = (processes: Processes, supplier: Supplier, turn: number) =>
  Effect.gen(function* () {
    const page = yield* open(processes, supplier, "/imports")
    if (page === undefined) return
    // The last one was begun, although the answer was lost.
    const [, newest = ""] = /<tbody>([\s\S]*?)<\/tr>/.exec(page.text) ?? []
    const begun = importOn(newest)
    if (begun !== undefined && /Being read|Under review|Being applied/.test(newest))
      return yield* follow(processes, supplier, begun)
    const csrf = csrfOf(page)
    const source: Source = turn % 2 === 0 ? "file" : "refresh"
    const title = `${source === "file" ? "f" : "r"}${turn + 1}`
    if (source === "refresh") yield* patiently(putInShop(supplier, title))
    supplier.coming[source] = title
    const answer = yield* source === "file"
      ? open(processes, supplier, "/imports", upload(csrf, supplier.filesId, title))
      : open(processes, supplier, "/stores/refresh", { form: { csrf, id: supplier.storeId } })
    const id = importOn(answer?.headers.location)
    if (id !== undefined) yield* follow(processes, supplier, id)
  })

/** Imports files and refreshes a store until it is paused. */
export const supplying = (processes: Processes, supplier: Supplier, pauseMillis: number) =>
  inTurns(supplier, pauseMillis, (turn) => supply(processes, supplier, turn))
