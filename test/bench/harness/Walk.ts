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

interface Answer {
  readonly text: string
  readonly body: Body
  readonly status: number
  readonly etag: string | null
}

const path = "/api/v1/products"

const targetOf = (limit: number, cursor: string | null) =>
  cursor === null ? `${path}?limit=${limit}` : `${path}?limit=${limit}&cursor=${encodeURIComponent(cursor)}`

const get = async (
  url: string,
  token: string,
  target: string,
  headers: Readonly<Record<string, string>> = {}
): Promise<Answer> => {
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

/** The pages of a walk, each asked for when the one before is done with; the first has `lead` rows. */
export async function* pagesFrom(url: string, token: string, limit: number, lead: number = limit) {
  let target: string | undefined = targetOf(lead, null)
  while (target !== undefined) {
    const answer: Answer = await get(url, token, target)
    yield { target, ...answer }
    target = answer.body.next_cursor === null ? undefined : targetOf(limit, answer.body.next_cursor)
  }
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
  for await (const { body, target, text } of pagesFrom(url, token, options.limit, options.lead)) {
    for (const { id } of body.data) seen.add(id)
    rows += body.data.length
    if (body.data.length === options.limit)
      pages.push({ target, length: Buffer.byteLength(text), rows: digestOf(body.data) })
  }
  if (rows !== options.products || seen.size !== options.products)
    throw new Error(`A walk of ${url} saw ${rows} rows of ${seen.size} products instead of ${options.products}`)
  return pages
}
