import { openCatalog } from "../harness/Catalog.ts"
import { type ContenderName, type Servers, titles, withContenders } from "../harness/Contenders.ts"
import { Load } from "../harness/Load.ts"
import { whole } from "../harness/Report.ts"
import { type Asked, alternate, connections, type Target, tablesOf } from "../harness/Rounds.ts"
import { readPage } from "../harness/Walk.ts"
import type { Scenario } from "./Scenario.ts"

const products = 100_000
const limit = 50
const answersARound = 20_000
const target = `/api/v1/products?limit=${limit}`
const bare: ContenderName = "bare"

/** The same page of both contenders. The catalog's has an ETag, with which it must answer 304. */
const readBoth = async (servers: Servers, token: string) => {
  const ours = await readPage(servers.ours.url, token, target)
  const theirs = await readPage(servers.bare.url, token, target)
  if (ours.count !== limit || ours.rows !== theirs.rows)
    throw new Error(`${titles.bare} gives other rows than ours, or not ${limit} of them.`)
  if (ours.etag === null) throw new Error("Our page has no ETag.")
  const again = await readPage(servers.ours.url, token, target, { "if-none-match": ours.etag })
  if (again.status !== 304 || again.etag !== ours.etag || again.length !== 0)
    throw new Error(`Our page is answered ${again.status} to its own tag ${ours.etag}.`)
  return { ours: { length: ours.length, etag: ours.etag }, theirs }
}

const repeated = (answer: Pick<Asked, "headers" | "status">, length: number): Asked => ({
  ...answer,
  targets: Array.from({ length: answersARound }, () => target),
  lengths: Array.from({ length: answersARound }, () => length)
})

const scenario = (
  { name, title }: Pick<Scenario, "name" | "title">,
  { atLeast, notModified }: { readonly atLeast: number; readonly notModified: boolean }
): Scenario => ({
  name,
  title,
  run: async ({ rounds: count }) => {
    const catalog = await openCatalog("catalog_bench", products)
    const load = new Load()
    const targets: ReadonlyArray<Target> = [{ peer: bare, atLeast }]
    const report = await withContenders(catalog, async (servers) => {
      const { ours, theirs } = await readBoth(servers, catalog.token)
      // Both get the same requests; the bare peer ignores If-None-Match.
      const headers: Record<string, string> = notModified ? { "If-None-Match": ours.etag } : {}
      const asked = new Map<ContenderName, Asked>([
        ["ours", notModified ? repeated({ headers, status: 304 }, 0) : repeated({ headers, status: 200 }, ours.length)],
        ["bare", repeated({ headers, status: 200 }, theirs.length)]
      ])
      const rounds = await alternate(load, catalog, servers, asked, count)
      const how = notModified ? ", answered 304 by ours (the bare peer has no tag: 200)" : ""
      return [
        `${whole(products)} products on 3 stores, one page of ${limit} rows${how}, ${connections} connections; ${count} rounds of ${whole(answersARound)} answers each, contenders alternating.`,
        tablesOf(rounds, targets)
      ].join("\n\n")
    }).finally(() => load.stop())
    return { report, postgresVersion: catalog.postgresVersion }
  }
})

/** One page repeatedly, as many readers of an unchanged catalog request it. */
export const samePage = scenario(
  { name: "same-page", title: "One page again and again" },
  { atLeast: 4, notModified: false }
)

/** The same for a reader that has the page, as a mirror that polls for changes. */
export const notModified = scenario({ name: "not-modified", title: "Not modified" }, { atLeast: 4, notModified: true })
