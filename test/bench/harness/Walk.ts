import { createHash } from "node:crypto"

/** A page as it was seen before anything is timed. */
export interface WalkedPage {
  readonly target: string
  /** Bytes of the whole body. */
  readonly length: number
  /** Digest of its rows. */
  readonly rows: string
}

interface Row {
  readonly id: string
}

interface Body {
  readonly data: ReadonlyArray<Row>
  readonly next_cursor: string | null
}

const path = "/api/v1/products"

const targetOf = (limit: number, cursor: string | null) =>
  cursor === null ? `${path}?limit=${limit}` : `${path}?limit=${limit}&cursor=${encodeURIComponent(cursor)}`

const get = async (url: string, token: string, target: string, headers: Readonly<Record<string, string>> = {}) => {
  const response = await fetch(`${url}${target}`, { headers: { authorization: `Bearer ${token}`, ...headers } })
  const text = await response.text()
  if (response.status !== 200 && response.status !== 304)
    throw new Error(`${url}${target} answered ${response.status}: ${text}`)
  const body = JSON.parse(text === "" ? '{"data":[],"next_cursor":null}' : text) as Body
  return { text, body, status: response.status, etag: response.headers.get("etag") }
}

/** Members in the order of their names: contenders may write them in another one. */
const canonical = (row: Row) => JSON.stringify(row, Object.keys(row).sort())

const digestOf = (rows: ReadonlyArray<Row>) => createHash("sha256").update(rows.map(canonical).join("\n")).digest("hex")

/** One page, with what a comparison needs of it. `rows` is their digest. */
export const readPage = async (
  url: string,
  token: string,
  target: string,
  headers?: Readonly<Record<string, string>>
) => {
  const { body, etag, status, text } = await get(url, token, target, headers)
  return { status, etag, length: Buffer.byteLength(text), count: body.data.length, rows: digestOf(body.data) }
}

/**
 * Walks all products once, behind a first page of `lead` rows: each lead gives other pages, so that several walks give
 * more distinct pages than one has. Answers the full pages; asserts that the walk saw every product once.
 */
export const walk = async (
  url: string,
  token: string,
  options: { readonly limit: number; readonly lead: number; readonly products: number }
): Promise<ReadonlyArray<WalkedPage>> => {
  const pages: Array<WalkedPage> = []
  const seen = new Set<string>()
  let rows = 0
  let cursor = null as string | null
  let limit = options.lead
  do {
    const target = targetOf(limit, cursor)
    const { body, text } = await get(url, token, target)
    for (const { id } of body.data) seen.add(id)
    rows += body.data.length
    if (body.data.length === options.limit)
      pages.push({ target, length: Buffer.byteLength(text), rows: digestOf(body.data) })
    cursor = body.next_cursor
    limit = options.limit
  } while (cursor !== null)
  if (rows !== options.products || seen.size !== options.products)
    throw new Error(`A walk of ${url} saw ${rows} rows of ${seen.size} products instead of ${options.products}`)
  return pages
}
