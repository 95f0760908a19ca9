import { createServer, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"
import { Readable } from "node:stream"
import { Effect } from "effect"
import { type DocumentNode, execute, type GraphQLSchema, OperationTypeNode, parse, validate } from "graphql"
import { deniedField } from "./ShopifyAccess.ts"
import { rootOf } from "./ShopifyResolvers.ts"
import { type Input, ShopifyShop } from "./ShopifyShop.ts"

/**
 * How a request fails. `lost`: it is executed, and the connection is closed before the answer; `half`: it is executed,
 * and half of the answer is sent; `short`: a file lacks its last record but ends correctly; `scattered`: the first line of a file
 * that has a parent is its last one.
 */
export type Fault =
  | "throttled"
  | "busy"
  | "busyForASecond"
  | "busyForAnHour"
  | "server"
  | "internal"
  | "hang"
  | "cut"
  | "lost"
  | "half"
  | "short"
  | "scattered"
  | "moved"
  | "malformed"
  | "rejected"
  | "html"
  | "odd"
  | "refused"
  | "frozen"
  | "inProgress"

/** The result of a bulk operation. `times`: how often it has each root; a collection it has once, with as many members. */
interface Bulk {
  readonly lines: ReadonlyArray<string>
  readonly times: number
  looks: number
}

interface Scripted {
  readonly operation: string
  readonly fault: Fault
  left: number
}

/** The JSONL of a bulk operation: every root, followed by the items of its connections. */
const bulkLines = (node: Input, parent?: string): ReadonlyArray<string> => {
  const connections = Object.entries<Input>(node).filter(([, value]) => Array.isArray(value?.edges))
  const own = Object.fromEntries(Object.entries(node).filter(([key]) => !connections.some(([name]) => name === key)))
  return [
    JSON.stringify(parent === undefined ? own : { ...own, __parentId: parent }),
    ...connections.flatMap(([, { edges }]) => edges.flatMap((edge: Input) => bulkLines(edge.node, node.id)))
  ]
}

/** The numbers of ids other than the collection's, and the number of the product in handles, titles, SKUs and addresses (ShopifyCatalog). */
const numbers = /((?<=gid:\/\/shopify\/(?!Collection\/)\w+\/|product-|Product |SKU-|origin\.example\/)\d+)/

/** Copies of lines that differ in these numbers, 100 copies at a time. */
function* copies(lines: ReadonlyArray<string>, times: number) {
  const parts = lines.map((line) => `${line}\n`.split(numbers))
  let text = ""
  for (let copy = 0; copy < times; copy++) {
    for (const line of parts)
      for (const [index, part] of line.entries()) text += index % 2 === 1 ? Number(part) + copy * 1_000 : part
    if (copy % 100 < 99 && copy < times - 1) continue
    yield text
    text = ""
  }
}

const isCollection = (line = "") => line.startsWith('{"id":"gid://shopify/Collection/')

/** The file of a shop that repeats its products. All products are members of the same collection. */
function* repeatedFile(lines: ReadonlyArray<string>, times: number) {
  const once = isCollection(lines[0]) ? 1 : 0
  yield* copies(lines.slice(0, once), 1)
  yield* copies(lines.slice(once), times)
}

const isRoot = (line: string) => JSON.parse(line).__parentId === undefined

const startOfLastRoot = (lines: ReadonlyArray<string>) => lines.slice(0, lines.findLastIndex(isRoot)).join("\n").length

const scattered = (lines: ReadonlyArray<string>) => {
  const child = lines.find((line) => !isRoot(line)) ?? ""
  return `${[...lines.filter((line) => line !== child), child].join("\n")}\n`
}

const maxElements = 250

/** The length of an array in an input that is too long for Shopify. Only `productSet` takes more, up to 2,048 variants. */
const tooLong = (input: unknown, path = ""): number | undefined => {
  if (typeof input !== "object" || input === null) return undefined
  if (Array.isArray(input) && input.length > (path === ".input.variants" ? 2_048 : maxElements)) return input.length
  return Object.entries(input)
    .map(([key, value]) => tooLong(value, `${path}.${key}`))
    .find((length) => length !== undefined)
}

/** The cost of a call of productSet, in points, by the descriptions of `ProductSetInput` in the schema. */
const productSetCost = ({ files = [], variants = [] }: Input) =>
  variants.reduce(
    (cost: number, { metafields = [] }: Input) => cost + 0.2 + 0.4 * metafields.length,
    10 + 1.9 * files.length
  )

const maxCost = 1_000

const operationOf = (document: DocumentNode) => {
  const [definition] = document.definitions
  if (definition?.kind !== "OperationDefinition") throw new Error("no operation")
  return { name: definition.name?.value ?? "", isWrite: definition.operation === OperationTypeNode.MUTATION }
}

/** Shopify's Admin API over HTTP, on its own schema, with one shop for each token. A test can script failures. */
export const openShopifyServer = (schema: GraphQLSchema) =>
  Effect.acquireRelease(
    Effect.async<ShopifyServer>((resume) => {
      const server = new ShopifyServer(schema)
      server.listen(() => resume(Effect.succeed(server)))
    }),
    (server) => Effect.async<void>((resume) => server.close(() => resume(Effect.void)))
  )

export class ShopifyServer {
  readonly #schema: GraphQLSchema
  readonly #shops = new Map<string, ShopifyShop>()
  readonly #scripts = new Map<string, Array<Scripted>>()
  readonly #bulk = new Map<string, Bulk>()
  readonly #repeated = new Map<string, number>()
  /** Received operations in order, by token. */
  readonly asked = new Map<string, Array<string>>()
  /** Tokens with a request whose answer is held back. */
  readonly hanging = new Map<string, number>()
  readonly #server = createServer((request, response) => {
    const chunks: Array<Buffer> = []
    request.on("data", (chunk: Buffer) => chunks.push(chunk))
    request.on("end", () => {
      const token = String(request.headers["x-shopify-access-token"] ?? "")
      if (request.url?.startsWith("/bulk/") === true) this.#sendBulk(request.url, token, response)
      else void this.#answer(request.url ?? "", token, Buffer.concat(chunks).toString(), response)
    })
  })

  constructor(schema: GraphQLSchema) {
    this.#schema = schema
  }

  listen(done: () => void) {
    this.#server.listen(0, "127.0.0.1", done)
  }

  close(done: () => void) {
    this.#server.close(done)
    this.#server.closeAllConnections()
  }

  get origin() {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  open(token: string): ShopifyShop {
    const shop = new ShopifyShop()
    this.#shops.set(token, shop)
    return shop
  }

  /**
   * Bulk operations return each product and file of the shop so many times, with numbers of their own: the products of a large shop
   * do not fit into memory.
   */
  repeat(token: string, times: number) {
    this.#repeated.set(token, times)
  }

  /** Revokes a token. */
  revoke(token: string) {
    this.#shops.delete(token)
  }

  /**
   * Makes the next `times` requests of an operation fail ("*": any operation; `BulkFile`: a download, which has no
   * token).
   */
  script(token: string, operation: string, fault: Fault, times = 1) {
    this.#scripts.set(token, [...(this.#scripts.get(token) ?? []), { operation, fault, left: times }])
  }

  repair(token: string) {
    this.#scripts.delete(token)
  }

  #fault(token: string, operation: string): Fault | undefined {
    const found = this.#scripts
      .get(token)
      ?.find((one) => one.left > 0 && (one.operation === "*" || one.operation === operation))
    if (found === undefined) return undefined
    found.left -= 1
    return found.fault
  }

  #sendBulk(url: string, token: string, response: ServerResponse) {
    const { lines, times = 1 } = this.#bulk.get(url) ?? {}
    // Downloads need no token and must not send it, because another company hosts the files.
    if (token !== "" || lines === undefined) response.writeHead(403).end()
    else if (times > 1) Readable.from(repeatedFile(lines, times)).pipe(response)
    else {
      const file = `${lines.join("\n")}\n`
      const fault = this.#fault(token, "BulkFile")
      if (fault === "half") {
        response.writeHead(200, { "content-length": Buffer.byteLength(file) })
        response.write(file.slice(0, file.length / 2), () => response.destroy())
      } else if (fault === "scattered") response.writeHead(200).end(scattered(lines))
      else response.writeHead(200).end(fault === "short" ? file.slice(0, startOfLastRoot(lines)) : file)
    }
  }

  async #answer(url: string, token: string, body: string, response: ServerResponse) {
    const shop = this.#shops.get(token)
    if (url !== "/admin/api/2026-07/graphql.json") return response.writeHead(404).end("<html>Not Found</html>")
    if (shop === undefined) return response.writeHead(401).end('{"errors":"[API] Invalid API key or access token"}')
    const { query, variables } = JSON.parse(body)
    const document = parse(query)
    const { name } = operationOf(document)
    this.asked.set(token, [...(this.asked.get(token) ?? []), name])
    const fault = this.#fault(token, name)
    const cost = { requestedQueryCost: 10, actualQueryCost: 8 }
    const throttleStatus = (currentlyAvailable: number) => ({
      maximumAvailable: 2000,
      currentlyAvailable,
      restoreRate: 1000
    })
    switch (fault) {
      case "throttled":
        return response.end(
          JSON.stringify({
            errors: [{ message: "Throttled", extensions: { code: "THROTTLED" } }],
            extensions: { cost: { ...cost, throttleStatus: throttleStatus(0) } }
          })
        )
      case "internal":
        return response.end(
          JSON.stringify({ errors: [{ message: "Internal error", extensions: { code: "INTERNAL_SERVER_ERROR" } }] })
        )
      case "refused":
        return response.end(
          JSON.stringify({ errors: [{ message: "Access denied for field.", extensions: { code: "ACCESS_DENIED" } }] })
        )
      case "inProgress": {
        // Recorded from Shopify's Admin API: the sixth bulk query of a token.
        const message =
          "A bulk query operation for this app and shop is already in progress: gid://shopify/BulkOperation/1."
        const userErrors = [{ field: null, message, code: "OPERATION_IN_PROGRESS" }]
        return response.end(JSON.stringify({ data: { bulkOperationRunQuery: { bulkOperation: null, userErrors } } }))
      }
      case "busy":
        return response.writeHead(429).end("slow down")
      case "busyForASecond":
        return response.writeHead(429, { "retry-after": "1.0" }).end("slow down")
      case "busyForAnHour":
        return response.writeHead(429, { "retry-after": "3600" }).end("slow down")
      case "server":
        return response.writeHead(503).end("<html>Service Unavailable</html>")
      case "frozen":
        return response.writeHead(402).end("{}")
      case "moved":
        return response.writeHead(301, { location: `${this.origin}/elsewhere` }).end("<html>Moved</html>")
      case "malformed":
        return response.writeHead(400).end('{"errors":{"query":"Required parameter missing or invalid"}}')
      case "rejected":
        return response.writeHead(430).end("<html>Your connection needs to be verified</html>")
      case "html":
        return response.end("<html>Something went wrong</html>")
      case "odd":
        return response.end('{"data":{"shop":{"name":7}}}')
      case "cut":
        return response.destroy()
      case "hang":
        this.hanging.set(token, (this.hanging.get(token) ?? 0) + 1)
        return response.on("close", () => this.hanging.set(token, (this.hanging.get(token) ?? 1) - 1))
    }
    const answer = JSON.stringify({
      ...(await this.#carryOut(token, shop, document, variables)),
      extensions: { cost: { ...cost, throttleStatus: throttleStatus(1900) } }
    })
    if (fault === "lost") return response.destroy()
    if (fault === "half") {
      response.writeHead(200, { "content-length": Buffer.byteLength(answer) })
      return response.write(answer.slice(0, answer.length / 2), () => response.destroy())
    }
    return response.setHeader("content-type", "application/json").end(answer)
  }

  async #carryOut(token: string, shop: ShopifyShop, document: DocumentNode, variables: Record<string, unknown>) {
    const [invalid] = validate(this.#schema, document)
    if (invalid !== undefined) return { errors: [{ message: invalid.message }] }
    const denied = deniedField(document, shop.scopes)
    if (denied !== undefined) {
      const message = `Access denied for ${denied.field} field. Required access: \`${denied.scope}\` access scope.`
      return { errors: [{ message, extensions: { code: "ACCESS_DENIED" } }] }
    }
    const length = tooLong(variables)
    if (length !== undefined) {
      const message = `The input array size of ${length} is greater than the maximum allowed of ${maxElements}.`
      return { errors: [{ message, extensions: { code: "MAX_INPUT_SIZE_EXCEEDED" } }] }
    }
    if (operationOf(document).name === "SetProduct" && productSetCost(variables.input) > maxCost) {
      const message = `Query cost is ${productSetCost(variables.input)}, which exceeds the single query max cost limit (${maxCost}).`
      return { errors: [{ message, extensions: { code: "MAX_COST_EXCEEDED" } }] }
    }
    const rootValue = {
      ...rootOf(shop),
      bulkOperationRunQuery: async ({ query }: Input) => {
        const id = `gid://shopify/BulkOperation/${this.#bulk.size + 1}`
        const { data } = await execute({ schema: this.#schema, document: parse(query), rootValue: rootOf(shop) })
        const lines = Object.values<Input>(data ?? {}).flatMap(({ edges }) =>
          edges.flatMap((edge: Input) => bulkLines(edge.node))
        )
        const times = this.#repeated.get(token) ?? 1
        this.#bulk.set(`/bulk/${this.#bulk.size + 1}`, { lines, times, looks: 0 })
        return { bulkOperation: { id }, userErrors: [] }
      },
      bulkOperationCancel: () => ({ userErrors: [] }),
      bulkOperation: ({ id }: Input) => {
        const path = `/bulk/${id.split("/").at(-1)}`
        const bulk = this.#bulk.get(path)
        if (bulk === undefined) return null
        bulk.looks += 1
        const roots = bulk.lines.filter(isRoot).length
        const rootObjectCount = String(isCollection(bulk.lines[0]) ? roots : roots * bulk.times)
        if (bulk.looks === 1) return { status: "RUNNING", errorCode: null, rootObjectCount, url: null }
        return {
          status: "COMPLETED",
          errorCode: null,
          rootObjectCount,
          url: bulk.lines.length === 0 ? null : `${this.origin}${path}`
        }
      }
    }
    const { data, errors } = await execute({ schema: this.#schema, document, variableValues: variables, rootValue })
    return { data, ...(errors === undefined ? {} : { errors: errors.map(({ message }) => ({ message })) }) }
  }
}
