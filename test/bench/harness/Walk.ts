import { createHash } from "node:crypto"

/** A page as it was before the measurement. */
export interface WalkedPage {
  readonly target: string
  /** Length of the whole body in bytes. */
  readonly length: number
  /** Digest of the page's rows. */
  readonly rows: string
}

/** A row of a list has an id; a change of the feed has a number instead. */
interface Row {
  readonly id?: string
  readonly seq?: number
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

/** A list, with the parameters of its pages other than `limit` and `cursor`. */
const products = "/api/v1/products"

const targetOf = (list: string, limit: number, cursor: string | null) => {
  const first = `${list}${list.includes("?") ? "&" : "?"}limit=${limit}`
  return cursor === null ? first : `${first}&cursor=${encodeURIComponent(cursor)}`
}

const get = async (
  url: string,
  token: string,
  target: string,
  headers: Readonly<Record<string, string>> = {}
): Promise<Answer> => {
  const response = await fetch(`${url}${target}`, {
    headers: { authorization: `Bearer ${token}`, "accept-encoding": "identity", ...headers }
  })
  const text = await response.text()
  if (response.status !== 200 && response.status !== 304)
    throw new Error(`${url}${target} answered ${response.status}: ${text}`)
  const body = JSON.parse(text === "" ? '{"data":[],"next_cursor":null}' : text) as Body
  return { text, body, status: response.status, etag: response.headers.get("etag") }
}

/** JSON with sorted members, because contenders may write them in another order. */
const canonical = (row: Row) =>
  JSON.stringify(row, (_, value: unknown) =>
    typeof value === "object" && value !== null && !Array.isArray(value)
      ? Object.fromEntries(Object.entries(value).sort(([left], [right]) => (left < right ? -1 : 1)))
      : value
  )

const digestOf = (rows: ReadonlyArray<Row>) => createHash("sha256").update(rows.map(canonical).join("\n")).digest("hex")

/** Reads one page, with the digest of its `rows` for comparison. */
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
 * The pages of a walk, each requested after the previous one. The first page has `lead` rows. The feed has a cursor on
 * its last page too, so a walk ends before the first empty page.
 */
export async function* pagesFrom(
  url: string,
  token: string,
  limit: number,
  { lead = limit, list = products }: { readonly lead?: number; readonly list?: string } = {}
) {
  let target: string | undefined = targetOf(list, lead, null)
  while (target !== undefined) {
    const answer: Answer = await get(url, token, target)
    if (answer.body.data.length === 0) return
    yield { target, ...answer }
    target = answer.body.next_cursor === null ? undefined : targetOf(list, limit, answer.body.next_cursor)
  }
}

export interface WalkOptions {
  /** By default all products, as short rows. */
  readonly list?: string
  readonly limit: number
  readonly lead: number
  /** The number of rows of the whole list. */
  readonly rows: number
}

/**
 * Reads a whole list once; the first page has `lead` rows. Each lead gives other pages, so several walks give more
 * distinct pages than one. Returns the full pages; asserts that the walk had every row once.
 */
export const walk = async (
  url: string,
  token: string,
  { limit, rows, ...options }: WalkOptions
): Promise<ReadonlyArray<WalkedPage>> => {
  const pages: Array<WalkedPage> = []
  const seen = new Set<string | undefined>()
  let count = 0
  for await (const { body, target, text } of pagesFrom(url, token, limit, options)) {
    for (const { id } of body.data) seen.add(id)
    count += body.data.length
    if (body.data.length === limit) pages.push({ target, length: Buffer.byteLength(text), rows: digestOf(body.data) })
  }
  if (count !== rows || seen.size !== rows)
    throw new Error(`A walk of ${url} saw ${count} rows, ${seen.size} of them different, instead of ${rows}.`)
  return pages
}
